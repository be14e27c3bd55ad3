/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals as clients get them; refusal.h has the contracts. */
#include <errno.h>
#include <string.h>

#include "gateway/refusal.h"
#include "gateway/tool.h"
#include "json/json.h"
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

enum {
	BUSY_MS = 1000, /* to come again, where nobody knows better */
};

/* What is known of every refusal of a code. */
static nacre_v1_Refusal
more_of(const struct call *c)
{
	nacre_v1_Refusal r = nacre_v1_Refusal_init_zero;

	if (c->refusal != NULL)
		r = *c->refusal;
	if (c->fault.code == FAULT_BUSY && r.retry_after_ms == 0)
		r.retry_after_ms = BUSY_MS;
	return r;
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
	nacre_v1_Refusal r = more_of(c);
	struct fault ignored = { 0 };

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

/* --- as JSON */

/* What to do about a code that has nothing better to say. */
static const char *
hint_for(const char *code)
{
	static const struct {
		const char *code;
		const char *hint;
	} rows[] = {
		{ "NOT_FOUND", "list_sandboxes shows what there is for you" },
		{ "NOT_ALLOWED", "do something else, or tell your user" },
		{ "INVALID_ARGUMENT", "correct the argument and call again" },
		{ "POLICY_INVALID", "get_policy shows how a policy looks" },
		{ "ALREADY_EXISTS", "choose another name" },
		{ "IN_PROGRESS", "call again in a second" },
		{ "NOT_READY", "call again when it is ready" },
		{ "RATE_LIMITED", "call again later" },
		{ "BUSY", "call again in a second" },
		{ "LIMIT_REACHED", "ask your user to raise the limit" },
		{ "UNIMPLEMENTED", "this gateway cannot do it" },
	};

	for (size_t i = 0; i < NELEM(rows); i++)
		if (strcmp(rows[i].code, code) == 0)
			return rows[i].hint;
	return "tell your user";
}

static void
write_texts(const nacre_v1_Refusal *r, struct json_out *o)
{
	const struct {
		const char *key;
		const char *text;
	} texts[] = {
		{ "field", r->field },
		{ "place", r->place },
		{ "what", r->what },
		{ "why", r->why },
		{ "program", r->program },
		{ "limit", r->limit },
		{ "raised_by", r->raised_by },
		{ "state", r->state },
		{ "sandbox_id", r->sandbox_id },
		{ "name", r->name },
		{ "stage", r->stage },
		{ "reason", r->reason },
	};

	for (size_t i = 0; i < NELEM(texts); i++) {
		if (texts[i].text == NULL || texts[i].text[0] == '\0')
			continue;
		json_out_key(o, texts[i].key);
		json_out_text(o, texts[i].text);
	}
}

static void
write_numbers(const nacre_v1_Refusal *r, struct json_out *o)
{
	if (r->limit != NULL && r->limit[0] != '\0') {
		json_out_key(o, "used");
		json_out_uint(o, r->used);
		json_out_key(o, "max");
		json_out_uint(o, r->max);
	}
	if (r->at_ms > 0) {
		char at[32];

		time_format(r->at_ms, at);
		json_out_key(o, "at");
		json_out_text(o, at);
	}
	if (r->retry_after_ms > 0) {
		json_out_key(o, "retry_after_ms");
		json_out_uint(o, r->retry_after_ms);
	}
}

int
refusal_json(struct call *c, struct buf *b, struct fault *f)
{
	nacre_v1_Refusal r = more_of(c);
	const char *code = fault_reason(c->fault.code);
	struct json_out o;

	if (r.code != NULL && r.code[0] != '\0')
		code = r.code;
	r.field = arena_str(&c->arena, span_str(c->fault.field));
	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "code");
	json_out_text(&o, code);
	json_out_key(&o, "message");
	json_out_text(&o, c->fault.text);
	json_out_key(&o, "hint");
	json_out_text(&o, *hint_of(c) != '\0' ? hint_of(c) : hint_for(code));
	write_texts(&r, &o);
	write_numbers(&r, &o);
	if (r.has_counterexample) {
		json_out_key(&o, "counterexample");
		tool_counterexample(&r.counterexample, &o);
	}
	json_out_end(&o);
	return json_out_done(&o, f);
}
