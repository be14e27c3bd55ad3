/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the room. Three readers make the same tree (struct yaml_node); the
 * validator walks it with a struct reader, which knows where it is and what
 * was wrong so far. Functions of the validator return nothing: what is wrong
 * is noted and reading goes on, so that all mistakes are told at once.
 */
#ifndef POLICY_INNER_H
#define POLICY_INNER_H

#include <stdlib.h>

#include "policy/policy.h"

#define POLICY_CALL  "tools/call"
#define POLICY_FRAME "WEBSOCKET_TEXT"

enum read_source {
	READ_YAML,
	READ_JSON,
	READ_MESSAGE,
};

enum {
	CRUMBS = 16, /* names and indexes on the way to a value */
};

struct crumb {
	struct span name; /* of a member; empty: an item */
	uint32_t index;
};

struct reader {
	struct arena *a;
	struct policy *p;
	struct yaml_errors *errors;
	enum read_source source;
	unsigned flags; /* POLICY_READ_* */
	bool spent;     /* the arena is */
	struct crumb crumbs[CRUMBS];
	size_t depth;
	size_t endpoints; /* so far, of all entries */
	size_t programs;
	size_t rules;
	struct policy_addresses sets[2]; /* of "public" and "any" */
};

/* --- read.c: walking */

void enter(struct reader *r, const char *name);
void enter_key(struct reader *r, struct span name);
void enter_index(struct reader *r, uint32_t index);
void leave(struct reader *r);
struct policy_place place_of(const struct yaml_node *node);
/* Note what is wrong with the value where r is. */
void read_error(struct reader *r, const struct yaml_node *node, const char *fmt,
    ...) __attribute__((format(printf, 3, 4)));
void read_fault(struct reader *r, const struct yaml_node *node,
    const struct fault *f);
/* n zeroed structs; NULL, and r->spent, when the arena is. */
void *read_room(struct reader *r, size_t n, size_t size);
/* A map with known keys only, or errors; false when it is no map. */
bool read_map(struct reader *r, const struct yaml_node *node,
    const char *const *keys, size_t n);
bool read_list(struct reader *r, const struct yaml_node *node);
/* A string value, UTF-8 without control bytes, at most POLICY_PATTERN. */
bool read_string(struct reader *r, const struct yaml_node *node,
    struct span *out);
/*
 * Members of a map by name. False and *out untouched when it is absent, null
 * or wrong; an empty string counts as absent.
 */
bool read_text(struct reader *r, const struct yaml_node *map, const char *key,
    struct span *out);
bool read_flag(struct reader *r, const struct yaml_node *map, const char *key,
    bool *out);
bool read_number(struct reader *r, const struct yaml_node *map, const char *key,
    uint32_t max, uint32_t *out);
/* One of n words; words[i] may be NULL (a number left out). */
bool read_word(struct reader *r, const struct yaml_node *map, const char *key,
    const char *const *words, size_t n, unsigned *out);

/* --- the validator, one noun a file */

void sections_read(struct reader *r, const struct yaml_node *root);
void network_read(struct reader *r, const struct yaml_node *node);
void endpoint_read(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e);
void rules_read(struct reader *r, const struct yaml_node *endpoint,
    struct policy_endpoint *e);
void rule_read(struct reader *r, const struct yaml_node *node,
    const struct policy_endpoint *e, struct policy_rule *to);
/* rest and websocket. */
bool is_http(const struct policy_endpoint *e);
/* A glob of ours. */
void glob_set(struct reader *r, struct policy_glob *g,
    enum policy_glob_kind kind, const char *text);
void allowed_read(struct reader *r, const struct yaml_node *node,
    struct policy_allowed *to);
bool allowed_given(const struct policy_allowed *w);
/* e->addresses from host and allowed_ips. */
void addresses_compile(struct reader *r, const struct yaml_node *node,
    struct policy_endpoint *e);
void ports_read(struct reader *r, const struct yaml_node *endpoint,
    struct policy_ports *out);
void overlap_check(struct reader *r);

int policy_host_read(struct policy_host *h, struct span text, struct arena *a,
    struct fault *f) MUST_CHECK;

/* From a tree to a policy: validate, compile, print. */
int policy_compile(struct reader *r, const struct yaml_node *root,
    struct policy *p, struct fault *f) MUST_CHECK;
/* Boxes, canonical text and hash of a form that is otherwise whole. */
int policy_settle(struct policy *p, struct arena *a,
    struct fault *f) MUST_CHECK;
int boxes_make(struct policy *p, struct arena *a, struct fault *f) MUST_CHECK;
int policy_print(struct policy *p, struct arena *a, struct fault *f) MUST_CHECK;

/* --- sets */

/*
 * The patterns have a common element. *steps grows by the work, which is at
 * most the product of their lengths.
 */
bool policy_globs_meet(const struct policy_glob *a, const struct policy_glob *b,
    uint64_t *steps);
bool policy_hosts_meet(const struct policy_host *a, const struct policy_host *b,
    uint64_t *steps);
bool policy_ports_meet(const struct policy_ports *a,
    const struct policy_ports *b);
struct policy_address policy_address_mask(unsigned bits);
struct policy_range policy_range_of(struct policy_address a, unsigned bits);
/* Sort and join; the number that is left. */
size_t policy_ranges_settle(struct policy_range *r, size_t n);
/* It meets an always blocked range, of which *example is the first. */
bool policy_range_blocked(struct policy_range r,
    struct policy_address *example);
/* The byte of the escape at s[at]; false when it is none. */
bool percent_decode(struct span s, size_t at, uint8_t *out);

/* --- match.c: rules against a request */

bool tool_is_strict(struct span name);
bool has_encoded_slash(struct span path);
/* The first rule that has the request, under that HTTP method, or NULL. */
const struct policy_rule *http_rule(const struct policy_rules *rules,
    const struct policy_request *r, struct span method, bool deny);
/* The first rule that has the RPC method (and tool), or NULL. */
const struct policy_rule *rpc_rule(const struct policy_rules *rules,
    const struct policy_request *r, enum policy_kind kind);

/* --- canonical text */

struct text {
	struct arena *a;
	char *to;
	size_t n;
	size_t room;
	bool spent;
};

void text_add(struct text *t, const char *s);
void text_quoted(struct text *t, struct span s);
void text_path(struct text *t, struct span s);
void text_num(struct text *t, uint64_t n);
/* Sort the pieces, drop equal ones, and add them. */
void text_sorted(struct text *t, struct span *piece, size_t n,
    const char *between);

#endif
