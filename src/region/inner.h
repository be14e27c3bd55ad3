/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room. From the ground up:
 *
 *	universe.c  the strings that requests may have
 *	pool.c      memory
 *	plain.c     which of two values is plainer
 *	inside.c    values and sets in sets, as far as is seen at once
 *	sets.c      sets of values of one dimension, each with a number
 *	search.c    strings: the shortest one in some sets and not in others
 *	solve.c     any dimension: the same question, answered once
 *	region.c    products of dimensions
 */
#ifndef REGION_INNER_H
#define REGION_INNER_H

#include "region/region.h"

enum {
	PAIRS_MOST = 1 << 21, /* globs compared with globs at once */
};

/* --- universe.c */

enum {
	STRICT_MAX = 128,    /* bytes of a strict tool name */
	UNIVERSE_LABEL = 63, /* of a label of a host */
};

/* States of an automaton; 0 is dead. */
unsigned universe_start(void);
unsigned universe_step(enum region_dim dim, unsigned u, uint8_t c);
bool universe_accepts(enum region_dim dim, unsigned u);
/* The last bytes of a path were %2F. */
bool universe_after_slash(unsigned u);
size_t universe_longest(enum region_dim dim);
bool tool_byte_is_strict(uint8_t c);

/* --- plain.c */

enum {
	PLAIN_METHODS = 10,
	PLAIN_PORTS = 2,
	PLAIN_ADDRESSES = 6,
};
/* From the plainest on. */
extern const char plain_bytes[];
extern const char *const plain_methods[PLAIN_METHODS];
extern const struct policy_address plain_ports[PLAIN_PORTS];
extern const struct policy_address plain_addresses[PLAIN_ADDRESSES];
struct span plainest(enum region_dim dim);

/* --- sets.c */

struct set {
	enum region_dim dim;
	enum region_form form;
	bool finite;     /* globs that are all literal */
	bool is_address; /* a host that is no name */
	uint32_t same;   /* then: the set of that one address */
	uint32_t n;
	uint64_t hash;
	const struct policy_glob *const *glob;
	const struct policy_range *range;
	const struct policy_capabilities *uses;
};

const struct set *set_at(const struct region_solver *p, uint32_t id);
/* Hosts that are never dialled. */
uint32_t set_never(struct region_solver *p);

/* --- inside.c */

/* -1, 0, 1: by their bytes. */
int span_compare(struct span a, struct span b);
bool set_holds(struct region_solver *p, uint32_t id,
    const struct region_value *v);
/* Cheap, and sound, as region_set_inside(). */
bool set_apart(struct region_solver *p, uint32_t a, uint32_t b);
/* Uses that an endpoint with c has; that all of them are uses of `in` too. */
bool uses_inside(const struct policy_capabilities *c,
    const struct policy_capabilities *in);
bool uses_serve(const struct policy_capabilities *c, enum policy_use use);

/* --- search.c */

struct sides { /* sets that must, and that must not, hold the value */
	const uint32_t *in;
	size_t in_n;
	const uint32_t *out;
	size_t out_n;
};
/* Begin; the sides are copied. False: p is spent. */
bool search_start(struct region_solver *p, enum region_dim dim,
    const struct sides *of);
/* Some steps of it; *out is the shortest, in the arena. */
enum region_found search_run(struct region_solver *p, struct span *out);

/* --- solve.c */

struct term {
	uint32_t set;
	uint32_t next; /* 0: the last */
	uint16_t key;
	uint8_t mode;
};

uint32_t value_add(struct region_solver *p, struct region_value v);
void side_add(struct region_solver *p, struct region_pool *to, uint32_t id);
/* Number of a value in all of p->in and none of p->out. */
enum region_found solve(struct region_solver *p, enum region_dim dim,
    uint32_t *value);

#endif
