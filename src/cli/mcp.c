/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre mcp call: one tool, once. The result is printed as JSON, a refusal
 * too; the exit code is the refusal's, or that of the command of an exec.
 */
#include <string.h>
#include <unistd.h>

#include "cli/http.h"
#include "cli/inner.h"
#include "json/json.h"

enum {
	REQUEST = 2 << 20,
};

#define OWN     "io.modelcontextprotocol/"
#define VERSION "2026-07-28"

static void
meta_write(struct json_out *o)
{
	json_out_key(o, "_meta");
	json_out_object(o);
	json_out_key(o, OWN "protocolVersion");
	json_out_text(o, VERSION);
	json_out_key(o, OWN "clientCapabilities");
	json_out_object(o);
	json_out_end(o);
	json_out_key(o, OWN "clientInfo");
	json_out_object(o);
	json_out_key(o, "name");
	json_out_text(o, "nacre");
	json_out_key(o, "version");
	json_out_text(o, NACRE_VERSION);
	json_out_end(o);
	json_out_end(o);
}

static int
body_write(const char *tool, struct span arguments, struct buf *b,
    struct fault *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	json_out_key(&o, "id");
	json_out_int(&o, 1);
	json_out_key(&o, "method");
	json_out_text(&o, "tools/call");
	json_out_key(&o, "params");
	json_out_object(&o);
	json_out_key(&o, "name");
	json_out_text(&o, tool);
	json_out_key(&o, "arguments");
	json_out_raw(&o, arguments);
	meta_write(&o);
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static int
request_write(const char *tool, struct span arguments, struct buf *b,
    struct fault *f)
{
	struct buf body;
	int rc;

	buf_init(&body, REQUEST);
	rc = body_write(tool, arguments, &body, f);
	if (rc == 0 &&
	    buf_fmt(b,
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
		"Content-Type: application/json\r\n"
		"Accept: application/json, text/event-stream\r\n"
		"MCP-Protocol-Version: " VERSION "\r\n"
		"Mcp-Method: tools/call\r\nMcp-Name: %s\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		tool, body.len) != 0)
		rc = fault_set(f, FAULT_LIMIT, "the request is too long");
	if (rc == 0)
		rc = buf_add(b, buf_ptr(&body), body.len, f);
	buf_release(&body);
	return rc;
}

/* The last event of a stream is the response; those before are progress. */
static struct span
last_event(struct span s)
{
	struct span found = { 0 };

	while (s.len > 0) {
		size_t n = span_find(s, '\n');
		struct span line = span_of(s.ptr, n);

		if (span_starts(line, "data: "))
			found = span_from(line, 6);
		else if (span_starts(line, "data:"))
			found = span_from(line, 5);
		s = span_from(s, n + 1);
	}
	return found;
}

static void
print(struct span s)
{
	(void)fwrite(s.ptr, 1, s.len, stdout);
	(void)putchar('\n');
}

/* A refusal is one JSON object in a text. */
static int
refused(struct cli *c, const struct json_value *result)
{
	const struct json_value *item = json_first(json_get(result, "content"));
	const struct json_value *object = NULL;
	enum fault_code code = FAULT_NONE;
	struct fault f = { 0 };
	struct span text = { 0 };
	const char *word = "";

	if (!json_str(json_get(item, "text"), &text))
		text = item != NULL ? item->raw : result->raw;
	print(text);
	if (json_parse(text, &c->arena, &object, &f) != 0 ||
	    !json_cstr(json_get(object, "code"), &word))
		return fault_exit(FAULT_REFUSED);
	code = fault_from_reason(word);
	return fault_exit(code != FAULT_NONE ? code : FAULT_REFUSED);
}

static int
succeeded(const char *tool, const struct json_value *result)
{
	const struct json_value *v = json_get(result, "structuredContent");
	int64_t code = 0;
	bool late = false;

	print(v != NULL ? v->raw : result->raw);
	if (strcmp(tool, "exec") != 0)
		return 0;
	if (json_bool(json_get(v, "timed_out"), &late) && late)
		return fault_exit(FAULT_TIMEOUT);
	(void)!json_int(json_get(v, "exit_code"), 0, 255, &code);
	return (int)code;
}

static int
failed(const struct json_value *error)
{
	struct fault f = { 0 };
	const char *text = "the call failed";
	int64_t code = 0;

	(void)!json_cstr(json_get(error, "message"), &text);
	(void)!json_int(json_get(error, "code"), INT32_MIN, INT32_MAX, &code);
	fault_set(&f, code == -32602 ? FAULT_INVALID : FAULT_SYSTEM, "%s",
	    text);
	return cli_fail(&f, NULL);
}

static int
no_response(const struct http_answer *a)
{
	struct fault f = { 0 };

	if (a->status == 503)
		fault_set(&f, FAULT_BUSY, "the gateway cannot be reached now");
	else if (a->status == 404)
		fault_set(&f, FAULT_REFUSED, "MCP is off on this gateway");
	else
		fault_set(&f, FAULT_PROTOCOL, "HTTP status %d", a->status);
	return cli_fail(&f, a->status == 503 ? "try again" : NULL);
}

static int
tell(struct cli *c, const char *tool, const struct http_answer *a)
{
	struct span text = a->is_stream ? last_event(a->body) : a->body;
	const struct json_value *root = NULL;
	const struct json_value *result;
	struct fault f = { 0 };
	bool is_error = false;

	if (json_parse(text, &c->arena, &root, &f) != 0 ||
	    json_get(root, "jsonrpc") == NULL)
		return no_response(a);
	result = json_get(root, "result");
	if (result == NULL)
		return failed(json_get(root, "error"));
	if (json_bool(json_get(result, "isError"), &is_error) && is_error)
		return refused(c, result);
	return succeeded(tool, result);
}

static int
check(const char *tool, const char *arguments, struct cli *c, struct fault *f)
{
	const struct json_value *root;

	for (const char *p = tool; *p; p++)
		if (!(*p >= 'a' && *p <= 'z') && *p != '_')
			return fault_set(f, FAULT_INVALID,
			    "'%.60s' is no tool's name", tool);
	if (json_parse(span_str(arguments), &c->arena, &root, f) != 0)
		return fault_prefix(f, "the arguments");
	if (!json_is(root, JSON_OBJECT))
		return fault_set(f, FAULT_INVALID,
		    "the arguments must be a JSON object");
	return 0;
}

int
cmd_mcp_call(struct cli *c, char **argv)
{
	struct http_answer answer;
	struct cli_words w;
	struct fault f = { 0 };
	const char *arguments;
	with_fd fd = -1;
	struct buf b;
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    (w.n != 1 && cli_want(&w, 2, "mcp call TOOL [JSON]", &f) != 0))
		return cli_fail(&f, NULL);
	arguments = w.n == 2 ? w.word[1] : "{}";
	buf_init(&b, REQUEST);
	rc = check(w.word[0], arguments, c, &f);
	if (rc == 0)
		rc = request_write(w.word[0], span_str(arguments), &b, &f);
	if (rc == 0)
		rc = http_connect(c, &fd, &f);
	if (rc == 0)
		rc = http_exchange(fd, buf_span(&b), &c->arena, &answer, &f);
	buf_release(&b);
	return rc == 0 ? tell(c, w.word[0], &answer) : cli_fail(&f, NULL);
}
