/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room. From the ground up:
 *
 *	universe.c  strings that requests may have
 *	sets.c    sets of values of one dimension, each with a number
 *	search.c  strings: the shortest one in some sets and not in others
 *	solve.c   any dimension: the same question, answered once
 *	box.c     a policy as boxes of such sets, for one act
 *	index.c   the boxes that may meet a given one
 *	diff.c    a box minus boxes, by cutting it up
 *	network.c all boxes of the child against those of the parent
 *	files.c   files, identities, landlock
 *	replay.c  the second evaluator; knows none of the above
 *	tell.c    the witness: made small, explained, printed
 *	text.c    results in words
 *	prover.c  sections in order
 *
 * Nothing recurses over input and nothing loops over it without counting
 * steps, so that a proof can stop anywhere and go on later: what needs an
 * answer that is not there yet leaves the search for it with the prover,
 * returns WAIT, and is called again.
 */
#ifndef PROVER_INNER_H
#define PROVER_INNER_H

#include "prover/prover.h"

enum dim {
	DIM_HOST,
	DIM_PORT,
	DIM_PATH,
	DIM_METHOD, /* of HTTP */
	DIM_RPC,    /* method of JSON-RPC and MCP */
	DIM_TOOL,
	DIM_QUERY, /* values; terms name their key too */
	DIM_PROGRAM,
	DIM_ADDRESS,
	DIM_USE,
	DIMS,
};

/* policy_act, but tools/call apart from the other methods of MCP. */
enum act {
	ACT_OPAQUE,
	ACT_HTTP,
	ACT_UPGRADE,
	ACT_FRAME,
	ACT_RPC,
	ACT_CALL,
	ACT_METHOD,
	ACT_STREAM,
	ACT_ANSWER,
	ACTS,
};

/* --- sets.c */

enum set_form {
	SET_GLOBS,  /* strings that one of the globs matches */
	SET_PLAIN,  /* paths without %2F */
	SET_STRICT, /* tools named [A-Za-z0-9_.-]{1,128} */
	SET_RANGES, /* ports (in .low), addresses */
	SET_USES,   /* what an endpoint's capabilities serve */
};

struct set {
	enum dim dim;
	enum set_form form;
	bool finite;     /* globs that are all literal */
	bool is_address; /* a host that is no name */
	uint32_t same;   /* then: the set of that one address */
	uint32_t n;
	uint64_t hash;
	const struct policy_glob *const *glob;
	const struct policy_range *range;
	const struct policy_capabilities *uses;
};

struct value {
	struct span s;
	struct policy_address a;
	enum policy_use use;
	const struct policy_capabilities *of;
};

enum {
	SET_ALL = 0, /* everything: never a term */
};

/* Growable list in the arena; gives NULL, and p->spent, when that is out. */
struct pool {
	void *items;
	uint32_t n;
	uint32_t room;
	uint32_t size; /* of an item */
};

void *pool_add(struct prover *p, struct pool *to);
/* Zeroed; NULL, and p->spent. */
void *take(struct prover *p, size_t n, size_t size);

/* The number of a set; SET_ALL also when p is spent. */
uint32_t set_globs(struct prover *p, enum dim dim,
    const struct policy_glob *const *glob, size_t n);
uint32_t set_of_globs(struct prover *p, enum dim dim,
    const struct policy_globs *globs);
uint32_t set_host(struct prover *p, const struct policy_host *h);
uint32_t set_ranges(struct prover *p, enum dim dim,
    const struct policy_range *range, size_t n);
uint32_t set_uses(struct prover *p, const struct policy_capabilities *c);
uint32_t set_literals(struct prover *p, enum dim dim, const struct span *s,
    size_t n);
const struct policy_glob *glob_literal(struct prover *p, struct span s);
uint32_t set_never(struct prover *p); /* hosts that are never dialled */
uint32_t set_form(struct prover *p, enum dim dim, enum set_form form);
const struct set *set_at(const struct prover *p, uint32_t id);
bool set_holds(struct prover *p, uint32_t id, const struct value *v);
/* Cheap, and sound: false may mean "not seen at once". */
bool set_inside(struct prover *p, uint32_t a, uint32_t b);
bool set_apart(struct prover *p, uint32_t a, uint32_t b);
/* The literal bytes a glob begins with (hosts: ends with). */
struct span glob_head(const struct policy_glob *g);
bool uses_hold(const struct policy_capabilities *c, enum policy_use use,
    const struct policy_capabilities *of);
bool uses_serve(const struct policy_capabilities *c, enum policy_use use);
bool path_escapes_slash(struct span s);
int span_compare(struct span a, struct span b);
/* Stable; room has n places. */
void sort_pointers(const void **list, const void **room, size_t n,
    int (*compare)(const void *a, const void *b));

/* --- universe.c */

enum {
	STRICT_MAX = 128,    /* bytes of a strict tool name */
	UNIVERSE_LABEL = 63, /* of a label of a host */
};

/* Strings of that dimension that requests may have; step() may give 0. */
bool universe_holds(enum dim dim, struct span s);
unsigned universe_start(void);
unsigned universe_step(enum dim dim, unsigned u, uint8_t c);
bool universe_accepts(enum dim dim, unsigned u);
/* The last bytes of a path were %2F. */
bool universe_after_slash(unsigned u);
size_t universe_longest(enum dim dim);
bool tool_byte_is_strict(uint8_t c);

/* --- search.c */

enum found {
	FOUND_SOME,
	FOUND_NONE,
	FOUND_WAIT,
};

struct search;

struct sides { /* sets that must, and that must not, hold the value */
	const uint32_t *in;
	size_t in_n;
	const uint32_t *out;
	size_t out_n;
};
/* Begin; the sides are copied. False: p is spent. */
bool search_start(struct prover *p, enum dim dim, const struct sides *of);
/* Some steps of it; *s is the shortest, in the arena. */
enum found search_run(struct prover *p, struct span *s);

/* --- solve.c */

/* How a term constrains; the query's speak of the values of a key. */
enum mode {
	IN,
	OUT,
	ALL_IN,   /* key present, all values in */
	ABSENT,   /* no such key */
	SOME_OUT, /* present, one not in */
	SOME_IN,
	NONE_IN, /* all values not in; absent will do */
};

struct term {
	uint32_t set;
	uint32_t next; /* 0: the last */
	uint16_t key;
	uint8_t mode;
};

/* Lists of terms, and per dimension a value that fulfils them. */
struct region {
	uint32_t head[DIMS];
	uint32_t value[DIMS];
};

struct literal {
	uint32_t set;
	uint16_t key;
	uint8_t dim;
	uint8_t mode; /* IN; of a query ALL_IN or SOME_IN */
};

/* Nothing demanded; values are the plainest. */
void region_init(struct region *r);
/*
 * Narrow r. WAIT: the answer is being searched, nothing has changed. NONE: it
 * is empty now and of no more use.
 */
enum found region_add(struct prover *p, struct region *r,
    const struct literal *l, enum mode mode);
/* The values of the query that the region demands. False: WAIT. */
bool region_query(struct prover *p, const struct region *r,
    struct prover_witness *w);
/* Seen at once: r is inside the literal, or has nothing in it. */
bool region_inside(struct prover *p, const struct region *r,
    const struct literal *l);
bool region_apart(struct prover *p, const struct region *r,
    const struct literal *l);
const struct value *value_at(const struct prover *p, uint32_t id);
void solve_init(struct prover *p);
/* The search has ended. */
void solve_done(struct prover *p, enum found found, struct span s);

/* --- box.c */

/* What strings of a glob begin with (hosts: end with), for the index. */
struct key {
	struct span s;
	bool whole; /* and are */
};

struct box {
	const struct policy_box *origin;
	uint32_t literal; /* the first, of p->literals */
	uint16_t n;
	struct key host_key;
	struct key path_key;
};

struct boxes {
	struct pool box;
	struct index *index;
};

/* The boxes of p that have that act; false: spent. */
bool boxes_of(struct prover *p, const struct policy_boxes *from, enum act act,
    struct boxes *out);
/* Acts whose containment implies that of all acts of an endpoint. */
bool act_matters(enum policy_kind kind, enum act act);
const struct literal *box_literals(const struct prover *p, const struct box *b);
enum policy_act act_public(enum act act);

/* --- index.c */

bool index_make(struct prover *p, struct boxes *boxes);
/* The boxes that may meet one with these keys, into p->hits. */
void index_find(struct prover *p, const struct boxes *in, struct key host,
    struct key path);

/* --- diff.c */

void diff_init(struct prover *p);
/* r minus the boxes of p->minus. */
void diff_start(struct prover *p, const struct region *r);
/* SOME: *out is left over, with values that show it. */
enum found diff_run(struct prover *p, struct region *out);

/* --- network.c */

struct network {
	enum act act;
	bool made; /* boxes of act */
	struct boxes child;
	struct boxes child_denies;
	struct boxes parent;
	struct boxes parent_denies;
	uint32_t at;          /* box of child */
	struct region region; /* its */
	uint32_t mark;        /* terms with it */
	struct pool denies;   /* of the parent that meet it, as candidates */
	uint32_t deny;
	uint8_t stage;
};

void network_init(struct prover *p);
/* SOME: p->result is an excess. */
enum found network_run(struct prover *p);

/* --- files.c */

void files_prove(struct prover *p);
void process_prove(struct prover *p);
void landlock_prove(struct prover *p);
/* What every sandbox may access (POLICY.md 2). */
struct baseline {
	const char *path;
	bool write;
};
extern const struct baseline baseline[];
extern const size_t baseline_n;
/* path where the links of the image lead; false: they do not end. */
bool links_resolve(const struct prover_image *image, struct span path,
    char *out, size_t size, struct span *to);

/* --- replay.c */

struct replay {
	const struct policy *p;
	const struct prover_image *image;
	uint64_t fuel; /* comparisons left; at 0 answers mean nothing */
	bool *row;     /* of REPLAY_ROW */
};

enum {
	REPLAY_ROW = POLICY_PATH + 2,
};

bool replay_network(struct replay *r, const struct prover_witness *w);
bool replay_file(struct replay *r, struct span file, bool write);
/* How far w comes at an endpoint; *rule is the one that lets it pass. */
enum policy_reason replay_endpoint(struct replay *r,
    const struct policy_entry *entry, const struct policy_endpoint *e,
    const struct prover_witness *w);

/* --- tell.c */

/* A verdict of a section; false: one of more weight is there already. */
bool tell(struct prover *p, enum prover_verdict v, enum policy_section s);
void tell_unsupported(struct prover *p, enum policy_section s,
    enum prover_code code, struct span place);
/* A policy before the second evaluator. */
struct replay *replay_of(struct prover *p, const struct policy *policy);
/* The excess told of is none, unless the second evaluator agrees. */
void replay_check(struct prover *p, bool agrees);
/* What r leaves over is an excess, if the second evaluator agrees. */
void tell_network(struct prover *p, const struct region *r, enum act act,
    const struct policy_box *child, const struct policy_box *deny);

/* --- the prover */

struct prover {
	struct prover_question q;
	struct arena *arena;
	size_t arena_from;
	bool spent;
	uint64_t steps; /* taken */
	uint64_t until; /* of this run */
	struct pool sets;
	uint32_t *set_slots; /* by hash, numbers */
	uint32_t set_slots_n;
	struct pool keys; /* struct span: keys of queries, from 1 */
	struct pool terms;
	struct pool values;
	struct pool literals;
	struct pool memo;
	uint32_t *memo_slots;
	uint32_t memo_slots_n;
	struct search *search;
	bool searching;    /* it is running, for */
	struct pool asked; /* this question, see solve.c */
	uint64_t asked_hash;
	struct pool in; /* scratch of solve.c */
	struct pool out;
	struct pool hits;       /* const struct box * */
	struct pool minus;      /* const struct box * */
	struct pool candidates; /* see network.c */
	struct pool frames;     /* of diff.c */
	struct network network;
	struct replay replay[2]; /* of the child, of the parent */
	bool *replay_row;
	uint8_t stage;
	struct prover_result result;
};

#endif
