/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that was decoded must be what was sent: a NUL inside a string would
 * cut it for all who read it as C text, after it had been judged or hashed
 * whole. Walks the message along its descriptor; depth is the schema's, as
 * no message of ours contains itself.
 */
#include <pb_common.h>
#include <string.h>

#include "wire/inner.h"

static bool
is_pointer(const pb_field_iter_t *it)
{
	return PB_ATYPE(it->type) == PB_ATYPE_POINTER;
}

static int
check_string(const pb_field_iter_t *it, const char *s, struct fault *f)
{
	if (!s || strlen(s) + 1 == wire_size_of(s))
		return 0;
	return fault_set(f, FAULT_INVALID, "text of field %u holds a NUL",
	    (unsigned)it->tag);
}

static int
check_item(const pb_field_iter_t *it, void *item, bool listed, struct fault *f)
{
	if (PB_LTYPE_IS_SUBMSG(it->type))
		return wire_check_text(it->submsg_desc, item, f);
	if (PB_LTYPE(it->type) != PB_LTYPE_STRING || !is_pointer(it))
		return 0;
	return check_string(it, listed ? *(char **)item : item, f);
}

/* Number of items of this field that are there. */
static size_t
count(const pb_field_iter_t *it)
{
	if (!it->pData || PB_ATYPE(it->type) == PB_ATYPE_CALLBACK)
		return 0;
	if (PB_HTYPE(it->type) == PB_HTYPE_REPEATED)
		return *(const pb_size_t *)it->pSize;
	if (PB_HTYPE(it->type) == PB_HTYPE_ONEOF)
		return *(const pb_size_t *)it->pSize == it->tag;
	if (PB_HTYPE(it->type) == PB_HTYPE_OPTIONAL && it->pSize)
		return *(const bool *)it->pSize;
	return 1;
}

int
wire_check_text(const pb_msgdesc_t *fields, void *message, struct fault *f)
{
	pb_field_iter_t it;

	if (!pb_field_iter_begin(&it, fields, message))
		return 0;
	do {
		bool listed = PB_HTYPE(it.type) == PB_HTYPE_REPEATED;
		size_t n = count(&it);

		for (size_t i = 0; i < n; i++)
			if (check_item(&it, (char *)it.pData + i * it.data_size,
				listed, f) != 0)
				return -1;
	} while (pb_field_iter_next(&it));
	return 0;
}
