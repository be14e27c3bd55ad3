/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol over HTTP, as values: a request head and a body
 * go in, a decision comes out: an answer, or the tool calls that are to be run.
 * Both eras on one path: 2024-11-05 to 2025-11-25 (handshake, sessions) and
 * 2026-07-28 (every request stands alone). Pure: the clock, the random bytes
 * and the key are passed in, results live in the caller's arena or buffer.
 *
 *	mcp_front()    the head alone: refuse before the body is read
 *	mcp_decide()   head and body: answer, or calls
 *	  mcp_arguments_check()   in the caller's order of judgement
 *	  mcp_result(), mcp_refusal(), mcp_failure()   what a call came to
 *	mcp_reply_*()  JSON or an event stream, progress, keep-alive, the end
 */
#ifndef MCP_MCP_H
#define MCP_MCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"

struct json_value;

enum {
	MCP_BODY = 1 << 20,  /* longest request body, bytes */
	MCP_ARENA = 8 << 20, /* for one request; what needs more is refused */
	MCP_ID = 256, /* longest id or progress token, bytes as written */
	MCP_TOOL_NAME = 128,  /* longest tool name that is looked at */
	MCP_BATCH = 50,       /* most messages of one batch */
	MCP_HEADERS = 4,      /* most headers of one answer */
	MCP_RESULT = 4 << 20, /* longest result of a tool, bytes as sent */
	/* What texts of a size that nobody knows before may cost in one: the
	 * rest is for an id, a path and the members' names. */
	MCP_RESULT_TEXTS = MCP_RESULT - (64 << 10),
	MCP_KEY = 32,          /* bytes of the key of session ids */
	MCP_RANDOM = 16,       /* fresh random bytes a request brings */
	MCP_SESSION_TEXT = 44, /* a session id with its NUL */
	MCP_SESSION_LIFE_S = 31 * 24 * 3600, /* longer than any grant */
	MCP_WAIT_MS =
	    45000, /* a call answers by then: clients give up at 60 s */
	MCP_STREAM_AFTER_MS = 1500, /* a call that runs so long is streamed */
	MCP_KEEPALIVE_MS = 15000,   /* of silence, then a comment */
	MCP_PROGRESS_MS = 100,      /* least time between two progress events */
};

/* --- the request ------------------------------------------------------- */

/* Which kind of caller; also flags: who may use a tool or an argument. */
enum mcp_side {
	MCP_SANDBOX = 1, /* through the door of a sandbox */
	MCP_HOST = 2,    /* a user on the host */
};

/* What the caller's door found out about it before mcp_front(). */
enum mcp_auth {
	MCP_KNOWN,
	MCP_NO_TOKEN,
	MCP_BAD_TOKEN,
	MCP_NO_SCOPE, /* a good token that may not use this endpoint at all */
};

struct mcp_head {
	struct span method;
	struct span target; /* path, and query if any */
	struct span host;   /* Host, or :authority */
	int64_t length;     /* declared length of the body, -1 when none is */
	/*
	 * The nth field (from 0) of that name, written in lower case; false
	 * when there are not so many.
	 */
	bool (*header)(const void *at, const char *name, size_t nth,
	    struct span *value);
	const void *at;
};

struct mcp_tool;
struct mcp_ended;

/* The key of session ids, as HMAC-SHA256 (RFC 2104) begins with it: secret. */
struct mcp_key {
	struct digest inner;
	struct digest outer;
};

void mcp_key_set(struct mcp_key *k, const uint8_t secret[MCP_KEY]);

/* What holds for all requests. Everything is borrowed. */
struct mcp_server {
	bool off;                 /* configured away: 404 */
	const char *const *hosts; /* served beside localhost and the door */
	size_t nhosts;
	const struct mcp_key *key;
	const struct mcp_ended *ended;
	const struct mcp_tool *extra; /* tools of test builds, else NULL */
	size_t nextra;
	struct span listed[2]; /* by mcp_server_ready() */
};

/*
 * Once, when all else of s is set: write down what tools/list tells each side.
 * It lives in a, as long as s is used. LIMIT when a is spent.
 */
int mcp_server_ready(struct mcp_server *s, struct arena *a,
    struct fault *f) MUST_CHECK;

struct mcp_request {
	const struct mcp_server *server;
	const struct mcp_head *head;
	struct span body; /* outlives the decision */
	enum mcp_side side;
	enum mcp_auth auth;
	/* Who calls, "sandbox:ID" or "uid:1000": sessions are bound to it. */
	struct span principal;
	int64_t now_s;
	uint8_t random[MCP_RANDOM];
};

/* The token of "Authorization: Bearer TOKEN"; false when there is none. */
bool mcp_bearer(const struct mcp_head *h, struct span *token);
/*
 * Host is one that is served and Origin, if any, is of the same set: a page of
 * another site that has found our address (DNS rebinding) fails here.
 */
bool mcp_origin_allowed(const struct mcp_server *s, const struct mcp_head *h);

/* --- the answer -------------------------------------------------------- */

struct mcp_header {
	const char *name;
	struct span value;
};

struct mcp_answer {
	int status;
	const char *type; /* Content-Type; NULL: no body */
	struct span body; /* in the arena of the decision, or static */
	bool stream;      /* the body follows in pieces, its length unknown */
	bool close;       /* and this connection carries no further request */
	struct mcp_header headers[MCP_HEADERS];
	size_t nheaders;
};

/*
 * Judge the head of a request before its body is read. True and *out when it
 * is answered now; false for a POST or DELETE that mcp_decide() goes on with.
 */
bool mcp_front(const struct mcp_request *q, struct arena *a,
    struct mcp_answer *out);
/* For a body that turned out longer than MCP_BODY while it came in. */
void mcp_too_large(struct mcp_answer *out);
/* For a door whose session with the gateway is lost. */
void mcp_unavailable(struct mcp_answer *out);

/* --- sessions of the first era ------------------------------------------ */

/*
 * A session id carries its version and birth, proved by an HMAC over them and
 * the principal: no table, and an id survives a restart that keeps the key. It
 * is no credential.
 */
struct mcp_session {
	uint8_t seed[16]; /* names it among the principal's */
	const char *version;
};

void mcp_session_issue(const struct mcp_request *q, const char *version,
    char out[MCP_SESSION_TEXT]);
/* False: forged, of another principal, expired, or ended. */
bool mcp_session_verify(const struct mcp_request *q, struct span text,
    struct mcp_session *out);
bool mcp_session_equal(const struct mcp_session *a,
    const struct mcp_session *b);

/*
 * Sessions that were deleted, the newest of them; what falls out only makes an
 * id usable again that its own principal gave up. Set to zero before use.
 */
#define MCP_ENDED_SETS 256
#define MCP_ENDED_WAYS 4
struct mcp_ended {
	uint8_t seeds[MCP_ENDED_SETS][MCP_ENDED_WAYS][16];
};

void mcp_ended_add(struct mcp_ended *e, const struct mcp_session *s);
bool mcp_ended_has(const struct mcp_ended *e, const struct mcp_session *s);

/* --- the decision ------------------------------------------------------ */

enum mcp_era {
	MCP_LEGACY,
	MCP_MODERN,
};

/* A request id. Compare with mcp_id_equal(): "1" is not 1. */
struct mcp_id {
	struct span raw;  /* as written: is echoed byte for byte */
	struct span text; /* decoded string, or the digits */
	bool is_string;
};

bool mcp_id_equal(const struct mcp_id *a, const struct mcp_id *b);

/* One tools/call. Everything is borrowed from the request and its arena. */
struct mcp_call {
	enum mcp_era era;
	const struct mcp_tool *tool;
	/* False: a tool of the other side's list; refuse it as NOT_ALLOWED. */
	bool listed;
	const struct json_value *arguments; /* NULL: {} */
	struct mcp_id id;
	struct span progress_token; /* as written; empty: wants no progress */
	struct span reply;          /* of a batch, once its call is over */
	bool is_lost; /* it was too long for the batch: an error says so */
	bool over;
};

/* Answers that the client takes. */
struct mcp_accepts {
	bool json;
	bool stream;
	bool
	    asks_stream; /* by name, or nothing else: long calls are streamed */
};

enum mcp_next {
	MCP_ANSWER, /* send .answer */
	MCP_RUN,    /* run .calls, answer through mcp_reply_*() */
};

struct mcp_decision {
	enum mcp_next next;
	struct mcp_answer answer;
	enum mcp_era era;
	const char *version; /* of the protocol, static */
	bool in_session;     /* .session is set: a legacy request */
	struct mcp_session session;
	struct mcp_accepts accepts;
	bool is_batch;
	struct mcp_call *calls;
	size_t ncalls;
	struct span *replies; /* of a batch: those that are known already */
	size_t nreplies;
	/* Calls of this session and principal to stop, before anything else. */
	struct mcp_id *cancels;
	size_t ncancels;
	bool ends_session; /* DELETE: stop all its calls, mcp_ended_add() */
};

/*
 * Decide a request; cannot fail, a spent arena is an answer too. Calls
 * mcp_front() itself.
 */
void mcp_decide(const struct mcp_request *q, struct arena *a,
    struct mcp_decision *d);

/* --- tools -------------------------------------------------------------- */

enum mcp_hints {
	MCP_READ_ONLY = 1 << 0,
	MCP_DESTRUCTIVE = 1 << 1,
	MCP_IDEMPOTENT = 1 << 2,
	MCP_OPEN_WORLD = 1 << 3,
};

/* Objects that tools take and give; fields.def has their rows. */
enum mcp_shape {
	MCP_SHAPE_ANY,  /* not described: in_schema below holds */
	MCP_SHAPE_NONE, /* no member at all */
	MCP_SHAPE_CREATE,
	MCP_SHAPE_PAGE,
	MCP_SHAPE_WHICH,
	MCP_SHAPE_WHICH_OR_SELF,
	MCP_SHAPE_WHICH_ON_HOST,
	MCP_SHAPE_EXEC,
	MCP_SHAPE_FILE,
	MCP_SHAPE_CHECK,
	MCP_SHAPE_GRANT_WHICH,
	MCP_SHAPE_GRANT_SET,
	MCP_SHAPE_GRANT_UPDATE,
	MCP_SHAPE_GRANT_REVOKE,
	/* given */
	MCP_SHAPE_SANDBOX,
	MCP_SHAPE_SANDBOX_OUT,
	MCP_SHAPE_SANDBOXES_OUT,
	MCP_SHAPE_EXEC_OUT,
	MCP_SHAPE_FILE_OUT,
	MCP_SHAPE_DELETED_OUT,
	MCP_SHAPE_LIMIT,
	MCP_SHAPE_PROGRAM,
	MCP_SHAPE_GRANT,
	MCP_SHAPE_GRANT_OUT,
	MCP_SHAPE_GRANTS_OUT,
	MCP_SHAPE_POLICY_OUT,
	MCP_SHAPE_CHECK_OUT,
};

struct mcp_tool {
	const char *name;
	const char *title;
	unsigned sides; /* flags of enum mcp_side */
	unsigned hints;
	enum mcp_shape in;
	enum mcp_shape out;
	const char *text; /* says to a model what it does and when to use it */
	/* Of extra tools only. */
	const char *in_schema;  /* JSON, when in is MCP_SHAPE_ANY */
	const char *capability; /* a client must have declared it, or NULL */
	const char *mirrored;   /* argument that header Mcp-Param-X repeats */
	const char *mirror;     /* that header's name in lower case */
};

/* NULL when there is none of that name on any side. */
const struct mcp_tool *mcp_tool_find(const struct mcp_server *s,
    struct span name);
/*
 * Arguments are those that the tool's input schema tells this side of, each of
 * its kind and inside its bounds; NULL counts as {}. INVALID names the field.
 */
int mcp_arguments_check(const struct mcp_tool *t, enum mcp_side side,
    const struct json_value *arguments, struct fault *f) MUST_CHECK;
/* The same for what a tool gives back; members not described are fine. */
int mcp_output_check(const struct mcp_tool *t, const struct json_value *value,
    struct fault *f) MUST_CHECK;

/* --- what a call came to ------------------------------------------------- */

/*
 * A rule said no, or the arguments are wrong: for the model to read. One JSON
 * object in a text item, never structuredContent (clients check that against
 * the output schema even on errors).
 */
struct mcp_refusal {
	const char *code; /* "LIMIT_REACHED" */
	struct span message;
	struct span hint;  /* what to do instead; may be empty */
	struct span field; /* the wrong argument; may be empty */
	struct span
	    more; /* a JSON object: its members are added; may be empty */
};

/* A refusal of that fault; borrows it. */
struct mcp_refusal mcp_refusal_of(const struct fault *fault);

/*
 * Each appends one JSON-RPC response to out: LIMIT when it does not fit, and
 * out is as before. Success: structured is a JSON object, it goes out as
 * structuredContent and as text.
 */
int mcp_result(const struct mcp_call *c, struct span structured,
    struct buf *out, struct fault *f) MUST_CHECK;
/* A refusal that is one JSON object already, with code, message and hint. */
int mcp_refused(const struct mcp_call *c, struct span object, struct buf *out,
    struct fault *f) MUST_CHECK;
/* One that is put together in a, and vanishes with it. */
int mcp_refusal(const struct mcp_call *c, const struct mcp_refusal *r,
    struct arena *a, struct buf *out, struct fault *f) MUST_CHECK;
/* content is a JSON array of content items. */
int mcp_content(const struct mcp_call *c, struct span content, bool is_error,
    struct buf *out, struct fault *f) MUST_CHECK;
/*
 * How many bytes of a result s takes as a member's text, both times that it
 * goes out: 2 to 13 a byte. And the longest start of s, of whole characters,
 * that takes no more than `most`.
 */
size_t mcp_text_cost(struct span s);
struct span mcp_text_cut(struct span s, size_t most);
/* A JSON-RPC error, for what broke before the tool ran. */
int mcp_failure(const struct mcp_call *c, const char *message, struct buf *out,
    struct fault *f) MUST_CHECK;

/* A sandbox as every tool shows it; absent: NULL, -1, or false of has_*. */
struct mcp_sandbox {
	const char *id;
	const char *name;
	const char *kind;
	const char *state;
	const char *parent;
	const char *root;
	int depth;
	const char *policy_hash;
	int64_t created_ms; /* since the epoch */
	int64_t ended_ms;
	bool has_exit;
	int exit_code;
	const char *reason; /* why it stopped or ended */
};

struct json_out;
/* As one JSON object; one that is starting says how to wait for it. */
void mcp_sandbox_write(struct json_out *o, const struct mcp_sandbox *s);

/* --- the reply to a decision of calls ------------------------------------ */

/*
 * Chooses between JSON and an event stream and keeps the rules of the latter.
 * Each function says by flags what to send: the head, the body's bytes, the
 * end. While not streamed the head's body is the whole of it (it may lie in
 * out, without MCP_SEND_BODY). What does not fit into out is left away, the
 * last event too: END without BODY then tells the caller to close.
 */
enum mcp_send {
	MCP_SEND_HEAD = 1 << 0, /* *head is to be sent, with its body */
	MCP_SEND_BODY = 1 << 1, /* bytes were appended to out */
	MCP_SEND_END = 1 << 2,  /* the response is complete */
};

struct mcp_reply {
	struct mcp_decision *d; /* borrowed, as long as the reply */
	bool streaming;
	bool ended;
	bool progressed;
	uint64_t progress; /* last that was told */
	int64_t begun_ms;
	int64_t sent_ms; /* last bytes */
	int64_t told_ms; /* last progress event */
};

struct mcp_progress {
	uint64_t done;
	uint64_t total;      /* 0: unknown */
	const char *message; /* may be NULL */
};

void mcp_reply_begin(struct mcp_reply *r, struct mcp_decision *d,
    int64_t now_ms);
/* When mcp_reply_tick() is next due, or -1. */
int64_t mcp_reply_due(const struct mcp_reply *r);
/* Open the stream of a call that takes long, or keep it alive. */
unsigned mcp_reply_tick(struct mcp_reply *r, int64_t now_ms,
    struct mcp_answer *head, struct buf *out);
/*
 * Tell progress, if the client asked for it and takes a stream, the value
 * grows, and the last event is MCP_PROGRESS_MS ago; else nothing.
 */
unsigned mcp_reply_progress(struct mcp_reply *r, int64_t now_ms,
    const struct mcp_progress *p, struct mcp_answer *head, struct buf *out);
/*
 * Call c of the decision is over. message is its response; empty when it was
 * cancelled, and then none is sent. It must outlive the reply of a batch. Of a
 * batch that is too long for out the longest responses become errors; so does
 * one that the caller has given up (c->is_lost).
 */
unsigned mcp_reply_over(struct mcp_reply *r, struct mcp_call *c,
    struct span message, struct mcp_answer *head, struct buf *out);

/* Event stream framing. -1 when out is full, and out is as before. */
int mcp_sse_event(struct buf *out, struct span json) MUST_CHECK;
int mcp_sse_keepalive(struct buf *out) MUST_CHECK;

#endif
