/* SPDX-License-Identifier: Apache-2.0 */
/* The log line; base/log.h has the contract. Only file variables: title, level. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

static const char *log_title = "nacre";
static enum log_level log_least = LOG_INFO;

void
log_start(const char *title, enum log_level least)
{
	log_title = title;
	log_least = least;
}

void
log_write(enum log_level level, const char *file, int line,
    const struct fault *f, const char *fmt, ...)
{
	static const char *const words[] = { "debug", "info", "warn", "error" };
	char text[512];
	char safe[1024];
	char when[32];
	char out[1400];
	int n;
	va_list ap;

	if (level < log_least)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f && f->code != FAULT_NONE) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, ": %s",
		    f->text);
	}
	text_escape(span_str(text), safe, sizeof(safe));
	time_format(clock_wall_ms(), when);
	n = snprintf(out, sizeof(out), "%s %s %s %s:%d %s\n", when, log_title,
	    words[level], file, line, safe);
	if (n > 0)
		(void)!write(STDERR_FILENO, out,
		    (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
}
