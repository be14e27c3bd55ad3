/* SPDX-License-Identifier: Apache-2.0 */
/* The tools of the fixture: what the official conformance suite calls. */
#ifndef TESTS_E2E_MCP_FIXTURE_H
#define TESTS_E2E_MCP_FIXTURE_H

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"
#define PLAIN(n)                                                             \
 {                                                                           \
  .name = (n), .title = (n), .text = "Fixture of the conformance suite: " n, \
  .sides = MCP_HOST, .in_schema = NO_ARGUMENTS,                              \
 }
#define WORDS(s) "{\"type\":\"text\",\"text\":\"" s "\"}"
#define IMAGE                                                              \
 "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":"                \
 "\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFB" \
 "QIAX8jx0gAAAABJRU5ErkJggg==\"}"
#define AUDIO                                               \
 "{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":" \
 "\"UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=\"}"
#define RESOURCE(uri, type, text)                      \
 "{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri \
 "\",\"mimeType\":\"" type "\",\"text\":\"" text "\"}}"

/* Keywords that a server must hand on as they are. */
#define SCHEMA_2020                                                        \
 "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":" \
 "\"object\",\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":" \
 "\"object\",\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{"  \
 "\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":\"string\"}," \
 "\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":" \
 "\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":"         \
 "\"string\"},\"email\":{\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{"   \
 "\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],\"if\":{"        \
 "\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},\"required\":[" \
 "\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{"      \
 "\"required\":[\"email\"]},\"additionalProperties\":false}"

static const struct mcp_tool *
fixture_tools(size_t *n)
{
	static const struct mcp_tool tools[] = {
		PLAIN("test_simple_text"),
		PLAIN("test_image_content"),
		PLAIN("test_audio_content"),
		PLAIN("test_embedded_resource"),
		PLAIN("test_multiple_content_types"),
		PLAIN("test_error_handling"),
		PLAIN("test_tool_with_progress"),
		PLAIN("test_streaming_elicitation"),
		PLAIN("test_logging_tool"),
		{
		    .name = "test_wait",
		    .title = "test_wait",
		    .text = "Answers after ms milliseconds",
		    .sides = MCP_HOST,
		    .in_schema = "{\"type\":\"object\",\"properties\":"
				 "{\"ms\":{\"type\":\"integer\"}}}",
		},
		{
		    .name = "test_missing_capability",
		    .title = "test_missing_capability",
		    .text = "Needs a client that declares sampling",
		    .sides = MCP_HOST,
		    .in_schema = NO_ARGUMENTS,
		    .capability = "sampling",
		},
		{
		    .name = "json_schema_2020_12_tool",
		    .title = "json_schema_2020_12_tool",
		    .text = "Has a schema with many keywords",
		    .sides = MCP_HOST,
		    .in_schema = SCHEMA_2020,
		},
		{
		    .name = "test_x_mcp_header",
		    .title = "test_x_mcp_header",
		    .text = "Wants its argument repeated in a header",
		    .sides = MCP_HOST,
		    .in_schema =
			"{\"type\":\"object\",\"properties\":{\"region\":"
			"{\"type\":\"string\",\"x-mcp-header\":\"Region\"}},"
			"\"required\":[\"region\"]}",
		    .mirrored = "region",
		    .mirror = "mcp-param-region",
		},
	};

	*n = NELEM(tools);
	return tools;
}

/* Whether it tells progress before it answers. */
static bool
fixture_tells(const struct mcp_call *c)
{
	return strcmp(c->tool->name, "test_tool_with_progress") == 0;
}

/* How long until its first step; 0: at once. */
static int64_t
fixture_wait_ms(const struct mcp_call *c)
{
	int64_t ms = 1000;

	if (fixture_tells(c))
		return 1;
	if (strcmp(c->tool->name, "test_wait") != 0)
		return 0;
	(void)!json_int(json_get(c->arguments, "ms"), 1, 60000, &ms);
	return ms;
}

static const char *
fixture_content(const char *tool)
{
	static const struct {
		const char *tool;
		const char *content;
	} rows[] = {
		{ "test_simple_text",
		    "[" WORDS(
			"This is a simple text response for testing.") "]" },
		{ "test_image_content", "[" IMAGE "]" },
		{ "test_audio_content", "[" AUDIO "]" },
		{ "test_embedded_resource",
		    "[" RESOURCE("test://embedded-resource", "text/plain",
			"This is an embedded resource content.") "]" },
		{ "test_multiple_content_types",
		    "[" WORDS("Multiple content types test:") "," IMAGE "," RESOURCE(
			"test://mixed-content-resource", "application/json",
			"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}") "]" },
		{ "test_error_handling",
		    "[" WORDS("This tool intentionally returns an error for "
			      "testing") "]" },
	};

	for (size_t i = 0; i < NELEM(rows); i++)
		if (strcmp(tool, rows[i].tool) == 0)
			return rows[i].content;
	return "[" WORDS("done") "]";
}

/* Tools of the product: their arguments are judged, then none is there. */
static int
fixture_product(const struct mcp_call *c, struct arena *a, struct buf *out,
    struct fault *f)
{
	struct fault why = { 0 };
	struct mcp_refusal r;

	if (mcp_arguments_check(c->tool, MCP_HOST, c->arguments, &why) == 0) {
		if (strcmp(c->tool->name, "list_sandboxes") == 0)
			return mcp_result(c, SPAN_LIT("{\"sandboxes\":[]}"),
			    out, f);
		(void)fault_set(&why, FAULT_NOT_FOUND, "no such sandbox");
	}
	r = mcp_refusal_of(&why);
	r.hint = SPAN_LIT("call list_sandboxes for those that are there");
	return mcp_refusal(c, &r, a, out, f);
}

static void
fixture_answer(const struct mcp_call *c, struct arena *a, struct buf *out)
{
	bool is_error = strcmp(c->tool->name, "test_error_handling") == 0;
	struct fault f = { 0 };
	int rc;

	if (c->tool->in_schema)
		rc = mcp_content(c, span_str(fixture_content(c->tool->name)),
		    is_error, out, &f);
	else
		rc = fixture_product(c, a, out, &f);
	BUG_IF(rc != 0);
}

#endif
