/* SPDX-License-Identifier: Apache-2.0 */
/* What a policy file may ask for today, and how the rest is refused. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"

static struct arena arena;
static struct yaml_errors errors;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 8 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct policy
parsed(const char *text)
{
	struct policy p = { 0 };
	struct fault f = { 0 };

	if (policy_parse(span_str(text), &arena, &p, &errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return p;
}

static const struct {
	const char *text;
	const char *canonical;
} taken[] = {
	{ "version: 1\n", "version: 1\n" },
	{ "{version: 1, network_policies: {}}",
	    "version: 1\nnetwork_policies: {}\n" },
	{ "network_middlewares: {}\nprocess: {}\nversion: 1\n",
	    "version: 1\nprocess: {}\nnetwork_middlewares: {}\n" },
	{ "version: 1\nprocess:\n  run_as_group: sandbox\n"
	  "  run_as_user: 1000\n",
	    "version: 1\nprocess:\n  run_as_user: \"1000\"\n"
	    "  run_as_group: \"sandbox\"\n" },
	{ "version: 1\nprocess: {run_as_user: '4294967294'}\n",
	    "version: 1\nprocess:\n  run_as_user: \"4294967294\"\n" },
	{ "{\"version\":1,\"process\":{\"run_as_user\":\"sandbox\"},"
	  "\"network_policies\":{}}",
	    "version: 1\nprocess:\n  run_as_user: \"sandbox\"\n"
	    "network_policies: {}\n" },
};

static void
what_is_enforced_is_taken_and_has_one_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(taken); i++) {
		struct policy p = parsed(taken[i].text);
		struct policy q = parsed(policy_format(&p));

		assert_string_equal(policy_format(&p), taken[i].canonical);
		assert_string_equal(policy_format(&q), policy_format(&p));
	}
}

static const struct {
	const char *text;
	enum fault_code code;
	const char *says;
} refused[] = {
	{ "", FAULT_INVALID, "1:1: nothing but blanks and comments" },
	{ "[]", FAULT_INVALID, "1:1: policy: expected map, found list" },
	{ "---", FAULT_INVALID, "2:1: policy: expected map, found nothing" },
	{ "{}", FAULT_INVALID, "1:1: version is missing: write 'version: 1'" },
	{ "version: 2", FAULT_INVALID, "1:10: version must be 1" },
	{ "version: '1'", FAULT_INVALID, "1:10: version must be 1" },
	{ "version: 1.0", FAULT_INVALID, "1:10: version must be 1" },
	{ "version:", FAULT_INVALID, "1:9: version must be 1" },
	{ "version: 1\nnetwork: {}\n", FAULT_INVALID,
	    "2:1: unknown key 'network'" },
	{ "version: 1\nprocess:\n", FAULT_INVALID,
	    "2:9: process: expected map, found nothing" },
	{ "version: 1\nprocess: {user: a}", FAULT_INVALID,
	    "2:11: unknown key 'user' in process" },
	{ "version: 1\nprocess: {run_as_user: root}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_group: 0}", FAULT_INVALID,
	    "2:25: run_as_group must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: 4294967295}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: '00'}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: A}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: [a]}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: null}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: ''}", FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nprocess: {run_as_user: "
	  "a23456789012345678901234567890123}",
	    FAULT_INVALID,
	    "2:24: run_as_user must be a name or 1..4294967294, not root" },
	{ "version: 1\nnetwork_policies:\n", FAULT_INVALID,
	    "2:18: network_policies: expected map, found nothing" },
	{ "version: 1\nnetwork_policies: []\n", FAULT_INVALID,
	    "2:19: network_policies: expected map, found list" },
	{ "version: 1\nfilesystem_policy: /tmp\n", FAULT_INVALID,
	    "2:20: filesystem_policy: expected map, found scalar" },
	{ "version: 1\nnetwork_policies: {a: {}}\n", FAULT_UNIMPLEMENTED,
	    "2:1: network_policies is not enforced yet: remove it" },
	{ "version: 1\nfilesystem_policy: {}\n", FAULT_UNIMPLEMENTED,
	    "2:1: filesystem_policy is not enforced yet: remove it" },
	{ "landlock: {}\nversion: 1\nnetwork_middlewares: {a: 1}\n",
	    FAULT_UNIMPLEMENTED,
	    "1:1: landlock is not enforced yet: remove it; "
	    "3:1: network_middlewares is not enforced yet: remove it" },
	{ "landlock: {}\nversion: 3\n", FAULT_INVALID,
	    "2:10: version must be 1" },
	{ "version: &a 1\n", FAULT_INVALID, "1:10: anchors are not supported" },
};

static void
the_rest_is_refused_by_name_and_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(refused); i++) {
		struct policy p = { .has_network = true };
		struct fault f = { 0 };

		if (policy_parse(span_str(refused[i].text), &arena, &p, &errors,
			&f) == 0)
			fail_msg("taken: %s", refused[i].text);
		assert_string_equal(f.text, refused[i].says);
		assert_int_equal(f.code, refused[i].code);
		assert_true(p.has_network);
		assert_true(errors.count > 0);
	}
}

static void
a_refusal_names_its_section_as_field(void **state)
{
	struct policy p;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(policy_parse(span_str("version: 1\nlandlock: {}\n"),
			     &arena, &p, &errors, &f),
	    -1);
	assert_string_equal(f.field, "landlock");
	assert_string_equal(errors.list[0].text,
	    "landlock is not enforced yet: remove it");
}

static void
the_hash_is_of_what_is_said_not_how(void **state)
{
	struct policy a = parsed("version: 1\nprocess: {run_as_user: 7}\n");
	struct policy b = parsed("# x\n{process: {run_as_user: '7'}, "
				 "version: 1}");
	struct policy c = parsed("version: 1\nprocess: {run_as_group: 7}\n");
	struct policy d = parsed("version: 1\n");
	uint8_t x[POLICY_HASH];
	uint8_t y[POLICY_HASH];
	char hex[2 * POLICY_HASH + 1];

	(void)state;
	policy_hash(&a, x);
	policy_hash(&b, y);
	assert_memory_equal(x, y, POLICY_HASH);
	policy_hash(&c, y);
	assert_memory_not_equal(x, y, POLICY_HASH);
	policy_hash(&d, y);
	hex_format(y, POLICY_HASH, hex); /* printf 'version: 1\n' | sha256sum */
	assert_string_equal(hex,
	    "09bfcc6a14b83e2192b8673677725c84"
	    "883ee9cd0c70e45c9ec09daa8f2b2847");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_enforced_is_taken_and_has_one_text),
		cmocka_unit_test(the_rest_is_refused_by_name_and_place),
		cmocka_unit_test(a_refusal_names_its_section_as_field),
		cmocka_unit_test(the_hash_is_of_what_is_said_not_how),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
