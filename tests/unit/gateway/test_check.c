/* SPDX-License-Identifier: Apache-2.0 */
/* What callers may send: names, environments, labels, commands, sizes. */
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/check.h"

static struct fault fault;

static int
set_up(void **state)
{
	(void)state;
	fault_clear(&fault);
	return 0;
}

static int
env(const char *key, const char *value)
{
	char *k = must_dup(key);
	char *v = must_dup(value);
	const struct pair p = { k, v };
	int rc;

	fault_clear(&fault);
	rc = check_environment(&p, 1, "environment", &fault);
	free(k);
	free(v);
	return rc;
}

static void
names_are_labels(void **state)
{
	static const char *const good[] = { "a", "a-b", "abcdefghijklmnopqrs" };
	static const char *const bad[] = { "", "-a", "a-", "a--b", "A",
		"abcdefghijklmnopqrst", "a.b", "a/b" };

	(void)state;
	for (size_t i = 0; i < NELEM(good); i++)
		assert_int_equal(check_name(good[i], "name", &fault), 0);
	for (size_t i = 0; i < NELEM(bad); i++) {
		fault_clear(&fault);
		assert_int_equal(check_name(bad[i], "name", &fault), -1);
		assert_int_equal(fault.code, FAULT_INVALID);
		assert_string_equal(fault.field, "name");
	}
	fault_clear(&fault);
	assert_int_equal(check_name(NULL, "name", &fault), -1);
}

static void
environment_entries_are_plain(void **state)
{
	char *big = must_alloc(LIMIT_ENV_VALUE + 2);

	(void)state;
	assert_int_equal(env("A_1", "x=y"), 0);
	assert_int_equal(env("_", ""), 0);
	assert_int_equal(env("OPENSHELL_PYFUNC_B64", "x"), 0);
	assert_int_equal(env("1A", "x"), -1);
	assert_int_equal(env("", "x"), -1);
	assert_int_equal(env("A-B", "x"), -1);
	assert_int_equal(env("A", "two\nlines"), -1);
	assert_int_equal(env("OPENSHELL_X", "x"), -1);
	assert_non_null(strstr(fault.text, "reserved"));
	assert_int_equal(env("NACRE_X", "x"), -1);
	memset(big, 'v', LIMIT_ENV_VALUE);
	assert_int_equal(env("A", big), 0);
	big[LIMIT_ENV_VALUE] = 'v';
	assert_int_equal(env("A", big), -1);
	free(big);
}

static void
commands_have_a_program_and_a_cap(void **state)
{
	char empty[] = "";
	char ls[] = "ls";
	char *argv[] = { ls, empty };
	char *none[] = { empty };

	(void)state;
	assert_int_equal(check_command(NULL, 0, 4, "command", &fault), 0);
	assert_int_equal(check_command(argv, 2, 4, "command", &fault), 0);
	assert_int_equal(check_command(none, 1, 4, "command", &fault), -1);
	fault_clear(&fault);
	assert_int_equal(check_command(argv, 2, 1, "command", &fault), -1);
	assert_string_equal(fault.field, "command");
}

static void
selectors_are_pairs(void **state)
{
	struct span out[CHECK_SELECTORS];
	size_t n = 9;

	(void)state;
	assert_int_equal(check_selector("", out, &n, &fault), 0);
	assert_int_equal(n, 0);
	assert_int_equal(check_selector("a=b,x.y/z=", out, &n, &fault), 0);
	assert_int_equal(n, 2);
	assert_true(span_is(out[1], "x.y/z="));
	assert_int_equal(check_selector("a", out, &n, &fault), -1);
	fault_clear(&fault);
	assert_int_equal(check_selector("a=b,", out, &n, &fault), 0);
	fault_clear(&fault);
	assert_int_equal(check_selector("=b", out, &n, &fault), -1);
}

/* { limits: { cpu: "2", memory: "300Mi" } } as protobuf writes a Struct. */
static const uint8_t limits[] = "\x0a\x2f"
				"\x0a\x06limits"
				"\x12\x25\x2a\x23"
				"\x0a\x0a\x0a\x03"
				"cpu\x12\x03\x1a\x01"
				"2"
				"\x0a\x15\x0a\x06memory\x12\x0b\x1a\x09"
				"314572800";

static void
limits_are_read(void **state)
{
	struct resources r;

	(void)state;
	assert_int_equal(
	    check_resources(span_of(limits, sizeof(limits) - 1), &r, &fault),
	    0);
	assert_int_equal(r.cpus, 2);
	assert_int_equal(r.memory_mib, 300);
	assert_int_equal(check_size(&r, &fault), 0);
	assert_int_equal(r.memory_mib, 512);
}

static void
any_cut_or_changed_byte_is_survived(void **state)
{
	uint8_t copy[sizeof(limits)];
	struct resources r;

	(void)state;
	for (size_t n = 0; n < sizeof(limits); n++) {
		fault_clear(&fault);
		(void)!check_resources(span_of(limits, n), &r, &fault);
	}
	for (size_t i = 0; i + 1 < sizeof(limits); i++) {
		for (int v = 0; v < 256; v++) {
			memcpy(copy, limits, sizeof(limits));
			copy[i] = (uint8_t)v;
			fault_clear(&fault);
			(void)!check_resources(
			    span_of(copy, sizeof(limits) - 1), &r, &fault);
		}
	}
}

/* One limit alone. */
static int
limit(const char *key, const char *value, struct resources *r)
{
	uint8_t b[128];
	size_t k = strlen(key);
	size_t v = strlen(value);
	size_t entry = 2 + k + 2 + 2 + v;
	size_t at = 0;

	b[at++] = 0x0a;
	b[at++] = (uint8_t)(8 + 4 + 2 + entry);
	memcpy(b + at, "\x0a\x06limits\x12", 9);
	at += 9;
	b[at++] = (uint8_t)(2 + 2 + entry);
	b[at++] = 0x2a;
	b[at++] = (uint8_t)(2 + entry);
	b[at++] = 0x0a;
	b[at++] = (uint8_t)entry;
	b[at++] = 0x0a;
	b[at++] = (uint8_t)k;
	memcpy(b + at, key, k);
	at += k;
	b[at++] = 0x12;
	b[at++] = (uint8_t)(2 + v);
	b[at++] = 0x1a;
	b[at++] = (uint8_t)v;
	memcpy(b + at, value, v);
	at += v;
	fault_clear(&fault);
	return check_resources(span_of(b, at), r, &fault);
}

static void
quantities_are_those_of_kubernetes(void **state)
{
	static const struct {
		const char *text;
		uint32_t mib;
	} memory[] = { { "512Mi", 512 }, { "1Gi", 1024 }, { "1.5Gi", 1536 },
		{ "65536Ki", 64 }, { "1G", 954 }, { "134217728", 128 },
		{ "128M", 123 } };
	static const struct {
		const char *text;
		uint32_t cpus;
	} cpu[] = { { "1", 1 }, { "500m", 1 }, { "1500m", 2 }, { "2.5", 3 } };
	static const char *const bad[] = { "", "Mi", "-1", "1e3", "1.2345Gi",
		"99999999999999999999", "1 Gi", "0x10" };
	struct resources r;

	(void)state;
	for (size_t i = 0; i < NELEM(memory); i++) {
		assert_int_equal(limit("memory", memory[i].text, &r), 0);
		assert_int_equal(r.memory_mib, memory[i].mib);
	}
	for (size_t i = 0; i < NELEM(cpu); i++) {
		assert_int_equal(limit("cpu", cpu[i].text, &r), 0);
		assert_int_equal(r.cpus, cpu[i].cpus);
	}
	for (size_t i = 0; i < NELEM(bad); i++) {
		assert_int_equal(limit("memory", bad[i], &r), -1);
		assert_string_equal(fault.field, "memory");
	}
	assert_int_equal(limit("disk", "1", &r), -1);
}

static void
sizes_are_in_range(void **state)
{
	struct resources r = { 0 };

	(void)state;
	assert_int_equal(check_size(&r, &fault), 0);
	assert_int_equal(r.cpus, 1);
	assert_int_equal(r.memory_mib, 512);
	r = (struct resources){ .cpus = 9 };
	assert_int_equal(check_size(&r, &fault), -1);
	assert_string_equal(fault.field, "cpus");
	fault_clear(&fault);
	r = (struct resources){ .memory_mib = 63 };
	assert_int_equal(check_size(&r, &fault), -1);
	assert_string_equal(fault.field, "memory");
	fault_clear(&fault);
	r = (struct resources){ .memory_mib = 8193 };
	assert_int_equal(check_size(&r, &fault), -1);
	r = (struct resources){ .cpus = 8, .memory_mib = 8192 };
	assert_int_equal(check_size(&r, &fault), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_are_labels, set_up),
		cmocka_unit_test_setup(environment_entries_are_plain, set_up),
		cmocka_unit_test_setup(commands_have_a_program_and_a_cap,
		    set_up),
		cmocka_unit_test_setup(selectors_are_pairs, set_up),
		cmocka_unit_test_setup(limits_are_read, set_up),
		cmocka_unit_test_setup(any_cut_or_changed_byte_is_survived,
		    set_up),
		cmocka_unit_test_setup(quantities_are_those_of_kubernetes,
		    set_up),
		cmocka_unit_test_setup(sizes_are_in_range, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
