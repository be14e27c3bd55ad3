/* SPDX-License-Identifier: Apache-2.0 */
/* Inside wire: what the decoder and its check of text share. */
#ifndef WIRE_INNER_H
#define WIRE_INNER_H

#include <pb.h>

#include "base/base.h"
#include "wire/wire.h"

/* Bytes that were asked for when p was last given out by wire_realloc(). */
size_t wire_size_of(const void *p);
/* -1 when a text field of the decoded message holds a NUL. */
int wire_check_text(const pb_msgdesc_t *fields, void *message, struct fault *f);

#endif
