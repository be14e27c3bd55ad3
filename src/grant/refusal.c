/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The refusal as an object: its table, its making, its JSON. What a refusal
 * means is for the judge; this file never decides.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "grant/inner.h"

enum has {
	HAS_WHY = 1 << 0,
	HAS_PROGRAM = 1 << 1,
	HAS_FIELD = 1 << 2,
	HAS_LIMIT = 1 << 3,
	HAS_RAISED_BY = 1 << 4,
	HAS_AT = 1 << 5,
	HAS_COUNTEREXAMPLE = 1 << 6,
	HAS_WHAT = 1 << 7,
	HAS_PLACE = 1 << 8,
	HAS_NAME = 1 << 9,
	HAS_SANDBOX_ID = 1 << 10,
	HAS_STATE = 1 << 11,
	HAS_RETRY = 1 << 12,
	HAS_STAGE = 1 << 13,
	HAS_REASON = 1 << 14,
};

static const struct row {
	const char *name;
	int grpc;
	int exit;
	unsigned has;
} rows[GRANT_CODES] = {
#define REFUSAL(code, grpc, exit, has) { #code, grpc, exit, has },
#include "grant/refusals.def"
#undef REFUSAL
};

const char *
grant_code_name(enum grant_code c)
{
	return rows[c].name;
}

bool
grant_code_find(struct span name, enum grant_code *c)
{
	for (int i = 0; i < GRANT_CODES; i++) {
		if (span_is(name, rows[i].name)) {
			*c = (enum grant_code)i;
			return true;
		}
	}
	return false;
}

int
grant_code_grpc(enum grant_code c)
{
	return rows[c].grpc;
}

int
grant_code_exit(enum grant_code c)
{
	return rows[c].exit;
}

const char *
grant_why_name(enum grant_why w)
{
	static const char *const names[] = { "", "no_grant", "program", "leaf",
		"kind", "self", "scope" };

	return names[w];
}

const char *
grant_limit_name(enum grant_limit l)
{
	static const char *const names[] = { "depth", "breadth", "total" };

	BUG_IF(l >= GRANT_LIMITS);
	return names[l];
}

static void fill(char *out, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));

/* Names of strangers are in it: cut between characters, never broken ones. */
static void
fill(char *out, size_t size, const char *fmt, va_list ap)
{
	int n = vsnprintf(out, size, fmt, ap);

	if (n < 0)
		out[0] = '\0';
	else if ((size_t)n >= size)
		out[utf8_whole(span_str(out))] = '\0';
	utf8_mend(out);
}

int
grant_refuse(struct grant_refusal *r, enum grant_code code, const char *fmt,
    ...)
{
	va_list ap;

	*r = (struct grant_refusal){ .code = code };
	va_start(ap, fmt);
	fill(r->message, sizeof(r->message), fmt, ap);
	va_end(ap);
	return -1;
}

int
grant_hint(struct grant_refusal *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(r->hint, sizeof(r->hint), fmt, ap);
	va_end(ap);
	return -1;
}

bool
grant_refuse_fault(struct grant_refusal *r, const struct fault *f)
{
	enum grant_code code;

	if (!grant_code_find(span_str(fault_reason(f->code)), &code))
		return false;
	(void)grant_refuse(r, code, "%s", f->text);
	(void)text_copy(r->field, sizeof(r->field), span_str(f->field));
	if (code == GRANT_INVALID_ARGUMENT && f->field[0] != '\0')
		(void)grant_hint(r, "correct '%s' and send the call again",
		    f->field);
	return true;
}

static void
write_text(struct json_out *o, const char *key, struct span s)
{
	if (s.len == 0)
		return;
	json_out_key(o, key);
	json_out_str(o, s);
}

static void
write_limit(const struct grant_refusal *r, struct json_out *o)
{
	write_text(o, "limit", span_str(grant_limit_name(r->limit)));
	json_out_key(o, "used");
	json_out_uint(o, r->used);
	json_out_key(o, "max");
	json_out_uint(o, r->max);
}

static void
write_at(const struct grant_refusal *r, struct json_out *o)
{
	char at[32];

	time_format(r->at_ms, at);
	write_text(o, "at", span_str(at));
}

static void
write_more(const struct grant_refusal *r, struct json_out *o)
{
	const struct {
		const char *key;
		unsigned has;
		struct span text;
	} texts[] = {
		{ "field", HAS_FIELD, span_str(r->field) },
		{ "why", HAS_WHY, span_str(grant_why_name(r->why)) },
		{ "program", HAS_PROGRAM, r->program },
		{ "raised_by", HAS_RAISED_BY, r->raised_by },
		{ "what", HAS_WHAT, r->what },
		{ "place", HAS_PLACE, r->place },
		{ "name", HAS_NAME, r->name },
		{ "sandbox_id", HAS_SANDBOX_ID, r->sandbox_id },
		{ "state", HAS_STATE, span_str(r->state) },
		{ "stage", HAS_STAGE, r->stage },
		{ "reason", HAS_REASON, r->reason },
	};

	for (size_t i = 0; i < NELEM(texts); i++)
		if (rows[r->code].has & texts[i].has)
			write_text(o, texts[i].key, texts[i].text);
}

void
grant_refusal_write(const struct grant_refusal *r, struct json_out *o)
{
	unsigned has = rows[r->code].has;

	json_out_object(o);
	json_out_key(o, "code");
	json_out_text(o, rows[r->code].name);
	json_out_key(o, "message");
	json_out_text(o, r->message);
	json_out_key(o, "hint");
	json_out_text(o, r->hint);
	if (has & HAS_LIMIT)
		write_limit(r, o);
	if (has & HAS_AT)
		write_at(r, o);
	if ((has & HAS_COUNTEREXAMPLE) && r->counterexample.len > 0) {
		json_out_key(o, "counterexample");
		json_out_raw(o, r->counterexample);
	}
	write_more(r, o);
	if (has & HAS_RETRY) {
		json_out_key(o, "retry_after_ms");
		json_out_int(o, r->retry_after_ms);
	}
	json_out_end(o);
}
