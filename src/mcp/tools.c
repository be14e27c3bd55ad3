/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of tools and of their members, and how to walk them. */
#include "mcp/inner.h"

static const struct mcp_tool tools[] = {
#define TOOL(name_, title_, sides_, hints_, in_, out_, text_) \
 {                                                            \
	 .name = (name_),                                     \
	 .title = (title_),                                   \
	 .sides = (sides_),                                   \
	 .hints = (hints_),                                   \
	 .in = MCP_SHAPE_##in_,                               \
	 .out = MCP_SHAPE_##out_,                             \
	 .text = (text_),                                     \
 },
#include "mcp/tools.def"
#undef TOOL
};

static const struct mcp_field_row fields[] = {
#define FIELD(shape, name, kind, flags, text) \
 { MCP_SHAPE_##shape, name, kind, flags, text },
#include "mcp/fields.def"
#undef FIELD
};

const struct mcp_tool *
mcp_tool_at(const struct mcp_server *s, size_t i)
{
	if (i < s->nextra)
		return &s->extra[i];
	i -= s->nextra;
	return i < NELEM(tools) ? &tools[i] : NULL;
}

const struct mcp_tool *
mcp_tool_find(const struct mcp_server *s, struct span name)
{
	const struct mcp_tool *t;

	if (name.len > MCP_TOOL_NAME)
		return NULL;
	for (size_t i = 0; (t = mcp_tool_at(s, i)) != NULL; i++)
		if (span_is(name, t->name))
			return t;
	return NULL;
}

const struct mcp_field_row *
mcp_field_next(enum mcp_shape shape, enum mcp_side side,
    const struct mcp_field_row *row)
{
	size_t i = row ? (size_t)(row - fields) + 1 : 0;

	for (; i < NELEM(fields); i++)
		if (fields[i].shape == shape &&
		    (side == MCP_HOST || !(fields[i].flags & MCP_HOST_ONLY)))
			return &fields[i];
	return NULL;
}

bool
mcp_field_needed(const struct mcp_field_row *row, enum mcp_side side)
{
	return (row->flags & MCP_NEEDED) ||
	    (side == MCP_HOST && (row->flags & MCP_NEEDED_ON_HOST));
}
