/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine has to give, and which files take of it. */
#include <sys/syscall.h>

#include <fcntl.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "supervisor/inner.h"

static void
a_number_is_read_by_its_key(void **state)
{
	static const struct {
		const char *text;
		uint64_t kib;
	} rows[] = {
		{ "MemTotal: 9 kB\nMemFree: 8 kB\nMemAvailable:    1234 kB\nx",
		    1234 },
		{ "MemAvailable: 7 kB", 7 },
		{ "MemAvailable: kB\n", 0 },
		{ "MemFree: 8 kB\n", 0 },
		{ "", 0 },
	};
	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++)
		assert_int_equal(
		    memory_number(span_str(rows[i].text), "MemAvailable:"),
		    rows[i].kib);
	assert_int_equal(memory_number(SPAN_LIT("4096\n"), ""), 4096);
	assert_int_equal(memory_number(SPAN_LIT("anon 1\nshmem 5\n"), "shmem "),
	    5);
}

static void
a_memory_file_is_told_from_a_disks(void **state)
{
	with_fd memory = (int)syscall(SYS_memfd_create, "nacre-test", 1U);
	with_fd proc = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(memory >= 0 && proc >= 0);
	assert_true(memory_holds(memory, true));
	assert_false(memory_holds(proc, false));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_read_by_its_key),
		cmocka_unit_test(a_memory_file_is_told_from_a_disks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
