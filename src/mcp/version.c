/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol's versions, by date, newest first. */
#include "mcp/inner.h"

/* Session ids carry the place in this list: append only. */
static const char *const legacy[] = { "2025-11-25", "2025-06-18", "2025-03-26",
	"2024-11-05" };

const char *
mcp_version_legacy(struct span text)
{
	for (size_t i = 0; i < NELEM(legacy); i++)
		if (span_is(text, legacy[i]))
			return legacy[i];
	return NULL;
}

const char *
mcp_version_at(unsigned place)
{
	return place < NELEM(legacy) ? legacy[place] : NULL;
}

bool
mcp_version_is_modern(struct span text)
{
	static const char latest[] = MCP_LATEST;
	int order = 0;

	if (text.len != sizeof(latest) - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool dash = i == 4 || i == 7;

		if (dash ? text.ptr[i] != '-'
			 : text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
		if (order == 0)
			order = text.ptr[i] - (uint8_t)latest[i];
	}
	return order >= 0;
}

void
mcp_versions_write(struct json_out *o)
{
	json_out_array(o);
	json_out_text(o, MCP_LATEST);
	for (size_t i = 0; i < NELEM(legacy); i++)
		json_out_text(o, legacy[i]);
	json_out_end(o);
}

struct span
mcp_versions_data(struct arena *a, struct span requested)
{
	struct json_out o;
	struct buf b;
	struct fault f = { 0 };

	if (requested.len > MCP_ID)
		requested.len = MCP_ID;
	if (!mcp_buf(a, 256 + 6 * MCP_ID, &b))
		return SPAN_LIT("");
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "supported");
	mcp_versions_write(&o);
	json_out_key(&o, "requested");
	json_out_str(&o, requested);
	json_out_end(&o);
	return json_out_done(&o, &f) == 0 ? buf_span(&b) : SPAN_LIT("");
}
