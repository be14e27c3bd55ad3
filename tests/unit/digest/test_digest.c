/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against FIPS 180-4's examples, whole and in pieces. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "digest/digest.h"

static const struct {
	const char *text;
	const char *hex;
} known[] = {
	{ "",
	    "e3b0c44298fc1c149afbf4c8996fb924"
	    "27ae41e4649b934ca495991b7852b855" },
	{ "abc",
	    "ba7816bf8f01cfea414140de5dae2223"
	    "b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	    "248d6a61d20638b8e5c026930c3e6039"
	    "a33ce45964ff2167f6ecedd419db06c1" },
};

static void
known_answers_are_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(known); i++) {
		uint8_t value[DIGEST_SIZE];
		char hex[DIGEST_HEX];

		digest_of(span_str(known[i].text), value);
		hex_format(value, sizeof(value), hex);
		assert_string_equal(hex, known[i].hex);
	}
}

static void
pieces_of_any_length_add_up(void **state)
{
	uint8_t text[300];
	uint8_t whole[DIGEST_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7);
	digest_of(span_of(text, sizeof(text)), whole);
	for (size_t step = 1; step <= sizeof(text); step++) {
		struct digest d;
		uint8_t value[DIGEST_SIZE];

		digest_init(&d);
		for (size_t at = 0; at < sizeof(text); at += step)
			digest_update(&d,
			    span_of(text + at,
				sizeof(text) - at < step ? sizeof(text) - at
							 : step));
		digest_final(&d, value);
		assert_memory_equal(value, whole, sizeof(whole));
	}
}

static void
a_value_may_be_read_on_the_way(void **state)
{
	struct digest d;
	uint8_t early[DIGEST_SIZE];
	uint8_t late[DIGEST_SIZE];
	uint8_t want[DIGEST_SIZE];

	(void)state;
	digest_init(&d);
	digest_update(&d, SPAN_LIT("a"));
	digest_final(&d, early);
	digest_update(&d, SPAN_LIT("bc"));
	digest_final(&d, late);
	digest_of(SPAN_LIT("a"), want);
	assert_memory_equal(early, want, sizeof(want));
	digest_of(SPAN_LIT("abc"), want);
	assert_memory_equal(late, want, sizeof(want));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers_are_given),
		cmocka_unit_test(pieces_of_any_length_add_up),
		cmocka_unit_test(a_value_may_be_read_on_the_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
