/* SPDX-License-Identifier: Apache-2.0 */
/* The fault object and its table; base/fault.h has the contracts. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static const struct {
	const char *reason;
	enum fault_kind kind;
	int grpc;
	int jsonrpc;
	int exit;
} rows[FAULT_COUNT] = {
	[FAULT_NONE] = { "OK", FAULT_KIND_SYSTEM, 0, 0, 0 },
#define FAULT(name, k, g, j, r, e) \
 [FAULT_##name] = { r, FAULT_KIND_##k, g, j, e },
#include "base/fault.def"
#undef FAULT
};

static void fill(struct fault *f, enum fault_code code, const char *fmt,
    va_list ap) __attribute__((format(printf, 3, 0)));

/*
 * A fault crosses the wire, where text must be UTF-8 or the whole answer is
 * lost: what a cut left of a character goes, a stranger's byte is made '?'.
 */
static void
tidy(char *text, size_t size)
{
	size_t n = strlen(text);

	if (n + 1 == size)
		text[utf8_whole(span_of(text, n))] = '\0';
	utf8_mend(text);
}

static void
fill(struct fault *f, enum fault_code code, const char *fmt, va_list ap)
{
	f->code = code;
	f->sys = 0;
	f->field[0] = '\0';
	if (strchr(fmt, '%') == NULL) /* many are: formatting is not for free */
		(void)text_copy(f->text, sizeof(f->text), span_str(fmt));
	else
		(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	tidy(f->text, sizeof(f->text));
}

int
fault_set(struct fault *f, enum fault_code code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(f, code, fmt, ap);
	va_end(ap);
	return -1;
}

int
fault_sys(struct fault *f, const char *fmt, ...)
{
	int saved = errno;
	size_t used;
	va_list ap;

	va_start(ap, fmt);
	fill(f, FAULT_SYSTEM, fmt, ap);
	va_end(ap);
	f->sys = saved;
	used = strlen(f->text);
	(void)snprintf(f->text + used, sizeof(f->text) - used, ": %s",
	    strerror(saved)); /* NOLINT(concurrency-mt-unsafe): no threads */
	return -1;
}

int
fault_field(struct fault *f, const char *field, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(f, FAULT_INVALID, fmt, ap);
	va_end(ap);
	(void)snprintf(f->field, sizeof(f->field), "%s", field);
	tidy(f->field, sizeof(f->field));
	return -1;
}

int
fault_prefix(struct fault *f, const char *fmt, ...)
{
	char old[sizeof(f->text)];
	size_t used;
	va_list ap;

	memcpy(old, f->text, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	tidy(f->text, sizeof(f->text));
	used = strlen(f->text);
	(void)snprintf(f->text + used, sizeof(f->text) - used, ": %s", old);
	tidy(f->text, sizeof(f->text));
	return -1;
}

void
fault_clear(struct fault *f)
{
	memset(f, 0, sizeof(*f));
}

enum fault_kind
fault_kind(enum fault_code code)
{
	return rows[code].kind;
}

int
fault_grpc(enum fault_code code)
{
	return rows[code].grpc;
}

int
fault_jsonrpc(enum fault_code code)
{
	return rows[code].jsonrpc;
}

int
fault_exit(enum fault_code code)
{
	return rows[code].exit;
}

const char *
fault_reason(enum fault_code code)
{
	return rows[code].reason;
}

enum fault_code
fault_from_reason(const char *reason)
{
	for (int i = 1; i < FAULT_COUNT; i++)
		if (strcmp(rows[i].reason, reason) == 0)
			return (enum fault_code)i;
	return FAULT_NONE;
}

enum fault_code
fault_from_grpc(int status)
{
	for (int i = 1; i < FAULT_COUNT; i++)
		if (rows[i].grpc == status)
			return (enum fault_code)i;
	return FAULT_SYSTEM;
}

_Noreturn void
fault_bug(const char *file, int line, const char *what)
{
	(void)fprintf(stderr, "BUG %s:%d: %s\n", file, line, what);
	abort();
}
