/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a string in a message may be: UTF-8 as the rest of the house has it
 * (base/text.h). nanopb asks here; it is built without a word of its own.
 */
#include <pb_common.h>

#include "base/base.h"

bool
pb_validate_utf8(const char *s)
{
	return utf8_valid(span_str(s));
}
