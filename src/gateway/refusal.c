/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals as clients get them; refusal.h has the contracts. */
#include <errno.h>

#include "gateway/refusal.h"
#include "wire/wire.h"

nacre_v1_Refusal *
refusal_of(struct call *c)
{
	const nacre_v1_Refusal none = nacre_v1_Refusal_init_zero;

	if (c->refusal == NULL) {
		c->refusal = arena_get(&c->arena, sizeof(*c->refusal));
		if (c->refusal != NULL)
			*c->refusal = none;
	}
	return c->refusal;
}

static const char *
hint_of(const struct call *c)
{
	if (c->hint != NULL)
		return c->hint;
	if (c->fault.sys == ENOSPC)
		return "make room on the disk of the state folder";
	return "";
}

/* The words stay. */
static void
drop_parts(nacre_v1_Counterexample *x)
{
	const nacre_v1_Counterexample words = {
		.section = x->section,
		.witness = x->witness,
		.child = x->child,
		.parent = x->parent,
	};

	*x = words;
}

struct span
refusal_encode(struct call *c, struct buf *b)
{
	nacre_v1_Refusal r = nacre_v1_Refusal_init_zero;
	struct fault ignored = { 0 };

	if (c->refusal != NULL)
		r = *c->refusal;
	r.code = arena_str(&c->arena, span_str(fault_reason(c->fault.code)));
	r.message = arena_str(&c->arena, span_str(c->fault.text));
	r.hint = arena_str(&c->arena, span_str(hint_of(c)));
	r.field = arena_str(&c->arena, span_str(c->fault.field));
	if (WIRE_ENCODE(nacre_v1_Refusal, &r, b, &ignored) == 0)
		return buf_span(b);
	buf_clear(b);
	drop_parts(&r.counterexample);
	if (WIRE_ENCODE(nacre_v1_Refusal, &r, b, &ignored) == 0)
		return buf_span(b);
	buf_clear(b);
	r.has_counterexample = false;
	if (WIRE_ENCODE(nacre_v1_Refusal, &r, b, &ignored) == 0)
		return buf_span(b);
	buf_clear(b);
	return buf_span(b);
}
