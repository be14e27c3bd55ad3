/* SPDX-License-Identifier: Apache-2.0 */
/* Counted requests: one row a peer, however many and whoever they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/unit.h"
#include "audit/audit.h"
#include "gateway/tally.h"

struct seen {
	size_t rows;
	size_t others;
	char last[512];
};

static int
see(void *owner, const struct store_audit *row, struct fault *f)
{
	struct seen *s = owner;

	(void)f;
	s->rows++;
	s->others += strcmp(row->caller, "others") == 0;
	assert_string_equal(row->verb, "call.counted");
	assert_string_equal(row->verdict, "refused");
	(void)snprintf(s->last, sizeof(s->last), "%s %s %s", row->caller,
	    row->reason, row->detail);
	return 0;
}

static struct seen
close_and_see(struct gateway *g)
{
	const struct store_audit_filter all = { 0 };
	struct fault f = { 0 };
	struct seen s = { 0 };

	tally_close(g);
	assert_null(g->tally);
	assert_int_equal(store_audit_list(g->store, &all, see, &s, &f), 0);
	return s;
}

static struct gateway *
make(void)
{
	struct gateway *g = must_alloc(sizeof(*g));
	struct fault f = { 0 };

	g->loop = loop_new(&f);
	g->store = store_open(":memory:", &f);
	assert_non_null(g->loop);
	assert_non_null(g->store);
	return g;
}

static void
drop(struct gateway *g)
{
	store_close(g->store);
	loop_free(g->loop);
	free(g);
}

static void
a_peer_has_one_row(void **state)
{
	struct gateway *g = make();
	struct seen s;

	(void)state;
	for (int i = 0; i < 1000; i++)
		tally_count(g, "uid:7", FAULT_RATE_LIMITED);
	s = close_and_see(g);
	assert_int_equal(s.rows, 1);
	assert_int_equal(
	    strncmp(s.last, "uid:7 RATE_LIMITED 1000 requests", 32), 0);
	drop(g);
}

static void
reasons_and_peers_are_apart(void **state)
{
	struct gateway *g = make();

	(void)state;
	tally_count(g, "uid:7", FAULT_RATE_LIMITED);
	tally_count(g, "uid:7", FAULT_UNAUTHENTICATED);
	tally_count(g, "uid:8", FAULT_UNAUTHENTICATED);
	tally_count(g, "", FAULT_UNAUTHENTICATED);
	assert_int_equal(close_and_see(g).rows, 4);
	drop(g);
}

static void
made_up_peers_share_a_row(void **state)
{
	struct gateway *g = make();
	struct seen s;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		char peer[32];

		(void)snprintf(peer, sizeof(peer), "uid:%d", i);
		tally_count(g, peer,
		    i % 2 ? FAULT_RATE_LIMITED : FAULT_UNAUTHENTICATED);
	}
	s = close_and_see(g);
	assert_true(s.rows <= 128);
	assert_int_equal(s.others, 2);
	drop(g);
}

static void
nothing_counted_is_nothing_written(void **state)
{
	struct gateway *g = make();

	(void)state;
	assert_int_equal(close_and_see(g).rows, 0);
	drop(g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_has_one_row),
		cmocka_unit_test(reasons_and_peers_are_apart),
		cmocka_unit_test(made_up_peers_share_a_row),
		cmocka_unit_test(nothing_counted_is_nothing_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
