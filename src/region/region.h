/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of requests. A set constrains one dimension of a request (its host, its
 * path, ...); a region is a product of intersections of sets and of their
 * complements. One question is answered, exactly: is a region empty, and if
 * not, what is in it?
 *
 * Nothing recurses over input and nothing loops over it without counting
 * steps. What takes long is a search, which the solver keeps: whoever asked is
 * told WAIT, lets it run (region_run()) and asks again. Pure; all memory is
 * the solver's arena. When that is out, or the steps are, `spent` is set for
 * good: what was asked then is answered by WAIT, or as not seen.
 */
#ifndef REGION_REGION_H
#define REGION_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/policy.h"

enum region_dim {
	REGION_HOST,
	REGION_PORT,
	REGION_PATH,
	REGION_METHOD, /* of HTTP */
	REGION_RPC,    /* method of JSON-RPC and MCP */
	REGION_TOOL,
	REGION_QUERY, /* values; terms name their key too */
	REGION_PROGRAM,
	REGION_ADDRESS,
	REGION_USE,
	REGION_DIMS,
};

enum region_form {
	REGION_SET_GLOBS,  /* strings that one of the globs matches */
	REGION_SET_PLAIN,  /* paths without %2F */
	REGION_SET_STRICT, /* tools named [A-Za-z0-9_.-]{1,128} */
	REGION_SET_RANGES, /* ports (in .low), addresses */
	REGION_SET_USES,   /* what an endpoint's capabilities serve */
};

enum {
	REGION_ALL = 0,        /* the set of everything */
	REGION_ONCE = 1000000, /* steps at once, some 30 ms */
};

enum region_found {
	REGION_SOME,
	REGION_NONE,
	REGION_WAIT,
};

/* How a term constrains; the query's speak of the values of a key. */
enum region_mode {
	REGION_IN,
	REGION_OUT,
	REGION_ALL_IN, /* key present, all values in */
	REGION_ABSENT, /* no such key */
	REGION_SOME_OUT,
	REGION_SOME_IN,
	REGION_NONE_IN, /* all values not in; absent will do */
};

/* Growable list in the arena. */
struct region_pool {
	void *items;
	uint32_t n;
	uint32_t room;
	uint32_t size; /* of an item */
};

struct region_search;

struct region_solver {
	struct arena *arena;
	size_t arena_from;
	size_t arena_most; /* bytes of it to take */
	bool spent;
	bool searching;
	uint64_t steps; /* taken; a step is some 30 ns */
	uint64_t until; /* where region_run() pauses */
	uint64_t most;  /* where it is spent */
	uint64_t once;  /* and, before that, where it is unless it may pause */
	struct region_pool sets;
	uint32_t *set_slots; /* by hash, numbers */
	uint32_t set_slots_n;
	struct region_pool keys; /* struct span: of queries, from 1 */
	struct region_pool terms;
	struct region_pool values;
	struct region_pool memo;
	uint32_t *memo_slots;
	uint32_t memo_slots_n;
	struct region_search *search;
	struct region_pool asked; /* what it looks for */
	uint64_t asked_hash;
	struct region_pool in; /* sides of the question at hand */
	struct region_pool out;
};

/* bytes, steps: the most that it may take of the arena, and in all. */
void region_solver_init(struct region_solver *p, struct arena *a, size_t bytes,
    uint64_t steps);
/* So many more steps; false: spent. */
bool region_step(struct region_solver *p, uint64_t n);
/* Asked wherever work can stop and go on, for no more than REGION_ONCE steps
 * are taken between two of these. True: stop. */
bool region_pauses(struct region_solver *p);
/* Go on searching; true: there is an answer, ask again. */
bool region_run(struct region_solver *p);
/* Zeroed memory; NULL, and p->spent. */
void *region_take(struct region_solver *p, size_t n, size_t size);
void *region_pool_add(struct region_solver *p, struct region_pool *to);
/* Room for as many more, and no more than that. */
bool region_pool_reserve(struct region_solver *p, struct region_pool *to,
    size_t more);
/* Stable; room has n places. */
void region_sort(const void **list, const void **room, size_t n,
    int (*compare)(const void *a, const void *b));

/*
 * Numbers of sets; equal sets have equal numbers. REGION_ALL also when p is
 * spent. What is pointed to must outlive p.
 */
uint32_t region_set_globs(struct region_solver *p, enum region_dim dim,
    const struct policy_glob *const *glob, size_t n);
uint32_t region_set_of_globs(struct region_solver *p, enum region_dim dim,
    const struct policy_globs *globs);
uint32_t region_set_literals(struct region_solver *p, enum region_dim dim,
    const struct span *s, size_t n);
uint32_t region_set_host(struct region_solver *p, const struct policy_host *h);
uint32_t region_set_ranges(struct region_solver *p, enum region_dim dim,
    const struct policy_range *range, size_t n);
uint32_t region_set_uses(struct region_solver *p,
    const struct policy_capabilities *c);
uint32_t region_set_form(struct region_solver *p, enum region_dim dim,
    enum region_form form);
/* Set a is inside set b, seen at once; false may mean that it is not seen. */
bool region_set_inside(struct region_solver *p, uint32_t a, uint32_t b);
const struct policy_glob *region_glob_literal(struct region_solver *p,
    struct span s);
/* The literal bytes a glob begins with (hosts: ends with). */
struct span region_glob_head(const struct policy_glob *g);
/* The number of a key of queries. */
uint16_t region_key(struct region_solver *p, struct span key);

/* Strings of that dimension that requests may have. */
bool region_universe_holds(enum region_dim dim, struct span s);

/* --- regions */

struct region_value {
	struct span s;
	struct policy_address a;
	enum policy_use use;
	const struct policy_capabilities *of;
};

/* -1, 0, 1: a is plainer, they are equal, b is. */
int region_compare(enum region_dim dim, const struct region_value *a,
    const struct region_value *b);
/* How long a string is to read: its bytes; of none at all, the most. */
enum {
	REGION_WEIGHT_EMPTY = 1 << 16,
};
size_t region_weight(struct span s);

/* Lists of terms, and per dimension the plainest value that fulfils them. */
struct region {
	uint32_t head[REGION_DIMS];
	uint32_t value[REGION_DIMS];
};

struct region_literal {
	uint32_t set;
	uint16_t key;
	uint8_t dim;
	uint8_t mode; /* IN; of a query ALL_IN or SOME_IN */
};

/* What was added since can be dropped again. */
struct region_mark {
	uint32_t terms;
	uint32_t values;
};
struct region_mark region_mark(const struct region_solver *p);
void region_back(struct region_solver *p, struct region_mark to);

/* Nothing demanded; values are the plainest. Regions of before are gone. */
void region_init(struct region_solver *p, struct region *r);
/*
 * Narrow r. WAIT: a search runs, or p is spent; nothing has changed. NONE: it
 * would be empty.
 */
enum region_found region_add(struct region_solver *p, struct region *r,
    const struct region_literal *l, enum region_mode mode);
/* Take n sets away at once: terms OUT, whose literals are IN. As region_add().
 */
enum region_found region_cut(struct region_solver *p, struct region *r,
    const struct region_literal *l, size_t n);
/* Seen at once: r is inside the literal, or has nothing in it. */
bool region_inside(struct region_solver *p, const struct region *r,
    const struct region_literal *l);
bool region_apart(struct region_solver *p, const struct region *r,
    const struct region_literal *l);
const struct region_value *region_value(const struct region_solver *p,
    uint32_t id);
/* The plainest request of r, with a query of so many bytes. What an act does
 * not have is alike in all that is compared. */
struct region_least {
	struct region_value value[REGION_DIMS];
	size_t bytes;
};
void region_least(const struct region_solver *p, const struct region *r,
    size_t query, struct region_least *out);
/* -1, 0, 1: that of r is plainer than another, equal, or not. */
int region_order(const struct region_solver *p, const struct region *r,
    size_t query, const struct region_least *than);
/* Bytes of the queries of r, at the least. */
size_t region_query_least(struct region_solver *p, const struct region *r);
/* The shortest query that fulfils r, at most `room` pairs. False: WAIT; or p is
 * spent, as when it needs more pairs. */
bool region_query(struct region_solver *p, const struct region *r,
    struct policy_pair *pair, size_t room, size_t *n);

#endif
