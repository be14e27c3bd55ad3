/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the server says of itself: initialize, server/discover, tools/list.
 * Each side is told of its own tools, so nothing of it may be shared; the lists
 * are written once, they are long.
 */
#include <string.h>

#include "mcp/inner.h"

enum {
	TTL_MS = 300000, /* how long a client may keep a list */
	LIST_BYTES = 64 << 10,
	ENVELOPE_BYTES = 512, /* of a list's result, around it */
	TOOL_BYTES = 1024,    /* of an extra tool, its own text not counted */
};

static const char *
instructions(enum mcp_side side)
{
	if (side == MCP_SANDBOX)
		return "You run inside a sandbox. Inside the limits that your "
		       "user granted you may open child sandboxes: agents, "
		       "which run a command of their own, and tools, which "
		       "wait for exec. A child never has more than your own "
		       "policy: call get_policy to see it, check_policy to try "
		       "a narrower one, get_grant to see what is left. A "
		       "refusal is JSON with code, message and hint: follow "
		       "the hint, or tell your user; repeating the same call "
		       "does not help unless the code is BUSY, RATE_LIMITED, "
		       "IN_PROGRESS or NOT_READY. Send a request_id with "
		       "create_sandbox so that a retry cannot start a second "
		       "child. A child's result: let it write a file, then a "
		       "done file; poll get_file for the done file, read the "
		       "result, then delete_sandbox.";
	return "You act for a user of this host. Open sandboxes from images, "
	       "open children below them inside their grants, run commands in "
	       "tool sandboxes, read files, and, if your token has the scope "
	       "grant:write, set and change grants. A refusal is JSON with "
	       "code, message and hint. Send a request_id with create_sandbox "
	       "so that a retry cannot start a second one.";
}

static void
info_write(struct json_out *o)
{
	json_out_object(o);
	json_out_key(o, "name");
	json_out_text(o, "nacre");
	json_out_key(o, "title");
	json_out_text(o, "nacre sandboxes");
	json_out_key(o, "version");
	json_out_text(o, NACRE_VERSION);
	json_out_end(o);
}

void
mcp_server_info_write(struct json_out *o)
{
	json_out_key(o, MCP_OWN "serverInfo");
	info_write(o);
}

void
mcp_meta_write(struct json_out *o)
{
	json_out_key(o, "_meta");
	json_out_object(o);
	mcp_server_info_write(o);
	json_out_end(o);
}

static void
capabilities_write(const struct mcp_walk *w, struct json_out *o)
{
	json_out_key(o, "capabilities");
	json_out_object(o);
	json_out_key(o, "tools");
	json_out_object(o);
	json_out_end(o);
	json_out_end(o);
	json_out_key(o, "instructions");
	json_out_text(o, instructions(w->q->side));
}

static void
caching_write(struct json_out *o)
{
	json_out_key(o, "ttlMs");
	json_out_int(o, TTL_MS);
	json_out_key(o, "cacheScope");
	json_out_text(o, "private");
}

void
mcp_initialize_write(const struct mcp_walk *w, struct json_out *o)
{
	json_out_key(o, "protocolVersion");
	json_out_text(o, w->d->version);
	capabilities_write(w, o);
	json_out_key(o, "serverInfo");
	info_write(o);
}

void
mcp_discover_write(const struct mcp_walk *w, struct json_out *o)
{
	json_out_key(o, "resultType");
	json_out_text(o, "complete");
	json_out_key(o, "supportedVersions");
	mcp_versions_write(o);
	capabilities_write(w, o);
	caching_write(o);
	mcp_meta_write(o);
}

static void
hints_write(struct json_out *o, const struct mcp_tool *t)
{
	static const struct {
		const char *name;
		unsigned hint;
	} rows[] = {
		{ "readOnlyHint", MCP_READ_ONLY },
		{ "destructiveHint", MCP_DESTRUCTIVE },
		{ "idempotentHint", MCP_IDEMPOTENT },
		{ "openWorldHint", MCP_OPEN_WORLD },
	};

	json_out_key(o, "annotations");
	json_out_object(o);
	json_out_key(o, "title");
	json_out_text(o, t->title);
	for (size_t i = 0; i < NELEM(rows); i++) {
		json_out_key(o, rows[i].name);
		json_out_bool(o, (t->hints & rows[i].hint) != 0);
	}
	json_out_end(o);
}

static void
tool_write(struct json_out *o, const struct mcp_tool *t, enum mcp_side side)
{
	json_out_object(o);
	json_out_key(o, "name");
	json_out_text(o, t->name);
	json_out_key(o, "title");
	json_out_text(o, t->title);
	json_out_key(o, "description");
	json_out_text(o, t->text);
	json_out_key(o, "inputSchema");
	if (t->in == MCP_SHAPE_ANY)
		json_out_raw(o, span_str(t->in_schema));
	else
		mcp_schema_write(o, t->in, side, true);
	if (t->out != MCP_SHAPE_ANY) {
		json_out_key(o, "outputSchema");
		mcp_schema_write(o, t->out, side, false);
	}
	hints_write(o, t);
	json_out_end(o);
}

static size_t
side_place(enum mcp_side side)
{
	return side == MCP_HOST;
}

static void
list_write(const struct mcp_walk *w, struct json_out *o)
{
	if (w->d->era == MCP_MODERN) {
		json_out_key(o, "resultType");
		json_out_text(o, "complete");
	}
	json_out_key(o, "tools");
	json_out_raw(o, w->q->server->listed[side_place(w->q->side)]);
	if (w->d->era == MCP_MODERN) {
		caching_write(o);
		mcp_meta_write(o);
	}
}

static size_t
list_bytes(const struct mcp_server *s)
{
	size_t n = LIST_BYTES;

	for (size_t i = 0; i < s->nextra; i++) {
		const struct mcp_tool *t = &s->extra[i];

		n += TOOL_BYTES +
		    6 *
			(strlen(t->name) + 2 * strlen(t->title) +
			    strlen(t->text));
		if (t->in_schema)
			n += strlen(t->in_schema);
	}
	return n;
}

static int
side_list(struct mcp_server *s, enum mcp_side side, struct arena *a,
    struct fault *f)
{
	size_t n = list_bytes(s);
	const struct mcp_tool *t;
	struct json_out o;
	struct buf b;

	if (!mcp_buf(a, n, &b))
		return fault_set(f, FAULT_LIMIT,
		    "a list of tools of %zu bytes is too large for its arena",
		    n);
	json_out_init(&o, &b);
	json_out_array(&o);
	for (size_t i = 0; (t = mcp_tool_at(s, i)) != NULL; i++)
		if (t->sides & side)
			tool_write(&o, t, side);
	json_out_end(&o);
	if (json_out_done(&o, f) != 0)
		return -1;
	s->listed[side_place(side)] = buf_span(&b);
	return 0;
}

int
mcp_server_ready(struct mcp_server *s, struct arena *a, struct fault *f)
{
	if (side_list(s, MCP_SANDBOX, a, f) != 0)
		return -1;
	return side_list(s, MCP_HOST, a, f);
}

void
mcp_list_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	static const struct mcp_error bad = {
		.status = 200,
		.code = MCP_INVALID_PARAMS,
		.message = "Invalid params: no such cursor, there is one page",
	};

	struct span list = w->q->server->listed[side_place(w->q->side)];

	if (json_get(m->params, "cursor"))
		mcp_step_error(w, m, &bad, s);
	else
		mcp_step_result(w, m, list.len + ENVELOPE_BYTES, list_write, s);
}
