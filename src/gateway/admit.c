/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets by caller, and the question to the grant room. */
#include <string.h>

#include "gateway/admit.h"
#include "gateway/mcp.h"
#include "gateway/refuse.h"

static struct grant_now
now(void)
{
	return (struct grant_now){ clock_wall_ms(), clock_mono_ms() };
}

/* The least recently used one makes room: its caller begins anew. */
static struct admit_rate *
rate_of(struct gateway *g, enum grant_rate kind, const char *whose)
{
	struct admit_rate *rates = g->mcp->rates;
	struct admit_rate *oldest = &rates[0];
	int64_t mono = clock_mono_ms();
	char key[sizeof(oldest->key)];

	(void)text_fmt(key, sizeof(key), "%d %s", (int)kind, whose);
	for (size_t i = 0; i < ADMIT_RATES; i++) {
		struct admit_rate *r = &rates[i];

		if (r->used_ms > 0 && strcmp(r->key, key) == 0) {
			r->used_ms = mono;
			return r;
		}
		if (r->used_ms < oldest->used_ms)
			oldest = r;
	}
	*oldest = (struct admit_rate){ .used_ms = mono };
	memcpy(oldest->key, key, sizeof(key));
	grant_bucket_init(&oldest->bucket, kind, mono);
	return oldest;
}

static int
admit_user(struct call *c, struct fault *f)
{
	const struct grant_caller caller = {
		.node = GRANT_NOBODY,
		.user = span_str(c->caller.text),
	};
	const struct grant_tree none = { 0 };
	const struct grant_ask ask = { &none, &caller, now() };
	const struct grant_rates rates = {
		.user = &rate_of(c->g, GRANT_RATE_USER, c->caller.text)->bucket,
	};
	struct grant_refusal r;

	if (grant_may_call(&ask, NULL, &rates, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

/* Grants are not given yet: whoever asks has none. */
static int
admit_sandbox(struct call *c, struct fault *f)
{
	struct store_sandbox row = { 0 };
	struct grant_node self = {
		.id = span_str(c->caller.sandbox_id),
		.parent = GRANT_NOBODY,
		.life = GRANT_RUNNING,
	};
	const struct grant_tree tree = { .node = &self, .n = 1 };
	const struct grant_caller caller = { .is_sandbox = true };
	const struct grant_ask ask = { &tree, &caller, now() };
	const struct grant_rates rates = {
		.outside =
		    &rate_of(c->g, GRANT_RATE_OUTSIDE, c->caller.sandbox_id)
			 ->bucket,
	};
	struct grant_refusal r;

	if (store_sandbox_by_id(c->g->store, c->caller.sandbox_id, &c->arena,
		&row, f) < 0)
		return -1;
	self.name = span_str(row.name);
	if (grant_may_call(&ask, &c->caller.evidence, &rates, &r) < 0)
		return refuse(c, &r, f);
	return 0;
}

int
admit(struct call *c, struct fault *f)
{
	return c->caller.who & CALL_SANDBOX ? admit_sandbox(c, f)
					    : admit_user(c, f);
}
