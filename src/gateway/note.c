/* SPDX-License-Identifier: Apache-2.0 */
/* Words and names for the record's detail. */
#include <string.h>

#include "gateway/note.h"

enum {
	NAME = 64, /* of a name that is kept: longer ones are refused later */
};

void
note_init(struct note *n)
{
	n->text[0] = '\0';
	n->n = 0;
}

void
note_word(struct note *n, struct span word)
{
	if (n->n > 0 && n->n + 1 < sizeof(n->text))
		n->text[n->n++] = ' ';
	text_escape(word, n->text + n->n, sizeof(n->text) - n->n);
	n->n += strlen(n->text + n->n);
}

void
note_name(struct call *c, size_t at, struct span name)
{
	char text[NAME + 1];

	text_escape(name, text, sizeof(text));
	call_note(c, "%s%s", at == 0 ? "; env " : ",", text);
}
