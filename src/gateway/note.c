/* SPDX-License-Identifier: Apache-2.0 */
/* Words and names for the record's detail. */
#include <string.h>

#include "gateway/note.h"

enum {
	NAME = 64, /* of a name that is kept */
};

void
note_init(struct note *n)
{
	n->text[0] = '\0';
	n->n = n->more = 0;
}

void
note_word(struct note *n, struct span word)
{
	if (n->n > 0 && n->n + 1 < sizeof(n->text))
		n->text[n->n++] = ' ';
	text_escape(word, n->text + n->n, sizeof(n->text) - n->n);
	n->n += strlen(n->text + n->n);
}

/* Whole names only: how many were left out is told. */
void
note_name(struct note *n, struct span name)
{
	char text[NAME + 1];
	size_t len;

	text_escape(name, text, sizeof(text));
	len = strlen(text);
	if (n->more > 0 || n->n + 1 + len >= sizeof(n->text)) {
		n->more++;
		return;
	}
	if (n->n > 0)
		n->text[n->n++] = ',';
	memcpy(n->text + n->n, text, len + 1);
	n->n += len;
}

void
note_names(struct call *c, const struct note *n)
{
	if (n->n > 0)
		call_note(c, "; env %s", n->text);
	if (n->more > 0)
		call_note(c, " +%zu more", n->more);
}
