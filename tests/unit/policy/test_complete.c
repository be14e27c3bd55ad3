/* SPDX-License-Identifier: Apache-2.0 */
/* A child below its parent: what it inherits, and which names are held. */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

static struct arena arena;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 256 << 20);
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
	static struct yaml_errors errors;
	struct policy p = { 0 };
	struct fault f = { 0 };

	if (policy_read_yaml(span_str(text), POLICY_READ_CHILD, &arena, &p,
		&errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return p;
}

static const char parent_text[] =
    "filesystem_policy: {read_only: [/usr]}\n"
    "landlock: {compatibility: best_effort}\n"
    "process: {run_as_user: 7}\n"
    "network_policies: {p: {binaries: [{path: /c}], endpoints: [{host: "
    "'*.x.com', port: 443}, {host: e.x.com, port: 80}, {host: '*.y.com', port: "
    "1}, {port: 9, allowed_ips: [10.0.0.0/8]}]}}\n";

static struct policy
completed(const char *child, const char *parent, unsigned inherit)
{
	struct policy p = parsed(parent);
	struct policy c = child ? parsed(child) : (struct policy){ 0 };
	struct policy out = { 0 };
	struct fault f = { 0 };

	assert_int_equal(
	    policy_complete(child ? &c : NULL, &p, inherit, &arena, &out, &f),
	    0);
	return out;
}

static void
absent_sections_are_the_parents(void **state)
{
	struct policy parent = parsed(parent_text);
	struct policy none = completed(NULL, parent_text, 0);
	struct policy empty = completed("{}", parent_text, 0);
	struct policy set = completed("process: {}\nnetwork_policies: {}\n"
				      "filesystem_policy: {}\nlandlock: {}\n",
	    parent_text, 0);

	(void)state;
	assert_memory_equal(none.hash, parent.hash, POLICY_HASH);
	assert_memory_equal(empty.hash, parent.hash, POLICY_HASH);
	assert_string_equal(policy_format(&set),
	    "version: 1\nfilesystem_policy:\n  include_workdir: false\n"
	    "landlock:\n  compatibility: hard_requirement\nprocess: {}\n"
	    "network_policies: {}\n");
}

static void
sections_named_by_inherit_are_the_parents(void **state)
{
	struct policy c = completed("network_policies: {}\nprocess: {}\n",
	    parent_text, POLICY_NETWORK);

	(void)state;
	assert_int_equal(c.entries_n, 1);
	assert_int_equal(c.allows.n, 4);
	assert_string_equal(c.user, "");
	assert_true(c.best_effort);
}

#define PARENT(e) \
 "network_policies: {p: {binaries: [{path: /**}], endpoints: [" e "]}}"
#define CHILD(e) \
 "network_policies: {k: {binaries: [{path: /c}], endpoints: [{" e "}]}}"

static void
names_behind_wildcards_only_are_held_to_public_addresses(void **state)
{
	static const struct {
		const char *parent;
		const char *child;
		bool held;
	} names[] = {
		{ PARENT("{host: '*.x.com', port: 443}"),
		    CHILD("host: a.x.com, port: 443"), true },
		{ PARENT("{host: '*.x.com', port: 1}"), /* on any port */
		    CHILD("host: a.x.com, port: 443"), true },
		{ PARENT("{host: '**.x.com', port: 1}, {host: 'a*.x.com', "
			 "port: 2}"),
		    CHILD("host: a.x.com, port: 443"), true },
		{ PARENT("{host: '*.x.com', port: 443}, {host: a.x.com, port: "
			 "1}"),
		    CHILD("host: a.x.com, port: 443"), false },
		{ PARENT("{host: '*.x.com', port: 443}, {port: 9, allowed_ips: "
			 "[public]}"),
		    CHILD("host: a.x.com, port: 443"), false },
		{ PARENT("{port: 443, allowed_ips: [public]}"),
		    CHILD("host: a.x.com, port: 443"), false },
		{ PARENT("{host: '*.x.com', port: 443}"),
		    CHILD("host: b.com, port: 443"), false },
		{ PARENT("{host: '*.x.com', port: 443}"),
		    CHILD("host: '*.x.com', port: 443"), false },
		{ PARENT("{host: '*.x.com', port: 443}"),
		    CHILD("host: a.x.com, port: 443, allowed_ips: [any]"),
		    false },
		{ PARENT("{host: '*.x.com', port: 443}"),
		    CHILD("host: 1.1.1.1, port: 443"), false },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		struct policy c = completed(names[i].child, names[i].parent, 0);
		const struct policy_endpoint *e = c.allows.box[0].endpoint;
		struct policy_address private = policy_address_v4(0x0a000001);

		if (e->allowed.is_public != names[i].held)
			fail_msg("%s", names[i].parent);
		if (names[i].held)
			assert_false(
			    policy_addresses_hold(&e->addresses, private));
		assert_int_equal(
		    strstr(policy_format(&c), "allowed_ips: [public]") != NULL,
		    names[i].held);
	}
}

/* Of n endpoints, each with its number in place of the @. */
static struct policy
many(const char *host, unsigned n)
{
	static struct yaml_errors errors;
	const char *at = strchr(host, '@');
	struct policy p = { 0 };
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_int_equal(buf_fmt(&b,
			     "network_policies: {p: {binaries: [{path: /c}], "
			     "endpoints: [\n"),
	    0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(buf_fmt(&b, "{host: '%.*s%u%s', port: 1},\n",
				     (int)(at - host), host, i, at + 1),
		    0);
	assert_int_equal(buf_fmt(&b, "]}}\n"), 0);
	if (policy_read_yaml(buf_span(&b), POLICY_READ_CHILD, &arena, &p,
		&errors, &f) != 0)
		fail_msg("%s", f.text);
	buf_release(&b);
	return p;
}

static void
many_names_below_many_wildcards_end(void **state)
{
	struct policy hard = many("*a*a*a*a*a*a*a*a*a*a*z@*.b.c", 3300);
	struct policy names =
	    many("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x.b.c", 3300);
	struct policy plain = many("*.x@.com", 2000);
	struct policy below = many("api.x@.com", 2000);
	struct policy out = { 0 };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(policy_complete(&names, &hard, 0, &arena, &out, &f),
	    -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	fault_clear(&f);
	assert_int_equal(policy_complete(&below, &plain, 0, &arena, &out, &f),
	    0);
	for (size_t i = 0; i < 2000; i++)
		assert_true(out.entries->endpoints[i].allowed.is_public);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absent_sections_are_the_parents),
		cmocka_unit_test(sections_named_by_inherit_are_the_parents),
		cmocka_unit_test(
		    names_behind_wildcards_only_are_held_to_public_addresses),
		cmocka_unit_test(many_names_below_many_wildcards_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
