/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request of either HTTP, as the room of MCP wants it. */
#include "gateway/mcp.h"
#include "http/http.h"

void
mcp_head_of(const struct h1_request *r, struct mcp_head *h)
{
	*h = (struct mcp_head){
		.method = r->method,
		.target = r->path,
		.host = r->host,
		.length = r->is_chunked ? -1 : (int64_t)r->length,
		.header = h1_field,
		.at = r,
	};
}
