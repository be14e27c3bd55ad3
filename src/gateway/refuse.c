/* SPDX-License-Identifier: Apache-2.0 */
/* One form for all surfaces: refusal.c encodes what is put down here. */
#include "gateway/refusal.h"
#include "gateway/refuse.h"

static char *
text(struct arena *a, struct span s)
{
	return s.len == 0 ? NULL : arena_str(a, s);
}

static void
tell_more(struct arena *a, const struct grant_refusal *r, nacre_v1_Refusal *out)
{
	if (r->code == GRANT_NOT_ALLOWED)
		out->why = text(a, span_str(grant_why_name(r->why)));
	if (r->code == GRANT_LIMIT_REACHED) {
		out->limit = text(a, span_str(grant_limit_name(r->limit)));
		out->used = r->used;
		out->max = r->max;
		out->raised_by = text(a, r->raised_by);
	}
	out->program = text(a, r->program);
	out->at_ms = r->at_ms;
	out->what = text(a, r->what);
	out->place = text(a, r->place);
	out->name = text(a, r->name);
	out->sandbox_id = text(a, r->sandbox_id);
	out->state = text(a, span_str(r->state));
	out->retry_after_ms = (uint64_t)r->retry_after_ms;
	out->stage = text(a, r->stage);
	out->reason = text(a, r->reason);
}

int
refuse(struct call *c, const struct grant_refusal *r, struct fault *f)
{
	nacre_v1_Refusal *more = refusal_of(c);

	if (more != NULL)
		tell_more(&c->arena, r, more);
	if (r->hint[0] != '\0')
		c->hint = arena_str(&c->arena, span_str(r->hint));
	fault_set(f, fault_from_reason(grant_code_name(r->code)), "%s",
	    r->message);
	(void)text_copy(f->field, sizeof(f->field), span_str(r->field));
	return -1;
}

int
refuse_full(struct call *c, const char *limit, size_t used, size_t max,
    struct fault *f)
{
	nacre_v1_Refusal *more = refusal_of(c);

	if (more != NULL) {
		more->limit = text(&c->arena, span_str(limit));
		more->used = used;
		more->max = max;
		more->raised_by = text(&c->arena, SPAN_LIT("nobody"));
	}
	return fault_set(f, FAULT_LIMIT, "there are %zu %s", used, limit);
}

int
refuse_in_state(struct call *c, uint32_t state, const struct fault *f)
{
	if (f->code == FAULT_NOT_READY && refusal_of(c) != NULL)
		refusal_of(c)->state =
		    text(&c->arena, span_str(state_name((enum state)state)));
	return -1;
}

int
refuse_taken(struct call *c, const char *name, const struct fault *f)
{
	if (f->code == FAULT_EXISTS && refusal_of(c) != NULL)
		refusal_of(c)->name = text(&c->arena, span_str(name));
	return -1;
}
