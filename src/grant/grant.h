/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants: what a user lets the agents of one tree of sandboxes start, and the
 * judge of every call inside it. Pure: the tree, the grant and the time come
 * from the caller, who keeps them and applies what is answered.
 *
 *	a call     grant_may_call        caller, program, rate
 *	a create   grant_create_check    arguments
 *	           grant_may_repeat      request_id
 *	           grant_may_create      grant, parent, kind, depth
 *	           (policy and proof)
 *	           grant_may_reserve     queue, name, breadth, total: in the
 *	                                 transaction that charges the grant
 *	           grant_queue_join/next the start
 *
 * A question answers 0, or -1 and the whole refusal. Spans are borrowed unless
 * said otherwise. GRANTS.md is the contract; where it is silent, the function
 * says what holds.
 */
#ifndef GRANT_GRANT_H
#define GRANT_GRANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"
#include "grant/refusal.h"

struct json_value;
struct json_out;

enum {
	GRANT_PROGRAMS = 16,
	GRANT_EXPIRY_S = 24 * 3600, /* when none is given */
	GRANT_EXPIRY_MOST_S = 30 * 24 * 3600,
	GRANT_NAME = 13, /* bytes of a child's name, below LIMIT_NAME */
	GRANT_REQUEST_ID = 64,
	GRANT_PROVIDERS = 256,
	GRANT_WAIT_MS = 45000, /* default and most */
	GRANT_IDLE_S = 600,
	GRANT_IDLE_LEAST_S = 10,
	GRANT_IDLE_MOST_S = 86400,
	GRANT_RETRIES = 3, /* judgements of one create before BUSY */
	GRANT_LEVELS = 18, /* of a tree: the root, 16 of agents, tools */
};

/* Wall time for expiry, monotonic time for all that is measured. */
struct grant_now {
	int64_t wall_ms;
	int64_t mono_ms;
};

/* --- the grant --------------------------------------------------------- */

enum grant_state {
	GRANT_LIVE,
	GRANT_DEAD_REVOKED,
	GRANT_DEAD_EXPIRED,
	GRANT_DEAD_REPLACED,
};

struct grant_program {
	struct span path;
	struct span resolved; /* in the root's image; empty: it lacks path */
	bool is_pinned;       /* the user gave the digest */
	bool has_sha256;
	uint8_t sha256[DIGEST_SIZE]; /* given, else the image's own */
};

struct grant {
	struct span id;
	struct span set_by;
	uint64_t generation; /* raised by every change but a charge */
	uint32_t max[GRANT_LIMITS];
	uint32_t used_total;
	int64_t created_ms;
	int64_t expires_ms;  /* wall */
	int64_t deadline_ms; /* the same on the monotonic clock of this run */
	int64_t ended_ms;    /* when revoked or replaced */
	enum grant_state state;
	size_t programs_n;
	struct grant_program programs[GRANT_PROGRAMS];
};

const char *grant_state_name(enum grant_state s); /* "live" */
/* The state of now. EXPIRED as soon as either clock has passed expiry, so a
 * wall clock that is set back gives nothing. */
enum grant_state grant_state_at(const struct grant *g, struct grant_now now);
/* Set the deadline of a grant that was read from the store. */
void grant_arm(struct grant *g, struct grant_now now);

/* What a user asks of a grant; absent is not zero. */
struct grant_wish {
	bool has[GRANT_LIMITS];
	uint32_t max[GRANT_LIMITS];
	bool has_expiry;
	int64_t expires_ms;
	size_t programs_n; /* 0: absent */
	struct grant_program programs[GRANT_PROGRAMS];
};

/* Each adds one option. INVALID names the field: "max_depth", "max_breadth",
 * "max_total", "expires", "programs[2]". */
int grant_wish_limit(struct grant_wish *w, enum grant_limit l, int64_t value,
    struct fault *f) MUST_CHECK;
int grant_wish_limit_text(struct grant_wish *w, enum grant_limit l,
    struct span text, struct fault *f) MUST_CHECK;
/* "90s", "15m", "4h", "7d", or RFC 3339 with a zone: future, <= 30 d. */
int grant_wish_expires(struct grant_wish *w, struct span text, int64_t wall_ms,
    struct fault *f) MUST_CHECK;
/* PATH or PATH@sha256:HEX. */
int grant_wish_program(struct grant_wish *w, struct span text,
    struct fault *f) MUST_CHECK;
/* All of it from the arguments of create_grant and update_grant: the fields
 * above and "sandbox", which is the caller's to read. */
int grant_wish_read(struct grant_wish *w, const struct json_value *v,
    int64_t wall_ms, struct fault *f) MUST_CHECK;
/* Enough for a grant: all three limits and a program. Expiry defaults. */
int grant_wish_check_create(struct grant_wish *w, int64_t wall_ms,
    struct fault *f) MUST_CHECK;
/* Something to change. */
int grant_wish_check_update(const struct grant_wish *w,
    struct fault *f) MUST_CHECK;

/* What the root's image says about a program's path. */
struct grant_image_program {
	bool is_found;
	struct span resolved;
	uint8_t sha256[DIGEST_SIZE];
};
/* Program i of w in the image. INVALID when it is not there and not pinned. */
int grant_wish_resolve(struct grant_wish *w, size_t i,
    const struct grant_image_program *image, struct fault *f) MUST_CHECK;

/* --- the caller's program ---------------------------------------------- */

enum grant_executable_flags {
	GRANT_EXE_MEMFD = 1 << 0,
	GRANT_EXE_DELETED = 1 << 1,
	GRANT_EXE_CHANGED = 1 << 2,
	GRANT_EXE_UNREADABLE = 1 << 3,
};

struct grant_executable {
	struct span path; /* as the kernel resolves it, from the agent's root */
	uint8_t sha256[DIGEST_SIZE];
	unsigned flags;
};

/* Of one request: who called connect, and who else holds the connection. */
struct grant_evidence {
	struct grant_executable self;
	const struct grant_executable *holders;
	size_t holders_n;
};

enum grant_match {
	GRANT_MATCH,
	GRANT_MATCH_MEMFD,
	GRANT_MATCH_DELETED,
	GRANT_MATCH_CHANGED,
	GRANT_MATCH_UNREADABLE,
	GRANT_MATCH_SHARED,  /* another executable holds the connection */
	GRANT_MATCH_PATH,    /* not in the list */
	GRANT_MATCH_CONTENT, /* listed, with another digest */
};

enum grant_match grant_program_match(const struct grant_program *programs,
    size_t n, const struct grant_evidence *e);
const char *grant_match_text(enum grant_match m);

/* --- the tree ---------------------------------------------------------- */

#define GRANT_NOBODY UINT32_MAX

enum grant_kind {
	GRANT_AGENT,
	GRANT_TOOL
};

enum grant_life {
	GRANT_RESERVED, /* in the queue */
	GRANT_STARTING,
	GRANT_RUNNING,
	GRANT_STOPPING,
	GRANT_STOPPED,
	GRANT_ENDED,
	GRANT_DELETED,
};

struct grant_node {
	struct span id;
	struct span name;
	uint32_t parent; /* index; GRANT_NOBODY of the root */
	uint32_t depth;  /* of an agent; a tool has its parent's */
	enum grant_kind kind;
	enum grant_life life;
	bool is_counted; /* in used_total of the tree's newest grant */
};

/* A snapshot: node 0 is the root. Deleted rows may be left out. */
struct grant_tree {
	const struct grant_node *node;
	uint32_t n;
	struct span user;
	const struct grant *grant; /* the newest, live or not; NULL: none yet */
};

const char *grant_life_name(enum grant_life l); /* "running" */
bool grant_is_live(
    enum grant_life l); /* reserved, starting, running, stopping */
/* Is node below `above` (not itself)? */
bool grant_is_below(const struct grant_tree *t, uint32_t node, uint32_t above);
/* Live direct children. */
uint32_t grant_breadth_used(const struct grant_tree *t, uint32_t parent);
/* Live nodes but the root: with what a replacing grant's total begins. */
uint32_t grant_live_below(const struct grant_tree *t);

/* Depth: of the deepest live agent; breadth: most live children of one. */
uint32_t grant_used(const struct grant_tree *t, enum grant_limit l);

struct grant_caller {
	bool is_sandbox;
	uint32_t node; /* of a sandbox, in this tree; GRANT_NOBODY elsewhere */
	struct span user; /* of a host caller */
	bool is_admin;    /* of the workspace or the platform */
	bool may_grant;   /* has the scope grant:write */
};

struct grant_ask {
	const struct grant_tree *tree;
	const struct grant_caller *caller;
	struct grant_now now;
};

/* --- rates ------------------------------------------------------------- */

enum grant_rate {
	GRANT_RATE_SANDBOX, /* 10/s, burst 20 */
	GRANT_RATE_TREE,    /* 30/s, burst 60 */
	GRANT_RATE_USER,    /* 50/s, burst 100 */
	GRANT_RATE_OUTSIDE, /* 2/s, burst 2: programs outside the grant */
};

struct grant_bucket {
	enum grant_rate rate;
	int64_t at_ms;
	int64_t level; /* thousandths of a call */
};

void grant_bucket_init(struct grant_bucket *b, enum grant_rate r,
    int64_t mono_ms);
/* One call from each of n buckets, or from none: 0, or the exact time after
 * which the same call passes if nothing else is taken. NULL ones are skipped. */
int64_t grant_bucket_take(struct grant_bucket *const *b, size_t n,
    int64_t mono_ms);

/*
 * Proof work of one tree: 100 ms worth a second, burst 300 ms. A proof may
 * begin when something is left and is charged for what it took, so the level
 * can fall below nothing by one proof.
 */
struct grant_worth {
	uint32_t steps_per_ms;
	int64_t at_ms;
	int64_t level; /* tenths of a step */
};

void grant_worth_init(struct grant_worth *w, uint32_t steps_per_ms,
    int64_t mono_ms);
/* 0, or RATE_LIMITED with the exact time. */
int grant_may_prove(struct grant_worth *w, int64_t mono_ms,
    struct grant_refusal *r) MUST_CHECK;
void grant_worth_spend(struct grant_worth *w, uint64_t steps, int64_t mono_ms);

/* --- create ------------------------------------------------------------ */

struct grant_variable {
	struct span name;
	struct span value;
};

/* The arguments of create_sandbox, of any surface. */
struct grant_create {
	bool has_name;
	struct span name;
	enum grant_kind kind;
	bool has_command;
	const struct span *command;
	size_t command_n;
	bool has_policy;
	struct span policy; /* as written; judged elsewhere */
	unsigned inherit;   /* sections of it that it takes from the parent */
	const struct grant_variable *environment;
	size_t environment_n;
	bool has_providers;
	const struct span *providers;
	size_t providers_n;
	bool has_idle;
	int64_t idle_seconds;
	bool has_request_id;
	struct span request_id;
	int64_t wait_ms;
	bool has_parent;
	struct span parent;
	bool has_from;
	struct span from;
};

void grant_create_init(struct grant_create *c); /* the defaults */
/* From JSON: unknown and ill-typed arguments are INVALID. Lists live in a;
 * texts are those of v. */
int grant_create_read(struct grant_create *c, const struct json_value *v,
    struct arena *a, struct fault *f) MUST_CHECK;
/* Every rule of GRANTS.md 2 that the arguments alone can break. */
int grant_create_check(const struct grant_create *c, bool is_sandbox,
    struct fault *f) MUST_CHECK;
/* Each alone, for other surfaces. */
int grant_name_check(struct span name, const char *field,
    struct fault *f) MUST_CHECK;
int grant_request_id_check(struct span id, struct fault *f) MUST_CHECK;
/*
 * SHA-256 of what was asked: equal for equal arguments in any order of
 * environment and providers; without request_id, wait_ms and parent. The
 * policy counts as policy_hash: of its canonical text, or of its bytes when it
 * cannot be read; NULL only without a policy.
 */
void grant_create_digest(const struct grant_create *c,
    const uint8_t *policy_hash, uint8_t out[DIGEST_SIZE]);

/* What the ledger of one parent and caller has under a request_id. */
struct grant_first {
	bool is_found; /* false: a refusal or a failed start left it free */
	bool is_done;
	uint8_t digest[DIGEST_SIZE];
	struct span child; /* id */
};
/* 0 and *is_repeat: the answer is the first result, with the state of now.
 * 0 and not: go on. Else IN_PROGRESS or INVALID_ARGUMENT. */
int grant_may_repeat(const struct grant_first *first,
    const uint8_t digest[DIGEST_SIZE], bool *is_repeat,
    struct grant_refusal *r) MUST_CHECK;

/* --- the judge --------------------------------------------------------- */

/* NULL ones are not charged. */
struct grant_rates {
	struct grant_bucket *sandbox;
	struct grant_bucket *tree;
	struct grant_bucket *user;
	struct grant_bucket *outside;
};

/*
 * The first steps of every tools/call: caller, program, rate. e is NULL for
 * host callers, who are asked for no program and pay from their user's bucket
 * alone. A call from outside the grant (or without one) pays from `outside`.
 */
int grant_may_call(const struct grant_ask *ask, const struct grant_evidence *e,
    const struct grant_rates *rates, struct grant_refusal *r) MUST_CHECK;
/* A call that has waited: is its program one of the newest grant's still?
 * Nothing is paid, and e is not NULL. */
int grant_may_go_on(const struct grant_ask *ask, const struct grant_evidence *e,
    struct grant_refusal *r) MUST_CHECK;

/* Look at a node: itself and its descendants, or a tree of the user. */
int grant_may_see(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r) MUST_CHECK;
/* Stop or delete it. Fine in every state but deleted. */
int grant_may_stop(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r) MUST_CHECK;
/* *must_start: a stopped tool child; ask grant_may_start() next. */
int grant_may_exec(const struct grant_ask *ask, uint32_t node, bool *must_start,
    struct grant_refusal *r) MUST_CHECK;
int grant_may_get_file(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r) MUST_CHECK;
/* Write its policy: a user of the tree only. The proof comes after. */
int grant_may_write_policy(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r) MUST_CHECK;

/* A child of `parent`: grant, parent running, kind and depth, providers (a
 * subset of the parent's). For what comes before the proof. */
struct grant_child {
	uint32_t parent;
	enum grant_kind kind;
	const struct span *providers; /* asked for */
	size_t providers_n;
	const struct span *parent_has;
	size_t parent_has_n;
};
int grant_may_create(const struct grant_ask *ask, const struct grant_child *c,
    struct grant_refusal *r) MUST_CHECK;

/* A stopped one, started again. A root needs no grant. */
int grant_may_start(const struct grant_ask *ask, uint32_t node,
    struct grant_refusal *r) MUST_CHECK;

/* What an allowed create or start takes. */
struct grant_charge {
	uint32_t parent;
	uint32_t depth; /* of the new node */
	bool breadth;   /* a place among the live children of parent */
	bool total;     /* one more started under the grant */
};

struct grant_queue;
struct grant_slot {
	const struct grant_queue *queue; /* NULL: not asked */
	uint64_t tree;                   /* its number there */
	struct span name; /* of a create; empty: none asked for */
};
/*
 * Inside the transaction: all of grant_may_create() again, then queue (BUSY),
 * name (ALREADY_EXISTS), breadth, total. On 0 the caller inserts the row,
 * RESERVED and counted, and calls grant_charge().
 */
int grant_may_reserve(const struct grant_ask *ask, const struct grant_child *c,
    const struct grant_slot *s, struct grant_charge *charge,
    struct grant_refusal *r) MUST_CHECK;
/* Likewise for a start: queue, breadth. The total is not charged. */
int grant_may_restart(const struct grant_ask *ask, uint32_t node,
    const struct grant_slot *s, struct grant_charge *charge,
    struct grant_refusal *r) MUST_CHECK;
void grant_charge(struct grant *g, const struct grant_charge *c);
/* A create that never reached its first instruction: the row was in a state
 * that is live, and n becomes DELETED and uncounted. */
void grant_give_back(struct grant *g, struct grant_node *n);

/* What a judgement rested on; a reserve holds only under the same. */
struct grant_generations {
	struct span grant_id; /* each grant begins with generation 1 */
	uint64_t grant;
	uint64_t parent_policy;
	uint64_t maximum;
};
bool grant_is_same(const struct grant_generations *a,
    const struct grant_generations *b);
/* `judged` judgements were overtaken: 0, judge again, or BUSY. */
int grant_may_judge_again(unsigned judged, struct grant_refusal *r) MUST_CHECK;

/* --- the grant's own operations ---------------------------------------- */

enum grant_act {
	GRANT_ACT_CREATE,
	GRANT_ACT_GET,
	GRANT_ACT_LIST,
	GRANT_ACT_UPDATE,
	GRANT_ACT_REVOKE,
};
/*
 * node: the sandbox that a host caller named; a sandbox may GET the grant of
 * its own tree and nothing else. Revoking a dead grant is allowed
 * and changes nothing, so that its children can be stopped afterwards.
 */
int grant_may_act(const struct grant_ask *ask, enum grant_act act,
    uint32_t node, struct grant_refusal *r) MUST_CHECK;
/* What get and list show: limits with used and left, expires_at, programs,
 * state, by whom and when it was set. The tree has a grant. */
void grant_write(const struct grant_tree *t, struct grant_now now,
    struct json_out *o);
/* A new grant in *g from a checked wish; used_total begins at live_below.
 * The caller marks exactly the live descendants as counted. */
void grant_make(struct grant *g, const struct grant_wish *w, struct span id,
    struct span set_by, struct grant_now now, uint32_t live_below);
void grant_update(struct grant *g, const struct grant_wish *w,
    struct grant_now now);
/* Ends it as `state`; a dead one keeps how and when it died, but REPLACED. */
void grant_end(struct grant *g, enum grant_state state, struct grant_now now);

/* --- the queue --------------------------------------------------------- */

enum {
	GRANT_QUEUE_TREE_STARTS = 4,
	GRANT_QUEUE_STARTS = 8,
	GRANT_QUEUE_WAITING = 32, /* of one tree */
	GRANT_QUEUE_TREES = 64,
	GRANT_QUEUE_ROOTS = 48, /* of these: so many begin with a root */
};

struct grant_ticket {
	uint64_t start; /* the caller's number for it */
	uint64_t tree;
	uint64_t parent; /* 0: a root, which no grant can stop */
};

struct grant_queue_tree {
	uint64_t tree; /* 0: free */
	bool has_root; /* it came with one */
	uint32_t starts;
	uint32_t waiting_n;
	struct grant_ticket waiting[GRANT_QUEUE_WAITING];
};

struct grant_queue {
	uint32_t starts;
	uint32_t turn; /* place whose turn it is */
	uint32_t roots;
	struct grant_queue_tree tree[GRANT_QUEUE_TREES];
};

void grant_queue_init(struct grant_queue *q);
/* Would one more of that tree be refused, which is no root? */
bool grant_queue_is_full(const struct grant_queue *q, uint64_t tree);
/* At the end of its tree's line, or BUSY. tree and start are not 0. However
 * many roots wait, there are places for the children of trees that run. */
int grant_queue_join(struct grant_queue *q, const struct grant_ticket *t,
    struct grant_refusal *r) MUST_CHECK;
/* The next that may start now, trees in turn; false: none. It counts as a
 * start until grant_queue_done(). */
bool grant_queue_next(struct grant_queue *q, struct grant_ticket *t);
void grant_queue_done(struct grant_queue *q, uint64_t tree);
/* Take waiting ones out, one a call, until false: `start` itself, those below
 * `parent`, or all but roots' of the tree whose grant died. */
bool grant_queue_leave(struct grant_queue *q, uint64_t tree, uint64_t start);
bool grant_queue_leave_parent(struct grant_queue *q, uint64_t tree,
    uint64_t parent, struct grant_ticket *t);
bool grant_queue_leave_tree(struct grant_queue *q, uint64_t tree,
    struct grant_ticket *t);

/* --- stopping ---------------------------------------------------------- */

enum grant_cascade {
	GRANT_CASCADE_STOP,
	GRANT_CASCADE_STOP_BELOW, /* `from` itself goes on */
	GRANT_CASCADE_DELETE,
};
/*
 * The next level of a cascade at and below `from`, all of which is STOPPING
 * (a delete also takes what was stopped): the nodes to stop or delete now, on
 * the deepest level with work left, up to max; 0 when it is over. It rests on
 * states alone, so a gateway that comes back goes on by asking.
 */
size_t grant_cascade_next(const struct grant_tree *t, uint32_t from,
    enum grant_cascade how, uint32_t *out, size_t max);

struct grant_idle {
	enum grant_kind kind;
	enum grant_life life;
	uint32_t idle_seconds;
	uint32_t busy;          /* execs and user sessions in progress */
	int64_t quiet_since_ms; /* start, or end of the last of them */
};
/* 0: stop it now; else look again after so many ms; -1: no need to look
 * before something changes. */
int64_t grant_idle_wait_ms(const struct grant_idle *i, int64_t mono_ms);

#endif
