/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens in. The signature is checked before anything inside is believed,
 * and what is inside has exactly the members that issue.c writes: no other
 * algorithm, no second audience, no claim that somebody might rely on.
 */
#include <string.h>

#include "identity/inner.h"
#include "json/json.h"
#include "tls/tls.h"

static int
no(struct fault *f, const char *why)
{
	return fault_set(f, FAULT_UNAUTHENTICATED, "token refused: %s", why);
}

/* The three parts; anything but exactly two dots is refused. */
static bool
split(struct span token, struct span part[3], struct span *is_signed)
{
	size_t first = span_find(token, '.');
	struct span rest = span_from(token, first + 1);
	size_t second = span_find(rest, '.');

	if (first == token.len || second == rest.len)
		return false;
	part[0] = span_of(token.ptr, first);
	part[1] = span_of(rest.ptr, second);
	part[2] = span_from(rest, second + 1);
	*is_signed = span_of(token.ptr, first + 1 + second);
	return part[2].len > 0 && span_find(part[2], '.') == part[2].len;
}

static const struct json_value *
decode(struct span part, struct arena *a)
{
	const struct json_value *root = NULL;
	struct fault ignored = { 0 };
	uint8_t *text = arena_get(a, IDENTITY_TOKEN);
	size_t n = 0;

	if (text == NULL || !base64url_parse(part, text, IDENTITY_TOKEN, &n))
		return NULL;
	if (json_parse(span_of(text, n), a, &root, &ignored) < 0)
		return NULL;
	return json_is(root, JSON_OBJECT) ? root : NULL;
}

static bool
is_text(const struct json_value *v, const char *key, const char *want)
{
	struct span s;

	return json_str(json_get(v, key), &s) && span_is(s, want);
}

static bool
header_ok(const struct json_value *v, const uint8_t *point)
{
	static const char *const keys[] = { "alg", "typ", "kid" };
	struct fault ignored = { 0 };
	char kid[IDENTITY_KID + 1];

	identity_kid(point, kid);
	return v != NULL && json_only(v, keys, NELEM(keys), &ignored) == 0 &&
	    is_text(v, "alg", "ES256") && is_text(v, "typ", "JWT") &&
	    is_text(v, "kid", kid);
}

/* "spiffe://<domain>/openshell/sandbox/<id>" */
static bool
read_sub(const struct json_value *v, const char *domain,
    struct identity_claims *c)
{
	char prefix[IDENTITY_DOMAIN + 40];
	struct span sub;

	if (!text_fmt(prefix, sizeof(prefix), "spiffe://%s%s", domain,
		IDENTITY_SUB) ||
	    !json_str(json_get(v, "sub"), &sub) || !span_starts(sub, prefix))
		return false;
	sub = span_from(sub, strlen(prefix));
	return identity_is_id(sub) &&
	    text_copy(c->sandbox_id, sizeof(c->sandbox_id), sub);
}

static bool
read_claims(const struct json_value *v, const char *domain,
    struct identity_claims *c)
{
	static const char *const keys[] = { "iss", "sub", "aud", "iat", "exp",
		"session", "auth_epoch" };
	struct fault ignored = { 0 };
	struct span launch;

	return v != NULL && json_only(v, keys, NELEM(keys), &ignored) == 0 &&
	    is_text(v, "iss", IDENTITY_ISSUER) && read_sub(v, domain, c) &&
	    json_int(json_get(v, "iat"), 1, INT64_MAX / 2, &c->issued_s) &&
	    json_int(json_get(v, "exp"), 1, INT64_MAX / 2, &c->expires_s) &&
	    json_uint(json_get(v, "auth_epoch"), INT64_MAX, &c->epoch) &&
	    c->epoch > 0 && json_str(json_get(v, "session"), &launch) &&
	    identity_is_id(launch) &&
	    text_copy(c->launch, sizeof(c->launch), launch);
}

static int
check(const struct json_value *claims, const char *domain, int64_t now_s,
    struct identity_claims *c, struct fault *f)
{
	int64_t life;

	if (!is_text(claims, "aud", identity_audience_name(c->audience)))
		return no(f, "it is for somebody else");
	if (!read_claims(claims, domain, c))
		return no(f, "its claims are not ours");
	life = c->expires_s - c->issued_s;
	if (life < IDENTITY_LIFE_LEAST_S || life > IDENTITY_LIFE_MOST_S)
		return no(f, "its life is out of range");
	if (now_s >= c->expires_s + IDENTITY_LEEWAY_S)
		return no(f, "it has expired");
	if (now_s < c->issued_s - IDENTITY_LEEWAY_S)
		return no(f, "it is from the future");
	return 0;
}

static int
verify(const struct identity_expect *e, struct span token, struct arena *a,
    struct identity_claims *c, struct fault *f)
{
	uint8_t sig[TLS_SIGNATURE];
	struct span is_signed;
	struct span part[3];
	size_t n = 0;

	if (token.len >= IDENTITY_TOKEN || !split(token, part, &is_signed))
		return no(f, "not a compact JWS");
	if (!base64url_parse(part[2], sig, sizeof(sig), &n) ||
	    n != sizeof(sig) || !tls_verify(e->point, is_signed, sig))
		return no(f, "bad signature");
	if (!header_ok(decode(part[0], a), e->point))
		return no(f, "its header is not ours");
	return check(decode(part[1], a), e->domain, e->now_s, c, f);
}

int
identity_verify(const struct identity_expect *e, struct span token,
    struct identity_claims *c, struct fault *f)
{
	struct identity_claims got = { .audience = e->audience };
	struct arena a;
	int rc;

	arena_init(&a, 64 << 10);
	rc = verify(e, token, &a, &got, f);
	arena_release(&a);
	if (rc == 0)
		*c = got;
	return rc;
}
