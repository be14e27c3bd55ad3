/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is taken and how it is written out; JSON; hostile texts; what a child,
 * a maximum and a provider may write.
 */
#include <string.h>

#include "../../lib/unit.h"
#include "policy/policy.h"

static struct arena arena;
static struct yaml_errors errors;

static int
start(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static struct policy
parsed(const char *text)
{
	struct policy p = { 0 };
	struct fault f = { 0 };

	if (policy_parse(span_str(text), &arena, &p, &errors, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	return p;
}

#define API(fields)                                          \
 "version: 1\nnetwork_policies: {a: {binaries: [{path: /c}]" \
 ", endpoints: [{" fields "}]}}\n"
#define OUT(lines)                                                 \
 "version: 1\nnetwork_policies:\n  \"a\":\n    endpoints:\n" lines \
 "    binaries:\n    - {path: /c}\n"

static const struct {
	const char *text;
	const char *canonical;
} taken[] = {
	{ "version: 1\n", "version: 1\n" },
	{ "\xef\xbb\xbfversion: 1\r\nprocess: {}\r\n",
	    "version: 1\nprocess: {}\n" },
	{ "{version: 1, network_policies: {}}",
	    "version: 1\nnetwork_policies: {}\n" },
	{ "network_middlewares: {}\nlandlock: {}\nversion: 1\n",
	    "version: 1\nlandlock:\n  compatibility: hard_requirement\n"
	    "network_middlewares: {}\n" },
	{ "version: 1\nlandlock: {compatibility: best_effort}\n",
	    "version: 1\nlandlock:\n  compatibility: best_effort\n" },
	{ "version: 1\nprocess:\n  run_as_group: sandbox\n"
	  "  run_as_user: 1000\n",
	    "version: 1\nprocess:\n  run_as_user: \"1000\"\n"
	    "  run_as_group: \"sandbox\"\n" },
	{ "version: 1\nprocess: {run_as_user: '4294967294', run_as_group: ''}",
	    "version: 1\nprocess:\n  run_as_user: \"4294967294\"\n" },
	{ "version: 1\nfilesystem_policy: {}\n",
	    "version: 1\nfilesystem_policy:\n  include_workdir: false\n" },
	{ "version: 1\nfilesystem_policy: {include_workdir: true, read_only: "
	  "[/usr/, //lib/./x, /tmp, /], read_write: [/tmp, '/\xc3\xa9']}\n",
	    "version: 1\nfilesystem_policy:\n  include_workdir: true\n"
	    "  read_only:\n  - /\n  - /lib/x\n  - /usr\n"
	    "  read_write:\n  - \"/\\u00e9\"\n  - /tmp\n" },
	{ API("host: API.X.com, port: 443"),
	    OUT("    - host: \"api.x.com\"\n      ports: [443]\n") },
	{ API("host: '[FD00::5]', ports: [9, 8, 8], tls: skip, protocol: ''"),
	    OUT("    - host: \"fd00::5\"\n      ports: [8, 9]\n"
		"      tls: skip\n") },
	{ API("port: 1, allowed_ips: [any, public, 10.0.0.7/8, "
	      "'::ffff:172.16.0.0/112', 'FD12::/16', 1.1.1.1]"),
	    OUT("    - host: \"\"\n      ports: [1]\n"
		"      allowed_ips: [\"1.1.1.1/32\", \"10.0.0.0/8\", "
		"\"172.16.0.0/16\", \"fd12::/16\", any, public]\n") },
	{ API("host: x, port: 1, protocol: tcp"),
	    OUT("    - host: \"x\"\n      ports: [1]\n"
		"      protocol: tcp\n") },
	{ API("host: x, port: 1, protocol: rest, access: read-only, "
	      "tls: terminate, path: '**', deny_rules: [{path: /a}, "
	      "{query: {k: {any: [v]}, j: ''}, method: get}]"),
	    OUT("    - host: \"x\"\n      ports: [1]\n"
		"      protocol: rest\n      enforcement: enforce\n"
		"      access: read-only\n      deny_rules:\n"
		"      - {method: \"GET\", query: "
		"{\"j\": \"\", \"k\": \"v\"}}\n"
		"      - {path: /a}\n") },
	{ API("host: x, port: 1, protocol: mcp, path: /m, enforcement: audit, "
	      "mcp: {allow_all_known_mcp_methods: true, max_body_bytes: 7}, "
	      "json_rpc: {max_body_bytes: 9}, rules: [{allow: {tool: {any: [b, "
	      "a, b]}}}, {allow: {params: {name: c}}}]"),
	    OUT("    - host: \"x\"\n      ports: [1]\n"
		"      protocol: mcp\n      enforcement: audit\n"
		"      path: /m\n      rules:\n"
		"      - allow: {method: \"tools/call\", tool: \"c\"}\n"
		"      - allow: {method: \"tools/call\", tool: {any: "
		"[\"a\", \"b\"]}}\n"
		"      mcp: {max_body_bytes: 7, "
		"allow_all_known_mcp_methods: true}\n") },
	{ API("host: x, port: 1, protocol: json-rpc, rules: [{allow: {method: "
	      "'a**'}}], credential_signing: 'sigv4:body', signing_service: s, "
	      "credential_binding: {provider: p}"),
	    OUT("    - host: \"x\"\n      ports: [1]\n"
		"      protocol: json-rpc\n      enforcement: enforce\n"
		"      rules:\n      - allow: {method: \"a*\"}\n"
		"      json_rpc: {max_body_bytes: 65536}\n"
		"      credential_signing: \"sigv4:body\"\n"
		"      signing_service: \"s\"\n"
		"      credential_binding: {provider: \"p\"}\n") },
};

static void
what_is_taken_has_one_text_that_reads_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(taken); i++) {
		struct policy p = parsed(taken[i].text);
		struct policy q;

		assert_string_equal(policy_format(&p), taken[i].canonical);
		q = parsed(policy_format(&p));
		assert_string_equal(policy_format(&q), policy_format(&p));
		assert_memory_equal(p.hash, q.hash, POLICY_HASH);
	}
}

static void
the_hash_is_sha256_of_the_text(void **state)
{
	struct policy p = parsed("{version: 1}");
	uint8_t hash[POLICY_HASH];
	char hex[2 * POLICY_HASH + 1];

	(void)state;
	policy_hash(&p, hash);
	hex_format(hash, POLICY_HASH,
	    hex); /* printf 'version: 1\n' | sha256sum */
	assert_string_equal(hex,
	    "09bfcc6a14b83e2192b8673677725c84"
	    "883ee9cd0c70e45c9ec09daa8f2b2847");
}

static void
an_absent_section_means_what_it_means_in_a_root(void **state)
{
	struct policy p = parsed("version: 1");
	struct policy q = parsed("version: 1\nfilesystem_policy: {}\n");

	(void)state;
	assert_true(p.include_workdir && !p.has_filesystem && !p.best_effort);
	assert_true(!q.include_workdir && q.has_filesystem);
}

/* The shape of reference files: all keys at once. */
static void
every_key_of_the_language_is_known(void **state)
{
	struct policy p = parsed(
	    "version: 1\n"
	    "filesystem_policy: {include_workdir: true, read_only: [/usr, "
	    "/lib, /etc], read_write: [/tmp]}\n"
	    "landlock: {compatibility: best_effort}\n"
	    "process: {run_as_user: sandbox, run_as_group: sandbox}\n"
	    "network_policies:\n"
	    "  gh:\n"
	    "    name: github\n"
	    "    endpoints:\n"
	    "      - {host: api.github.com, port: 443, protocol: rest, "
	    "enforcement: enforce, access: read-only, tls: passthrough, "
	    "allow_encoded_slash: true, websocket_credential_rewrite: true, "
	    "request_body_credential_rewrite: true, "
	    "allow_uninspected_credentials: true, allowed_ips: [public], "
	    "deny_rules: [{method: POST, path: /x, query: {a: b}}]}\n"
	    "      - {host: ws.x.com, port: 443, protocol: websocket, rules: "
	    "[{allow: {method: GET, path: /c}}, {allow: {method: "
	    "WEBSOCKET_TEXT}}]}\n"
	    "      - {host: mcp.x.com, ports: [443], protocol: mcp, path: /mcp, "
	    "mcp: {max_body_bytes: 1, strict_tool_names: true, "
	    "allow_all_known_mcp_methods: true}, deny_rules: [{tool: rm_*}]}\n"
	    "    binaries: [{path: /usr/bin/gh, harness: true}]\n"
	    "network_middlewares: {}\n");

	(void)state;
	assert_int_equal(p.allows.n, 3 + 2 + 1);
	assert_int_equal(p.denies.n, 2);
}

static void
json_says_the_same_and_places_are_bytes(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} bad[] = {
		{ "{\"version\":1,\"proces\":{}}",
		    "byte 13: unknown key 'proces': write 'process'" },
		{ "{\"version\":\"1\"}", "byte 11: version: must be 1" },
		{ "{\"version\":1,\"process\":null}",
		    "byte 23: process: expected map, found nothing" },
		{ "{\"version\":1,\"landlock\":{\"compatibility\":7}}",
		    "byte 41: landlock.compatibility: expected string, found "
		    "another value" },
		{ "[]", "byte 0: policy: expected map, found list" },
		{ "{\"version\":1,\"version\":1}",
		    "duplicate key 'version' at byte 13" },
	};
	struct fault f = { 0 };
	struct policy y = parsed("version: 1\nprocess: {run_as_user: 7}\n");
	struct policy p;

	(void)state;
	assert_int_equal(
	    policy_read_json(
		span_str("{\"version\":1,\"process\":{\"run_as_user\":7}}"), 0,
		&arena, &p, &errors, &f),
	    0);
	assert_memory_equal(p.hash, y.hash, POLICY_HASH);
	for (size_t i = 0; i < NELEM(bad); i++) {
		f = (struct fault){ 0 };
		if (policy_read_json(span_str(bad[i].text), 0, &arena, &p,
			&errors, &f) == 0)
			fail_msg("taken: %s", bad[i].text);
		if (i + 1 < NELEM(bad))
			assert_string_equal(f.text, bad[i].says);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_int_equal(errors.count, 1);
	}
}

static void
deep_json_is_refused_as_deep_yaml_is(void **state)
{
	char text[256] = "{\"version\":1,\"process\":";
	struct policy p;
	struct fault f = { 0 };
	size_t n = strlen(text);

	(void)state;
	memset(text + n, '[', 40);
	memset(text + n + 40, ']', 40);
	text[n + 80] = '}';
	assert_int_equal(
	    policy_read_json(span_of(text, n + 81), 0, &arena, &p, &errors, &f),
	    -1);
	assert_string_equal(f.text, "nesting is deeper than 32");
	assert_int_equal(errors.count, 1);
}

static bool
reads(const char *text, unsigned flags)
{
	struct policy p;
	struct fault f = { 0 };

	return policy_read_yaml(span_str(text), flags, &arena, &p, &errors,
		   &f) == 0;
}

static void
a_child_a_maximum_and_a_provider_differ(void **state)
{
	static const char provider[] =
	    "version: 1\nnetwork_policies: {_provider_x: {binaries: [{path: "
	    "/**}]}}";

	(void)state;
	assert_true(reads("process: {}", POLICY_READ_CHILD));
	assert_false(reads("process: {}", 0));
	assert_false(reads("version: 2", POLICY_READ_CHILD));
	assert_false(reads(provider, 0));
	assert_true(reads(provider, POLICY_READ_PROVIDER));
	assert_false(reads("version: 1", POLICY_READ_MAXIMUM));
	assert_int_equal(errors.count, 4);
	assert_true(reads("version: 1\nfilesystem_policy: {}\nlandlock: {}\n"
			  "process: {}\nnetwork_policies: {}\n",
	    POLICY_READ_MAXIMUM));
}

/* --- hostile texts */

static void
refused(struct span text)
{
	struct policy p;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 64 << 20);
	assert_int_equal(policy_parse(text, &a, &p, &errors, &f), -1);
	assert_true(f.code == FAULT_INVALID || f.code == FAULT_LIMIT);
	if (f.code == FAULT_INVALID)
		assert_true(errors.count > 0);
	arena_release(&a);
}

static void
hostile_texts_are_refused(void **state)
{
	static char big[POLICY_BYTES + 64];
	size_t n;

	(void)state;
	memset(big, 'a', sizeof(big));
	refused(span_of(big, POLICY_BYTES + 1));
	refused(span_of(big, POLICY_BYTES)); /* one key */
	big[POLICY_BYTES - 1] = ':';
	refused(span_of(big, POLICY_BYTES));
	for (n = 0; n + 3 < POLICY_BYTES; n += 2)
		memcpy(big + n, "&a", 2); /* over 100 000 anchors */
	refused(span_of(big, n));
	for (n = 0; n + 5 < POLICY_BYTES; n += 5)
		memcpy(big + n, "- &a\n", 5);
	refused(span_of(big, n));
	memset(big, '[', POLICY_BYTES);
	refused(span_of(big, POLICY_BYTES));
	refused(SPAN_LIT("version: 1\0\n"));
	refused(SPAN_LIT("version: 1\nprocess: {run_as_user: \"a\\0\"}\n"));
	refused(SPAN_LIT("v\0e\0r\0s\0i\0o\0n\0:\0 \0001\0"));
	refused(SPAN_LIT("\xff\xfev\0:\0 \0001\0"));
	refused(SPAN_LIT("version: 1\nprocess:\n\trun_as_user: sandbox\n"));
	refused(SPAN_LIT("version: 1\nprocess: {run_as_user: \"\xff\"}\n"));
	refused(SPAN_LIT("version: 1\nnetwork_policies: {\"a\\nb\": {}}\n"));
	refused(SPAN_LIT("\xef\xbb\xbf"));
}

/* n + 1 parts, each with its number modulo `most`; *taken of n parts. */
struct counting {
	const char *head;
	const char *part;
	const char *tail;
	unsigned n;
	unsigned most;
};

static int
count_read(const struct counting *c, unsigned n)
{
	struct policy p;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;
	const char *at = strchr(c->part, '#');
	int rc;

	arena_init(&a, 256 << 20);
	buf_init(&b, 1 << 20);
	assert_int_equal(buf_fmt(&b, "%s", c->head), 0);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(buf_fmt(&b, "%.*s%x%s", (int)(at - c->part),
				     c->part, i % c->most, at + 1),
		    0);
	assert_int_equal(buf_fmt(&b, "%s", c->tail), 0);
	assert_true(b.len <= POLICY_BYTES);
	rc = policy_parse(buf_span(&b), &a, &p, &errors, &f);
	buf_release(&b);
	arena_release(&a);
	return rc;
}

static void
limits_are_those_of_the_page(void **state)
{
#define ONE "{version: 1, network_policies: {a: {binaries: [{path: /c}], "
	static const struct counting limits[] = {
		{ "{version: 1, network_policies: {",
		    "r#: {binaries: [{path: /c}]},", "}}", POLICY_ENTRIES,
		    9999 },
		{ ONE "endpoints: [", "{host: x#, port: 1},", "]}}}",
		    POLICY_ENDPOINTS, 9999 },
		{ "{version: 1, network_policies: {a: {binaries: [",
		    "{path: /#},", "]}}}", POLICY_PROGRAMS, 9999 },
		{ ONE "endpoints: [{host: x, port: 1, protocol: rest, "
		      "access: full, deny_rules: [",
		    "{path: /#},", "]}]}}}", POLICY_RULES, 16 },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(limits); i++) {
		assert_int_equal(count_read(&limits[i], limits[i].n), 0);
		assert_int_equal(count_read(&limits[i], limits[i].n + 1), -1);
		assert_int_equal(errors.count, 1);
	}
}

/* Thousands of endpoints that might overlap, and none that does. */
static void
the_search_for_overlaps_has_an_end(void **state)
{
	struct policy p;
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 20);
	assert_int_equal(buf_fmt(&b,
			     "{version: 1, network_policies: {a: {binaries: "
			     "[{path: /c}], endpoints: ["),
	    0);
	for (unsigned i = 0; i < 450; i++)
		assert_int_equal(
		    buf_fmt(&b,
			"{host: x, port: 1, path: '/*a*a*a*a*a*a*a*a*a*a*a*a*a*a"
			"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*"
			"a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a/"
			"%c%u/*b', protocol: %s, rules: [{allow: {method: a}}]},",
			i % 2 ? 'x' : 'y', i, i % 2 ? "rest" : "json-rpc"),
		    0);
	assert_int_equal(buf_fmt(&b, "]}}}"), 0);
	assert_int_equal(policy_parse(buf_span(&b), &arena, &p, &errors, &f),
	    -1);
	assert_int_equal(errors.count, 1);
	assert_non_null(strstr(f.text, "too many wildcards"));
	buf_release(&b);
}

static void
a_small_arena_is_a_limit_at_any_size(void **state)
{
	unsigned taken_at = 0;

	(void)state;
	for (size_t cap = 0; cap < 40000 && !taken_at; cap += 64) {
		struct policy p;
		struct fault f = { 0 };
		struct arena a;

		arena_init(&a, cap);
		if (policy_parse(span_str(taken[13].text), &a, &p, &errors,
			&f) == 0)
			taken_at = (unsigned)cap;
		else
			assert_int_equal(f.code, FAULT_LIMIT);
		arena_release(&a);
	}
	assert_true(taken_at > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_taken_has_one_text_that_reads_back),
		cmocka_unit_test(the_hash_is_sha256_of_the_text),
		cmocka_unit_test(
		    an_absent_section_means_what_it_means_in_a_root),
		cmocka_unit_test(every_key_of_the_language_is_known),
		cmocka_unit_test(json_says_the_same_and_places_are_bytes),
		cmocka_unit_test(deep_json_is_refused_as_deep_yaml_is),
		cmocka_unit_test(a_child_a_maximum_and_a_provider_differ),
		cmocka_unit_test(hostile_texts_are_refused),
		cmocka_unit_test(limits_are_those_of_the_page),
		cmocka_unit_test(the_search_for_overlaps_has_an_end),
		cmocka_unit_test(a_small_arena_is_a_limit_at_any_size),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, start, end);
}
