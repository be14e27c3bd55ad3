/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a create, and which of two are the same. */
#include "../../lib/table.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "digest/digest.h"
#include "grant/grant.h"
#include "json/json.h"

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

static int
read_create(struct grant_create *c, const char *text, struct fault *f)
{
	const struct json_value *v;

	if (json_parse(span_str(text), &arena, &v, f) < 0)
		fail_msg("%s: %s", text, f->text);
	return grant_create_read(c, v, &arena, f);
}

static void
arguments_are_told_apart_by_field(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/create");
	while (table_next(&t)) {
		bool is_sandbox = strcmp(t.cell[0], "sandbox") == 0;
		bool good = strcmp(t.cell[2], "ok") == 0;
		struct grant_create c;
		struct fault f = { 0 };
		int rc = read_create(&c, t.cell[1], &f);

		if (rc == 0)
			rc = grant_create_check(&c, is_sandbox, &f);
		if ((rc == 0) != good ||
		    (!good && strcmp(f.field, t.cell[2]) != 0))
			fail_msg("line %zu: %s: field '%s'", t.line, f.text,
			    f.field);
		if (rc < 0)
			assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
what_is_not_said_has_its_default(void **state)
{
	struct grant_create c;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(read_create(&c, "{\"kind\":\"tool\"}", &f), 0);
	assert_int_equal(c.kind, GRANT_TOOL);
	assert_int_equal(c.idle_seconds, 600);
	assert_int_equal(c.wait_ms, 45000);
	assert_false(c.has_name || c.has_policy || c.has_providers ||
	    c.has_request_id || c.has_command);
	assert_int_equal(read_create(&c, "{\"command\":[\"a\"]}", &f), 0);
	assert_int_equal(c.kind, GRANT_AGENT);
}

static void
lists_arrive_whole(void **state)
{
	struct grant_create c;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(read_create(&c,
			     "{\"command\":[\"pi\",\"-p\"],"
			     "\"environment\":{\"A\":\"1\",\"B\":\"\"},"
			     "\"providers\":[\"github\"],"
			     "\"policy\": {\"version\":1} }",
			     &f),
	    0);
	assert_int_equal(c.command_n, 2);
	assert_true(span_is(c.command[1], "-p"));
	assert_int_equal(c.environment_n, 2);
	assert_true(span_is(c.environment[1].name, "B"));
	assert_int_equal(c.environment[1].value.len, 0);
	assert_int_equal(c.providers_n, 1);
	assert_true(span_is(c.policy, "{\"version\":1}"));
}

/* A create with n arguments of `bytes` each. */
static int
check_command(size_t n, size_t bytes, struct fault *f)
{
	static char text[LIMIT_ARGS_BYTES + 1];
	static struct span argv[LIMIT_ARGS + 1];
	struct grant_create c;

	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < n; i++)
		argv[i] = span_of(text, bytes);
	grant_create_init(&c);
	c.has_command = true;
	c.command = argv;
	c.command_n = n;
	return grant_create_check(&c, true, f);
}

static void
a_command_has_256_arguments_and_256_kib(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(check_command(256, 1023, &f), 0);
	assert_int_equal(check_command(256, 1024, &f), -1);
	assert_string_equal(f.field, "command");
	assert_int_equal(check_command(257, 1, &f), -1);
	assert_string_equal(f.field, "command");
	assert_int_equal(check_command(1, LIMIT_ARGS_BYTES - 1, &f), 0);
	assert_int_equal(check_command(1, LIMIT_ARGS_BYTES, &f), -1);
}

static void
an_environment_has_128_entries_of_8_kib(void **state)
{
	static char value[LIMIT_ENV_VALUE + 1];
	static struct grant_variable env[LIMIT_ENV + 1];
	static char names[LIMIT_ENV + 1][8];
	struct grant_create c;
	struct fault f = { 0 };

	(void)state;
	memset(value, 'v', sizeof(value));
	for (size_t i = 0; i < NELEM(env); i++) {
		(void)text_fmt(names[i], sizeof(names[i]), "V%zu", i);
		env[i].name = span_str(names[i]);
		env[i].value = span_of(value, LIMIT_ENV_VALUE);
	}
	grant_create_init(&c);
	c.kind = GRANT_TOOL;
	c.environment = env;
	c.environment_n = LIMIT_ENV;
	assert_int_equal(grant_create_check(&c, true, &f), 0);
	env[5].value.len++;
	assert_int_equal(grant_create_check(&c, true, &f), -1);
	assert_string_equal(f.field, "environment");
	env[5].value.len--;
	env[5].name = env[4].name;
	assert_int_equal(grant_create_check(&c, true, &f), -1);
	env[5].name = span_str(names[5]);
	c.environment_n++;
	assert_int_equal(grant_create_check(&c, true, &f), -1);
	assert_string_equal(f.field, "environment");
}

static void
digest_text(const char *text, uint8_t out[DIGEST_SIZE])
{
	struct grant_create c;
	struct fault f = { 0 };
	uint8_t policy[DIGEST_SIZE];

	if (read_create(&c, text, &f) < 0)
		fail_msg("%s: %s", text, f.text);
	digest_of(c.policy, policy);
	grant_create_digest(&c, c.has_policy ? policy : NULL, out);
}

static void
equal_arguments_have_equal_digests(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/same");
	while (table_next(&t)) {
		uint8_t a[DIGEST_SIZE];
		uint8_t b[DIGEST_SIZE];
		bool same;

		digest_text(t.cell[0], a);
		digest_text(t.cell[1], b);
		same = memcmp(a, b, sizeof(a)) == 0;
		if (same != (strcmp(t.cell[2], "yes") == 0))
			fail_msg("line %zu", t.line);
	}
}

/* A value that spells the head of the next one is still one value. */
static void
no_value_passes_for_two(void **state)
{
	static const char joined[] = "a\3\0\0\0\0\0\0\0\0b";
	struct span one[] = { span_of(joined, sizeof(joined) - 1) };
	struct span two[] = { span_str("a"), span_str("b") };
	struct grant_create c;
	uint8_t a[DIGEST_SIZE];
	uint8_t b[DIGEST_SIZE];

	(void)state;
	grant_create_init(&c);
	c.command = one;
	c.command_n = 1;
	grant_create_digest(&c, NULL, a);
	c.command = two;
	c.command_n = 2;
	grant_create_digest(&c, NULL, b);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void
what_is_inherited_is_an_argument(void **state)
{
	struct grant_create c;
	uint8_t a[DIGEST_SIZE];
	uint8_t b[DIGEST_SIZE];

	(void)state;
	grant_create_init(&c);
	grant_create_digest(&c, NULL, a);
	c.inherit = 8;
	grant_create_digest(&c, NULL, b);
	assert_memory_not_equal(a, b, sizeof(a));
	c.inherit = 12;
	grant_create_digest(&c, NULL, a);
	assert_memory_not_equal(a, b, sizeof(a));
}

static void
a_request_id_is_answered_by_what_is_known(void **state)
{
	const uint8_t other[DIGEST_SIZE] = { 9 };
	struct grant_first first = { .child = SPAN_LIT("id-7") };
	struct grant_refusal r;
	bool is_repeat = true;

	(void)state;
	assert_int_equal(grant_may_repeat(&first, other, &is_repeat, &r), 0);
	assert_false(is_repeat);
	first.is_found = true;
	assert_int_equal(grant_may_repeat(&first, other, &is_repeat, &r), -1);
	assert_int_equal(r.code, GRANT_INVALID_ARGUMENT);
	assert_string_equal(r.field, "request_id");
	assert_int_equal(grant_may_repeat(&first, first.digest, &is_repeat, &r),
	    -1);
	assert_int_equal(r.code, GRANT_IN_PROGRESS);
	assert_true(span_is(r.sandbox_id, "id-7"));
	first.is_done = true;
	assert_int_equal(grant_may_repeat(&first, first.digest, &is_repeat, &r),
	    0);
	assert_true(is_repeat);
	assert_int_equal(grant_may_repeat(&first, other, &is_repeat, &r), -1);
	assert_int_equal(r.code, GRANT_INVALID_ARGUMENT);
	assert_false(is_repeat);
}

static void
an_arena_that_is_spent_is_told(void **state)
{
	const struct json_value *v;
	struct arena small;
	struct grant_create c;
	struct fault f = { 0 };

	(void)state;
	arena_init(&small, 8);
	assert_int_equal(
	    json_parse(span_str("{\"command\":[\"a\",\"b\"]}"), &arena, &v, &f),
	    0);
	assert_int_equal(grant_create_read(&c, v, &small, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	arena_release(&small);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_told_apart_by_field),
		cmocka_unit_test(what_is_not_said_has_its_default),
		cmocka_unit_test(lists_arrive_whole),
		cmocka_unit_test(a_command_has_256_arguments_and_256_kib),
		cmocka_unit_test(an_environment_has_128_entries_of_8_kib),
		cmocka_unit_test(equal_arguments_have_equal_digests),
		cmocka_unit_test(no_value_passes_for_two),
		cmocka_unit_test(what_is_inherited_is_an_argument),
		cmocka_unit_test(a_request_id_is_answered_by_what_is_known),
		cmocka_unit_test(an_arena_that_is_spent_is_told),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
