/* rooms: json yaml policy */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena of every size, from none to enough: parsers answer with FAULT_LIMIT
 * until the text fits, then with the same tree; never anything else.
 */
#include <string.h>

#include "../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "policy/policy.h"
#include "yaml/yaml.h"

enum {
	ENOUGH = 65536,
	STEP = 16, /* what the arena rounds to */
};

typedef int (*parse_fn)(struct arena *a, struct fault *f);

static int
json_read(struct arena *a, struct fault *f)
{
	const struct json_value *root = NULL;
	int rc = json_parse(span_str("{\"a\":[1,\"two\\n\",{\"b\":null}],"
				     "\"c\":\"\xc3\xa9\",\"d\":{}}"),
	    a, &root, f);

	assert_true((rc == 0) == (root != NULL));
	if (rc == 0)
		assert_int_equal(root->count, 3);
	return rc;
}

static int
yaml_read(struct arena *a, struct fault *f)
{
	const struct yaml_node *root = NULL;
	struct yaml_errors errors;
	int rc =
	    yaml_parse(span_str("a: [1, 'two', {b: }]\nc: |\n  x\nd: {}\n"), a,
		&root, &errors, f);

	assert_true((rc == 0) == (root != NULL));
	if (rc == 0)
		assert_int_equal(root->count, 3);
	return rc;
}

static int
policy_read(struct arena *a, struct fault *f)
{
	struct policy p = { 0 };
	struct yaml_errors errors;
	int rc = policy_parse(
	    span_str("version: 1\nprocess: {run_as_user: sandbox}"), a, &p,
	    &errors, f);

	assert_true((rc == 0) == p.has_process);
	return rc;
}

static void
every_size(parse_fn parse)
{
	bool fitted = false;

	for (size_t cap = 0; cap <= ENOUGH; cap += STEP) {
		struct arena a;
		struct fault f = { 0 };
		int rc;

		arena_init(&a, cap);
		rc = parse(&a, &f);
		assert_int_equal(f.code, rc == 0 ? FAULT_NONE : FAULT_LIMIT);
		assert_true(a.used <= cap);
		assert_false(fitted && rc != 0);
		fitted = rc == 0;
		arena_release(&a);
	}
	assert_true(fitted);
}

static void
json_needs_what_it_needs(void **state)
{
	(void)state;
	every_size(json_read);
}

static void
yaml_needs_what_it_needs(void **state)
{
	(void)state;
	every_size(yaml_read);
}

static void
a_policy_needs_what_it_needs(void **state)
{
	(void)state;
	every_size(policy_read);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_needs_what_it_needs),
		cmocka_unit_test(yaml_needs_what_it_needs),
		cmocka_unit_test(a_policy_needs_what_it_needs),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
