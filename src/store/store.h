/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway must not forget: SQLite behind typed functions, the only
 * SQL of the house. WAL, synchronous=FULL, one process.
 *
 * The first write of a tick opens a transaction; store_commit() ends it. So
 * all writes of one tick are durable together, with one fsync, before any
 * answer of that tick leaves. A call that must take its writes back uses
 * store_mark() and store_back().
 *
 * Spans that go out live in the caller's arena. Faults: NOT_FOUND, EXISTS,
 * else SYSTEM; a full disk keeps ENOSPC.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

enum {
	STORE_DIGEST = 64, /* hex digits of a SHA-256 */
	STORE_REASON = 32,
	STORE_DETAIL = 240,
	STORE_HASH = 32,
	STORE_POINT = 65,     /* of a P-256 key */
	STORE_SIGNATURE = 64, /* ES256 */
	STORE_USER = LIMIT_ID + 15,
};

struct store;

/* Open or make the file at path; its folder exists. An older schema is brought
 * to this one, a newer one is refused. */
struct store *store_open(const char *path, struct fault *f) MUST_CHECK;
void store_close(struct store *s); /* what is not committed is lost */
/* Make the tick's writes durable; nothing written: nothing done. On -1 all
 * of them are rolled back. */
int store_commit(struct store *s, struct fault *f) MUST_CHECK;
bool store_is_dirty(const struct store *s);
/* A point to come back to inside the tick, not nested. End with exactly one
 * of the other two. */
int store_mark(struct store *s, struct fault *f) MUST_CHECK;
void store_keep(struct store *s);
void store_back(struct store *s);

/*
 * Sandboxes. `object`, `plan` and `facts` are bytes that only the owner reads:
 * the north API's object, how it is run, what is known of the last launch. `labels` is "\n" and
 * then "key=value\n" for each label, empty when there are none.
 */
struct store_sandbox {
	char id[LIMIT_ID + 1];
	char name[LIMIT_NAME + 1];
	uint32_t state;
	char image[LIMIT_NAME + 1];
	char image_digest[STORE_DIGEST + 1];
	uint32_t cpus;
	uint32_t memory_mib;
	int64_t created_ms;
	int64_t started_ms; /* of the last launch that was accepted */
	int64_t deleted_ms; /* 0: not being deleted */
	uint64_t version;   /* from 1, raised by each update */
	uint64_t launches;
	uint64_t epoch;             /* last one that was given to a session */
	char launch[LIMIT_ID + 1];  /* session id of the launch */
	char machine[LIMIT_ID + 1]; /* keeper that holds it; empty: none */
	bool has_exit;
	int32_t exit_code;
	char reason[STORE_REASON + 1];
	char detail[STORE_DETAIL + 1];
	struct span labels;
	struct span object;
	struct span plan;
	struct span facts;
};

/* EXISTS when the name is taken. row->version is stored as it is. */
int store_sandbox_insert(struct store *s, const struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
/* All but id, name, created_ms; raises row->version. NOT_FOUND. */
int store_sandbox_update(struct store *s, struct store_sandbox *row,
    struct fault *f) MUST_CHECK;
int store_sandbox_remove(struct store *s, const char *id,
    struct fault *f) MUST_CHECK;
int store_sandbox_by_name(struct store *s, const char *name, struct arena *a,
    struct store_sandbox *row, struct fault *f) MUST_CHECK;
int store_sandbox_by_id(struct store *s, const char *id, struct arena *a,
    struct store_sandbox *row, struct fault *f) MUST_CHECK;
/*
 * Oldest first, then by name. `each` gets a row that is valid during the call
 * and may read and write the store but not list again; -1 stops the list.
 */
struct store_page {
	uint32_t offset;
	uint32_t limit;            /* 0: all */
	const struct span *labels; /* "key=value", all of which must be there */
	size_t labels_n;
};
int store_sandbox_list(struct store *s, const struct store_page *page,
    int (*each)(void *owner, struct store_sandbox *row, struct fault *f),
    void *owner, struct fault *f) MUST_CHECK;
/* How many rows are in that state. */
int store_sandbox_count(struct store *s, uint32_t state, uint32_t *n,
    struct fault *f) MUST_CHECK;
int store_sandbox_total(struct store *s, uint32_t *n,
    struct fault *f) MUST_CHECK;
/* Does a sandbox use that image digest? name: of one that does. */
int store_sandbox_uses(struct store *s, const char *image_digest, bool *used,
    char name[LIMIT_NAME + 1], struct fault *f) MUST_CHECK;

/*
 * Lineage: one row a sandbox, in the order of creation, so parents stand
 * before their children. It stays when the sandbox is deleted, as long as the
 * record tells of it.
 */
struct store_lineage {
	char id[LIMIT_ID + 1];
	char name[LIMIT_NAME + 1]; /* among its parent's children */
	char parent[LIMIT_ID + 1]; /* empty: a root */
	char root[LIMIT_ID + 1];   /* its own id, of a root */
	uint32_t depth;
	uint32_t kind;             /* enum grant_kind */
	char grant[LIMIT_ID + 1];  /* it was started under; empty: none */
	char user[STORE_USER + 1]; /* whose tree it is */
	const char *program;       /* that asked for it; empty: a user */
	char sha256[STORE_DIGEST + 1];
	char policy_hash[STORE_DIGEST + 1];
	int64_t created_ms;
	int64_t ended_ms; /* 0: it is there */
	char why[STORE_DETAIL + 1];
	uint32_t idle_seconds; /* of a tool */
	bool counted;          /* in used_total of the tree's newest grant */
	bool began;            /* came to its first instruction */
	char cascade[LIMIT_ID + 1]; /* id from which it is being ended */
	/* of its sandbox, while that is there */
	bool is_there;
	uint32_t state;
	bool has_exit;
	int32_t exit_code;
	char reason[STORE_REASON + 1];
	char full_name[LIMIT_NAME + 1];
};
int store_lineage_insert(struct store *s, const struct store_lineage *row,
    struct fault *f) MUST_CHECK;
/* ended_ms, why, counted, began, cascade and policy_hash. NOT_FOUND. */
int store_lineage_update(struct store *s, const struct store_lineage *row,
    struct fault *f) MUST_CHECK;
int store_lineage_by_id(struct store *s, const char *id, struct arena *a,
    struct store_lineage *row, struct fault *f) MUST_CHECK;
/* By the name that the sandbox has while it is there. */
int store_lineage_by_name(struct store *s, const char *name, struct arena *a,
    struct store_lineage *row, struct fault *f) MUST_CHECK;
/* The newest root of that name that is deleted; user empty: whoever's. */
int store_lineage_gone(struct store *s, const char *name, const char *user,
    struct arena *a, struct store_lineage *row, struct fault *f) MUST_CHECK;
/* A root's tree, deleted ones too. `each` may not list again. */
struct store_tree_page {
	const char *root;
	const char *after; /* id of the row before them; empty: the oldest */
	size_t limit;
};
typedef int (*store_lineage_each)(void *owner, const struct store_lineage *row,
    struct fault *f);
int store_lineage_tree(struct store *s, const struct store_tree_page *page,
    store_lineage_each each, void *owner, struct fault *f) MUST_CHECK;
/* Those of it that are not deleted: what the deleted ones were costs nothing. */
int store_lineage_there(struct store *s, const char *root,
    store_lineage_each each, void *owner, struct fault *f) MUST_CHECK;
/* All in that state, of all trees. */
int store_lineage_states(struct store *s, uint32_t state,
    store_lineage_each each, void *owner, struct fault *f) MUST_CHECK;
/* Of what was deleted before the record's oldest row, so many go, but none
 * that a request id is answered with; a root's grants go along. */
int store_lineage_forget(struct store *s, uint32_t limit,
    struct fault *f) MUST_CHECK;

/* Grants. The newest of a root is the one that counts. */
struct store_grant {
	char id[LIMIT_ID + 1];
	char root[LIMIT_ID + 1];
	char set_by[STORE_USER + 1];
	uint64_t generation;
	uint32_t max[3]; /* depth, breadth, total */
	uint32_t used_total;
	int64_t created_ms;
	int64_t expires_ms;
	int64_t ended_ms;
	uint32_t state;       /* enum grant_state */
	struct span programs; /* bytes that only the owner reads */
};
int store_grant_insert(struct store *s, const struct store_grant *row,
    struct fault *f) MUST_CHECK;
int store_grant_update(struct store *s, const struct store_grant *row,
    struct fault *f) MUST_CHECK;
/* NOT_FOUND when that root never had one. */
int store_grant_newest(struct store *s, const char *root, struct arena *a,
    struct store_grant *row, struct fault *f) MUST_CHECK;
/* The newest of each root that is there, oldest first; each is told the place
 * of its row. */
struct store_grant_page {
	uint64_t after;   /* a place; 0: from the first */
	uint32_t limit;   /* 0: all */
	const char *user; /* whose trees; empty: everybody's */
};
int store_grant_list(struct store *s, const struct store_grant_page *page,
    int (*each)(void *owner, uint64_t place, const struct store_grant *row,
	struct fault *f),
    void *owner, struct fault *f) MUST_CHECK;

/* The ledger of creates that carried a request id. */
struct store_request {
	const char *parent;
	const char *caller;
	const char *request_id;
	uint8_t digest[STORE_HASH];
	char child[LIMIT_ID + 1];
};
int store_request_put(struct store *s, const struct store_request *r,
    struct fault *f) MUST_CHECK;
/* Fills in digest and child; *found false when there is none. */
int store_request_get(struct store *s, struct store_request *r, bool *found,
    struct fault *f) MUST_CHECK;
/* The id is free again; all of a parent that is gone. */
int store_request_free(struct store *s, const char *child,
    struct fault *f) MUST_CHECK;
int store_request_forget(struct store *s, const char *parent,
    struct fault *f) MUST_CHECK;

/* The record. Rows are numbered from 1 without gaps; only audit/ writes. */
struct store_audit {
	uint64_t row;
	int64_t time_ms;
	const char *caller;  /* never NULL, as all the texts */
	const char *program; /* empty: the user's own tool */
	const char *parent;
	const char *root;
	const char *verb;
	const char *sandbox_id;
	const char *sandbox;
	const char *request_id;
	const char *verdict;
	const char *reason;
	const char *detail;
	uint8_t hash[STORE_HASH];
};
int store_audit_append(struct store *s, const struct store_audit *row,
    struct fault *f) MUST_CHECK;
/* The last row's number and hash; 0 and zeros when there is none. */
int store_audit_head(struct store *s, uint64_t *row, uint8_t hash[STORE_HASH],
    struct fault *f) MUST_CHECK;
/*
 * Rows between two numbers, neither among them; tail: the last ones of them,
 * newest first. Empty texts match all. No more rows than limit are told, and
 * none is looked at outside of the numbers: they bound the work.
 */
struct store_audit_filter {
	uint64_t after;
	uint64_t before; /* 0: no bound */
	uint32_t limit;  /* 0: all */
	bool tail;
	const char *sandbox; /* name or id */
	const char *verb;
	const char *caller;
	const char *verdict;
	const char *root; /* id: rows of its tree */
	int64_t since_ms;
	int64_t until_ms; /* 0: no bound */
};
typedef int (*store_audit_each)(void *owner, const struct store_audit *row,
    struct fault *f);
int store_audit_list(struct store *s, const struct store_audit_filter *filter,
    store_audit_each each, void *owner, struct fault *f) MUST_CHECK;
/* All rows after that number, limit of them at most. `each` may read single
 * rows, but neither list nor walk. */
int store_audit_walk(struct store *s, uint64_t after, uint32_t limit,
    store_audit_each each, void *owner, struct fault *f) MUST_CHECK;
/* The lowest number, which only a stranger makes less than 1. */
int store_audit_first(struct store *s, uint64_t *row, bool *found,
    struct fault *f) MUST_CHECK;
/* Bytes that the rows of (after, to] stand for. */
int store_audit_bytes(struct store *s, uint64_t after, uint64_t to,
    uint64_t *bytes, struct fault *f) MUST_CHECK;
/* The rows of (after, to] and the checkpoints before the last of them go. */
int store_audit_prune(struct store *s, uint64_t after, uint64_t to,
    struct fault *f) MUST_CHECK;

/* Signed points of the chain; what they mean is the business of audit/. */
struct store_checkpoint {
	uint64_t seq; /* of the table, raised by each */
	uint64_t row;
	int64_t time_ms;
	uint32_t kind;
	uint64_t bytes; /* of all rows up to it, also those that are gone */
	uint8_t hash[STORE_HASH];
	uint8_t point[STORE_POINT];
	uint8_t signature[STORE_SIGNATURE];
};
/* seq is not read. */
int store_checkpoint_put(struct store *s, const struct store_checkpoint *c,
    struct fault *f) MUST_CHECK;
/* Of the highest row; *found false: there is none, *c is zeroed. */
int store_checkpoint_last(struct store *s, struct store_checkpoint *c,
    bool *found, struct fault *f) MUST_CHECK;
int store_checkpoint_last_of(struct store *s, uint32_t kind,
    struct store_checkpoint *c, bool *found, struct fault *f) MUST_CHECK;
/* The one after row and seq of *c, by row and then by seq. */
int store_checkpoint_next(struct store *s, struct store_checkpoint *c,
    bool *found, struct fault *f) MUST_CHECK;

/* Tokens of users on the host, oldest first. A name is unique among a user's,
 * EXISTS. */
enum {
	STORE_TOKENS = 64, /* that a gateway keeps */
	STORE_TOKEN_NAME = 32,
	STORE_SCOPES = 240,
};
struct store_token {
	char id[LIMIT_ID + 1];
	char name[STORE_TOKEN_NAME + 1];
	char user[LIMIT_ID + 1];
	char scopes[STORE_SCOPES + 1];
	uint8_t digest[STORE_HASH]; /* SHA-256 of the secret */
	int64_t created_ms;
	int64_t expires_ms; /* 0: never */
};
int store_token_insert(struct store *s, const struct store_token *row,
    struct fault *f) MUST_CHECK;
int store_token_remove(struct store *s, const char *id,
    struct fault *f) MUST_CHECK;
/* The one of row->digest; found is false when there is none. */
int store_token_get(struct store *s, struct store_token *row, bool *found,
    struct fault *f) MUST_CHECK;
/* All of them, in a. */
int store_token_list(struct store *s, struct arena *a, struct store_token **out,
    size_t *n, struct fault *f) MUST_CHECK;

/* Small named values. */
int store_setting_put(struct store *s, const char *key, struct span value,
    struct fault *f) MUST_CHECK;
/* NOT_FOUND; the value lives in a. */
int store_setting_get(struct store *s, const char *key, struct arena *a,
    struct span *value, struct fault *f) MUST_CHECK;

#endif
