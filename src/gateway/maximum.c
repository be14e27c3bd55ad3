/* SPDX-License-Identifier: Apache-2.0 */
/* The maximum in the store; maximum.h has the contracts. */
#include <string.h>

#include "gateway/maximum.h"
#include "gateway/plan.h"
#include "proto/nacre_store.pb.h"
#include "wire/wire.h"

#define KEY "policy.maximum"

static int
read_record(struct gateway *g, struct arena *a, nacre_store_v1_Maximum *out,
    struct fault *f)
{
	const nacre_store_v1_Maximum none = nacre_store_v1_Maximum_init_zero;
	struct span bytes;

	*out = none;
	if (store_setting_get(g->store, KEY, a, &bytes, f) == 0)
		return WIRE_DECODE(nacre_store_v1_Maximum, out, bytes, a, f);
	if (f->code != FAULT_NOT_FOUND)
		return -1;
	fault_clear(f);
	return 0;
}

int
maximum_parse(struct span text, struct arena *a, struct policy *p,
    struct fault *f)
{
	return plan_policy_text(text, POLICY_READ_MAXIMUM, a, p, f);
}

int
maximum_read(struct gateway *g, struct arena *a, struct maximum *m,
    struct fault *f)
{
	nacre_store_v1_Maximum kept;

	memset(m, 0, sizeof(*m));
	if (read_record(g, a, &kept, f) < 0)
		return fault_prefix(f, "the maximum");
	m->generation = kept.generation;
	m->is_set = wire_span(kept.policy).len > 0;
	m->set_ms = kept.set_ms;
	m->set_by = kept.set_by == NULL ? "" : kept.set_by;
	if (!m->is_set)
		return 0;
	if (maximum_parse(wire_span(kept.policy), a, &m->policy, f) < 0) {
		f->code = FAULT_SYSTEM;
		return fault_prefix(f, "the maximum in the store");
	}
	return 0;
}

int
maximum_generation(struct gateway *g, uint64_t *generation, struct fault *f)
{
	nacre_store_v1_Maximum kept;
	struct arena a;
	int rc;

	arena_init(&a, 1 << 20);
	rc = read_record(g, &a, &kept, f);
	*generation = kept.generation;
	arena_release(&a);
	return rc;
}

int
maximum_write(struct gateway *g, struct arena *a, struct maximum *m,
    struct fault *f)
{
	nacre_store_v1_Maximum kept = nacre_store_v1_Maximum_init_zero;
	struct buf b;
	int rc;

	if (maximum_generation(g, &m->generation, f) < 0)
		return -1;
	kept.generation = ++m->generation;
	kept.set_ms = m->set_ms = clock_wall_ms();
	kept.set_by = arena_str(a, span_str(m->set_by));
	if (m->is_set)
		kept.policy = wire_bytes(a, m->policy.text);
	buf_init(&b, LIMIT_MESSAGE);
	rc = WIRE_ENCODE(nacre_store_v1_Maximum, &kept, &b, f);
	if (rc == 0)
		rc = store_setting_put(g->store, KEY, buf_span(&b), f);
	buf_release(&b);
	return rc;
}
