/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one error idiom (STYLE 8): fallible functions take `struct fault *f`
 * last, return 0, or -1 with *f set. Untouched on success; the first cause
 * wins; context is prefixed on the way up. No allocation.
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>

#define MUST_CHECK __attribute__((warn_unused_result))
/* A large local of a hot place that is written before it is read: what zeroes
 * all others (-ftrivial-auto-var-init) leaves it out. */
#define NOT_ZEROED __attribute__((uninitialized))

enum fault_code {
	FAULT_NONE = 0,
#define FAULT(name, kind, grpc, jsonrpc, reason, exit) FAULT_##name,
#include "base/fault.def"
#undef FAULT
	FAULT_COUNT
};

enum fault_kind {
	FAULT_KIND_INVALID,
	FAULT_KIND_REFUSED,
	FAULT_KIND_SYSTEM,
};

struct fault {
	enum fault_code code;
	int sys;        /* errno of a SYSTEM fault, else 0 */
	char text[240]; /* lower case sentence, no full stop; valid UTF-8 */
	char field[64]; /* argument or place that is wrong, may be empty */
};

/* Set *f; always returns -1, so that a guard is one line. */
int fault_set(struct fault *f, enum fault_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), nonnull(1)));
/* As fault_set() with FAULT_SYSTEM, keeps errno and appends its text. */
int fault_sys(struct fault *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(1)));
/* As fault_set() with FAULT_INVALID and the name of the wrong field. */
int fault_field(struct fault *f, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), nonnull(1, 2)));
/* Put "context: " before the text of a fault that is set. Returns -1. */
int fault_prefix(struct fault *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), nonnull(1)));
void fault_clear(struct fault *f);

enum fault_kind fault_kind(enum fault_code code);
int fault_grpc(enum fault_code code); /* gRPC status number */
int fault_jsonrpc(enum fault_code code);
int fault_exit(enum fault_code code);           /* CLI exit code */
const char *fault_reason(enum fault_code code); /* "LIMIT_REACHED" */
/* The code whose reason is `reason`, else FAULT_NONE. */
enum fault_code fault_from_reason(const char *reason);
/* A code for a gRPC status that came from a peer; FAULT_SYSTEM if unknown. */
enum fault_code fault_from_grpc(int status);

/* A broken invariant of ours: print the place and abort. */
#define BUG_IF(cond)                     \
 do {                                    \
  if (__builtin_expect(!!(cond), 0))     \
   fault_bug(__FILE__, __LINE__, #cond); \
 } while (0)
_Noreturn void fault_bug(const char *file, int line, const char *what);

#endif
