/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a head alone decides, in the order that tells a stranger least: places
 * that are not there, names that are not ours, then who calls, then how.
 */
#include "mcp/inner.h"

static struct mcp_error
refused(int status, const char *message)
{
	return (struct mcp_error){
		.status = status,
		.code = MCP_INVALID_REQUEST,
		.message = message,
	};
}

/* Only /mcp is served; there is no OAuth issuer, so no metadata about one. */
static bool
place_judge(const struct mcp_request *q, struct mcp_answer *out)
{
	if (!span_is(mcp_path(q->head), "/mcp")) {
		mcp_answer_json(out, 404,
		    SPAN_LIT("{\"error\":\"not_found\"}"));
		return true;
	}
	if (!q->server->off)
		return false;
	mcp_answer_json(out, 404, SPAN_LIT("{\"error\":\"mcp_disabled\"}"));
	return true;
}

/* RFC 6750 3: one challenge; no error attribute where no token was sent. */
static bool
caller_judge(const struct mcp_request *q, struct arena *a,
    struct mcp_answer *out)
{
	static const struct {
		int status;
		const char *challenge;
		const char *error;
		const char *text;
	} rows[] = {
		[MCP_NO_TOKEN] = {
			401, "Bearer realm=\"nacre\"",
			"invalid_token", "Missing Authorization header",
		},
		[MCP_BAD_TOKEN] = {
			401,
			"Bearer realm=\"nacre\", error=\"invalid_token\", "
			"error_description=\"The access token is invalid or "
			"expired\"",
			"invalid_token", "The access token is invalid or expired",
		},
		[MCP_NO_SCOPE] = {
			403,
			"Bearer realm=\"nacre\", error=\"insufficient_scope\"",
			"insufficient_scope",
			"The access token may not use this endpoint",
		},
	};
	const char *body;

	if (q->auth == MCP_KNOWN)
		return false;
	body = arena_fmt(a, "{\"error\":\"%s\",\"error_description\":\"%s\"}",
	    rows[q->auth].error, rows[q->auth].text);
	mcp_answer_json(out, rows[q->auth].status, span_str(body));
	mcp_answer_header(out, "WWW-Authenticate",
	    span_str(rows[q->auth].challenge));
	return true;
}

static bool
method_judge(const struct mcp_request *q, struct arena *a,
    struct mcp_answer *out)
{
	struct mcp_error e =
	    refused(405, "Method Not Allowed: requests are POSTed");

	if (span_is(q->head->method, "POST") ||
	    span_is(q->head->method, "DELETE"))
		return false;
	mcp_answer_error(out, a, &e);
	if (span_is(q->head->method, "HEAD"))
		out->body = SPAN_LIT("");
	mcp_answer_header(out, "Allow", SPAN_LIT("POST, DELETE"));
	return true;
}

static bool
media_judge(const struct mcp_request *q, struct arena *a,
    struct mcp_accepts *accepts, struct mcp_answer *out)
{
	struct mcp_error e;

	if (!mcp_content_is(q->head, "application/json")) {
		e = refused(415,
		    "Unsupported Media Type: Content-Type must be "
		    "application/json");
		mcp_answer_error(out, a, &e);
		return true;
	}
	mcp_accept(q->head, accepts);
	if (!accepts->json && !accepts->stream) {
		e = refused(406,
		    "Not Acceptable: answers are application/json or "
		    "text/event-stream");
		mcp_answer_error(out, a, &e);
		return true;
	}
	return false;
}

/* gRPC over HTTP/1.1, of whatever flavour, is told so at any path. */
static bool
grpc_judge(const struct mcp_request *q, struct arena *a, struct mcp_answer *out)
{
	static const char family[] = "application/grpc";
	struct mcp_error e =
	    refused(415, "Unsupported Media Type: MCP only, no gRPC");
	struct span type;

	if (!mcp_field(q->head, "content-type", &type) ||
	    type.len < sizeof(family) - 1)
		return false;
	type.len = sizeof(family) - 1;
	if (!mcp_text_is_nocase(type, family))
		return false;
	mcp_answer_error(out, a, &e);
	return true;
}

bool
mcp_front_judge(const struct mcp_request *q, struct arena *a,
    struct mcp_accepts *accepts, struct mcp_answer *out)
{
	struct mcp_error e;

	if (grpc_judge(q, a, out) || place_judge(q, out))
		return true;
	if (!mcp_origin_allowed(q->server, q->head)) {
		e = refused(403, "Forbidden: Host or Origin not allowed");
		mcp_answer_error(out, a, &e);
		return true;
	}
	if (caller_judge(q, a, out) || method_judge(q, a, out))
		return true;
	if (!span_is(q->head->method, "POST"))
		return false;
	if (media_judge(q, a, accepts, out))
		return true;
	if (q->head->length <= MCP_BODY)
		return false;
	mcp_too_large(out);
	return true;
}

bool
mcp_front(const struct mcp_request *q, struct arena *a, struct mcp_answer *out)
{
	struct mcp_accepts accepts;

	return mcp_front_judge(q, a, &accepts, out);
}
