/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call is a walk (STYLE 6): READ, DECODE, IDENTIFY, AUTHORISE, DECIDE,
 * EFFECT, AUDIT, ANSWER. Its row in methods.def says what each step does.
 * A refusal jumps to AUDIT; an answer leaves after the tick's commit. An
 * answer with more to it than one message (a stream, a wait) takes the call
 * over with call_take() and ends it with call_finish().
 */
#ifndef GATEWAY_CALL_H
#define GATEWAY_CALL_H

#include "audit/audit.h"
#include "gateway/inner.h"
#include "grant/grant.h"

struct pb_msgdesc_s;
struct early;
struct call_face;
struct _nacre_v1_Refusal;

enum {
	CALL_PAGE = 200, /* rows of a page at most, but for what says another */
};

enum call_phase {
	CALL_READ,
	CALL_DECODE,
	CALL_IDENTIFY,
	CALL_AUTHORISE,
	CALL_DECIDE,
	CALL_EFFECT,
	CALL_AUDIT,
	CALL_ANSWER,
	CALL_STREAM, /* taken over by its answer */
	CALL_DONE,
};

enum call_result {
	CALL_NEXT,
	CALL_WAIT,
	CALL_FAULT, /* c->fault is set */
};

enum call_who {
	CALL_USER = 1 << 0,
	CALL_SANDBOX = 1 << 1,
	CALL_ADMIN = 1 << 2,  /* of the platform; also a user */
	CALL_LAUNCH = 1 << 3, /* has a launch token on the socket: nothing */
	CALL_TOOL = 1 << 4,   /* came by MCP; also a user */
};

enum call_kind {
	CALL_READS = 1 << 0, /* no effect: recorded only when refused */
	CALL_FIRST = 1 << 1, /* the first message asks, more may follow */
};

/*
 * Who calls, as its door attached it: the peer of the socket, or a sandbox by
 * the door in its guest. Nothing of it is what the caller said.
 */
struct caller {
	unsigned who; /* enum call_who */
	uid_t uid;    /* of a user, as the next two */
	pid_t pid;
	bool may_grant;           /* has the scope grant:write */
	const char *scopes;       /* of a token, by blanks; NULL: all */
	char text[LIMIT_ID + 16]; /* "uid:1000", "sandbox:<id>" */
	char program[256];
	/* Of CALL_SANDBOX: which, and what was found of the process that
	 * called connect and of all that hold the connection. The spans are
	 * the door's, until the call has ended. */
	char sandbox_id[LIMIT_ID + 1];
	struct grant_evidence evidence;
};

struct method {
	const char *path; /* gRPC */
	const char *tool; /* MCP, empty: none */
	unsigned who;     /* enum call_who */
	const char *scope;
	const struct pb_msgdesc_s *fields;
	size_t ask_size;
	size_t arena;
	unsigned kind;
	int (*decide)(struct call *c, struct fault *f); /* may be NULL */
	int (*effect)(struct call *c, struct fault *f); /* may be NULL */
	void (*answer)(struct call *c); /* NULL: one message, c->answer */
	const char *verb;
};

/* What a call that was taken over is told. Each may be NULL but gone. */
struct call_events {
	/* A further message; give it back by rpc_consume(c->rpc, s.len). */
	void (*message)(struct call *c, struct span s);
	void (*half_closed)(struct call *c);
	void (*writable)(struct call *c);
	/* The client left before call_finish(); c is freed after this. */
	void (*gone)(struct call *c);
};

struct call {
	struct gateway *g;
	const struct method *method;
	const struct call_face *face;
	void *client;         /* of the face */
	struct rpc_call *rpc; /* of gRPC; NULL once the client is gone */
	bool is_left;         /* the client is gone, whatever the face */
	bool is_unlisted;     /* a tool that is not told to this caller */
	enum call_phase phase;
	struct caller caller;
	struct arena arena;
	struct span raw;     /* the request, in the arena */
	struct early *early; /* messages that came before the answer */
	struct early **early_end;
	bool has_ask;
	bool half_closed;
	int64_t begun_ms;             /* mono */
	bool queued;                  /* its answer waits for the commit */
	void (*undo)(struct call *c); /* its client left before the answer of
					 its effect; may be NULL */
	void *ask;                    /* decoded */
	struct fault ask_fault;       /* of the arguments, told once admitted */
	struct fault fault;
	const char *hint; /* what to do about the fault; may be NULL */
	/* What more its refusal says, in the arena; may be NULL. */
	struct _nacre_v1_Refusal *refusal;
	struct buf answer; /* one encoded message */
	/* for the record */
	char sandbox_id[LIMIT_ID + 1];
	char sandbox[LIMIT_NAME + 1];
	char request_id[65];
	struct buf detail; /* text */
	/* between the phases, and after them */
	void *work;
	/* of a wait in DECIDE */
	int (*then)(struct call *c, struct fault *f);
	void (*left)(struct call *c);
	void *waits_for;
	const struct call_events *events;
	struct deferred held;
	struct call *next;
	struct call *prev;
};

/* How many rows a page has when so many were asked for: 0 is 100. */
uint32_t call_page(uint32_t asked, uint32_t most);

/* What is left of so long a wait, which began with the call: 0 or more. */
int64_t call_left_of_ms(const struct call *c, int64_t wait_ms);

/* How far a long call is, for a client that wants to know. */
struct call_progress {
	uint64_t done;
	uint64_t total;
	const char *what; /* static */
};

/* All rows; a call of no row gets the one that refuses it by name. */
const struct method *method_find(struct span path);
const struct method *method_unserved(void);
size_t methods_count(void);
const struct method *method_at(size_t i);
const struct method *method_of_tool(struct span tool); /* NULL: no row */
/* One of the words of scopes; the empty scope is had by all. */
bool scope_has(const char *scopes, const char *scope);

/* A client called: c is made, walks, and frees itself. */
void call_open(struct gateway *g, struct rpc_call *rpc, struct span path,
    const struct caller *caller);
/*
 * From a decide, as its last act: the call waits. call_resume() goes on with
 * then, which may wait again. left is told when the client leaves meanwhile;
 * c is freed after that. Both find what they need in c->waits_for.
 */
void call_wait(struct call *c, int (*then)(struct call *c, struct fault *f),
    void (*left)(struct call *c), void *waits_for);
void call_resume(struct call *c);
/* Nothing comes of it when nobody asked. */
void call_progress(struct call *c, const struct call_progress *p);
/* From an effect: encode the answer's message. */
int call_reply(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f) MUST_CHECK;
#define CALL_REPLY(c, type, message, f) call_reply(c, type##_fields, message, f)
/*
 * From an answer, as its last act: this call goes on. What the client sent
 * early is told before it returns, so c may have ended by then. events may be
 * NULL when call_finish() follows in the same breath.
 */
void call_take(struct call *c, const struct call_events *events, void *work);
/* Encode and send one message of a call that was taken over. */
int call_send(struct call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f) MUST_CHECK;
/* The end: f NULL is success. c is freed later; do not touch it again. */
void call_finish(struct call *c, const struct fault *f);
/* Append to the record's detail; what does not fit is cut. */
void call_note(struct call *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* End all that run, at the end of the gateway. */
void call_end_all(struct gateway *g, const struct fault *f);
/* The tick's commit, and whether there is one; for loop_on_commit(). */
bool call_is_pending(void *owner);
void call_commit(void *owner);

#endif
