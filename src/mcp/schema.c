/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes as JSON Schema, in the subset that every client takes: a root of type
 * object, one type a member, no references, no patterns.
 */
#include <string.h>

#include "mcp/inner.h"

static void
type_write(struct json_out *o, const char *type)
{
	json_out_key(o, "type");
	json_out_text(o, type);
}

static void
bounds_write(struct json_out *o, const char *least, const char *most,
    const struct mcp_field_row *row)
{
	if (row->min > 0) {
		json_out_key(o, least);
		json_out_int(o, row->min);
	}
	if (row->max > 0) {
		json_out_key(o, most);
		json_out_int(o, row->max);
	}
}

static void
integer_write(struct json_out *o, const struct mcp_field_row *row)
{
	type_write(o, "integer");
	if (row->min != INT64_MIN) {
		json_out_key(o, "minimum");
		json_out_int(o, row->min);
	}
	if (row->max != INT64_MAX) {
		json_out_key(o, "maximum");
		json_out_int(o, row->max);
	}
}

static void
words_write(struct json_out *o, const char *words)
{
	struct span rest = span_str(words);

	type_write(o, "string");
	json_out_key(o, "enum");
	json_out_array(o);
	while (rest.len > 0) {
		size_t n = span_find(rest, ' ');

		json_out_str(o, span_of(rest.ptr, n));
		rest = span_from(rest, n + 1);
	}
	json_out_end(o);
}

/* "KEY":{"type":"string"} */
static void
strings_write(struct json_out *o, const char *key)
{
	json_out_key(o, key);
	json_out_object(o);
	type_write(o, "string");
	json_out_end(o);
}

static void
kind_write(struct json_out *o, const struct mcp_field_row *row)
{
	switch (row->kind) {
	case MCP_TEXT:
	case MCP_BYTES:
		type_write(o, "string");
		bounds_write(o, "minLength", "maxLength", row);
		break;
	case MCP_WORD:
		words_write(o, row->words);
		break;
	case MCP_INTEGER:
		integer_write(o, row);
		break;
	case MCP_TRUTH:
		type_write(o, "boolean");
		break;
	case MCP_TEXTS:
		type_write(o, "array");
		strings_write(o, "items");
		bounds_write(o, "minItems", "maxItems", row);
		break;
	case MCP_MAP:
		type_write(o, "object");
		strings_write(o, "additionalProperties");
		bounds_write(o, "minProperties", "maxProperties", row);
		break;
	case MCP_MANY:
		type_write(o, "array");
		break;
	case MCP_OBJECT:
	case MCP_ONE:
	default:
		type_write(o, "object");
	}
}

static void members_write(struct json_out *o, enum mcp_shape shape,
    enum mcp_side side);

/* As deep as the table, which has no circle: a test holds it to that. */
static void
field_write(struct json_out *o, const struct mcp_field_row *row,
    enum mcp_side side)
{
	json_out_key(o, row->name);
	json_out_object(o);
	kind_write(o, row);
	json_out_key(o, "description");
	json_out_text(o, row->text);
	if (row->kind == MCP_ONE)
		members_write(o, row->of, side);
	if (row->kind == MCP_MANY) {
		json_out_key(o, "items");
		mcp_schema_write(o, row->of, side, false);
	}
	json_out_end(o);
}

static void
needed_write(struct json_out *o, enum mcp_shape shape, enum mcp_side side)
{
	const struct mcp_field_row *row = NULL;
	bool some = false;

	while ((row = mcp_field_next(shape, side, row)) != NULL) {
		if (!mcp_field_needed(row, side))
			continue;
		if (!some) {
			json_out_key(o, "required");
			json_out_array(o);
		}
		some = true;
		json_out_text(o, row->name);
	}
	if (some)
		json_out_end(o);
}

static void
members_write(struct json_out *o, enum mcp_shape shape, enum mcp_side side)
{
	const struct mcp_field_row *row = NULL;

	json_out_key(o, "properties");
	json_out_object(o);
	while ((row = mcp_field_next(shape, side, row)) != NULL)
		field_write(o, row, side);
	json_out_end(o);
	needed_write(o, shape, side);
}

void
mcp_schema_write(struct json_out *o, enum mcp_shape shape, enum mcp_side side,
    bool closed)
{
	json_out_object(o);
	type_write(o, "object");
	members_write(o, shape, side);
	if (closed) {
		json_out_key(o, "additionalProperties");
		json_out_bool(o, false);
	}
	json_out_end(o);
}
