/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first era, 2024-11-05 to 2025-11-25: a handshake, then requests of a
 * session. JSON-RPC errors travel in band, with HTTP 200.
 */
#include "mcp/inner.h"

static bool
session_wrong(struct mcp_error *e, int status, const char *message)
{
	*e = (struct mcp_error){
		.status = status,
		.code = MCP_INVALID_REQUEST,
		.message = message,
	};
	return false;
}

static bool
session_enter(struct mcp_walk *w, struct mcp_error *e)
{
	struct span text;

	if (!mcp_field(w->q->head, "mcp-session-id", &text))
		return session_wrong(e, 400,
		    "Bad Request: Mcp-Session-Id header is required");
	if (mcp_field_is_twice(w->q->head, "mcp-session-id"))
		return session_wrong(e, 400,
		    "Bad Request: Mcp-Session-Id must stand once");
	if (!mcp_session_verify(w->q, text, &w->d->session))
		return session_wrong(e, 404, "Session not found");
	w->d->in_session = true;
	return true;
}

bool
mcp_legacy_enter(struct mcp_walk *w, struct mcp_error *e)
{
	const char *version;

	if (!session_enter(w, e))
		return false;
	w->d->version = w->d->session.version;
	if (!w->has_version)
		return true;
	version = mcp_version_legacy(w->version);
	if (!version) {
		(void)session_wrong(e, 400,
		    "Bad Request: Unsupported protocol version");
		e->data = mcp_versions_data(w->a, w->version);
		return false;
	}
	w->d->version = version;
	return true;
}

void
mcp_legacy_delete(struct mcp_walk *w)
{
	struct mcp_error e;

	if (!session_enter(w, &e)) {
		mcp_answer_error(&w->d->answer, w->a, &e);
		return;
	}
	w->d->ends_session = true;
	mcp_answer_plain(&w->d->answer, 204);
}

bool
mcp_legacy_is_initialize(const struct mcp_message *m)
{
	return span_is(m->method, "initialize");
}

void
mcp_legacy_initialize(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	static const struct mcp_error bad = {
		.status = 200,
		.code = MCP_INVALID_PARAMS,
		.message = "Invalid params: initialize needs protocolVersion, "
			   "capabilities and clientInfo",
	};
	struct span wanted;
	char *text;

	if (!json_str(json_get(m->params, "protocolVersion"), &wanted) ||
	    !json_is(json_get(m->params, "capabilities"), JSON_OBJECT) ||
	    !json_is(json_get(m->params, "clientInfo"), JSON_OBJECT)) {
		mcp_step_error(w, m, &bad, s);
		return;
	}
	w->d->version = mcp_version_legacy(wanted);
	if (!w->d->version)
		w->d->version = mcp_version_at(0);
	mcp_step_result(w, m, MCP_ABOUT_BYTES, mcp_initialize_write, s);
	text = arena_get(w->a, MCP_SESSION_TEXT);
	if (!text) {
		s->reply = SPAN_LIT("");
		return;
	}
	mcp_session_issue(w->q, w->d->version, text);
	s->session = span_str(text);
}

static void
pong_write(const struct mcp_walk *w, struct json_out *o)
{
	(void)w;
	(void)o;
}

void
mcp_legacy_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	static const struct mcp_error unknown = {
		.status = 200,
		.code = MCP_METHOD_NOT_FOUND,
		.message = "Method not found",
	};

	if (span_is(m->method, "ping"))
		mcp_step_result(w, m, 0, pong_write, s);
	else if (span_is(m->method, "tools/list"))
		mcp_list_step(w, m, s);
	else if (span_is(m->method, "tools/call"))
		mcp_step_call(w, m, s);
	else
		mcp_step_error(w, m, &unknown, s);
}

void
mcp_legacy_notice(struct mcp_walk *w, const struct mcp_message *m)
{
	struct mcp_id id;

	if (span_is(m->method, "notifications/cancelled") &&
	    mcp_id_read(json_get(m->params, "requestId"), &id))
		w->d->cancels[w->d->ncancels++] = id;
}
