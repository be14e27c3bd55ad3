/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what is wrong; yaml/yaml.h has the contracts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "yaml/yaml.h"

void
yaml_errors_init(struct yaml_errors *e)
{
	e->count = 0;
}

static size_t
kept(const struct yaml_errors *e)
{
	return e->count < YAML_ERRORS ? e->count : YAML_ERRORS;
}

static bool
is_after(const struct yaml_error *x, uint32_t line, uint32_t column)
{
	return x->line > line || (x->line == line && x->column > column);
}

void
yaml_error(struct yaml_errors *e, uint32_t line, uint32_t column,
    const char *fmt, ...)
{
	size_t n = kept(e);
	size_t at = n;
	size_t behind;
	va_list ap;

	e->count++;
	while (at > 0 && is_after(&e->list[at - 1], line, column))
		at--;
	if (at == YAML_ERRORS)
		return;
	behind = (n < YAML_ERRORS ? n : YAML_ERRORS - 1) - at;
	memmove(&e->list[at + 1], &e->list[at], behind * sizeof(e->list[0]));
	e->list[at].line = line;
	e->list[at].column = column;
	va_start(ap, fmt);
	(void)vsnprintf(e->list[at].text, sizeof(e->list[at].text), fmt, ap);
	va_end(ap);
}

int
yaml_fault(const struct yaml_errors *e, enum fault_code code, struct fault *f)
{
	enum {
		TAIL = 32
	}; /* "; and N more" */
	char text[sizeof(f->text)] = "";
	char one[YAML_ERROR_TEXT + 32];
	size_t used = 0;
	size_t shown = 0;

	BUG_IF(e->count == 0);
	for (; shown < kept(e); shown++) {
		const struct yaml_error *x = &e->list[shown];
		size_t room = sizeof(text) - used - TAIL;

		(void)text_fmt(one, sizeof(one), "%s%u:%u: %s",
		    shown ? "; " : "", (unsigned)x->line, (unsigned)x->column,
		    x->text);
		if (shown > 0 && strlen(one) >= room)
			break;
		(void)text_copy(text + used, room, span_str(one));
		used = strlen(text);
	}
	if (shown < e->count)
		(void)text_fmt(text + used, sizeof(text) - used,
		    "; and %zu more", e->count - shown);
	return fault_set(f, code, "%s", text);
}
