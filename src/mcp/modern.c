/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second era, 2026-07-28: a request brings its version and capabilities in
 * _meta and repeats in headers what a proxy wants to know. The ladder below is
 * climbed in order; the first rung that breaks is the answer.
 */
#include "mcp/inner.h"

static bool
wrong(struct mcp_error *e, int status, int code, const char *message)
{
	*e = (struct mcp_error){
		.status = status,
		.code = code,
		.message = message,
	};
	return false;
}

static bool
client_info_is(const struct json_value *info)
{
	return !info ||
	    (json_is(json_get(info, "name"), JSON_STRING) &&
		json_is(json_get(info, "version"), JSON_STRING));
}

static bool
log_level_is(const struct json_value *level)
{
	static const char *const levels[] = { "debug", "info", "notice",
		"warning", "error", "critical", "alert", "emergency" };
	struct span text;

	if (!level)
		return true;
	if (!json_str(level, &text))
		return false;
	for (size_t i = 0; i < NELEM(levels); i++)
		if (span_is(text, levels[i]))
			return true;
	return false;
}

static bool
envelope_holds(const struct mcp_message *m, struct mcp_error *e)
{
	if (!json_is(m->claim, JSON_STRING))
		return wrong(e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: _meta needs " MCP_OWN
		    "protocolVersion, a string");
	if (!json_is(json_get(m->meta, MCP_OWN "clientCapabilities"),
		JSON_OBJECT))
		return wrong(e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: _meta needs " MCP_OWN
		    "clientCapabilities, an object");
	if (!client_info_is(json_get(m->meta, MCP_OWN "clientInfo")))
		return wrong(e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: _meta " MCP_OWN
		    "clientInfo needs a name and a version");
	if (!log_level_is(json_get(m->meta, MCP_OWN "logLevel")))
		return wrong(e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: _meta " MCP_OWN
		    "logLevel is no log level");
	return true;
}

/* What headers say agrees with the body, as far as they say anything. */
static bool
headers_agree(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_error *e)
{
	struct span claim;
	struct span method;

	if (w->has_version && json_str(m->claim, &claim) &&
	    !span_equal(w->version, claim))
		return wrong(e, 400, MCP_HEADER_MISMATCH,
		    "Header mismatch: MCP-Protocol-Version is not the body's");
	if (mcp_field(w->q->head, "mcp-method", &method) &&
	    !span_equal(method, m->method))
		return wrong(e, 400, MCP_HEADER_MISMATCH,
		    "Header mismatch: Mcp-Method is not the body's method");
	return true;
}

static bool
version_is_served(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_error *e)
{
	struct span claim = SPAN_LIT("");

	if (json_str(m->claim, &claim) && span_is(claim, MCP_LATEST))
		return true;
	(void)wrong(e, 400, MCP_UNSUPPORTED_VERSION,
	    "Unsupported protocol version");
	e->data = mcp_versions_data(w->a, claim);
	return false;
}

static bool
stands_once(const struct mcp_walk *w, const char *name)
{
	struct span value;

	return mcp_field(w->q->head, name, &value) &&
	    !mcp_field_is_twice(w->q->head, name);
}

static bool
headers_stand(const struct mcp_walk *w, struct mcp_error *e)
{
	if (!stands_once(w, "mcp-protocol-version"))
		return wrong(e, 400, MCP_HEADER_MISMATCH,
		    "Header mismatch: MCP-Protocol-Version must stand once");
	if (!stands_once(w, "mcp-method"))
		return wrong(e, 400, MCP_HEADER_MISMATCH,
		    "Header mismatch: Mcp-Method must stand once");
	return true;
}

static bool
name_agrees(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_error *e)
{
	static const struct {
		const char *method;
		const char *member;
	} rows[] = {
		{ "tools/call", "name" },
		{ "prompts/get", "name" },
		{ "resources/read", "uri" },
	};
	struct span header;
	struct span body;

	for (size_t i = 0; i < NELEM(rows); i++) {
		if (!span_is(m->method, rows[i].method) ||
		    !json_str(json_get(m->params, rows[i].member), &body))
			continue;
		if (!stands_once(w, "mcp-name") ||
		    !mcp_field(w->q->head, "mcp-name", &header) ||
		    !mcp_mirror_is(header, body))
			return wrong(e, 400, MCP_HEADER_MISMATCH,
			    "Header mismatch: Mcp-Name must stand once and be "
			    "the body's name");
	}
	return true;
}

/* The tool that is called, or NULL: tools/call itself says what is wrong. */
static const struct mcp_tool *
tool_of(const struct mcp_walk *w, const struct mcp_message *m)
{
	struct span name;

	if (!json_str(json_get(m->params, "name"), &name))
		return NULL;
	return mcp_tool_find(w->q->server, name);
}

static bool
capability_declared(const struct mcp_walk *w, const struct mcp_tool *t,
    const struct mcp_message *m, struct mcp_error *e)
{
	const char *data;

	if (!t->capability ||
	    json_get(json_get(m->meta, MCP_OWN "clientCapabilities"),
		t->capability))
		return true;
	(void)wrong(e, 400, MCP_MISSING_CAPABILITY,
	    "Missing required client capability");
	data = arena_fmt(w->a, "{\"requiredCapabilities\":{\"%s\":{}}}",
	    t->capability);
	e->data = span_str(data);
	return false;
}

static bool
argument_mirrored(const struct mcp_walk *w, const struct mcp_tool *t,
    const struct mcp_message *m, struct mcp_error *e)
{
	const struct json_value *v;
	struct span header;

	if (!t->mirrored)
		return true;
	v = json_get(json_get(m->params, "arguments"), t->mirrored);
	if (!v || json_is(v, JSON_NULL))
		return true;
	if (stands_once(w, t->mirror) &&
	    mcp_field(w->q->head, t->mirror, &header) &&
	    mcp_mirror_is(header, json_is(v, JSON_STRING) ? v->text : v->raw))
		return true;
	return wrong(e, 400, MCP_HEADER_MISMATCH,
	    "Header mismatch: Mcp-Param-* must repeat the argument");
}

static bool
tool_agrees(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_error *e)
{
	const struct mcp_tool *t = tool_of(w, m);

	return !t ||
	    (capability_declared(w, t, m, e) && argument_mirrored(w, t, m, e));
}

static void
discover(struct mcp_walk *w, const struct mcp_message *m, struct mcp_step *s)
{
	mcp_step_result(w, m, MCP_ABOUT_BYTES, mcp_discover_write, s);
}

static void
call(struct mcp_walk *w, const struct mcp_message *m, struct mcp_step *s)
{
	struct mcp_error e;

	if (!tool_agrees(w, m, &e))
		mcp_step_error(w, m, &e, s);
	else
		mcp_step_call(w, m, s);
}

static const struct {
	const char *method;
	void (*step)(struct mcp_walk *w, const struct mcp_message *m,
	    struct mcp_step *s);
} methods[] = {
	{ "server/discover", discover },
	{ "tools/list", mcp_list_step },
	{ "tools/call", call },
	{ "subscriptions/listen", mcp_listen_step },
};

void
mcp_modern_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	struct mcp_error e;

	if (!envelope_holds(m, &e) || !headers_agree(w, m, &e) ||
	    !version_is_served(w, m, &e) || !headers_stand(w, &e) ||
	    !name_agrees(w, m, &e)) {
		mcp_step_error(w, m, &e, s);
		return;
	}
	for (size_t i = 0; i < NELEM(methods); i++)
		if (span_is(m->method, methods[i].method)) {
			methods[i].step(w, m, s);
			return;
		}
	(void)wrong(&e, 404, MCP_METHOD_NOT_FOUND, "Method not found");
	mcp_step_error(w, m, &e, s);
}

void
mcp_modern_notice(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	struct mcp_error e;

	if (m->claim && !json_is(m->claim, JSON_STRING))
		(void)wrong(&e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: " MCP_OWN
		    "protocolVersion must be a string");
	else if (headers_agree(w, m, &e))
		return;
	mcp_step_error(w, m, &e, s);
}
