/* SPDX-License-Identifier: Apache-2.0 */
/* The tables: what is listed to whom, its schemas, and the check of arguments. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "json/json.h"
#include "mcp/inner.h"

static struct arena arena;
static struct peer peer;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 16 << 20);
	peer_init(&peer);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static const struct json_value *
parsed(struct span text)
{
	const struct json_value *root = NULL;
	struct fault f = { 0 };

	if (json_parse(text, &arena, &root, &f) != 0)
		fail_msg("%s", f.text);
	return root;
}

static const struct json_value *
listed(enum mcp_side side)
{
	struct mcp_decision d;

	peer_init(&peer);
	peer.request.side = side;
	peer_field(&peer, "mcp-protocol-version", MCP_LATEST);
	peer_field(&peer, "mcp-method", "tools/list");
	peer_body(&peer,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\","
	    "\"params\":{\"_meta\":{\"" MCP_OWN "protocolVersion\":"
	    "\"" MCP_LATEST "\",\"" MCP_OWN "clientCapabilities\":{}}}}");
	mcp_decide(&peer.request, &arena, &d);
	assert_int_equal(d.answer.status, 200);
	return json_get(json_get(parsed(d.answer.body), "result"), "tools");
}

static bool
lists(const struct json_value *tools, const char *name)
{
	for (const struct json_value *t = json_first(tools); t;
	     t = json_next(t))
		if (span_is(json_get(t, "name")->text, name))
			return true;
	return false;
}

static void
each_side_is_told_of_its_tools(void **state)
{
	static const char *const both[] = { "create_sandbox", "list_sandboxes",
		"get_sandbox", "exec", "get_file", "stop_sandbox",
		"delete_sandbox", "get_grant", "get_policy", "check_policy" };
	static const char *const host[] = { "create_grant", "list_grants",
		"update_grant", "revoke_grant" };
	const struct json_value *in = listed(MCP_SANDBOX);
	const struct json_value *out = listed(MCP_HOST);

	(void)state;
	for (size_t i = 0; i < NELEM(both); i++)
		assert_true(lists(in, both[i]) && lists(out, both[i]));
	for (size_t i = 0; i < NELEM(host); i++)
		assert_true(!lists(in, host[i]) && lists(out, host[i]));
	assert_int_equal(in->count, NELEM(both));
	assert_int_equal(out->count, NELEM(both) + NELEM(host));
}

/* Keywords that every client takes, one type each, each with words. */
static void
schema_is_plain(const struct json_value *schema, bool described)
{
	static const char *const keys[] = { "type", "properties", "required",
		"additionalProperties", "items", "enum", "description",
		"minimum", "maximum", "minLength", "maxLength", "minItems",
		"maxItems", "minProperties", "maxProperties" };
	const struct json_value *members = json_get(schema, "properties");
	struct fault f = { 0 };

	assert_int_equal(json_only(schema, keys, NELEM(keys), &f), 0);
	assert_true(json_is(json_get(schema, "type"), JSON_STRING));
	if (described)
		assert_true(json_get(schema, "description")->text.len > 2);
	for (const struct json_value *m = json_first(members); m;
	     m = json_next(m))
		schema_is_plain(m, true);
	for (const struct json_value *m =
		 json_first(json_get(schema, "required"));
	     m; m = json_next(m))
		assert_non_null(json_get(members, (const char *)m->text.ptr));
	if (json_get(schema, "items"))
		schema_is_plain(json_get(schema, "items"), false);
}

static void
tool_is_whole(const struct json_value *t)
{
	const struct json_value *in = json_get(t, "inputSchema");
	const struct json_value *out = json_get(t, "outputSchema");
	const struct json_value *hints = json_get(t, "annotations");
	bool closed = true;

	assert_true(json_get(t, "title")->text.len > 0);
	assert_true(json_get(t, "description")->text.len > 30);
	assert_true(span_is(json_get(in, "type")->text, "object"));
	assert_true(span_is(json_get(out, "type")->text, "object"));
	assert_true(json_bool(json_get(in, "additionalProperties"), &closed));
	assert_false(closed);
	assert_null(json_get(out, "additionalProperties"));
	assert_int_equal(hints->count, 5);
	for (const char *c = (const char *)json_get(t, "name")->text.ptr; *c;
	     c++)
		assert_true(*c == '_' || (*c >= 'a' && *c <= 'z'));
	schema_is_plain(in, false);
	schema_is_plain(out, false);
}

static void
every_tool_is_whole(void **state)
{
	(void)state;
	for (const struct json_value *t = json_first(listed(MCP_SANDBOX)); t;
	     t = json_next(t))
		tool_is_whole(t);
	for (const struct json_value *t = json_first(listed(MCP_HOST)); t;
	     t = json_next(t))
		tool_is_whole(t);
}

static void
an_extra_tool_is_listed_first(void **state)
{
	static const struct mcp_tool extra = {
		.name = "x",
		.title = "X",
		.text = "d",
		.sides = MCP_HOST,
		.in_schema = "{\"type\":\"object\",\"$x\":[1]}",
	};
	struct mcp_server s = { .extra = &extra, .nextra = 1 };
	struct fault f = { 0 };
	const struct json_value *t;

	(void)state;
	assert_int_equal(mcp_server_ready(&s, &arena, &f), 0);
	t = json_first(parsed(s.listed[1]));
	assert_true(span_is(json_get(t, "name")->text, "x"));
	assert_true(span_is(json_get(t, "inputSchema")->raw, extra.in_schema));
	assert_null(json_get(t, "outputSchema"));
	assert_false(lists(parsed(s.listed[0]), "x"));
}

/* The lists as they were agreed on, a tool a line: a change is to be meant. */
static void
list_is(enum mcp_side side, const char *path)
{
	static char line[16384];
	FILE *file = fopen(path, "r");
	const struct json_value *t = json_first(listed(side));

	assert_non_null(file);
	for (; fgets(line, sizeof(line), file); t = json_next(t)) {
		line[strcspn(line, "\n")] = '\0';
		assert_non_null(t);
		if (!span_is(t->raw, line))
			fail_msg("%s: %.*s", path, (int)t->raw.len,
			    (const char *)t->raw.ptr);
	}
	assert_null(t);
	(void)fclose(file);
}

static void
lists_are_as_agreed(void **state)
{
	(void)state;
	list_is(MCP_SANDBOX, TEST_DATA "/mcp/tools-sandbox.jsonl");
	list_is(MCP_HOST, TEST_DATA "/mcp/tools-host.jsonl");
}

static void
hints_are_told(void **state)
{
	static const struct {
		const char *tool;
		bool reads;
		bool destroys;
		bool repeats;
		bool open;
	} rows[] = {
		{ "create_sandbox", false, false, false, false },
		{ "list_sandboxes", true, false, true, false },
		{ "exec", false, true, false, true },
		{ "get_file", true, false, true, false },
		{ "stop_sandbox", false, true, true, false },
		{ "delete_sandbox", false, true, true, false },
		{ "create_grant", false, false, false, false },
		{ "update_grant", false, false, true, false },
		{ "revoke_grant", false, true, true, false },
	};
	const struct json_value *tools = listed(MCP_HOST);

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		const struct json_value *t = json_first(tools);

		while (!span_is(json_get(t, "name")->text, rows[i].tool))
			t = json_next(t);
		t = json_get(t, "annotations");
		assert_int_equal(json_get(t, "readOnlyHint")->truth,
		    rows[i].reads);
		assert_int_equal(json_get(t, "destructiveHint")->truth,
		    rows[i].destroys);
		assert_int_equal(json_get(t, "idempotentHint")->truth,
		    rows[i].repeats);
		assert_int_equal(json_get(t, "openWorldHint")->truth,
		    rows[i].open);
	}
}

static void
only_readers_say_read_only(void **state)
{
	static const char *const readers[] = { "get_grant", "get_policy",
		"check_policy", "list_sandboxes", "get_sandbox", "get_file",
		"list_grants" };
	const struct mcp_tool *t;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; (t = mcp_tool_at(&peer.server, i)) != NULL; i++)
		n += (t->hints & MCP_READ_ONLY) != 0;
	assert_int_equal(n, NELEM(readers));
	for (size_t i = 0; i < NELEM(readers); i++) {
		t = mcp_tool_find(&peer.server, span_str(readers[i]));
		assert_int_equal(t->hints, MCP_READ_ONLY | MCP_IDEMPOTENT);
	}
}

static unsigned
shape_depth(enum mcp_shape shape, unsigned so_far)
{
	const struct mcp_field_row *row = NULL;
	unsigned most = 1;

	assert_in_range(so_far, 0, 8);
	while ((row = mcp_field_next(shape, MCP_HOST, row)) != NULL)
		if (row->kind == MCP_ONE || row->kind == MCP_MANY) {
			unsigned n = 1 + shape_depth(row->of, so_far + 1);

			most = n > most ? n : most;
		}
	return most;
}

static void
shapes_have_no_circle(void **state)
{
	(void)state;
	for (int shape = 0; shape <= MCP_SHAPE_CHECK_OUT; shape++) {
		assert_in_range(shape_depth((enum mcp_shape)shape, 0), 1, 4);
		if (shape > MCP_SHAPE_NONE)
			assert_non_null(mcp_field_next((enum mcp_shape)shape,
			    MCP_HOST, NULL));
	}
}

static void
arguments_check(const struct json_value *row, enum mcp_side side)
{
	const struct mcp_tool *t =
	    mcp_tool_find(&peer.server, json_get(row, "tool")->text);
	const struct json_value *good = json_get(row, "good");
	const struct json_value *bad = json_get(row, "bad");
	const struct json_value *says = json_get(row, "says");
	struct fault f = { 0 };
	int rc = mcp_arguments_check(t, side, good ? good : bad, &f);

	if (rc != (good ? 0 : -1))
		fail_msg("%.*s: %s", (int)row->raw.len,
		    (const char *)row->raw.ptr, f.text);
	if (good)
		return;
	assert_int_equal(f.code, FAULT_INVALID);
	assert_string_equal(f.field,
	    (const char *)json_get(row, "field")->text.ptr);
	if (says && !strstr(f.text, (const char *)says->text.ptr))
		fail_msg("'%s' does not say '%s'", f.text,
		    (const char *)says->text.ptr);
}

static void
arguments_are_held_to_their_rows(void **state)
{
	FILE *file = fopen(TEST_DATA "/mcp/arguments.jsonl", "r");
	static char line[4096];
	size_t n = 0;

	(void)state;
	assert_non_null(file);
	for (; fgets(line, sizeof(line), file); n++) {
		const struct json_value *row = parsed(span_str(line));
		struct span side = SPAN_LIT("");

		(void)!json_str(json_get(row, "side"), &side);
		if (!span_is(side, "host"))
			arguments_check(row, MCP_SANDBOX);
		if (!span_is(side, "sandbox"))
			arguments_check(row, MCP_HOST);
	}
	(void)fclose(file);
	assert_true(n > 60);
}

static void
no_arguments_are_none(void **state)
{
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(mcp_arguments_check(mcp_tool_find(&peer.server,
						 SPAN_LIT("list_sandboxes")),
			     MCP_SANDBOX, NULL, &f),
	    0);
	assert_int_equal(
	    mcp_arguments_check(mcp_tool_find(&peer.server, SPAN_LIT("exec")),
		MCP_SANDBOX, NULL, &f),
	    -1);
	assert_string_equal(f.field, "id");
}

static void
a_sandbox_is_written_in_its_shape(void **state)
{
	struct mcp_sandbox s = {
		.id = "1",
		.name = "w",
		.kind = "agent",
		.state = "starting",
		.parent = "0",
		.root = "0",
		.depth = 1,
		.policy_hash = "ab",
		.created_ms = 1764424966000,
		.ended_ms = -1,
	};
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };
	const struct json_value *root;

	(void)state;
	assert_true(mcp_buf(&arena, 4096, &b));
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "sandbox");
	mcp_sandbox_write(&o, &s);
	json_out_end(&o);
	assert_int_equal(json_out_done(&o, &f), 0);
	root = parsed(buf_span(&b));
	assert_int_equal(mcp_output_check(mcp_tool_find(&peer.server,
					      SPAN_LIT("create_sandbox")),
			     root, &f),
	    0);
	root = json_get(root, "sandbox");
	assert_true(span_is(json_get(root, "created_at")->text,
	    "2025-11-29T14:02:46Z"));
	assert_non_null(strstr((const char *)json_get(root, "hint")->text.ptr,
	    "get_sandbox"));
	assert_null(json_get(root, "ended_at"));
	assert_null(json_get(root, "exit_code"));
}

static void
output_is_held_to_its_shape(void **state)
{
	const struct mcp_tool *t =
	    mcp_tool_find(&peer.server, SPAN_LIT("get_grant"));
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(
	    mcp_output_check(t, parsed(SPAN_LIT("{\"granted\":false}")), &f),
	    0);
	assert_int_equal(
	    mcp_output_check(t,
		parsed(SPAN_LIT("{\"granted\":true,\"grant\":{\"id\":\"1\","
				"\"root\":\"2\",\"state\":\"live\",\"depth\":"
				"{\"max\":1,\"used\":2}}}")),
		&f),
	    -1);
	assert_string_equal(f.field, "grant.depth.left");
	f = (struct fault){ 0 };
	t = mcp_tool_find(&peer.server, SPAN_LIT("list_sandboxes"));
	assert_int_equal(
	    mcp_output_check(t,
		parsed(
		    SPAN_LIT("{\"sandboxes\":[{\"id\":\"1\",\"name\":\"a\","
			     "\"kind\":\"tool\",\"state\":\"running\"},{}]}")),
		&f),
	    -1);
	assert_string_equal(f.field, "sandboxes[1].id");
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, start, end)
	const struct CMUnitTest tests[] = {
		T(each_side_is_told_of_its_tools),
		T(every_tool_is_whole),
		T(an_extra_tool_is_listed_first),
		T(lists_are_as_agreed),
		T(hints_are_told),
		T(only_readers_say_read_only),
		T(shapes_have_no_circle),
		T(arguments_are_held_to_their_rows),
		T(no_arguments_are_none),
		T(a_sandbox_is_written_in_its_shape),
		T(output_is_held_to_its_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
