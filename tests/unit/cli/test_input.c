/* SPDX-License-Identifier: Apache-2.0 */
/* The two keys that leave, and all others. */
#include "../../lib/unit.h"
#include "cli/input.h"

#define P "\x10"
#define Q "\x11"

/* What is sent for these pieces, each as one read gives it. */
static bool
type(const char *const *pieces, size_t n, char *sent, bool *waits)
{
	size_t len = 0;
	bool has_left = false;

	*waits = false;
	for (size_t i = 0; i < n && !has_left; i++) {
		uint8_t out[16];
		size_t got;

		has_left =
		    cli_input_keys(waits, span_str(pieces[i]), out, &got);
		assert_true(got <= strlen(pieces[i]) + 1);
		memcpy(sent + len, out, got);
		len += got;
	}
	sent[len] = '\0';
	return has_left;
}

static void
a_key_is_sent_when_the_other_does_not_follow(void **state)
{
	static const struct {
		const char *pieces[4];
		size_t n;
		const char *sent;
		bool waits;
		bool leaves;
	} rows[] = {
		{ { "abc" }, 1, "abc", false, false },
		{ { "a" P "b" }, 1, "a" P "b", false, false },
		{ { "a" P, "b" }, 2, "a" P "b", false, false },
		{ { P }, 1, "", true, false },
		{ { P P }, 1, P, true, false },
		{ { P, P, P, "x" }, 4, P P P "x", false, false },
		{ { Q }, 1, Q, false, false },
		{ { "a" Q P "b" }, 1, "a" Q P "b", false, false },
		{ { "a" P Q "b" }, 1, "a", true, true },
		{ { P, Q }, 2, "", true, true },
		{ { P P Q }, 1, P, true, true },
		{ { P "a" Q }, 1, P "a" Q, false, false },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		char sent[32];
		bool waits;

		assert_int_equal(type(rows[i].pieces, rows[i].n, sent, &waits),
		    rows[i].leaves);
		assert_string_equal(sent, rows[i].sent);
		assert_int_equal(waits, rows[i].waits);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_sent_when_the_other_does_not_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
