/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools and rows: none without the other, arguments reach their message, and
 * what a reply becomes is what the tool's output schema says.
 */
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/call.h"
#include "gateway/tool.h"
#include "json/json.h"
#include "mcp/mcp.h"
#include "policy/policy.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"
#include "yaml/yaml.h"

static const char *const names[] = {
#define TOOL(name, title, sides, hints, in, out, text) name,
#include "mcp/tools.def"
#undef TOOL
};

static struct arena arena;

/* Messages have texts that could be written to. */
#define T(literal) ((char[]){ literal })
static const struct mcp_server server;

static int
set_up(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static void
every_tool_has_a_row_and_a_mapping(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		if (method_of_tool(span_str(names[i])) == NULL)
			fail_msg("no row for the tool %s", names[i]);
		if (tool_find(names[i]) == NULL)
			fail_msg("no mapping for the tool %s", names[i]);
	}
}

static void
every_row_with_a_tool_is_mapped_to_a_tool(void **state)
{
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < methods_count(); i++) {
		const struct method *m = method_at(i);

		if (m->tool[0] == '\0')
			continue;
		found++;
		assert_non_null(tool_find(m->tool));
		assert_non_null(mcp_tool_find(&server, span_str(m->tool)));
		assert_ptr_equal(method_of_tool(span_str(m->tool)), m);
	}
	assert_int_equal(found, NELEM(names));
	assert_null(method_of_tool(SPAN_LIT("")));
}

/* A sandbox is told of a tool that no row would let it use: never. */
static void
whoever_is_told_of_a_tool_may_call_its_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		const struct mcp_tool *t =
		    mcp_tool_find(&server, span_str(names[i]));

		if (t->sides & MCP_SANDBOX)
			assert_true(method_of_tool(span_str(names[i]))->who &
			    CALL_SANDBOX);
	}
}

static int
ask_fault(const char *tool, const char *arguments, void *message,
    struct fault *f)
{
	const struct json_value *v = NULL;
	struct fault bad = { 0 };

	assert_int_equal(json_parse(span_str(arguments), &arena, &v, &bad), 0);
	return tool_find(tool)->ask(v, message, &arena, f);
}

/* Only what has passed the schema comes here. */
static void
check_schema(const char *tool, const char *arguments)
{
	const struct json_value *v = NULL;
	struct fault f = { 0 };

	assert_int_equal(json_parse(span_str(arguments), &arena, &v, &f), 0);
	if (mcp_arguments_check(mcp_tool_find(&server, span_str(tool)),
		MCP_HOST, v, &f) != 0)
		fail_msg("%s: %s", tool, f.text);
}

static void
ask(const char *tool, const char *arguments, void *message)
{
	struct fault f = { 0 };

	check_schema(tool, arguments);
	assert_int_equal(ask_fault(tool, arguments, message, &f), 0);
}

static void
arguments_of_a_create_reach_its_message(void **state)
{
	nacre_v1_CreateChildSandboxRequest q =
	    nacre_v1_CreateChildSandboxRequest_init_zero;

	(void)state;
	ask("create_sandbox",
	    "{\"name\":\"worker\",\"kind\":\"agent\",\"command\":[\"a\",\"b c\"],"
	    "\"policy\":{\"version\": 1},\"environment\":{\"A\":\"1\"},"
	    "\"providers\":[],\"request_id\":\"r1\",\"wait_ms\":0,"
	    "\"parent\":\"lead\",\"from\":\"image\"}",
	    &q);
	assert_string_equal(q.name, "worker");
	assert_string_equal(q.kind, "agent");
	assert_int_equal(q.command_count, 2);
	assert_string_equal(q.command[1], "b c");
	assert_string_equal(q.policy, "{\"version\": 1}");
	assert_int_equal(q.environment_count, 1);
	assert_string_equal(q.environment[0].key, "A");
	assert_string_equal(q.environment[0].value, "1");
	assert_true(q.has_providers);
	assert_int_equal(q.providers_count, 0);
	assert_string_equal(q.request_id, "r1");
	assert_true(q.has_wait_ms);
	assert_int_equal(q.wait_ms, 0);
	assert_false(q.has_idle_seconds);
	assert_string_equal(q.parent, "lead");
	assert_string_equal(q.from, "image");
}

static void
what_is_not_given_stays_absent(void **state)
{
	nacre_v1_CreateChildSandboxRequest q =
	    nacre_v1_CreateChildSandboxRequest_init_zero;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(tool_find("create_sandbox")->ask(NULL, &q, &arena, &f),
	    0);
	assert_null(q.name);
	assert_null(q.policy);
	assert_null(q.request_id);
	assert_false(q.has_providers);
	assert_false(q.has_wait_ms);
}

static void
arguments_of_the_others_reach_theirs(void **state)
{
	nacre_v1_ExecChildSandboxRequest exec =
	    nacre_v1_ExecChildSandboxRequest_init_zero;
	nacre_v1_GetChildFileRequest file =
	    nacre_v1_GetChildFileRequest_init_zero;
	nacre_v1_UpdateGrantRequest grant =
	    nacre_v1_UpdateGrantRequest_init_zero;
	nacre_v1_RevokeGrantRequest revoke =
	    nacre_v1_RevokeGrantRequest_init_zero;
	nacre_v1_ListChildrenRequest list =
	    nacre_v1_ListChildrenRequest_init_zero;
	nacre_v1_ProvePolicyRequest prove =
	    nacre_v1_ProvePolicyRequest_init_zero;

	(void)state;
	ask("exec",
	    "{\"id\":\"t\",\"argv\":[\"x\"],\"stdin\":\"a\\u0000b\","
	    "\"timeout_ms\":5}",
	    &exec);
	assert_string_equal(exec.id, "t");
	assert_int_equal(exec.input->size, 3);
	assert_memory_equal(exec.input->bytes, "a\0b", 3);
	assert_int_equal(exec.timeout_ms, 5);
	ask("get_file", "{\"id\":\"t\",\"path\":\"/a\",\"offset\":7}", &file);
	assert_string_equal(file.path, "/a");
	assert_true(file.has_offset && !file.has_limit);
	assert_int_equal(file.offset, 7);
	ask("update_grant", "{\"sandbox\":\"r\",\"max_total\":0}", &grant);
	assert_true(grant.has_max_total && !grant.has_max_depth);
	assert_int_equal(grant.max_total, 0);
	assert_int_equal(grant.programs_count, 0);
	ask("revoke_grant", "{\"sandbox\":\"r\",\"stop_children\":true}",
	    &revoke);
	assert_true(revoke.stop_children);
	ask("list_sandboxes", "{\"limit\":9,\"cursor\":\"c\"}", &list);
	assert_int_equal(list.limit, 9);
	assert_string_equal(list.cursor, "c");
	assert_true(list.descendants);
	ask("check_policy", "{\"policy\":{\"version\":1},\"parent\":\"p\"}",
	    &prove);
	assert_string_equal(prove.policy, "{\"version\":1}");
	assert_string_equal(prove.sandbox, "p");
}

static void
text_with_a_nul_is_refused_by_its_field(void **state)
{
	nacre_v1_CreateChildSandboxRequest q =
	    nacre_v1_CreateChildSandboxRequest_init_zero;
	nacre_v1_GetChildFileRequest file =
	    nacre_v1_GetChildFileRequest_init_zero;
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(
	    ask_fault("create_sandbox", "{\"command\":[\"a\\u0000\"]}", &q, &f),
	    -1);
	assert_string_equal(f.field, "command");
	fault_clear(&f);
	assert_int_equal(ask_fault("create_sandbox",
			     "{\"environment\":{\"A\":\"\\u0000\"}}", &q, &f),
	    -1);
	assert_string_equal(f.field, "environment");
	fault_clear(&f);
	assert_int_equal(ask_fault("get_file",
			     "{\"id\":\"a\",\"path\":\"/\\u0000\"}", &file, &f),
	    -1);
	assert_string_equal(f.field, "path");
}

/* The result, parsed; it is as the tool's output schema says. */
static const struct json_value *
tell(const char *tool, const void *reply)
{
	const struct json_value *v = NULL;
	struct fault f = { 0 };
	struct json_out o;
	struct span kept;
	struct buf b;

	buf_init(&b, MCP_RESULT / 2);
	json_out_init(&o, &b);
	assert_int_equal(tool_find(tool)->tell(reply, &arena, &o, &f), 0);
	assert_int_equal(json_out_done(&o, &f), 0);
	kept = arena_dup(&arena, buf_span(&b));
	buf_release(&b);
	assert_int_equal(json_parse(kept, &arena, &v, &f), 0);
	if (mcp_output_check(mcp_tool_find(&server, span_str(tool)), v, &f) !=
	    0)
		fail_msg("%s: %s", tool, f.text);
	return v;
}

static void
is_text(const struct json_value *v, const char *key, const char *text)
{
	const char *got = "";

	assert_true(json_cstr(json_get(v, key), &got));
	assert_string_equal(got, text);
}

static void
replies_become_what_the_schemas_say(void **state)
{
	nacre_v1_Child child = { .id = T("i"),
		.name = T("n"),
		.kind = T("tool"),
		.state = T("starting"),
		.created_ms = 1000,
		.has_exit = true,
		.exit_code = 3 };
	const nacre_v1_ChildReply one = { .has_sandbox = true,
		.sandbox = child };
	const nacre_v1_ListChildrenReply many = { .sandboxes_count = 1,
		.sandboxes = &child,
		.next_cursor = T("c") };
	char *ids[] = { T("a"), T("b") };
	const nacre_v1_DeleteChildReply gone = { .deleted_count = 2,
		.deleted = ids };
	const nacre_v1_GrantReply none = { .granted = false };
	const struct json_value *v;

	(void)state;
	v = json_get(tell("get_sandbox", &one), "sandbox");
	is_text(v, "state", "starting");
	is_text(v, "created_at", "1970-01-01T00:00:01Z");
	assert_null(json_get(v, "parent"));
	assert_null(json_get(v, "ended_at"));
	assert_non_null(json_get(v, "hint"));
	is_text(tell("list_sandboxes", &many), "next_cursor", "c");
	assert_int_equal(
	    json_get(tell("delete_sandbox", &gone), "deleted")->count, 2);
	assert_null(json_get(tell("get_grant", &none), "grant"));
}

static void
a_grant_shows_its_limits_and_programs(void **state)
{
	nacre_v1_GrantProgram program = { .path = T("/bin/a") };
	const nacre_v1_GrantReply r = { .granted = true,
		.has_grant = true,
		.grant = { .id = T("g"),
		    .root = T("r"),
		    .state = T("live"),
		    .total = { 5, 2, 3 },
		    .expires_ms = 5000,
		    .programs_count = 1,
		    .programs = &program } };
	const struct json_value *v = json_get(tell("get_grant", &r), "grant");
	uint64_t left = 0;

	(void)state;
	assert_true(
	    json_uint(json_get(json_get(v, "total"), "left"), 9, &left));
	assert_int_equal(left, 3);
	is_text(v, "expires_at", "1970-01-01T00:00:05Z");
	is_text(json_first(json_get(v, "programs")), "path", "/bin/a");
}

static void
bytes_that_are_no_text_are_told_as_such(void **state)
{
	const nacre_v1_GetChildFileReply text = { .path = T("/a"),
		.data = wire_bytes(&arena, SPAN_LIT("h\xc3\xa9")),
		.eof = true };
	const nacre_v1_GetChildFileReply bytes = { .path = T("/a"),
		.data = wire_bytes(&arena, SPAN_LIT("\xff\x00")) };
	const nacre_v1_GetChildFileReply three = { .path = T("/a"),
		.data = wire_bytes(&arena, SPAN_LIT("\xff\xee\xdd")) };
	const nacre_v1_ExecChildSandboxReply run = { .exit_code = 1,
		.out = wire_bytes(&arena, SPAN_LIT("a\xff")) };
	bool replaced = false;

	(void)state;
	is_text(tell("get_file", &text), "data", "h\xc3\xa9");
	is_text(tell("get_file", &text), "encoding", "utf-8");
	is_text(tell("get_file", &bytes), "data", "/wA=");
	is_text(tell("get_file", &bytes), "encoding", "base64");
	is_text(tell("get_file", &three), "data", "/+7d");
	is_text(tell("exec", &run), "stdout", "a\xef\xbf\xbd");
	assert_true(
	    json_bool(json_get(tell("exec", &run), "replaced"), &replaced));
	assert_true(replaced);
}

enum {
	STREAM = 480 << 10, /* what an exec keeps of each of its streams */
	PART = 900 << 10,   /* what is read of a file at once */
};

static pb_bytes_array_t *
filled(size_t n, const char *with)
{
	uint8_t *bytes = arena_get(&arena, n);
	size_t len = strlen(with);

	for (size_t i = 0; i < n; i++)
		bytes[i] = (uint8_t)with[i % len];
	return wire_bytes(&arena, span_of(bytes, n));
}

/* Told, and then sent as the answer of a call. */
static const struct json_value *
sent(const char *tool, const void *reply)
{
	const struct json_value *v = tell(tool, reply);
	const struct mcp_call call = { .era = MCP_MODERN,
		.id = { .raw = SPAN_LIT("1") } };
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, MCP_RESULT);
	assert_int_equal(mcp_result(&call, v->raw, &b, &f), 0);
	buf_release(&b);
	return v;
}

static void
the_worst_output_fits_a_result(void **state)
{
	static const char *const fills[] = { "\x01", "\"", "\\", "\n", "\xff",
		"\xe2\x82\xac", "x", "\x01\xe2\x82\xac\xff" };

	(void)state;
	for (size_t i = 0; i < NELEM(fills); i++) {
		const nacre_v1_ExecChildSandboxReply run = {
			.out = filled(STREAM, fills[i]),
			.err = filled(STREAM, fills[i]),
		};
		const nacre_v1_ExecChildSandboxReply one = {
			.err = filled(STREAM, fills[i])
		};
		const nacre_v1_GetChildFileReply file = { .path = T("/a"),
			.data = filled(PART, fills[i]) };
		const struct json_value *v = sent("exec", &run);
		bool is_cut = json_get(v, "truncated") != NULL;
		bool is_binary = false;
		struct span text;

		assert_int_equal(is_cut,
		    2 * mcp_text_cost(wire_span(run.out)) > MCP_RESULT_TEXTS);
		assert_true(json_str(json_get(v, "stdout"), &text));
		assert_true(text.len > 150000);
		assert_true(json_str(json_get(v, "stderr"), &text));
		assert_true(text.len > 150000);
		assert_int_equal(json_get(sent("exec", &one), "truncated") !=
			NULL,
		    mcp_text_cost(wire_span(one.err)) > MCP_RESULT_TEXTS);
		v = sent("get_file", &file);
		is_binary = span_is(json_get(v, "encoding")->text, "base64");
		assert_true(json_str(json_get(v, "data"), &text));
		assert_int_equal(text.len, is_binary ? PART / 3 * 4 : PART);
		(void)tear_down(NULL);
		(void)set_up(NULL);
	}
}

/* Between characters. */
static void
a_text_is_cut_where_it_may_be(void **state)
{
	struct span s = SPAN_LIT("a\xe2\x82\xac\xe2\x82\xac");

	(void)state;
	assert_int_equal(mcp_text_cost(s), 14);
	assert_int_equal(mcp_text_cut(s, 14).len, 7);
	assert_int_equal(mcp_text_cut(s, 13).len, 4);
	assert_int_equal(mcp_text_cut(s, 7).len, 1);
	assert_int_equal(mcp_text_cut(s, 0).len, 0);
	assert_int_equal(mcp_text_cost(SPAN_LIT("\x01\"\\\n\xff")), 36);
}

#define POLICY                                                             \
 "version: 1\nfilesystem_policy:\n  include_workdir: true\n  read_only: "  \
 "[/usr, \"/a: b\"]\nnetwork_policies:\n  \"true\": {endpoints: [{host: "  \
 "\"*.h.test\", port: 443, protocol: rest, rules: [{allow: {method: GET, " \
 "path: \"/x\\\"y\"}}]}], binaries: [{path: /a}]}\n"

static void
a_policy_as_json_reads_back_as_the_same(void **state)
{
	struct yaml_errors errors;
	struct policy before;
	struct policy after;
	struct fault f = { 0 };
	nacre_v1_PolicyInForce r = { .hash = T("h"), .generation = 2 };
	const struct json_value *v;

	(void)state;
	assert_int_equal(
	    policy_read_yaml(SPAN_LIT(POLICY), 0, &arena, &before, &errors, &f),
	    0);
	r.policy = arena_str(&arena, before.text);
	v = json_get(tell("get_policy", &r), "policy");
	assert_int_equal(
	    policy_read_json(v->raw, 0, &arena, &after, &errors, &f), 0);
	assert_memory_equal(before.hash, after.hash, POLICY_HASH);
	/* As a create hands it on: JSON where YAML is read. */
	assert_int_equal(
	    policy_read_yaml(v->raw, 0, &arena, &after, &errors, &f), 0);
	assert_memory_equal(before.hash, after.hash, POLICY_HASH);
}

static void
a_proof_shows_its_counterexample(void **state)
{
	const nacre_v1_Proof p = { .verdict = T("exceeds"),
		.link = T("maximum"),
		.has_counterexample = true,
		.counterexample = { .witness = T("w"), .port = 443 },
		.hint = T("narrow it") };
	const nacre_v1_Proof within = { .verdict = T("within"),
		.completed = T("version: 1\n"),
		.hash = T("h") };
	const struct json_value *v = tell("check_policy", &p);
	bool allowed = true;

	(void)state;
	assert_true(json_bool(json_get(v, "allowed"), &allowed));
	assert_false(allowed);
	is_text(v, "code", "POLICY_EXCEEDS_MAXIMUM");
	is_text(json_get(v, "counterexample"), "witness", "w");
	v = tell("check_policy", &within);
	assert_true(json_bool(json_get(v, "allowed"), &allowed));
	assert_true(allowed);
	assert_non_null(json_get(v, "policy"));
}

static void
scopes_are_whole_words(void **state)
{
	(void)state;
	assert_true(scope_has("a:read b:write", "b:write"));
	assert_false(scope_has("a:read b:write", "b:writ"));
	assert_false(scope_has("xa:read", "a:read"));
	assert_true(scope_has("a:read", ""));
	assert_false(scope_has("", "a:read"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_tool_has_a_row_and_a_mapping),
		cmocka_unit_test(every_row_with_a_tool_is_mapped_to_a_tool),
		cmocka_unit_test(whoever_is_told_of_a_tool_may_call_its_row),
		cmocka_unit_test(arguments_of_a_create_reach_its_message),
		cmocka_unit_test(what_is_not_given_stays_absent),
		cmocka_unit_test(arguments_of_the_others_reach_theirs),
		cmocka_unit_test(text_with_a_nul_is_refused_by_its_field),
		cmocka_unit_test(replies_become_what_the_schemas_say),
		cmocka_unit_test(a_grant_shows_its_limits_and_programs),
		cmocka_unit_test(bytes_that_are_no_text_are_told_as_such),
		cmocka_unit_test(the_worst_output_fits_a_result),
		cmocka_unit_test(a_text_is_cut_where_it_may_be),
		cmocka_unit_test(a_policy_as_json_reads_back_as_the_same),
		cmocka_unit_test(a_proof_shows_its_counterexample),
		cmocka_unit_test(scopes_are_whole_words),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
