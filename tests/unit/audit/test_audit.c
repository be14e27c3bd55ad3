/* SPDX-License-Identifier: Apache-2.0 */
/* The record: rows chain, and whoever touches one is found. */
#include <string.h>

#include "../../lib/unit.h"
#include "audit/audit.h"

static struct fault fault;
static struct store *store;

static int
set_up(void **state)
{
	(void)state;
	fault_clear(&fault);
	store = store_open(":memory:", &fault);
	return store == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	store_close(store);
	return 0;
}

static void
append(const char *verb, const char *detail)
{
	struct audit_row row = {
		.time_ms = 1000,
		.caller = "uid:1",
		.verb = verb,
		.detail = detail,
	};

	assert_int_equal(audit_append(store, &row, &fault), 0);
}

static void
the_hash_is_the_written_one(void **state)
{
	/* printf of the fields of PROTOCOL.md, piped to sha256sum. */
	const struct store_audit row = {
		.row = 1,
		.time_ms = 2,
		.caller = "c",
		.program = "",
		.parent = "",
		.root = "",
		.verb = "v",
		.sandbox_id = "",
		.sandbox = "",
		.request_id = "",
		.verdict = "ok",
		.reason = "",
		.detail = "d",
	};
	const uint8_t before[STORE_HASH] = { 0 };
	uint8_t hash[STORE_HASH];
	char hex[2 * STORE_HASH + 1];

	(void)state;
	audit_hash(&row, before, hash);
	hex_format(hash, sizeof(hash), hex);
	assert_string_equal(hex,
	    "cd983f3b7447bcf2c501966ddff9efff23bae1e1e93c5ea1aa6ae5a0e7243d26");
}

static void
a_row_that_is_taken_back_leaves_no_gap(void **state)
{
	uint8_t head[STORE_HASH];
	uint64_t rows = 0;

	(void)state;
	append("a", NULL);
	assert_int_equal(store_mark(store, &fault), 0);
	append("b", NULL);
	store_back(store);
	append("c", NULL);
	assert_int_equal(store_audit_head(store, &rows, head, &fault), 0);
	assert_int_equal(rows, 2);
}

static int
note_detail(void *owner, const struct store_audit *row, struct fault *f)
{
	(void)f;
	assert_true(utf8_valid(span_str(row->detail)));
	*(size_t *)owner = strlen(row->detail);
	return 0;
}

static void
long_and_broken_text_is_kept_printable(void **state)
{
	const struct store_audit_filter last = { .after = 1 };
	static char big[2 * AUDIT_DETAIL];
	size_t n = 0;

	(void)state;
	memset(big, 'x', sizeof(big) - 1);
	append("a", "\xff\xfe");
	append("b", big);
	assert_int_equal(
	    store_audit_list(store, &last, note_detail, &n, &fault), 0);
	assert_int_equal(n, AUDIT_DETAIL);
}

static void
faults_have_verdicts(void **state)
{
	(void)state;
	assert_int_equal(audit_verdict_of(NULL), AUDIT_OK);
	fault_set(&fault, FAULT_INVALID, "x");
	assert_int_equal(audit_verdict_of(&fault), AUDIT_REFUSED);
	fault_clear(&fault);
	fault_set(&fault, FAULT_SYSTEM, "x");
	assert_int_equal(audit_verdict_of(&fault), AUDIT_FAILED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_hash_is_the_written_one),
		cmocka_unit_test_setup_teardown(
		    a_row_that_is_taken_back_leaves_no_gap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    long_and_broken_text_is_kept_printable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(faults_have_verdicts, set_up,
		    tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
