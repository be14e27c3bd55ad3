/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "TOOL SIDE" on a line (side h: a user of the host, else a sandbox), then the
 * arguments of a tool as JSON. What the schema lets through becomes the row's
 * request message, or a refusal that can be shown; the message says what gRPC
 * would have said: encoded and decoded it is the same bytes again.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "gateway/call.h"
#include "gateway/tool.h"
#include "json/json.h"
#include "mcp/mcp.h"
#include "wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static const struct mcp_server server;

static struct span
word_take(struct span *rest, uint8_t end)
{
	struct span word = span_of(rest->ptr, span_find(*rest, end));

	*rest = span_from(*rest, word.len + 1);
	return word;
}

/* It names a field, which may be '', or says that memory is spent. */
static void
refusal_check(const struct fault *f)
{
	if (f->code == FAULT_INVALID)
		BUG_IF(f->text[0] == '\0' ||
		    (f->field[0] == '\0' && strstr(f->text, "''") == NULL));
	else
		BUG_IF(f->code != FAULT_LIMIT);
}

static void
message_check(const struct method *m, const void *ask, size_t written)
{
	struct fault f = { 0 };
	struct buf once;
	struct buf again;
	struct arena a;
	void *back;

	arena_init(&a, 64 << 20);
	buf_init(&once, 32 << 20);
	buf_init(&again, 32 << 20);
	back = arena_get(&a, m->ask_size);
	BUG_IF(back == NULL);
	BUG_IF(wire_encode(m->fields, ask, &once, &f) != 0);
	/* Tags and lengths of values as short as "" are all that is added. */
	BUG_IF(once.len > 8 * written + 64);
	BUG_IF(wire_decode(m->fields, back, buf_span(&once), &a, &f) != 0);
	BUG_IF(wire_encode(m->fields, back, &again, &f) != 0);
	BUG_IF(!span_equal(buf_span(&once), buf_span(&again)));
	buf_release(&once);
	buf_release(&again);
	arena_release(&a);
}

static void
tool_ask_once(const struct mcp_tool *t, enum mcp_side side, struct span text,
    size_t room)
{
	const struct method *m = method_of_tool(span_str(t->name));
	const struct json_value *arguments = NULL;
	struct fault f = { 0 };
	struct arena json;
	struct arena a;
	void *ask;

	arena_init(&json, 64 << 20);
	arena_init(&a, room);
	ask = arena_get(&json, m->ask_size);
	BUG_IF(ask == NULL);
	if (text.len > 0 &&
	    (json_parse(text, &json, &arguments, &f) != 0 ||
		arguments->kind != JSON_OBJECT)) {
		/* mcp_decide() lets no such request through */
	} else if (mcp_arguments_check(t, side, arguments, &f) != 0) {
		BUG_IF(f.code != FAULT_INVALID);
		refusal_check(&f);
	} else if (tool_find(t->name)->ask(arguments, ask, &a, &f) != 0) {
		refusal_check(&f);
		BUG_IF(f.code == FAULT_LIMIT && room >= m->arena);
	} else {
		message_check(m, ask, text.len);
	}
	arena_release(&a);
	arena_release(&json);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct span rest = span_of(p, n);
	struct span line = word_take(&rest, '\n');
	const struct mcp_tool *t =
	    mcp_tool_find(&server, word_take(&line, ' '));
	enum mcp_side side = span_is(line, "h") ? MCP_HOST : MCP_SANDBOX;

	if (t == NULL || rest.len > MCP_BODY)
		return 0;
	tool_ask_once(t, side, rest, method_of_tool(span_str(t->name))->arena);
	tool_ask_once(t, side, rest, 1 + n % 512);
	return 0;
}
