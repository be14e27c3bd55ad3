/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens out: forms, claims as JSON, signature. */
#include <string.h>

#include "digest/digest.h"
#include "identity/inner.h"
#include "json/json.h"
#include "tls/tls.h"

bool
identity_is_domain(struct span s)
{
	if (s.len == 0 || s.len > IDENTITY_DOMAIN)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
			c == '.' || c == '_' || c == '-'))
			return false;
	}
	return true;
}

bool
identity_is_id(struct span s)
{
	if (s.len != LIMIT_ID)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (c != '-')
				return false;
		} else if (!((c >= '0' && c <= '9') ||
			       (c >= 'a' && c <= 'f'))) {
			return false;
		}
	}
	return true;
}

const char *
identity_audience_name(enum identity_audience a)
{
	static const char *const names[] = {
		[IDENTITY_GATEWAY] = "gateway",
		[IDENTITY_SANDBOX] = "sandbox",
		[IDENTITY_DOOR] = "urn:openshell:gateway-mcp",
	};

	return names[a];
}

void
identity_kid(const uint8_t *point, char out[IDENTITY_KID + 1])
{
	uint8_t digest[DIGEST_SIZE];

	digest_of(span_of(point, 65), digest);
	hex_format(digest, IDENTITY_KID / 2, out);
}

static int
check_claims(const char *domain, const struct identity_claims *c,
    struct fault *f)
{
	int64_t life = c->expires_s - c->issued_s;

	if (!identity_is_domain(span_str(domain)))
		return fault_field(f, "trust_domain", "not a trust domain");
	if (!identity_is_id(span_str(c->sandbox_id)))
		return fault_field(f, "sandbox_id", "not a UUID");
	if (!identity_is_id(span_str(c->launch)))
		return fault_field(f, "launch", "not a UUID");
	if (c->epoch == 0 || c->epoch > INT64_MAX)
		return fault_field(f, "epoch", "out of range");
	if (c->issued_s <= 0 || life < IDENTITY_LIFE_LEAST_S ||
	    life > IDENTITY_LIFE_MOST_S)
		return fault_field(f, "life", "a token lives %d to %d s",
		    IDENTITY_LIFE_LEAST_S, IDENTITY_LIFE_MOST_S);
	return 0;
}

static int
write_header(const struct tls_key *key, struct buf *b, struct fault *f)
{
	char kid[IDENTITY_KID + 1];
	struct json_out o;

	identity_kid(key->point, kid);
	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "alg");
	json_out_text(&o, "ES256");
	json_out_key(&o, "typ");
	json_out_text(&o, "JWT");
	json_out_key(&o, "kid");
	json_out_text(&o, kid);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static int
write_claims(const char *domain, const struct identity_claims *c, struct buf *b,
    struct fault *f)
{
	char sub[IDENTITY_DOMAIN + 80];
	struct json_out o;

	if (!text_fmt(sub, sizeof(sub), "spiffe://%s%s%s", domain, IDENTITY_SUB,
		c->sandbox_id))
		return fault_field(f, "sub", "too long");
	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "iss");
	json_out_text(&o, IDENTITY_ISSUER);
	json_out_key(&o, "sub");
	json_out_text(&o, sub);
	json_out_key(&o, "aud");
	json_out_text(&o, identity_audience_name(c->audience));
	json_out_key(&o, "iat");
	json_out_int(&o, c->issued_s);
	json_out_key(&o, "exp");
	json_out_int(&o, c->expires_s);
	json_out_key(&o, "session");
	json_out_text(&o, c->launch);
	json_out_key(&o, "auth_epoch");
	json_out_uint(&o, c->epoch);
	json_out_end(&o);
	return json_out_done(&o, f);
}

/* Append "." (unless first) and the base64url of s to the token. */
static int
add_part(char *out, size_t *at, struct span s, struct fault *f)
{
	size_t n;

	if (*at > 0)
		out[(*at)++] = '.';
	n = base64url_format(s, out + *at, IDENTITY_TOKEN - *at);
	if (n == 0)
		return fault_set(f, FAULT_LIMIT, "the token is too long");
	*at += n;
	return 0;
}

int
identity_issue(const struct tls_key *key, const char *domain,
    const struct identity_claims *c, char *out, struct fault *f)
{
	struct buf header;
	struct buf claims;
	size_t at = 0;
	int rc = -1;

	if (check_claims(domain, c, f) < 0)
		return -1;
	buf_init(&header, 256);
	buf_init(&claims, IDENTITY_TOKEN);
	if (write_header(key, &header, f) == 0 &&
	    write_claims(domain, c, &claims, f) == 0 &&
	    add_part(out, &at, buf_span(&header), f) == 0 &&
	    add_part(out, &at, buf_span(&claims), f) == 0) {
		uint8_t sig[TLS_SIGNATURE];

		if (tls_sign(key, span_of(out, at), sig) < 0)
			fault_set(f, FAULT_SYSTEM, "the key cannot sign");
		else
			rc = add_part(out, &at, span_of(sig, sizeof(sig)), f);
	}
	buf_release(&header);
	buf_release(&claims);
	if (rc == 0)
		out[at] = '\0';
	return rc;
}
