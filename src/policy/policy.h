/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy language: three readers, one validator, one compiled form, one
 * canonical text, and the evaluator that answers a concrete request. Pure, and
 * all memory is the caller's arena.
 *
 *	text -> tree -> validated form (struct policy) -> boxes -> decision
 *
 * A policy is a list of boxes. An allow box is an endpoint of an entry, on its
 * programs, with one allow rule; a deny box is an endpoint with one deny rule
 * and holds for every program. A request passes when an allow box holds it and
 * no deny box does (policy_decide() says what "holds" means, dimension by
 * dimension; prover/ decides containment on the same form).
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "yaml/yaml.h"

struct _openshell_sandbox_v1_SandboxPolicy;

enum {
	POLICY_BYTES =
	    YAML_BYTES,        /* of a policy text, and of its canonical one */
	POLICY_ENTRIES = 1024, /* members of network_policies */
	POLICY_ENDPOINTS = 4096,
	POLICY_PROGRAMS = 4096,
	POLICY_RULES = 16384,  /* allow and deny rules of all endpoints */
	POLICY_PATTERN = 4096, /* bytes of one glob, path, key or name */
	POLICY_FILES = 256,    /* read_only and read_write together */
	POLICY_HOST = 253,
	POLICY_USER = 10,    /* bytes of run_as_user: "sandbox" or an id */
	POLICY_HASH = 32,    /* SHA-256 */
	POLICY_BODY = 65536, /* default limit of a JSON-RPC or MCP body */
	POLICY_ADDRESS = 46, /* text of an address, with its NUL */
};

/*
 * Where an item was written: line and column of YAML; byte `column` of JSON
 * when line is 0; both 0 in protobuf, whose places are the names of items.
 */
struct policy_place {
	uint32_t line;
	uint32_t column;
};

/* --- globs ------------------------------------------------------------- */

/*
 * A glob as a list of steps, which is also its automaton: position i is before
 * step i, position n accepts, and an empty glob matches "".
 *	0..255             that byte, then i + 1
 *	POLICY_STEP_STAR   any byte but the separator, staying; or on to i + 1
 *	POLICY_STEP_ANY    any byte, staying; or on to i + 1
 *	POLICY_STEP_FORK   on to i + 1 or to i + 3 (the two steps skipped are
 *	                   ANY and the separator: a leading or inner "**" that
 *	                   stands for no component at all)
 * Only paths and programs have FORK. Without a separator there is no STAR.
 */
enum {
	POLICY_STEP_STAR = 256,
	POLICY_STEP_ANY = 257,
	POLICY_STEP_FORK = 258,
};

enum policy_glob_kind {
	POLICY_GLOB_HOST, /* separator '.' */
	POLICY_GLOB_PATH, /* separator '/': paths and programs */
	POLICY_GLOB_WORD, /* no separator: query values, tools, RPC methods */
};

struct policy_glob {
	struct span text; /* normal form, as printed */
	const uint16_t *steps;
	uint32_t n;
	uint8_t separator; /* '.', '/' or 0 */
	bool literal;      /* no hole: matches its text only */
	bool everything;   /* matches every string */
};

struct policy_globs { /* any of them */
	const struct policy_glob *glob;
	size_t n;
};

/* INVALID says what is wrong, without a place. */
int policy_glob_read(struct policy_glob *g, enum policy_glob_kind kind,
    struct span text, struct arena *a, struct fault *f) MUST_CHECK;
/* One pass over s; never more than n steps a byte. */
bool policy_glob_match(const struct policy_glob *g, struct span s);
/* The same for at most *left positions gone through, a few ns each, which it
 * takes off: at 0 the answer means nothing. */
bool policy_glob_walk(const struct policy_glob *g, struct span s,
    uint64_t *left);
bool policy_globs_match(const struct policy_globs *g, struct span s);

/* --- addresses --------------------------------------------------------- */

/* One line of 128 bits. An IPv4 address is its v4-mapped one, ::ffff:a.b.c.d */
struct policy_address {
	uint64_t high;
	uint64_t low;
};

struct policy_range {
	struct policy_address first;
	struct policy_address last; /* included */
};

/* Sorted, disjoint, not adjacent. */
struct policy_addresses {
	const struct policy_range *range;
	size_t n;
};

enum policy_address_class {
	POLICY_PUBLIC,
	POLICY_PRIVATE,
	POLICY_BLOCKED, /* never dialled, whatever a policy says */
};

/* -1, 0, 1 */
int policy_address_compare(struct policy_address a, struct policy_address b);
struct policy_address policy_address_v4(uint32_t v4);
bool policy_address_is_v4(struct policy_address a);
/* Dotted quad or RFC 4291 text, no brackets, no zone. */
bool policy_address_parse(struct span s, struct policy_address *out);
void policy_address_format(struct policy_address a, char out[POLICY_ADDRESS]);
/* v4-mapped, v4-compatible, NAT64 and 6to4 forms have the class of their IPv4
 * address; Teredo is blocked whole. */
enum policy_address_class policy_address_class(struct policy_address a);
bool policy_addresses_hold(const struct policy_addresses *s,
    struct policy_address a);
/* All addresses that are public, or (any) public or private. */
int policy_addresses_of(bool any, struct arena *a, struct policy_addresses *out,
    struct fault *f) MUST_CHECK;

/* --- the compiled form ------------------------------------------------- */

enum policy_kind {
	POLICY_OPAQUE, /* protocol "" or tcp */
	POLICY_REST,
	POLICY_WEBSOCKET,
	POLICY_JSON_RPC,
	POLICY_MCP,
};

enum policy_host_kind {
	POLICY_HOST_NONE,    /* hostless: every name and address */
	POLICY_HOST_NAME,    /* one name */
	POLICY_HOST_GLOB,    /* names only, never an address */
	POLICY_HOST_ADDRESS, /* one address, in the text of its format() */
};

/*
 * Names that hosts are drawn from: labels of [a-z0-9_-], 1..63 bytes, 253 in
 * all, the last label no number ("7", "0x7"). Besides them: addresses.
 */
struct policy_host {
	enum policy_host_kind kind;
	struct policy_glob glob;       /* of NAME, GLOB and ADDRESS */
	struct policy_address address; /* of ADDRESS */
};

struct policy_ports { /* inclusive, sorted, not adjacent */
	const struct policy_port_range {
		uint16_t first;
		uint16_t last;
	} * range;
	size_t n;
};

struct policy_cidr {
	struct policy_address address; /* host bits are 0 */
	uint8_t bits;                  /* 0..128; 96 + prefix for IPv4 */
};

/* allowed_ips as written, for the printer; empty when absent. */
struct policy_allowed {
	bool is_public; /* the word */
	bool is_any;
	const struct policy_cidr *cidr;
	size_t n;
};

enum policy_signing {
	POLICY_SIGNING_NONE,
	POLICY_SIGNING_SIGV4,
	POLICY_SIGNING_SIGV4_BODY,
	POLICY_SIGNING_SIGV4_NO_BODY,
};

/* What an endpoint lets the proxy do beside forwarding. */
struct policy_capabilities {
	bool websocket_rewrite;
	bool body_rewrite;
	bool uninspected;
	struct span provider; /* credential_binding; empty: none */
	enum policy_signing signing;
	struct span signing_service;
	struct span signing_region;
	/* Of json-rpc and mcp, bytes. 0: no limit, as in the other kinds; no
	 * file says 0. So 0 is above every limit, also as use_of. */
	uint32_t max_body;
};

/* Query constraint: key is present and its values match (any of) values. */
struct policy_query {
	struct span key; /* literal bytes, decoded */
	struct policy_globs values;
};

enum policy_tools {
	POLICY_TOOLS_ANY, /* a tools/call that `rpc` matches may name any tool */
	POLICY_TOOLS_GLOB, /* tools/call only, its tool matches `tool` */
	POLICY_TOOLS_NONE, /* never tools/call; every other method of `rpc` */
};

enum {
	POLICY_IMPLIED = UINT16_MAX, /* rule of allow_all_known_mcp_methods */
};

/*
 * An allow or a deny rule. rest and websocket: method, path, query. json-rpc:
 * rpc. mcp: rpc, tools, tool. What the kind does not have matches everything.
 */
struct policy_rule {
	struct policy_place place;
	uint16_t index; /* in its list as written, in a preset, or IMPLIED */
	struct span
	    method; /* upper case; empty: any. GET stands for HEAD too */
	struct policy_glob path;
	const struct policy_query *query; /* sorted by key, all must hold */
	size_t query_n;
	struct policy_glob rpc;
	enum policy_tools tools;
	struct policy_globs tool;
};

struct policy_rules {
	const struct policy_rule *rule;
	size_t n;
};

enum policy_access {
	POLICY_ACCESS_RULES, /* written as rules */
	POLICY_ACCESS_READ_ONLY,
	POLICY_ACCESS_READ_WRITE,
	POLICY_ACCESS_FULL,
};

struct policy_endpoint {
	struct policy_place place;
	uint32_t index; /* in its entry, as written */
	struct policy_host host;
	struct policy_ports ports;
	struct policy_allowed allowed;
	struct policy_addresses addresses; /* nothing always blocked in it */
	enum policy_kind kind;
	bool tcp;      /* written "tcp"; means what "" means */
	bool skip_tls; /* opaque only; means what auto means */
	bool audit;    /* allows all on `path`, denies are recorded */
	struct policy_glob
	    path;           /* scope of allows and denies; "**" if absent */
	bool encoded_slash; /* allows hold paths with %2F */
	bool strict_tools;  /* mcp: names are [A-Za-z0-9_.-]{1,128} */
	bool all_methods;   /* mcp: allow_all_known_mcp_methods */
	enum policy_access access;
	struct policy_rules allows; /* presets and implied rules are in it */
	struct policy_rules denies;
	struct policy_capabilities capabilities;
};

/* One member of network_policies. */
struct policy_entry {
	struct policy_place place;
	struct span key;
	struct span name;
	const struct policy_program {
		struct policy_place place;
		uint32_t index;
		struct policy_glob glob;
	} * programs; /* any of them; at least one */
	size_t programs_n;
	const struct policy_endpoint *endpoints;
	size_t endpoints_n;
};

/*
 * Allow: entry's programs, endpoint's host, ports, addresses, path, and rule.
 * Deny: the same without programs and addresses. rule is NULL in an allow box
 * that has everything its kind carries on the path: opaque and audit.
 */
struct policy_box {
	const struct policy_entry *entry;
	const struct policy_endpoint *endpoint;
	const struct policy_rule *rule;
	bool deny;
};

struct policy_boxes {
	const struct policy_box *box; /* in the order of the file */
	size_t n;
};

struct policy_file {
	struct policy_place place;
	uint32_t index;
	struct span path; /* absolute, no ".", "..", "//", trailing "/" */
};

struct policy_files {
	const struct policy_file *file;
	size_t n;
};

enum policy_section {
	POLICY_FILESYSTEM = 1 << 0,
	POLICY_LANDLOCK = 1 << 1,
	POLICY_PROCESS = 1 << 2,
	POLICY_NETWORK = 1 << 3,
	POLICY_SECTIONS = 15,
};

/*
 * A policy. An absent section has the values it means in a root, so that only
 * completion and printing ask the has_ fields. All pointers are into the arena.
 */
struct policy {
	bool has_filesystem; /* the section is present, even if empty */
	bool has_landlock;
	bool has_process;
	bool has_network;
	bool has_middlewares; /* always empty */
	struct policy_place filesystem_place;
	struct policy_place landlock_place;
	struct policy_place process_place;
	struct policy_place network_place;
	bool include_workdir;
	struct policy_files read_only;
	struct policy_files read_write;
	bool best_effort;            /* landlock.compatibility */
	char user[POLICY_USER + 1];  /* empty: not set */
	char group[POLICY_USER + 1]; /* else "sandbox" or 1..4294967294 */
	const struct policy_entry *entries;
	size_t entries_n;
	struct policy_boxes allows;
	struct policy_boxes denies;
	struct span text;          /* canonical YAML, NUL after it */
	uint8_t hash[POLICY_HASH]; /* SHA-256 of text */
};

/* What every sandbox may access beside its policy; what its image lacks is
 * skipped. Equal for parent and child, so inside every WITHIN. */
enum {
	POLICY_BASELINE = 18,
};
extern const struct policy_baseline {
	const char *path;
	bool write; /* and read; else read only */
} policy_baseline[POLICY_BASELINE];

/* --- reading ----------------------------------------------------------- */

enum policy_read_flags {
	POLICY_READ_CHILD = 1 << 0,    /* version may be absent */
	POLICY_READ_PROVIDER = 1 << 1, /* keys may begin with _provider_ */
	POLICY_READ_MAXIMUM = 1 << 2,  /* all four sections must be there */
};

/*
 * Read a policy into a: YAML, JSON, or a decoded message. On -1 errors holds
 * what is wrong, up to 20 places and the count of all; *f is their sentence
 * (INVALID), or LIMIT when the text or the arena is spent (errors->count 0).
 * Nothing borrows the input. *p is set on 0 only.
 */
int policy_read_yaml(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct yaml_errors *errors, struct fault *f) MUST_CHECK;
int policy_read_json(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct yaml_errors *errors, struct fault *f) MUST_CHECK;
int policy_read_message(const struct _openshell_sandbox_v1_SandboxPolicy *m,
    unsigned flags, struct arena *a, struct policy *p,
    struct yaml_errors *errors, struct fault *f) MUST_CHECK;
/* policy_read_yaml() of a file of a user. */
int policy_parse(struct span text, struct arena *a, struct policy *p,
    struct yaml_errors *errors, struct fault *f) MUST_CHECK;
/* Error i with its place: "3:5: what", "byte 113: what", "a.b[0]: what". */
void policy_error_format(const struct yaml_errors *errors, size_t i, char *out,
    size_t size);
/* A message that reads back as p: all of it lives in a. */
int policy_message(const struct policy *p, struct arena *a,
    struct _openshell_sandbox_v1_SandboxPolicy *out,
    struct fault *f) MUST_CHECK;

/* The canonical text: YAML that reads back as p; equal for equal policies. */
const char *policy_format(const struct policy *p);
void policy_hash(const struct policy *p, uint8_t out[POLICY_HASH]);

/*
 * The child written out below parent (POLICY.md 1): absent sections and those
 * of `inherit` (policy_section bits) are the parent's, and names that parent
 * reaches through wildcards only get allowed_ips [public]. child may be NULL:
 * no policy at all. *out is made of both, which must outlive it.
 */
int policy_complete(const struct policy *child, const struct policy *parent,
    unsigned inherit, struct arena *a, struct policy *out,
    struct fault *f) MUST_CHECK;

/* --- deciding ---------------------------------------------------------- */

/*
 * What is done. Kinds of endpoint that let it pass, with the HTTP method that a
 * rest endpoint must allow on that path and query:
 *	OPAQUE   opaque                          bytes of any sort
 *	HTTP     opaque, rest                    the request's own method
 *	UPGRADE  opaque, rest, websocket         GET
 *	FRAME    opaque, rest, websocket         GET; websocket: GET and
 *	         WEBSOCKET_TEXT rules of the same endpoint, no deny of either
 *	RPC      opaque, rest, json-rpc          POST
 *	MCP      opaque, rest, mcp               POST
 *	STREAM   opaque, rest, mcp (every rule)  GET: the receive stream
 *	ANSWER   opaque, rest, mcp (every rule)  POST: a JSON-RPC response
 */
enum policy_act {
	POLICY_ACT_OPAQUE,
	POLICY_ACT_HTTP,
	POLICY_ACT_UPGRADE,
	POLICY_ACT_FRAME,
	POLICY_ACT_RPC,
	POLICY_ACT_MCP,
	POLICY_ACT_STREAM,
	POLICY_ACT_ANSWER,
};

/* A capability that the allowing endpoint must have. */
enum policy_use {
	POLICY_USE_NONE,
	POLICY_USE_WEBSOCKET_REWRITE,
	POLICY_USE_BODY_REWRITE,
	POLICY_USE_UNINSPECTED,
	POLICY_USE_BINDING, /* use_of->provider */
	POLICY_USE_SIGNING, /* use_of->signing, service and region */
	POLICY_USE_BODY,    /* a body of use_of->max_body bytes; 0: of any */
};

struct policy_pair {
	struct span key;
	struct span value;
};

struct policy_request {
	const struct span *programs; /* the program and its ancestors */
	size_t programs_n;
	struct span host; /* as policy_host_canonical() gave it */
	uint16_t port;
	struct policy_address address;
	enum policy_act act;
	struct span method; /* HTTP: in any case. RPC, MCP: the RPC method */
	struct span path;   /* as policy_path_canonical() gave it */
	const struct policy_pair *query; /* decoded */
	size_t query_n;
	struct span tool; /* of an MCP tools/call */
	enum policy_use use;
	const struct policy_capabilities *use_of; /* NULL without use */
};

enum policy_reason {
	POLICY_PASSES,        /* an allow box holds it */
	POLICY_PASSES_AUDIT,  /* only because its endpoint audits */
	POLICY_NEVER_DIALLED, /* host, port or address of no policy */
	POLICY_NO_ENDPOINT,   /* none for that host and port */
	POLICY_NO_PROGRAM,    /* some, for other programs */
	POLICY_NO_ADDRESS,    /* some, whose addresses do not hold it */
	POLICY_NO_KIND,       /* some, of kinds that do not carry it */
	POLICY_NO_RULE,       /* no rule allows it */
	POLICY_NO_CAPABILITY, /* allowed, but without that use */
	POLICY_DENIED,        /* `box` denies it */
};

struct policy_decision {
	bool allowed;
	enum policy_reason reason;
	const struct policy_box *box; /* that allows or denies; may be NULL */
};

struct policy_decision policy_decide(const struct policy *p,
    const struct policy_request *r);
/*
 * What a connection may carry, before its first byte: *opaque, and whether any
 * endpoint inspects there. The decision is that of the endpoints without their
 * rules.
 */
struct policy_decision policy_connect(const struct policy *p,
    const struct policy_request *r, bool *opaque);
/* The kind of the endpoints at that host, port and path; false: there is none.
 * Endpoints that share a place are of one kind. */
bool policy_route(const struct policy *p, struct span host, uint16_t port,
    struct span path, enum policy_kind *kind);

/* An endpoint with c may be put to that use; NONE always is. */
bool policy_capabilities_serve(const struct policy_capabilities *c,
    enum policy_use use, const struct policy_capabilities *of);

const char *policy_kind_name(enum policy_kind kind);
const char *policy_reason_text(enum policy_reason reason);
/* "network_policies.api endpoint 0 rule 1", "... deny 0", "... access full". */
void policy_box_format(const struct policy_box *b, char *out, size_t size);

/*
 * A host as requests name it: lower case, brackets of an address off, an
 * address in its one text. out holds POLICY_HOST + 1 bytes. False: no host.
 */
bool policy_host_canonical(struct span host, char *out, struct span *s);
bool policy_host_match(const struct policy_host *h, struct span host);
/* localhost, metadata.google.internal; 2379, 2380, 6443, 10250, 10255. */
bool policy_host_never(struct span host);
bool policy_port_never(uint16_t port);
bool policy_ports_hold(const struct policy_ports *s, uint16_t port);

/*
 * The target of a request line: path into out as it is judged and forwarded,
 * *query the raw part after '?' (empty without). %2F is kept, upper case.
 * INVALID for what has no canonical form. out holds POLICY_PATH bytes.
 */
enum {
	POLICY_TARGET = 4096,            /* bytes of a path before, */
	POLICY_PATH = 3 * POLICY_TARGET, /* and after */
};
int policy_path_canonical(struct span target, char *out, struct span *path,
    struct span *query, struct fault *f) MUST_CHECK;
/* The raw query decoded, pairs in order, in a. */
int policy_query_parse(struct span query, struct arena *a,
    const struct policy_pair **pairs, size_t *n, struct fault *f) MUST_CHECK;

#endif
