/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of methods.def as a table, and the row of what is not in it. */
#include "gateway/do.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"

static const struct method methods[] = {
#define METHOD(grpc, mcp, callers, area, request, bytes, sort, judge, act, \
    reply, word)                                                           \
 {                                                                         \
	 .path = (grpc),                                                   \
	 .tool = (mcp),                                                    \
	 .who = (callers),                                                 \
	 .scope = (area),                                                  \
	 .fields = request##_fields,                                       \
	 .ask_size = sizeof(request),                                      \
	 .arena = (bytes),                                                 \
	 .kind = (sort),                                                   \
	 .decide = (judge),                                                \
	 .effect = (act),                                                  \
	 .answer = (reply),                                                \
	 .verb = (word),                                                   \
 },
#include "gateway/methods.def"
#undef METHOD
};

static const struct method unserved = {
	.path = "",
	.tool = "",
	.who = CALL_USER | CALL_SANDBOX,
	.scope = "",
	.arena = 64 << 10,
	.decide = do_unserved,
	.verb = "call.unserved",
};

const struct method *
method_find(struct span path)
{
	for (size_t i = 0; i < NELEM(methods); i++) {
		if (span_is(path, methods[i].path))
			return &methods[i];
	}
	return NULL;
}

const struct method *
method_of_tool(struct span tool)
{
	if (tool.len == 0)
		return NULL;
	for (size_t i = 0; i < NELEM(methods); i++) {
		if (span_is(tool, methods[i].tool))
			return &methods[i];
	}
	return NULL;
}

bool
scope_has(const char *scopes, const char *scope)
{
	struct span rest = span_str(scopes);

	while (rest.len > 0) {
		size_t n = span_find(rest, ' ');

		if (span_is(span_of(rest.ptr, n), scope))
			return true;
		rest = span_from(rest, n + 1);
	}
	return scope[0] == '\0';
}

const struct method *
method_unserved(void)
{
	return &unserved;
}

size_t
methods_count(void)
{
	return NELEM(methods);
}

const struct method *
method_at(size_t i)
{
	return &methods[i];
}
