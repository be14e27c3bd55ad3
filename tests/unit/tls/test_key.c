/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: the same secret gives the same server; signatures are strict. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "tls/tls.h"

static struct fault fault;

static void
unhex(const char *hex, uint8_t *out, size_t n)
{
	assert_true(hex_parse(span_str(hex), out, n));
}

static void
the_same_secret_gives_the_same_certificate(void **state)
{
	static const uint8_t random[TLS_ENTROPY] = { 9 };
	struct tls_key a;
	struct tls_key b;
	struct tls_key c;

	(void)state;
	assert_int_equal(tls_key_make(&a, random, "a.nacre", &fault), 0);
	assert_int_equal(tls_key_make(&b, random, "a.nacre", &fault), 0);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(tls_key_from_secret(&c, a.secret, "a.nacre", &fault),
	    0);
	assert_memory_equal(&a, &c, sizeof(a));
	assert_int_equal(tls_key_from_secret(&c, a.secret, "b.nacre", &fault),
	    0);
	assert_memory_equal(a.pin, c.pin, sizeof(a.pin));
	assert_memory_not_equal(a.cert, c.cert, a.cert_len);
	tls_key_wipe(&a);
	tls_key_wipe(&b);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void
the_longest_name_fits(void **state)
{
	static const uint8_t random[TLS_ENTROPY] = { 9 };
	char name[TLS_NAME_MAX + 2];
	struct tls_key k;

	(void)state;
	memset(name, 'a', sizeof(name));
	name[TLS_NAME_MAX + 1] = '\0';
	assert_int_equal(tls_key_make(&k, random, name, &fault), -1);
	assert_string_equal(fault.field, "name");
	name[TLS_NAME_MAX] = '\0';
	assert_int_equal(tls_key_make(&k, random, name, &fault), 0);
	assert_true(k.cert_len < sizeof(k.cert));
	assert_int_equal(tls_key_make(&k, random, "", &fault), -1);
	assert_int_equal(tls_key_make(&k, random, "a b", &fault), -1);
}

static void
a_secret_out_of_range_is_refused(void **state)
{
	struct tls_key k;
	uint8_t secret[32] = { 0 };

	(void)state;
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), -1);
	secret[31] = 1;
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), 0);
	/* The order of the group, and one less. */
	unhex(
	    "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551",
	    secret, sizeof(secret));
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), -1);
	secret[31]--;
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), 0);
	memset(secret, 0xff, sizeof(secret));
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), -1);
}

/* RFC 6979 A.2.5, SHA-256, message "sample". */
static void
signatures_are_those_of_rfc_6979(void **state)
{
	struct tls_key k;
	uint8_t secret[32];
	uint8_t want[TLS_SIGNATURE];
	uint8_t sig[TLS_SIGNATURE];

	(void)state;
	unhex(
	    "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721",
	    secret, sizeof(secret));
	unhex(
	    "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716"
	    "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8",
	    want, sizeof(want));
	assert_int_equal(tls_key_from_secret(&k, secret, "a", &fault), 0);
	assert_int_equal(tls_sign(&k, SPAN_LIT("sample"), sig), 0);
	assert_memory_equal(sig, want, sizeof(want));
	assert_true(tls_verify(k.point, SPAN_LIT("sample"), sig));
}

static void
only_the_right_signature_verifies(void **state)
{
	static const uint8_t random[TLS_ENTROPY] = { 7 };
	struct tls_key k;
	uint8_t point[65];
	uint8_t sig[TLS_SIGNATURE];
	uint8_t bad[TLS_SIGNATURE];

	(void)state;
	assert_int_equal(tls_key_make(&k, random, "a", &fault), 0);
	assert_int_equal(tls_sign(&k, SPAN_LIT("text"), sig), 0);
	assert_true(tls_verify(k.point, SPAN_LIT("text"), sig));
	assert_false(tls_verify(k.point, SPAN_LIT("texT"), sig));
	for (size_t i = 0; i < sizeof(sig); i++) {
		memcpy(bad, sig, sizeof(bad));
		bad[i] ^= 0x10;
		assert_false(tls_verify(k.point, SPAN_LIT("text"), bad));
	}
	for (size_t half = 0; half < 2; half++) {
		memcpy(bad, sig, sizeof(bad));
		memset(bad + half * 32, 0, 32);
		assert_false(tls_verify(k.point, SPAN_LIT("text"), bad));
		memset(bad + half * 32, 0xff, 32);
		assert_false(tls_verify(k.point, SPAN_LIT("text"), bad));
	}
	/* A point that is not on the curve, or not uncompressed. */
	memcpy(point, k.point, sizeof(point));
	point[64] ^= 1;
	assert_false(tls_verify(point, SPAN_LIT("text"), sig));
	memcpy(point, k.point, sizeof(point));
	point[0] = 0x02;
	assert_false(tls_verify(point, SPAN_LIT("text"), sig));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_secret_gives_the_same_certificate),
		cmocka_unit_test(the_longest_name_fits),
		cmocka_unit_test(a_secret_out_of_range_is_refused),
		cmocka_unit_test(signatures_are_those_of_rfc_6979),
		cmocka_unit_test(only_the_right_signature_verifies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
