/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as the record keeps it: its words, made printable, cut at
 * AUDIT_ARGV bytes; and the names of its environment, never a value.
 */
#ifndef GATEWAY_NOTE_H
#define GATEWAY_NOTE_H

#include "gateway/call.h"

struct note {
	char text[AUDIT_ARGV + 1];
	size_t n;
};

void note_init(struct note *n);
/* What does not fit is cut. */
void note_word(struct note *n, struct span word);
/* The next name of a list: "; env A", then ",B". */
void note_name(struct call *c, size_t at, struct span name);

#endif
