/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0, as strict as both eras of MCP allow: what is no request,
 * notification or response is refused before anyone looks at its method.
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

/* The same fault says "syntax", "too much" or "duplicate key". */
static bool
parse_wrong(struct span text, const struct fault *why, struct mcp_error *e)
{
	struct fault f = { 0 };

	if (why->code == FAULT_LIMIT)
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: too deep or too many values");
	if (json_check(text, &f) == 0)
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: a member stands twice in one object");
	return wrong(e, 400, MCP_PARSE_ERROR, "Parse error: not valid JSON");
}

bool
mcp_body_read(struct span body, struct arena *a, const struct json_value **root,
    struct mcp_error *e)
{
	struct fault f = { 0 };

	if (span_starts(body, "\xef\xbb\xbf"))
		body = span_from(body, 3);
	if (json_parse(body, a, root, &f) != 0)
		return parse_wrong(body, &f, e);
	if (!json_is(*root, JSON_OBJECT) && !json_is(*root, JSON_ARRAY))
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: a message is an object");
	return true;
}

/* An integer as JSON writes it: no fraction, no exponent, no "-0". */
static bool
is_integer(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.ptr[i] < '0' || s.ptr[i] > '9') &&
		    !(i == 0 && s.ptr[i] == '-'))
			return false;
	return s.len > 0 && !span_is(s, "-0");
}

bool
mcp_id_read(const struct json_value *v, struct mcp_id *id)
{
	bool is_string = json_is(v, JSON_STRING);

	if (!is_string && !(json_is(v, JSON_NUMBER) && is_integer(v->text)))
		return false;
	if (v->raw.len > MCP_ID)
		return false;
	*id = (struct mcp_id){
		.raw = v->raw,
		.text = v->text,
		.is_string = is_string,
	};
	return true;
}

bool
mcp_id_equal(const struct mcp_id *a, const struct mcp_id *b)
{
	return a->is_string == b->is_string && span_equal(a->text, b->text);
}

static bool
envelope_read(const struct json_value *v, struct mcp_message *m,
    struct mcp_error *e)
{
	const struct json_value *id = json_get(v, "id");
	const struct json_value *method = json_get(v, "method");
	struct span version;

	m->has_id = mcp_id_read(id, &m->id);
	if (id && !m->has_id)
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: id must be a string or an integer of at "
		    "most 256 bytes");
	if (!json_str(json_get(v, "jsonrpc"), &version) ||
	    !span_is(version, "2.0"))
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: jsonrpc must be \"2.0\"");
	if (method && !json_str(method, &m->method))
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: method must be a string");
	m->kind = m->has_id ? MCP_REQUEST : MCP_NOTIFICATION;
	return true;
}

/* Nothing is ever asked of a client, so a response answers nothing. */
static bool
response_read(const struct json_value *v, bool modern, struct mcp_message *m,
    struct mcp_error *e)
{
	bool one = !json_get(v, "result") != !json_get(v, "error");

	if (!m->has_id || !one)
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: no method");
	if (modern)
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: responses cannot be posted");
	m->kind = MCP_RESPONSE;
	return true;
}

static bool
params_read(const struct json_value *v, bool modern, struct mcp_message *m,
    struct mcp_error *e)
{
	const struct json_value *params = json_get(v, "params");
	const struct json_value *meta = json_get(params, "_meta");

	if (params && !json_is(params, JSON_OBJECT))
		return wrong(e, m->has_id && !modern ? 200 : 400,
		    MCP_INVALID_PARAMS,
		    "Invalid params: params must be an object");
	if (meta && !json_is(meta, JSON_OBJECT))
		return wrong(e, 400, MCP_INVALID_PARAMS,
		    "Invalid params: _meta must be an object");
	m->params = params;
	m->meta = meta;
	m->claim = json_get(meta, MCP_OWN "protocolVersion");
	return true;
}

bool
mcp_message_read(const struct json_value *v, bool modern, struct mcp_message *m,
    struct mcp_error *e)
{
	*m = (struct mcp_message){ 0 };
	if (!json_is(v, JSON_OBJECT))
		return wrong(e, 400, MCP_INVALID_REQUEST,
		    "Invalid Request: a message is an object");
	if (!envelope_read(v, m, e))
		return false;
	if (!json_get(v, "method"))
		return response_read(v, modern, m, e);
	return params_read(v, modern, m, e);
}
