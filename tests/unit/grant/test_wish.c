/* SPDX-License-Identifier: Apache-2.0 */
/* What a user may ask of a grant, and in which words. */
#include "../../lib/table.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"
#include "json/json.h"

static const int64_t now = 1795953600000; /* 2026-11-29T12:00:00Z */

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

/* The cell that a text of this outcome has in the table. */
static const char *
expiry_word(int rc, const struct grant_wish *w, const struct fault *f)
{
	static char text[32];

	if (rc < 0)
		return strstr(f->text, "future") ? "now"
		    : strstr(f->text, "30 days") ? "long"
						 : "form";
	(void)text_fmt(text, sizeof(text), "+%lld",
	    (long long)(w->expires_ms - now));
	return text;
}

static void
expiry_has_two_forms_and_three_refusals(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/expiry");
	while (table_next(&t)) {
		struct grant_wish w = { 0 };
		struct fault f = { 0 };
		int rc = grant_wish_expires(&w, span_str(t.cell[0]), now, &f);

		if (strcmp(expiry_word(rc, &w, &f), t.cell[1]) != 0)
			fail_msg("line %zu: '%s' is %s", t.line, t.cell[0],
			    expiry_word(rc, &w, &f));
		assert_int_equal(w.has_expiry, rc == 0);
		if (rc < 0)
			assert_string_equal(f.field, "expires");
	}
}

static void
dates_are_those_of_the_calendar(void **state)
{
	static const struct {
		const char *text;
		int64_t secs;
	} dates[] = {
		{ "2027-01-01T00:00:00Z", 1798761600 },
		{ "2028-02-29T00:00:00Z", 1835395200 },
		{ "2000-03-01T00:00:00Z", 951868800 },
		{ "2100-02-28T23:59:59Z", 4107542399 },
		{ "2101-01-01T00:00:00Z", 4133980800 },
		{ "2400-02-29T12:00:00Z", 13574606400 },
		{ "1999-12-31T23:59:59Z", 946684799 },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(dates); i++) {
		struct grant_wish w = { 0 };
		struct fault f = { 0 };
		int64_t ms = dates[i].secs * 1000;

		assert_int_equal(
		    grant_wish_expires(&w, span_str(dates[i].text), ms - 1, &f),
		    0);
		assert_int_equal(w.expires_ms, ms);
		assert_int_equal(
		    grant_wish_expires(&w, span_str(dates[i].text), ms, &f),
		    -1);
	}
}

static enum grant_limit
limit_named(const char *field)
{
	enum grant_limit l = GRANT_DEPTH;

	while (strcmp(field + strlen("max_"), grant_limit_name(l)) != 0)
		l++;
	return l;
}

static void
limits_are_whole_numbers_in_their_range(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/limits");
	while (table_next(&t)) {
		enum grant_limit l = limit_named(t.cell[0]);
		struct grant_wish w = { 0 };
		struct fault f = { 0 };
		int rc = grant_wish_limit_text(&w, l, span_str(t.cell[1]), &f);

		if ((rc == 0) != (strcmp(t.cell[2], "yes") == 0))
			fail_msg("line %zu: '%s' %s", t.line, t.cell[1],
			    f.text);
		assert_int_equal(w.has[l], rc == 0);
		if (rc < 0)
			assert_string_equal(f.field, t.cell[0]);
	}
}

static void
limits_as_numbers_have_the_same_range(void **state)
{
	static const int64_t bad[] = { -1, INT64_MIN, 4097, 1LL << 31,
		1LL << 32, INT64_MAX };
	struct grant_wish w = { 0 };
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < NELEM(bad); i++)
		assert_int_equal(grant_wish_limit(&w, GRANT_TOTAL, bad[i], &f),
		    -1);
	assert_int_equal(grant_wish_limit(&w, GRANT_TOTAL, 4096, &f), 0);
	assert_int_equal(w.max[GRANT_TOTAL], 4096);
}

static void
programs_are_plain_absolute_paths(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/programs");
	while (table_next(&t)) {
		struct grant_wish w = { 0 };
		struct fault f = { 0 };
		int rc = grant_wish_program(&w, span_str(t.cell[0]), &f);
		const struct grant_program *p = &w.programs[0];

		if ((rc < 0) != (strcmp(t.cell[1], "no") == 0))
			fail_msg("line %zu: '%s' %s", t.line, t.cell[0],
			    f.text);
		if (rc < 0) {
			assert_string_equal(f.field, "programs[0]");
			assert_int_equal(w.programs_n, 0);
			continue;
		}
		assert_true(span_is(p->path, t.cell[1]));
		assert_int_equal(p->is_pinned,
		    strcmp(t.cell[2], "pinned") == 0);
		if (p->is_pinned)
			assert_int_equal(p->sha256[31], 0xab);
	}
}

static void
a_path_has_its_longest(void **state)
{
	static char path[LIMIT_PATH + 1];
	struct grant_wish w = { 0 };
	struct fault f = { 0 };

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	assert_int_equal(grant_wish_program(&w, span_of(path, 4095), &f), 0);
	assert_int_equal(grant_wish_program(&w, span_of(path, 4096), &f), -1);
	assert_string_equal(f.field, "programs[1]");
}

static int
read_wish(struct grant_wish *w, const char *text, bool creates, struct fault *f)
{
	const struct json_value *v;

	if (json_parse(span_str(text), &arena, &v, f) < 0)
		fail_msg("%s: %s", text, f->text);
	if (grant_wish_read(w, v, now, f) < 0)
		return -1;
	return creates ? grant_wish_check_create(w, now, f)
		       : grant_wish_check_update(w, f);
}

static void
arguments_are_told_apart_by_field(void **state)
{
	struct table t;

	(void)state;
	table_open(&t, "grant/wish");
	while (table_next(&t)) {
		struct grant_wish w;
		struct fault f = { 0 };
		bool creates = strcmp(t.cell[0], "create") == 0;
		bool good = strcmp(t.cell[2], "ok") == 0;
		int rc = read_wish(&w, t.cell[1], creates, &f);

		if ((rc == 0) != good ||
		    (!good && strcmp(f.field, t.cell[2]) != 0))
			fail_msg("line %zu: %s: field '%s'", t.line, f.text,
			    f.field);
		if (rc < 0)
			assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
expiry_is_a_day_when_none_is_given(void **state)
{
	struct grant_wish w;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(read_wish(&w,
			     "{\"max_depth\":1,\"max_breadth\":2,"
			     "\"max_total\":3,\"programs\":[\"/a\"]}",
			     true, &f),
	    0);
	assert_int_equal(w.expires_ms - now, 24 * 3600 * 1000);
	assert_int_equal(w.max[GRANT_DEPTH], 1);
	assert_int_equal(w.max[GRANT_BREADTH], 2);
	assert_int_equal(w.max[GRANT_TOTAL], 3);
}

static void
what_the_image_lacks_must_be_pinned(void **state)
{
	struct grant_image_program lacks = { 0 };
	struct grant_image_program has = { .is_found = true,
		.resolved = SPAN_LIT("/usr/bin/node-22"),
		.sha256 = { 7 } };
	const char *pin = "/usr/bin/node@sha256:"
			  "abababababababababababababababab"
			  "abababababababababababababababab";
	struct grant_wish w = { 0 };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(grant_wish_program(&w, span_str("/usr/bin/node"), &f),
	    0);
	assert_int_equal(grant_wish_program(&w, span_str(pin), &f), 0);
	assert_int_equal(grant_wish_resolve(&w, 0, &lacks, &f), -1);
	assert_string_equal(f.field, "programs[0]");
	assert_int_equal(grant_wish_resolve(&w, 1, &lacks, &f), 0);
	assert_int_equal(w.programs[1].resolved.len, 0);

	assert_int_equal(grant_wish_resolve(&w, 0, &has, &f), 0);
	assert_true(span_is(w.programs[0].resolved, "/usr/bin/node-22"));
	assert_int_equal(w.programs[0].sha256[0], 7);
	assert_int_equal(grant_wish_resolve(&w, 1, &has, &f), 0);
	assert_int_equal(w.programs[1].sha256[0], 0xab);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expiry_has_two_forms_and_three_refusals),
		cmocka_unit_test(dates_are_those_of_the_calendar),
		cmocka_unit_test(limits_are_whole_numbers_in_their_range),
		cmocka_unit_test(limits_as_numbers_have_the_same_range),
		cmocka_unit_test(programs_are_plain_absolute_paths),
		cmocka_unit_test(a_path_has_its_longest),
		cmocka_unit_test_setup_teardown(
		    arguments_are_told_apart_by_field, start, end),
		cmocka_unit_test_setup_teardown(
		    expiry_is_a_day_when_none_is_given, start, end),
		cmocka_unit_test(what_the_image_lacks_must_be_pinned),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
