/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record: append-only rows, each with the hash of itself and of the row
 * before it (PROTOCOL.md). A row is written in the transaction of its effect;
 * reads that were allowed leave none.
 */
#ifndef AUDIT_AUDIT_H
#define AUDIT_AUDIT_H

#include <stdint.h>

#include "base/base.h"
#include "store/store.h"

enum {
	AUDIT_ARGV = 1 << 10,   /* bytes of a command that are kept */
	AUDIT_DETAIL = 8 << 10, /* bytes of detail that are kept */
};

enum audit_verdict {
	AUDIT_OK,      /* it was done */
	AUDIT_REFUSED, /* the caller's bytes were wrong, or a rule said no */
	AUDIT_FAILED,  /* the system failed */
};

/* What there is to say; texts that do not apply stay NULL. */
struct audit_row {
	int64_t time_ms;
	const char *caller;  /* "uid:1000", "sandbox:<id>", "gateway" */
	const char *program; /* as the kernel sees it; NULL: unknown */
	const char *parent;
	const char *root;
	const char *verb; /* "sandbox.create" */
	const char *sandbox_id;
	const char *sandbox;
	const char *request_id;
	enum audit_verdict verdict;
	const char *reason; /* reason word of base/fault.def */
	const char *detail; /* never a value of the environment, no input or
	                       output, no file content */
};

/* Append in the open transaction; gives the row its number and hash. Texts
 * that are no UTF-8 are escaped, too long ones cut. */
int audit_append(struct store *s, const struct audit_row *row,
    struct fault *f) MUST_CHECK;
/* The verdict a fault stands for; f NULL or FAULT_NONE: AUDIT_OK. */
enum audit_verdict audit_verdict_of(const struct fault *f);
const char *audit_verdict_name(enum audit_verdict v);
/*
 * Walk the chain from the first row. 0: whole, *rows and head are its length
 * and last hash. -1 with FAULT_PROTOCOL: *rows is the first row that is wrong
 * or missing. SYSTEM: it cannot be read.
 */
int audit_verify(struct store *s, uint64_t *rows, uint8_t head[STORE_HASH],
    struct fault *f) MUST_CHECK;
/* The hash of a row (its own `hash` is not read) after the one before it. */
void audit_hash(const struct store_audit *row, const uint8_t before[STORE_HASH],
    uint8_t out[STORE_HASH]);

#endif
