/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request of either HTTP, as the room of MCP wants it. */
#include "gateway/mcp.h"
#include "http/http.h"

static bool
field_get(const void *at, const char *name, size_t nth, struct span *value)
{
	const struct h1_request *r = at;
	size_t n = strlen(name);

	for (size_t i = 0; i < r->fields_n; i++) {
		struct span is = r->fields[i].name;

		if (is.len != n || !h1_is_word_of_its_length(is, name) ||
		    nth-- > 0)
			continue;
		*value = r->fields[i].value;
		return true;
	}
	return false;
}

void
mcp_head_of(const struct h1_request *r, struct mcp_head *h)
{
	*h = (struct mcp_head){
		.method = r->method,
		.target = r->path,
		.host = r->host,
		.length = r->is_chunked ? -1 : (int64_t)r->length,
		.header = field_get,
		.at = r,
	};
}
