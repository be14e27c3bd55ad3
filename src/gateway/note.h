/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command as the record keeps it: its words, made printable, and the names
 * of its environment, never a value; AUDIT_ARGV bytes of each, so that nobody
 * who asks can push what was found out of his row.
 */
#ifndef GATEWAY_NOTE_H
#define GATEWAY_NOTE_H

#include "gateway/call.h"

struct note {
	char text[AUDIT_ARGV + 1];
	size_t n;
	size_t more; /* names that found no room */
};

void note_init(struct note *n);
/* What does not fit is cut. */
void note_word(struct note *n, struct span word);
/* The next name, of a note for names alone. */
void note_name(struct note *n, struct span name);
/* "; env A,B +3 more" */
void note_names(struct call *c, const struct note *n);

#endif
