/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request from head to decision: front, JSON, message, era, step. A body
 * that claims the second era, or a head that does, is judged by its rules;
 * everything else is the first era.
 */
#include "mcp/inner.h"

void
mcp_step_error(const struct mcp_walk *w, const struct mcp_message *m,
    const struct mcp_error *e, struct mcp_step *s)
{
	*s = (struct mcp_step){
		.kind = MCP_STEP_REPLY,
		.status = e->status,
		.reply = mcp_error_text(w->a, m->has_id ? &m->id : NULL, e),
	};
}

void
mcp_step_result(const struct mcp_walk *w, const struct mcp_message *m, size_t n,
    void (*write)(const struct mcp_walk *w, struct json_out *o),
    struct mcp_step *s)
{
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };

	*s = (struct mcp_step){ .kind = MCP_STEP_REPLY, .status = 200 };
	if (!mcp_buf(w->a, n + m->id.raw.len + 64, &b))
		return;
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	json_out_key(&o, "id");
	json_out_raw(&o, m->id.raw);
	json_out_key(&o, "result");
	json_out_object(&o);
	write(w, &o);
	json_out_end(&o);
	json_out_end(&o);
	if (json_out_done(&o, &f) == 0)
		s->reply = buf_span(&b);
}

static void
unknown_tool(const struct mcp_walk *w, const struct mcp_message *m,
    struct span name, struct mcp_step *s)
{
	char text[32 + MCP_TOOL_NAME * 4];
	char shown[MCP_TOOL_NAME];
	struct mcp_error e = {
		.status = 200,
		.code = MCP_INVALID_PARAMS,
		.message = text,
	};

	text_escape(name, shown, sizeof(shown));
	(void)text_fmt(text, sizeof(text), "Unknown tool: %s", shown);
	mcp_step_error(w, m, &e, s);
}

void
mcp_step_call(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	const struct json_value *arguments = json_get(m->params, "arguments");
	const struct mcp_tool *tool;
	struct mcp_error e = {
		.status = 200,
		.code = MCP_INVALID_PARAMS,
		.message = "Invalid params: name must be a string",
	};
	struct mcp_id token = { 0 };
	struct span name;

	if (!json_str(json_get(m->params, "name"), &name)) {
		mcp_step_error(w, m, &e, s);
		return;
	}
	tool = mcp_tool_find(w->q->server, name);
	if (!tool) {
		unknown_tool(w, m, name, s);
		return;
	}
	if (arguments && !json_is(arguments, JSON_OBJECT)) {
		e.message = "Invalid params: arguments must be an object";
		mcp_step_error(w, m, &e, s);
		return;
	}
	(void)mcp_id_read(json_get(m->meta, "progressToken"), &token);
	*s = (struct mcp_step){ .kind = MCP_STEP_CALL };
	s->call = (struct mcp_call){
		.era = w->d->era,
		.tool = tool,
		.listed = (tool->sides & w->q->side) != 0,
		.arguments = arguments,
		.id = m->id,
		.progress_token = token.raw,
	};
}

/* A client that takes nothing but event streams gets its reply as one. */
void
mcp_reply_answer(struct mcp_walk *w, struct span reply, int status)
{
	struct mcp_answer *out = &w->d->answer;
	struct buf b;

	if (reply.len == 0) {
		mcp_answer_spent(out);
		return;
	}
	if (status != 200 || w->d->accepts.json) {
		mcp_answer_json(out, status, reply);
		return;
	}
	if (!mcp_buf(w->a, reply.len + 64, &b) ||
	    mcp_sse_event(&b, reply) != 0) {
		mcp_answer_spent(out);
		return;
	}
	mcp_answer_stream(out);
	out->stream = false;
	out->body = buf_span(&b);
}

static void
run(struct mcp_walk *w, const struct mcp_call *call)
{
	struct mcp_decision *d = w->d;

	d->calls = arena_get(w->a, sizeof(*d->calls));
	if (!d->calls) {
		mcp_answer_spent(&d->answer);
		return;
	}
	d->calls[0] = *call;
	d->ncalls = 1;
	d->next = MCP_RUN;
}

static void
step_answer(struct mcp_walk *w, const struct mcp_step *s)
{
	switch (s->kind) {
	case MCP_STEP_NOTHING:
		mcp_answer_plain(&w->d->answer, 202);
		break;
	case MCP_STEP_REPLY:
		mcp_reply_answer(w, s->reply, s->status);
		break;
	case MCP_STEP_EVENTS:
		mcp_answer_stream(&w->d->answer);
		w->d->answer.stream = false;
		w->d->answer.body = s->reply;
		if (s->reply.len == 0)
			mcp_answer_spent(&w->d->answer);
		break;
	case MCP_STEP_CALL:
	default:
		run(w, &s->call);
	}
}

static void
legacy_decide(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	struct mcp_error e;

	if (m->kind == MCP_REQUEST && mcp_legacy_is_initialize(m))
		mcp_legacy_initialize(w, m, s);
	else if (!mcp_legacy_enter(w, &e))
		mcp_step_error(w, m, &e, s);
	else if (m->kind == MCP_REQUEST)
		mcp_legacy_step(w, m, s);
	else
		mcp_legacy_notice(w, m);
}

static void
one_decide(struct mcp_walk *w, const struct json_value *root)
{
	struct mcp_step s = { 0 };
	struct mcp_message m;
	struct mcp_error e;

	w->d->cancels = arena_get(w->a, sizeof(*w->d->cancels));
	if (!w->d->cancels) {
		mcp_answer_spent(&w->d->answer);
		return;
	}
	if (!mcp_message_read(root, w->is_modern, &m, &e)) {
		mcp_step_error(w, &m, &e, &s);
	} else if (m.kind == MCP_RESPONSE) {
		s.kind = MCP_STEP_NOTHING;
	} else if (m.claim || w->is_modern) {
		w->d->era = MCP_MODERN;
		w->d->version = MCP_LATEST;
		if (m.kind == MCP_REQUEST)
			mcp_modern_step(w, &m, &s);
		else
			mcp_modern_notice(w, &m, &s);
	} else {
		legacy_decide(w, &m, &s);
	}
	step_answer(w, &s);
	/* What initialize has to say goes with its answer. */
	if (s.session.len > 0 && w->d->answer.status == 200)
		mcp_answer_header(&w->d->answer, "Mcp-Session-Id", s.session);
}

void
mcp_decide(const struct mcp_request *q, struct arena *a, struct mcp_decision *d)
{
	struct mcp_walk w = { .q = q, .a = a, .d = d };
	const struct json_value *root;
	struct mcp_error e;

	*d = (struct mcp_decision){ .next = MCP_ANSWER };
	if (mcp_front_judge(q, a, &d->accepts, &d->answer))
		return;
	w.has_version = mcp_field(q->head, "mcp-protocol-version", &w.version);
	w.is_modern = w.has_version && mcp_version_is_modern(w.version);
	if (span_is(q->head->method, "DELETE")) {
		mcp_legacy_delete(&w);
		return;
	}
	if (q->body.len > MCP_BODY)
		mcp_too_large(&d->answer);
	else if (!mcp_body_read(q->body, a, &root, &e))
		mcp_answer_error(&d->answer, a, &e);
	else if (json_is(root, JSON_ARRAY))
		mcp_batch_decide(&w, root);
	else
		one_decide(&w, root);
}
