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
	AUDIT_EVERY = 1000,     /* rows, at most, that no checkpoint covers */
};

enum audit_verdict {
	AUDIT_OK,      /* it was done */
	AUDIT_REFUSED, /* the caller's bytes were wrong, or a rule said no */
	AUDIT_FAILED,  /* the system failed */
};

struct tls_key;

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
/* The hash of a row (its own `hash` is not read) after the one before it. */
void audit_hash(const struct store_audit *row, const uint8_t before[STORE_HASH],
    uint8_t out[STORE_HASH]);

/*
 * Checkpoints: row number, hash and time, signed (PROTOCOL.md). Numbers are
 * stored: they never change.
 */
enum audit_kind {
	AUDIT_ROWS = 1,   /* AUDIT_EVERY rows have come */
	AUDIT_START = 2,  /* of the gateway */
	AUDIT_STOP = 3,   /* the next row is a start */
	AUDIT_PRUNED = 4, /* the rows up to it are gone, the chain goes on */
};
const char *audit_kind_name(uint32_t kind); /* "rows"; "unknown" */
/* Sign the head in the open transaction; *out is what was kept. */
int audit_checkpoint(struct store *s, const struct tls_key *key,
    enum audit_kind kind, struct store_checkpoint *out,
    struct fault *f) MUST_CHECK;
/* The same when AUDIT_EVERY rows have come since the last; else *made is
 * false. To be called before each commit. */
int audit_seal(struct store *s, const struct tls_key *key,
    struct store_checkpoint *out, bool *made, struct fault *f) MUST_CHECK;
/* Does its signature hold, by the key that it names? */
bool audit_checkpoint_holds(const struct store_checkpoint *c);
void audit_checkpoint_pin(const struct store_checkpoint *c,
    uint8_t pin[STORE_HASH]);
/* That, and is that key the one of the pin? */
bool audit_checkpoint_is_by(const struct store_checkpoint *c,
    const uint8_t pin[STORE_HASH]);

/* How old and how large the record may grow. */
struct audit_bounds {
	int64_t oldest_ms; /* rows before that time go */
	uint64_t bytes;
};
/*
 * Take a slice of the oldest rows away, if there are any that must go, and
 * sign where the chain goes on. *row is the last that went, 0 when none did.
 * What comes after the last checkpoint stays. PROTOCOL: a row is not as it
 * was written, or a checkpoint is not the key's; the record is then left as it
 * is.
 */
int audit_prune(struct store *s, const struct tls_key *key,
    const struct audit_bounds *b, uint64_t *row, struct fault *f) MUST_CHECK;

/* What is wrong with a record, at one row. */
enum audit_wrong {
	AUDIT_WHOLE,
	AUDIT_CHANGED,   /* the row is not what was hashed */
	AUDIT_MISSING,   /* the row is gone */
	AUDIT_INSERTED,  /* the row was put between others, or before all */
	AUDIT_CUT,       /* the rows from it on are gone */
	AUDIT_REWRITTEN, /* another hash was signed for it */
	AUDIT_FORGED,    /* its checkpoint is not by the key */
	AUDIT_UNSIGNED,  /* from it on rows lack their checkpoint */
};
const char *audit_wrong_name(enum audit_wrong w); /* "changed" */

/* A walk over the chain from its first row, in steps. Readable by all. */
struct audit_walk {
	uint8_t pin[STORE_HASH]; /* of the key that is trusted */
	bool has_wanted;
	uint8_t wanted[STORE_HASH]; /* a hash that one row must have */
	bool wanted_seen;
	uint64_t first; /* the row before the first */
	uint64_t row;   /* the last one that was found whole */
	uint8_t head[STORE_HASH];
	uint8_t before[STORE_HASH]; /* of the row before it */
	bool began;
	bool done;
	bool stopped;   /* the gateway, after that row */
	bool is_signed; /* a gateway that signs has written rows up to it */
	uint64_t start; /* of one, whose checkpoint is to come; 0: none */
	uint64_t checkpoints;
	struct store_checkpoint last; /* that holds; row 0: none */
	struct store_checkpoint next;
	bool has_next;
	enum audit_wrong wrong;
	uint64_t at; /* the row that is wrong */
};
/* wanted NULL: any chain that holds together. */
void audit_walk_init(struct audit_walk *w, const uint8_t pin[STORE_HASH],
    const uint8_t *wanted);
/* So many rows further. w->done: it is at the end, w->wrong says how it is.
 * Rows may be appended and pruned between the steps. SYSTEM: it cannot be
 * read. */
int audit_walk_step(struct audit_walk *w, struct store *s, uint32_t rows,
    struct fault *f) MUST_CHECK;
/* A sentence about w->wrong; size of 160 holds it. */
void audit_walk_say(const struct audit_walk *w, char *out, size_t size);

#endif
