/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by name: with SIG and without, and what is none. */
#include <signal.h>

#include "../../lib/unit.h"
#include "gateway/signal.h"

static void
names_are_numbers(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(signal_find("TERM", &f), SIGTERM);
	assert_int_equal(signal_find("SIGTERM", &f), SIGTERM);
	assert_int_equal(signal_find("KILL", &f), SIGKILL);
	assert_int_equal(signal_find("SIGUSR2", &f), SIGUSR2);
	assert_int_equal(signal_find("WINCH", &f), SIGWINCH);
	assert_int_equal(f.code, FAULT_NONE);
}

static void
what_is_none_is_refused_by_name(void **state)
{
	static const char *const none[] = { "", "SIG", "term", "SIGSIGTERM",
		"15", "FOO", "TERM ", NULL };

	(void)state;
	for (size_t i = 0; i < NELEM(none); i++) {
		struct fault f = { 0 };

		assert_int_equal(signal_find(none[i], &f), -1);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_string_equal(f.field, "signal");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_numbers),
		cmocka_unit_test(what_is_none_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
