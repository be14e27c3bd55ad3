/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log: for operators, may be lost. One event is one line on stderr:
 *   2026-11-29T14:02:46Z gateway warn store.c:81 text
 * Bytes that strangers chose are escaped here, once. Strangers also choose how
 * often something happens: past 200 lines at once and 50 a second lines are
 * dropped and counted, errors excepted.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/fault.h"

enum log_level {
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARN,
	LOG_ERROR,
};

/* Process title and least level, once in main(). title is borrowed. */
void log_start(const char *title, enum log_level least);
void log_write(enum log_level level, const char *file, int line,
    const struct fault *f, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

#define LOG_FILE (__builtin_strrchr("/" __FILE__, '/') + 1)
#define log_debug(...) \
 log_write(LOG_DEBUG, LOG_FILE, __LINE__, NULL, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, LOG_FILE, __LINE__, NULL, __VA_ARGS__)
#define log_error(...) \
 log_write(LOG_ERROR, LOG_FILE, __LINE__, NULL, __VA_ARGS__)
/* The fault that is handled here, and what was being done. */
#define log_warn(f, ...) log_write(LOG_WARN, LOG_FILE, __LINE__, f, __VA_ARGS__)

#endif
