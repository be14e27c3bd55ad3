/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals as callers read them: codes, statuses, and one JSON object. */
#include "../../lib/table.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"
#include "json/json.h"

static void
codes_are_those_of_the_page(void **state)
{
	struct table t;
	int n = 0;

	(void)state;
	table_open(&t, "grant/codes");
	while (table_next(&t)) {
		enum grant_code c = GRANT_CODES;
		char row[64];

		if (!grant_code_find(span_str(t.cell[0]), &c))
			fail_msg("line %zu: no such code", t.line);
		assert_string_equal(grant_code_name(c), t.cell[0]);
		(void)text_fmt(row, sizeof(row), "%d %d", grant_code_grpc(c),
		    grant_code_exit(c));
		assert_string_equal(row, t.cell[1]);
		n++;
	}
	assert_int_equal(n, GRANT_CODES);
}

/* Everything set: what a code does not have must not be written. */
static void
fill(struct grant_refusal *r, enum grant_code c)
{
	(void)grant_refuse(r, c, "m");
	(void)grant_hint(r, "h");
	(void)text_copy(r->field, sizeof(r->field), SPAN_LIT("f"));
	r->why = GRANT_WHY_PROGRAM;
	r->program = SPAN_LIT("/bin/sh");
	r->limit = GRANT_TOTAL;
	r->used = 4;
	r->max = 5;
	r->raised_by = SPAN_LIT("uid:1000");
	r->at_ms = 1795953600000;
	r->counterexample = SPAN_LIT("{\"section\":\"network\"}");
	r->what = SPAN_LIT("no_image");
	r->place = SPAN_LIT("3:5");
	r->name = SPAN_LIT("worker");
	r->sandbox_id = SPAN_LIT("id-7");
	r->state = "stopping";
	r->retry_after_ms = 250;
	r->stage = SPAN_LIT("boot");
	r->reason = SPAN_LIT("no disk");
}

static void
expect_json(const struct grant_refusal *r, const char *want)
{
	struct json_out o;
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 1 << 16);
	json_out_init(&o, &b);
	grant_refusal_write(r, &o);
	if (json_out_done(&o, &f) < 0)
		fail_msg("%s", f.text);
	if (!span_is(buf_span(&b), want))
		fail_msg("%.*s", (int)b.len, (const char *)buf_ptr(&b));
	buf_release(&b);
}

static void
an_object_has_what_its_code_has(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/codes");
	while (table_next(&t)) {
		struct grant_refusal r;
		enum grant_code c;
		char want[512];

		assert_true(grant_code_find(span_str(t.cell[0]), &c));
		fill(&r, c);
		(void)text_fmt(want, sizeof(want),
		    "{\"code\":\"%s\",\"message\":\"m\",\"hint\":\"h\"%s%s}",
		    t.cell[0], t.cell[2][0] ? "," : "", t.cell[2]);
		expect_json(&r, want);
	}
}

static void
what_is_not_known_is_left_out(void **state)
{
	struct grant_refusal r;

	(void)state;
	(void)grant_refuse(&r, GRANT_NOT_ALLOWED, "no \"%s\"", "x");
	r.why = GRANT_WHY_LEAF;
	expect_json(&r,
	    "{\"code\":\"NOT_ALLOWED\",\"message\":\"no \\\"x\\\"\","
	    "\"hint\":\"\",\"why\":\"leaf\"}");
}

static void
faults_become_refusals_by_their_reason(void **state)
{
	struct grant_refusal r;
	struct fault f = { 0 };

	(void)state;
	(void)fault_field(&f, "wait_ms", "wait_ms must be 0 to 45000");
	assert_true(grant_refuse_fault(&r, &f));
	assert_int_equal(r.code, GRANT_INVALID_ARGUMENT);
	assert_string_equal(r.field, "wait_ms");
	assert_string_equal(r.hint,
	    "correct 'wait_ms' and send the call again");
	(void)fault_set(&f, FAULT_NOT_FOUND, "no such file");
	assert_true(grant_refuse_fault(&r, &f));
	assert_int_equal(r.code, GRANT_NOT_FOUND);
	(void)fault_set(&f, FAULT_SYSTEM, "disk full");
	r.code = GRANT_BUSY;
	assert_false(grant_refuse_fault(&r, &f));
	assert_int_equal(r.code, GRANT_BUSY);
}

static void
long_words_of_strangers_are_cut_between_characters(void **state)
{
	struct grant_refusal r;
	char name[600];

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xa9", 2);
	name[sizeof(name) - 2] = '\0';
	(void)grant_refuse(&r, GRANT_NOT_FOUND, "x%s", name);
	assert_true(utf8_valid(span_str(r.message)));
	assert_int_equal(strlen(r.message), 239);
	(void)grant_refuse(&r, GRANT_NOT_FOUND, "%s", name);
	assert_true(utf8_valid(span_str(r.message)));
	assert_int_equal(strlen(r.message), 238);
	(void)grant_hint(&r,
	    "a\xff"
	    "b");
	assert_string_equal(r.hint, "a?b");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_are_those_of_the_page),
		cmocka_unit_test(an_object_has_what_its_code_has),
		cmocka_unit_test(what_is_not_known_is_left_out),
		cmocka_unit_test(faults_become_refusals_by_their_reason),
		cmocka_unit_test(
		    long_words_of_strangers_are_cut_between_characters),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
