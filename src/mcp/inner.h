/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the MCP room share; mcp/mcp.h is the door. */
#ifndef MCP_INNER_H
#define MCP_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "json/json.h"
#include "mcp/mcp.h"

/* Prefix of the protocol's own members of _meta. */
#define MCP_OWN    "io.modelcontextprotocol/"
#define MCP_LATEST "2026-07-28" /* the one version of the second era */

/* JSON-RPC 2.0 section 5.1, and those that the protocol adds. */
enum mcp_code {
	MCP_PARSE_ERROR = -32700,
	MCP_INVALID_REQUEST = -32600,
	MCP_METHOD_NOT_FOUND = -32601,
	MCP_INVALID_PARAMS = -32602,
	MCP_INTERNAL_ERROR = -32603,
	MCP_HEADER_MISMATCH = -32020,
	MCP_MISSING_CAPABILITY = -32021,
	MCP_UNSUPPORTED_VERSION = -32022,
};

/* --- front.c: the head alone */

/* mcp_front(), and of a POST that is not refused what its Accept allows. */
bool mcp_front_judge(const struct mcp_request *q, struct arena *a,
    struct mcp_accepts *accepts, struct mcp_answer *out);

/* --- head.c: fields of a head */

/* The first field of that name, blanks around it cut off. */
bool mcp_field(const struct mcp_head *h, const char *name, struct span *value);
bool mcp_field_is_twice(const struct mcp_head *h, const char *name);
bool mcp_text_is_nocase(struct span s, const char *lower);
struct span mcp_trim(struct span s);
/* Whether Content-Type is `type` whatever its parameters. */
bool mcp_content_is(const struct mcp_head *h, const char *type);
/* What Accept allows; no Accept allows all. */
void mcp_accept(const struct mcp_head *h, struct mcp_accepts *to);
/* Path of the request target, without its query. */
struct span mcp_path(const struct mcp_head *h);
/*
 * Whether a mirrored header says `body`, as it is or as "=?base64?...?="
 * (padded, canonical) of it.
 */
bool mcp_mirror_is(struct span header, struct span body);

/* --- answer.c */

/* Memory for n bytes in the arena as a buffer; false when it is spent. */
bool mcp_buf(struct arena *a, size_t n, struct buf *b);
void mcp_answer_plain(struct mcp_answer *out, int status);
void mcp_answer_json(struct mcp_answer *out, int status, struct span body);
void mcp_answer_header(struct mcp_answer *out, const char *name,
    struct span value);
/* The answer of last resort: the arena is spent. */
void mcp_answer_spent(struct mcp_answer *out);
/* Head of an event stream. */
void mcp_answer_stream(struct mcp_answer *out);

/* A JSON-RPC error; id absent: NULL. data is JSON or empty. */
struct mcp_error {
	int status; /* of HTTP */
	int code;
	const char *message;
	struct span data;
};

/* As text in the arena; empty when that is spent. */
struct span mcp_error_text(struct arena *a, const struct mcp_id *id,
    const struct mcp_error *e);
/* The message alone, without id, as the answer. */
void mcp_answer_error(struct mcp_answer *out, struct arena *a,
    const struct mcp_error *e);

/* --- version.c */

/* The static text of a version of the first era, or NULL. */
const char *mcp_version_legacy(struct span text);
/* By place: 0 is the newest of the first era; NULL past the last. */
const char *mcp_version_at(unsigned place);
/* A date from MCP_LATEST on. */
bool mcp_version_is_modern(struct span text);
void mcp_versions_write(struct json_out *o);
/* {"supported":[...],"requested":"..."} in the arena; empty when spent. */
struct span mcp_versions_data(struct arena *a, struct span requested);

/* --- message.c: one JSON-RPC message */

enum mcp_message_kind {
	MCP_REQUEST,
	MCP_NOTIFICATION,
	MCP_RESPONSE,
};

struct mcp_message {
	enum mcp_message_kind kind;
	bool has_id;
	struct mcp_id id;
	struct span method;
	const struct json_value *params; /* an object, or NULL */
	const struct json_value *meta;   /* an object, or NULL */
	const struct json_value *claim;  /* _meta's protocolVersion, or NULL */
};

/*
 * Read the body: strict JSON whose top is an object or an array. False and *e
 * when it is not.
 */
bool mcp_body_read(struct span body, struct arena *a,
    const struct json_value **root, struct mcp_error *e);
/*
 * False and *e when v is no JSON-RPC message; m->id is set as far as it is
 * valid. modern: the head claims the second era.
 */
bool mcp_message_read(const struct json_value *v, bool modern,
    struct mcp_message *m, struct mcp_error *e);
/* False when v (may be NULL) is no id: a string, or a plain integer. */
bool mcp_id_read(const struct json_value *v, struct mcp_id *id);

/* --- decide.c: one request on its way */

struct mcp_walk {
	const struct mcp_request *q;
	struct arena *a;
	struct mcp_decision *d;
	struct span version; /* MCP-Protocol-Version */
	bool has_version;
	bool is_modern; /* that header names the second era */
};

enum mcp_step_kind {
	MCP_STEP_NOTHING, /* 202 */
	MCP_STEP_REPLY,
	MCP_STEP_EVENTS, /* .reply is an event stream */
	MCP_STEP_CALL,
};

/* What one message comes to. */
struct mcp_step {
	enum mcp_step_kind kind;
	int status;
	struct span reply;   /* empty: the arena is spent */
	struct span session; /* an id to hand out, or empty */
	struct mcp_call call;
};

void mcp_step_error(const struct mcp_walk *w, const struct mcp_message *m,
    const struct mcp_error *e, struct mcp_step *s);
/* A response whose result is written by `write` into room for n bytes. */
void mcp_step_result(const struct mcp_walk *w, const struct mcp_message *m,
    size_t n, void (*write)(const struct mcp_walk *w, struct json_out *o),
    struct mcp_step *s);
/* tools/call: the name, the tool, the arguments' kind; else an error. */
void mcp_step_call(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);

/* A reply as the answer, in the form that the client takes. */
void mcp_reply_answer(struct mcp_walk *w, struct span reply, int status);

/* --- batch.c */
void mcp_batch_decide(struct mcp_walk *w, const struct json_value *root);
/* [reply,...] of all that have one, or nothing; the longest ones of calls are
 * lost when b is too small. -1: so it is for all the rest. */
int mcp_batch_join(struct mcp_decision *d, struct buf *b) MUST_CHECK;

/* --- legacy.c */

/* Session and version of a request; false and *e when they do not hold. */
bool mcp_legacy_enter(struct mcp_walk *w, struct mcp_error *e);
void mcp_legacy_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);
void mcp_legacy_notice(struct mcp_walk *w, const struct mcp_message *m);
bool mcp_legacy_is_initialize(const struct mcp_message *m);
void mcp_legacy_initialize(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);

void mcp_legacy_delete(struct mcp_walk *w);

/* --- modern.c, listen.c */
void mcp_modern_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);
void mcp_modern_notice(const struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);
void mcp_listen_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);

/* --- describe.c: what the server says of itself */
enum {
	MCP_ABOUT_BYTES = 4096, /* for initialize or discover */
};
void mcp_initialize_write(const struct mcp_walk *w, struct json_out *o);
void mcp_discover_write(const struct mcp_walk *w, struct json_out *o);
/* tools/list: there is one page, so any cursor is wrong. */
void mcp_list_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s);
/* "_meta":{...serverInfo...}: a member of each result of the second era. */
void mcp_meta_write(struct json_out *o);
void mcp_server_info_write(struct json_out *o); /* the member inside */

/* --- tools.c, schema.c */

/* The tools in their order, extra ones first; NULL past the last. */
const struct mcp_tool *mcp_tool_at(const struct mcp_server *s, size_t i);

enum mcp_field_kind {
	MCP_TEXT,    /* a string without NUL; bounds are bytes */
	MCP_BYTES,   /* a string */
	MCP_WORD,    /* one of words */
	MCP_INTEGER, /* bounds are values */
	MCP_TRUTH,
	MCP_TEXTS,  /* array of MCP_TEXT; bounds are items */
	MCP_OBJECT, /* any object */
	MCP_MAP,    /* object of strings; bounds are members */
	MCP_ONE,    /* an object of shape `of` */
	MCP_MANY,   /* array of them */
};

enum mcp_field_flags {
	MCP_NEEDED = 1 << 0,
	MCP_HOST_ONLY = 1 << 1,      /* no sandbox is told of it */
	MCP_NEEDED_ON_HOST = 1 << 2, /* optional for a sandbox */
};

struct mcp_field_row {
	enum mcp_shape shape;
	const char *name;
	enum mcp_field_kind kind;
	int64_t min;
	int64_t max; /* 0: no bound, save of integers */
	enum mcp_shape of;
	const char *words; /* "agent tool" */
	unsigned flags;
	const char *text;
};

/* The next row of that shape behind `row` (NULL: the first) for that side. */
const struct mcp_field_row *mcp_field_next(enum mcp_shape shape,
    enum mcp_side side, const struct mcp_field_row *row);
bool mcp_field_needed(const struct mcp_field_row *row, enum mcp_side side);
/* The JSON Schema of a shape; closed: no member beside those. */
void mcp_schema_write(struct json_out *o, enum mcp_shape shape,
    enum mcp_side side, bool closed);

#endif
