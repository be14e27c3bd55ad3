/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log line; base/log.h has the contract. File variables: title, level and
 * the bucket of lines that may still be written.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

enum {
	BURST = 200,  /* lines at once */
	LINE_MS = 20, /* then one in this time */
};

static const char *log_title = "nacre";
static enum log_level log_least = LOG_INFO;
static struct {
	int64_t filled_ms; /* up to when lines were added; 0 never */
	unsigned lines;
	unsigned long dropped;
} bucket;

void
log_start(const char *title, enum log_level least)
{
	log_title = title;
	log_least = least;
}

/* Most lines are about what a stranger did. False: there are too many. */
static bool
take_line(void)
{
	int64_t now_ms = clock_mono_ms();
	int64_t more = (now_ms - bucket.filled_ms) / LINE_MS;

	if (bucket.filled_ms == 0 || more >= BURST) {
		bucket.lines = BURST;
		bucket.filled_ms = now_ms;
	} else if (more > 0) {
		bucket.lines += (unsigned)more;
		if (bucket.lines > BURST)
			bucket.lines = BURST;
		bucket.filled_ms += more * LINE_MS;
	}
	if (bucket.lines == 0)
		return false;
	bucket.lines--;
	return true;
}

static void
put(enum log_level level, const char *file, int line, const char *text)
{
	static const char *const words[] = { "debug", "info", "warn", "error" };
	char safe[1024];
	char when[32];
	char out[1400];
	int n;

	text_escape(span_str(text), safe, sizeof(safe));
	time_format(clock_wall_ms(), when);
	n = snprintf(out, sizeof(out), "%s %s %s %s:%d %s\n", when, log_title,
	    words[level], file, line, safe);
	if (n > 0)
		(void)!write(STDERR_FILENO, out,
		    (size_t)n < sizeof(out) ? (size_t)n : sizeof(out) - 1);
}

static void
tell_dropped(void)
{
	char text[64];

	if (bucket.dropped == 0)
		return;
	(void)text_fmt(text, sizeof(text), "%lu lines dropped", bucket.dropped);
	bucket.dropped = 0;
	put(LOG_WARN, LOG_FILE, __LINE__, text);
}

void
log_write(enum log_level level, const char *file, int line,
    const struct fault *f, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	if (level < log_least)
		return;
	if (level < LOG_ERROR && !take_line()) {
		bucket.dropped++;
		return;
	}
	tell_dropped();
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (f && f->code != FAULT_NONE) {
		size_t used = strlen(text);

		(void)snprintf(text + used, sizeof(text) - used, ": %s",
		    f->text);
	}
	put(level, file, line, text);
}
