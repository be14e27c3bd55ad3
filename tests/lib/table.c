/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>

#include "base/base.h"
#include "table.h"

void
table_open(struct table *t, const char *name)
{
	struct fault f = { 0 };
	struct buf b;
	char path[256];

	buf_init(&b, 1 << 20);
	if (!text_fmt(path, sizeof(path), TEST_DATA "/%s", name) ||
	    file_read(AT_FDCWD, path, &b, &f) < 0) {
		(void)fprintf(stderr, "%s: %s\n", name, f.text);
		abort();
	}
	*t = (struct table){ .text = must_alloc(b.len + 1) };
	memcpy(t->text, buf_ptr(&b), b.len);
	t->next = t->text;
	buf_release(&b);
}

/* The next bar with a blank before it, or at the start. */
static char *
find_bar(char *line)
{
	char *bar = strchr(line, '|');

	while (bar && bar != line && bar[-1] != ' ')
		bar = strchr(bar + 1, '|');
	return bar;
}

static void
cut(struct table *t, char *line)
{
	static char none[] = "";

	for (size_t i = 0; i < TABLE_CELLS; i++) {
		char *bar = line ? find_bar(line) : NULL;

		t->cell[i] = line ? line : none;
		line = bar ? bar + 1 + (bar[1] == ' ') : NULL;
		if (bar)
			bar[bar == t->cell[i] ? 0 : -1] = '\0';
	}
}

int
table_next(struct table *t)
{
	while (*t->next != '\0') {
		char *line = t->next;
		char *end = strchr(line, '\n');

		t->next = end ? end + 1 : line + strlen(line);
		if (end)
			*end = '\0';
		t->line++;
		if (line[0] == '#')
			continue;
		cut(t, line);
		return 1;
	}
	free(t->text);
	t->text = NULL;
	return 0;
}
