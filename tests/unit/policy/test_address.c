/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, their classes in every form, and sets of them. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/inner.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 1 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct policy_address
address(const char *text)
{
	struct policy_address a;

	if (!policy_address_parse(span_str(text), &a))
		fail_msg("no address: %s", text);
	return a;
}

static void
addresses_have_one_text(void **state)
{
	static const char *const same[][2] = {
		{ "10.0.0.1", "10.0.0.1" },
		{ "::ffff:10.0.0.1", "10.0.0.1" },
		{ "::FFFF:0A00:1", "10.0.0.1" },
		{ "::", "::" },
		{ "::1", "::1" },
		{ "1::", "1::" },
		{ "2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1" },
		{ "2001:0db8:0000:1:1:1:1:1", "2001:db8:0:1:1:1:1:1" },
		{ "64:ff9b::1.2.3.4", "64:ff9b::102:304" },
		{ "fd00:ec2::254", "fd00:ec2::254" },
		{ "1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0" },
		{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff" },
	};
	char out[POLICY_ADDRESS];

	(void)state;
	for (size_t i = 0; i < NELEM(same); i++) {
		policy_address_format(address(same[i][0]), out);
		assert_string_equal(out, same[i][1]);
	}
}

static void
what_only_some_resolvers_take_is_no_address(void **state)
{
	static const char *const bad[] = { "", ".", "1", "1.2.3", "1.2.3.4.5",
		"1.2.3.256", "01.2.3.4", "0x7f.0.0.1", "1.2.3.4 ", "1.2.3.-4",
		":", ":::", "1:", ":1", "1::2::3", "1:2:3:4:5:6:7",
		"1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "12345::", "::g",
		"::1.2.3", "1.2.3.4::", "::1%eth0", "[::1]",
		"1:2:3:4:5:6:7:1.2.3.4" };
	struct policy_address a;

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++)
		if (policy_address_parse(span_str(bad[i]), &a))
			fail_msg("taken: %s", bad[i]);
}

static const struct {
	const char *text;
	enum policy_address_class is;
} classes[] = {
	{ "0.0.0.0", POLICY_BLOCKED },
	{ "0.255.255.255", POLICY_BLOCKED },
	{ "1.0.0.0", POLICY_PUBLIC },
	{ "10.0.0.0", POLICY_PRIVATE },
	{ "100.63.255.255", POLICY_PUBLIC },
	{ "100.64.0.0", POLICY_PRIVATE },
	{ "100.100.100.200", POLICY_BLOCKED },
	{ "100.100.100.201", POLICY_PRIVATE },
	{ "100.128.0.0", POLICY_PUBLIC },
	{ "127.0.0.1", POLICY_BLOCKED },
	{ "127.255.255.255", POLICY_BLOCKED },
	{ "128.0.0.0", POLICY_PUBLIC },
	{ "168.63.129.16", POLICY_BLOCKED },
	{ "168.63.129.17", POLICY_PUBLIC },
	{ "169.254.169.254", POLICY_BLOCKED },
	{ "172.15.255.255", POLICY_PUBLIC },
	{ "172.16.0.0", POLICY_PRIVATE },
	{ "172.31.255.255", POLICY_PRIVATE },
	{ "172.32.0.0", POLICY_PUBLIC },
	{ "192.0.0.0", POLICY_PRIVATE },
	{ "192.0.0.192", POLICY_BLOCKED },
	{ "192.0.1.0", POLICY_PUBLIC },
	{ "192.0.2.1", POLICY_PRIVATE },
	{ "192.168.255.255", POLICY_PRIVATE },
	{ "198.17.255.255", POLICY_PUBLIC },
	{ "198.18.0.0", POLICY_PRIVATE },
	{ "198.19.255.255", POLICY_PRIVATE },
	{ "198.20.0.0", POLICY_PUBLIC },
	{ "198.51.100.7", POLICY_PRIVATE },
	{ "203.0.113.7", POLICY_PRIVATE },
	{ "223.255.255.255", POLICY_PUBLIC },
	{ "224.0.0.1", POLICY_BLOCKED },
	{ "240.0.0.1", POLICY_BLOCKED },
	{ "255.255.255.255", POLICY_BLOCKED },
	{ "fe80::1", POLICY_BLOCKED },
	{ "febf::1", POLICY_BLOCKED },
	{ "fec0::1", POLICY_PUBLIC },
	{ "ff02::1", POLICY_BLOCKED },
	{ "fc00::", POLICY_PRIVATE },
	{ "fdff::1", POLICY_PRIVATE },
	{ "fd00:ec2::254", POLICY_BLOCKED },
	{ "fd20:ce::254", POLICY_BLOCKED },
	{ "fd20:ce::255", POLICY_PRIVATE },
	{ "2606:4700::1", POLICY_PUBLIC },
	{ "2001:0:1:2:3:4:5:6", POLICY_BLOCKED },
	{ "2001:1::", POLICY_PUBLIC },
	{ "64:ff9b:1::1", POLICY_BLOCKED },
	{ "64:ff9b::1:0:0", POLICY_PUBLIC },
};

static void
classes_are_those_of_the_page(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(classes); i++)
		if (policy_address_class(address(classes[i].text)) !=
		    classes[i].is)
			fail_msg("%s", classes[i].text);
}

static void
forms_that_carry_an_ipv4_address_have_its_class(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(classes); i++) {
		struct policy_address a = address(classes[i].text);
		uint32_t v4 = (uint32_t)a.low;
		struct policy_address forms[] = {
			{ 0, 0xffff00000000 | v4 },
			{ 0, v4 },
			{ 0x0064ff9b00000000, v4 },
			{ 0x2002000000000000 | (uint64_t)v4 << 16, 0 },
			{ 0x2002000000000000 | (uint64_t)v4 << 16 | 0xffff,
			    UINT64_MAX },
		};

		if (!policy_address_is_v4(a))
			continue;
		for (size_t k = 0; k < NELEM(forms); k++)
			if (policy_address_class(forms[k]) != classes[i].is)
				fail_msg("%s in form %zu", classes[i].text, k);
	}
}

static uint64_t
noise(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void
check(const struct policy_addresses *open, const struct policy_addresses *any,
    struct policy_address a)
{
	enum policy_address_class is = policy_address_class(a);

	assert_int_equal(policy_addresses_hold(open, a), is == POLICY_PUBLIC);
	assert_int_equal(policy_addresses_hold(any, a), is != POLICY_BLOCKED);
}

static void
sets_and_classes_say_the_same(void **state)
{
	struct policy_addresses open;
	struct policy_addresses any;
	struct fault f = { 0 };
	uint64_t seed = 88172645463325252;

	(void)state;
	assert_int_equal(policy_addresses_of(false, &arena, &open, &f), 0);
	assert_int_equal(policy_addresses_of(true, &arena, &any, &f), 0);
	for (size_t i = 0; i < open.n; i++) {
		struct policy_address a = open.range[i].first;
		struct policy_address b = open.range[i].last;

		check(&open, &any, a);
		check(&open, &any, b);
		a.high -= a.low == 0;
		a.low--;
		b.low++;
		b.high += b.low == 0;
		check(&open, &any, a);
		check(&open, &any, b);
	}
	for (int i = 0; i < 100000; i++) {
		check(&open, &any,
		    (struct policy_address){ noise(&seed), noise(&seed) });
		check(&open, &any, policy_address_v4((uint32_t)noise(&seed)));
		check(&open, &any,
		    (struct policy_address){
			0x2002000000000000 | noise(&seed) >> 16, 0 });
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_have_one_text),
		cmocka_unit_test(what_only_some_resolvers_take_is_no_address),
		cmocka_unit_test(classes_are_those_of_the_page),
		cmocka_unit_test(
		    forms_that_carry_an_ipv4_address_have_its_class),
		cmocka_unit_test(sets_and_classes_say_the_same),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
