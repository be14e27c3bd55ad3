/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: what is issued verifies, anything else is refused and says why. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "identity/identity.h"
#include "tls/tls.h"

#define DOMAIN "nacre.local"
#define ID     "0a1b2c3d-0000-4000-8000-00000000abcd"
#define LAUNCH "11111111-2222-4333-8444-555555555555"
#define NOW    1800000000

static struct fault fault;
static struct tls_key key;
static char token[IDENTITY_TOKEN];

static struct identity_claims
claims(void)
{
	return (struct identity_claims){
		.audience = IDENTITY_GATEWAY,
		.sandbox_id = ID,
		.launch = LAUNCH,
		.epoch = 3,
		.issued_s = NOW,
		.expires_s = NOW + 3600,
	};
}

static int
set_up(void **state)
{
	const uint8_t secret[32] = { 7, 7, 7 };

	(void)state;
	fault_clear(&fault);
	return tls_key_from_secret(&key, secret, "gateway", &fault);
}

static void
issue(const struct identity_claims *c)
{
	assert_int_equal(identity_issue(&key, DOMAIN, c, token, &fault), 0);
}

static int
verify(const uint8_t *point, const char *domain,
    enum identity_audience audience, int64_t now_s, struct span t,
    struct identity_claims *got)
{
	const struct identity_expect e = { point, domain, audience, now_s };

	return identity_verify(&e, t, got, &fault);
}

static void
refused(struct span t, enum identity_audience audience, int64_t now_s,
    const char *why)
{
	struct identity_claims got;

	fault_clear(&fault);
	assert_int_equal(verify(key.point, DOMAIN, audience, now_s, t, &got),
	    -1);
	assert_int_equal(fault.code, FAULT_UNAUTHENTICATED);
	assert_non_null(strstr(fault.text, why));
}

static void
what_is_issued_verifies(void **state)
{
	struct identity_claims c = claims();
	struct identity_claims got;

	(void)state;
	issue(&c);
	for (int64_t now = NOW - 30; now < NOW + 3630; now += 305)
		assert_int_equal(verify(key.point, DOMAIN, IDENTITY_GATEWAY,
				     now, span_str(token), &got),
		    0);
	assert_string_equal(got.sandbox_id, ID);
	assert_string_equal(got.launch, LAUNCH);
	assert_int_equal(got.epoch, 3);
	assert_int_equal(got.expires_s, NOW + 3600);
}

static void
each_audience_is_apart(void **state)
{
	struct identity_claims c = claims();

	(void)state;
	for (int made = 0; made < IDENTITY_AUDIENCES; made++) {
		c.audience = (enum identity_audience)made;
		issue(&c);
		for (int asked = 0; asked < IDENTITY_AUDIENCES; asked++) {
			if (asked != made)
				refused(span_str(token),
				    (enum identity_audience)asked, NOW,
				    "somebody else");
		}
	}
}

static void
time_is_held_to_half_a_minute(void **state)
{
	struct identity_claims c = claims();

	(void)state;
	issue(&c);
	refused(span_str(token), IDENTITY_GATEWAY, NOW + 3630, "expired");
	refused(span_str(token), IDENTITY_GATEWAY, NOW - 31, "future");
}

static void
another_domain_or_key_is_refused(void **state)
{
	const uint8_t other_secret[32] = { 8 };
	struct identity_claims c = claims();
	struct identity_claims got;
	struct tls_key other;

	(void)state;
	issue(&c);
	assert_int_equal(verify(key.point, "elsewhere", IDENTITY_GATEWAY, NOW,
			     span_str(token), &got),
	    -1);
	fault_clear(&fault);
	assert_int_equal(
	    tls_key_from_secret(&other, other_secret, "gateway", &fault), 0);
	assert_int_equal(verify(other.point, DOMAIN, IDENTITY_GATEWAY, NOW,
			     span_str(token), &got),
	    -1);
	assert_non_null(strstr(fault.text, "bad signature"));
}

static void
every_flipped_byte_is_refused(void **state)
{
	struct identity_claims c = claims();
	size_t n;

	(void)state;
	issue(&c);
	n = strlen(token);
	for (size_t i = 0; i < n; i += 7) {
		token[i] ^= 1;
		refused(span_of(token, n), IDENTITY_GATEWAY, NOW, "refused");
		token[i] ^= 1;
	}
	for (size_t i = 0; i < n; i += 5)
		refused(span_of(token, i), IDENTITY_GATEWAY, NOW, "refused");
}

/* Sign any header and claims, as a careless issuer would. */
static void
forge(const char *header, const char *body)
{
	uint8_t sig[TLS_SIGNATURE];
	size_t n;

	n = base64url_format(span_str(header), token, sizeof(token));
	token[n++] = '.';
	n += base64url_format(span_str(body), token + n, sizeof(token) - n);
	assert_int_equal(tls_sign(&key, span_of(token, n), sig), 0);
	token[n++] = '.';
	n += base64url_format(span_of(sig, sizeof(sig)), token + n,
	    sizeof(token) - n);
	token[n] = '\0';
}

#define SUB   "\"sub\":\"spiffe://" DOMAIN "/openshell/sandbox/" ID "\","
#define TIMES "\"iat\":1800000000,\"exp\":1800003600,"
#define REST  "\"session\":\"" LAUNCH "\",\"auth_epoch\":1"
#define START "{\"iss\":\"nacre-gateway\","

static void
only_our_forms_are_taken(void **state)
{
	static const char *const bodies[] = {
		START SUB "\"aud\":[\"gateway\"]," TIMES REST "}",
		START SUB "\"aud\":\"gateway\"," TIMES REST ",\"x\":1}",
		START "\"aud\":\"gateway\"," TIMES REST "}",
		START SUB "\"aud\":\"gateway\"," TIMES
			  "\"session\":\"a\",\"auth_epoch\":1}",
		START SUB "\"aud\":\"gateway\"," TIMES "\"session\":\"" LAUNCH
			  "\",\"auth_epoch\":0}",
		START SUB "\"aud\":\"gateway\","
			  "\"iat\":1800000000,\"exp\":1800003601," REST "}",
		START SUB "\"aud\":\"gateway\","
			  "\"iat\":1800000000,\"exp\":1800000001," REST "}",
		START SUB SUB "\"aud\":\"gateway\"," TIMES REST "}",
		"[]",
		"",
	};
	char header[128];
	char none[128];
	char made[IDENTITY_TOKEN];
	struct identity_claims c = claims();
	struct identity_claims got;
	size_t n = 0;

	(void)state;
	issue(&c);
	assert_true(
	    base64url_parse(span_of(token, span_find(span_str(token), '.')),
		(uint8_t *)made, sizeof(made), &n));
	assert_true(text_copy(header, sizeof(header), span_of(made, n)));
	forge(header, START SUB "\"aud\":\"gateway\"," TIMES REST "}");
	assert_int_equal(verify(key.point, DOMAIN, IDENTITY_GATEWAY, NOW,
			     span_str(token), &got),
	    0);
	for (size_t i = 0; i < NELEM(bodies); i++) {
		forge(header, bodies[i]);
		refused(span_str(token), IDENTITY_GATEWAY, NOW, "refused");
	}
	assert_true(text_fmt(none, sizeof(none), "{\"alg\":\"none\"%s",
	    strchr(header, ',')));
	forge(none, START SUB "\"aud\":\"gateway\"," TIMES REST "}");
	refused(span_str(token), IDENTITY_GATEWAY, NOW, "header");
}

static void
nothing_out_of_form_is_issued(void **state)
{
	struct identity_claims c = claims();

	(void)state;
	c.expires_s = c.issued_s + 59;
	assert_int_equal(identity_issue(&key, DOMAIN, &c, token, &fault), -1);
	assert_string_equal(fault.field, "life");
	fault_clear(&fault);
	c = claims();
	c.epoch = 0;
	assert_int_equal(identity_issue(&key, DOMAIN, &c, token, &fault), -1);
	fault_clear(&fault);
	c = claims();
	c.sandbox_id[3] = '/';
	assert_int_equal(identity_issue(&key, DOMAIN, &c, token, &fault), -1);
	fault_clear(&fault);
	c = claims();
	assert_int_equal(identity_issue(&key, "a/b", &c, token, &fault), -1);
	assert_string_equal(fault.field, "trust_domain");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_issued_verifies, set_up),
		cmocka_unit_test_setup(each_audience_is_apart, set_up),
		cmocka_unit_test_setup(time_is_held_to_half_a_minute, set_up),
		cmocka_unit_test_setup(another_domain_or_key_is_refused,
		    set_up),
		cmocka_unit_test_setup(every_flipped_byte_is_refused, set_up),
		cmocka_unit_test_setup(only_our_forms_are_taken, set_up),
		cmocka_unit_test_setup(nothing_out_of_form_is_issued, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
