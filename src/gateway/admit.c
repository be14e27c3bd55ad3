/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets by caller, and the question to the grant room. */
#include <string.h>

#include "gateway/admit.h"
#include "gateway/mcp.h"
#include "gateway/refuse.h"
#include "gateway/tree.h"

/* Of a user, over all trees and tokens. The least recently used one makes
 * room: its user begins anew. */
static struct grant_bucket *
bucket_of(struct gateway *g, const char *user)
{
	struct admit_rate *rates = g->mcp->rates;
	struct admit_rate *oldest = &rates[0];
	int64_t now = clock_mono_ms();

	for (size_t i = 0; i < ADMIT_RATES; i++) {
		struct admit_rate *r = &rates[i];

		if (r->used_ms > 0 && strcmp(r->user, user) == 0) {
			r->used_ms = now;
			return &r->bucket;
		}
		if (r->used_ms < oldest->used_ms)
			oldest = r;
	}
	*oldest = (struct admit_rate){ .used_ms = now };
	(void)text_copy(oldest->user, sizeof(oldest->user), span_str(user));
	grant_bucket_init(&oldest->bucket, GRANT_RATE_USER, now);
	return &oldest->bucket;
}

static int
admit_user(struct call *c, struct fault *f)
{
	const struct grant_caller caller = {
		.node = GRANT_NOBODY,
		.user = span_str(c->caller.text),
	};
	const struct grant_tree none = { 0 };
	const struct grant_ask ask = { &none, &caller, tree_now() };
	const struct grant_rates rates = {
		.user = bucket_of(c->g, c->caller.text),
	};
	struct grant_refusal r;

	if (grant_may_call(&ask, NULL, &rates, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

static int
ask_tree(struct call *c, struct tree *t, struct fault *f)
{
	const struct grant_caller caller = {
		.is_sandbox = true,
		.node = tree_find(t, c->caller.sandbox_id),
	};
	const struct grant_ask ask = { &t->t, &caller, tree_now() };
	struct tree_member *m = tree_member(t, c->caller.sandbox_id);
	const struct grant_rates rates = {
		.sandbox = &m->inside,
		.tree = &t->memory->rate,
		.user = bucket_of(c->g, t->row[0].user),
		.outside = &m->outside,
	};
	struct grant_refusal r;

	if (grant_may_call(&ask, &c->caller.evidence, &rates, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

static int
admit_sandbox(struct call *c, struct fault *f)
{
	struct store_lineage l;
	struct tree tree;
	struct arena a;
	int rc;

	arena_init(&a, GATEWAY_TREE);
	rc = store_lineage_by_id(c->g->store, c->caller.sandbox_id, &a, &l, f);
	if (rc == 0)
		rc = tree_read(c->g, l.root, &a, &tree, f);
	if (rc == 0)
		rc = ask_tree(c, &tree, f);
	arena_release(&a);
	return rc;
}

int
admit(struct call *c, struct fault *f)
{
	return c->caller.who & CALL_SANDBOX ? admit_sandbox(c, f)
					    : admit_user(c, f);
}
