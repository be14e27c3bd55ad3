/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP's face of the calls: a tool's arguments ask, its result or one refusal
 * ends it. Refused or not, it walks as every call does, so that it is judged
 * and recorded by the same rows.
 */
#include <string.h>

#include "gateway/admit.h"
#include "gateway/face.h"
#include "gateway/mcp.h"
#include "gateway/refusal.h"
#include "gateway/tool.h"
#include "json/json.h"

enum {
	TELL_BYTES = 64 << 20, /* of policies, while they become JSON */
};

static int
decode(struct call *c, struct fault *f)
{
	const struct mcp_run *r = c->client;
	const struct tool *t = tool_find(r->ask->tool->name);
	enum mcp_side side =
	    c->caller.who & CALL_SANDBOX ? MCP_SANDBOX : MCP_HOST;

	if (t == NULL)
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "'%s' is not served by this gateway", r->ask->tool->name);
	/* What is wrong with them is told to those who may call at all. */
	if (mcp_arguments_check(r->ask->tool, side, r->ask->arguments,
		&c->ask_fault) == 0)
		(void)!t->ask(r->ask->arguments, c->ask, &c->arena,
		    &c->ask_fault);
	return 0;
}

/* As the JSON of the result. A row that makes a root has an inner answer, which
 * is not the tool's. */
static int
write(struct call *c, const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f)
{
	struct mcp_run *r = c->client;
	const struct tool *t = tool_find(r->ask->tool->name);
	struct json_out o;
	struct arena a;
	int rc;

	buf_clear(&r->told);
	if (fields != t->reply)
		return 0;
	arena_init(&a, TELL_BYTES);
	json_out_init(&o, &r->told);
	rc = t->tell(message, &a, &o, f);
	if (rc == 0)
		rc = json_out_done(&o, f);
	arena_release(&a);
	return rc;
}

/* finish() tells it. */
static int
send(struct call *c, struct fault *f)
{
	(void)c;
	(void)f;
	return 0;
}

static void
progress(struct call *c, const struct call_progress *p)
{
	mcp_run_progress(c->client, p);
}

static int
write_result(struct call *c, struct mcp_run *r, struct fault *f)
{
	if (r->told.len == 0)
		(void)fault_set(f, FAULT_SYSTEM, "there is none");
	else if (mcp_result(r->ask, buf_span(&r->told), &r->message, f) == 0)
		return 0;
	log_warn(f, "the answer of %s is lost", c->method->verb);
	return -1;
}

static int
write_refusal(struct call *c, struct mcp_run *r, struct fault *f)
{
	struct buf text;
	int rc;

	buf_init(&text, 256 << 10);
	rc = refusal_json(c, &text, f);
	if (rc == 0)
		rc = mcp_refused(r->ask, buf_span(&text), &r->message, f);
	buf_release(&text);
	return rc;
}

/* Ours, not the caller's: a model cannot mend it. */
static bool
is_failure(enum fault_code code)
{
	return code == FAULT_SYSTEM || code == FAULT_PROTOCOL;
}

static void
write_failure(struct mcp_run *r, const struct fault *why)
{
	struct fault f = { 0 };

	buf_clear(&r->message);
	if (mcp_failure(r->ask,
		why->code == FAULT_LIMIT ? "the result is over 4 MiB"
					 : "the gateway failed: see its log",
		&r->message, &f) < 0)
		log_warn(&f, "an answer is lost");
}

static void
finish(struct call *c)
{
	struct mcp_run *r = c->client;
	struct fault f = { 0 };
	int rc = -1;

	if (c->fault.code == FAULT_NONE)
		rc = write_result(c, r, &f);
	else if (!is_failure(c->fault.code))
		rc = write_refusal(c, r, &f);
	if (rc < 0)
		write_failure(r, &f);
	buf_release(&r->told);
	r->call = NULL;
	mcp_run_over(r);
	call_left(c);
}

static void
freed(struct call *c)
{
	mcp_run_freed(c->client);
}

static const struct call_face face = {
	.most = GATEWAY_CALLS,
	.admit = admit,
	.decode = decode,
	.write = write,
	.send = send,
	.finish = finish,
	.progress = progress,
	.freed = freed,
};

void
mcp_run_start(struct gateway *g, struct mcp_run *r, const struct mcp_who *who)
{
	const struct method *m = method_of_tool(span_str(r->ask->tool->name));
	struct call *c = call_make(g, &face, r,
	    m != NULL ? m : method_unserved(), &who->caller);

	r->call = c;
	if (c->caller.who & CALL_USER)
		c->caller.who |= CALL_TOOL;
	c->has_ask = true;
	c->half_closed = true;
	c->is_unlisted = !r->ask->listed;
	if (m == NULL)
		call_note(c, "%s", r->ask->tool->name);
	call_step(c);
}

void
mcp_run_refuse(struct mcp_run *r, const struct fault *f, const char *hint)
{
	struct mcp_refusal refusal = mcp_refusal_of(f);
	struct fault failed = { 0 };

	buf_clear(&r->message);
	refusal.hint = span_str(hint);
	if (mcp_refusal(r->ask, &refusal, mcp_run_arena(r), &r->message,
		&failed) < 0)
		write_failure(r, &failed);
}

void
mcp_run_cancel(struct mcp_run *r)
{
	struct call *c = r->call;

	r->call = NULL;
	if (c != NULL)
		call_left(c);
}
