/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole gateway under a test: its program, its store and its sockets are the
 * real ones; what stands in is the keeper with its machine. The test holds
 * both ends of that: it says when a guest comes up, fails, ends, answers a
 * stop, or dies, and it speaks through each guest's door. The gateway runs in
 * a process of its own, which may be killed anywhere and started again on what
 * it left. Its time is the test's (rig_program.h).
 *
 *   test: rig.c -- API, signals --> nacre-gateway -- fork --> rig_keeper.c
 *         rig_guest.c <---------- descriptors of each keeper ------'
 *         rig_session.c, rig_door.c: what its guest says
 */
#ifndef TESTS_LIB_RIG_H
#define TESTS_LIB_RIG_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

struct pb_msgdesc_s;

enum {
	RIG_GUESTS = 80,
	RIG_TOKEN = 2048,
	RIG_TEXT = 8192,
	RIG_PATH = 100, /* a socket's path must hold it */
	RIG_FIELDS = 8, /* of a request to a door, and their end */
};

struct rig_clock {
	int64_t wall_ms;
	int64_t mono_ms;
};
/* NULL: there is none, and the time is everybody's. */
const struct rig_clock *rig_clock(void);

struct rig;

/* One keeper with its machine and guest. */
struct rig_guest {
	struct rig *rig;
	bool is_used;
	char id[LIMIT_ID + 1];      /* of the machine */
	char sandbox[LIMIT_ID + 1]; /* empty: not assigned */
	pid_t pid;
	int hold;     /* its process ends when this closes */
	int listener; /* DIR/ID.sock */
	struct watch watch;
	struct rpc_link *link; /* from the gateway */
	struct rpc_call *events;
	struct rpc_call *waiting; /* a Tunnel call that is not in use */
	struct rpc_call *tunnel;
	struct rpc_link *inner; /* TLS in the tunnel */
	struct rpc_call *session;
	struct buf in;
	uint8_t pin[32];
	uint64_t epoch;
	uint64_t generation;     /* of its policy */
	char gateway[RIG_TOKEN]; /* tokens */
	char door[RIG_TOKEN];
	int64_t half_life_ms; /* mono: then they are renewed */
	char bearer[RIG_TOKEN + 16];
	bool parks;       /* it came from a template, for whoever wants it */
	bool ends;        /* its machine does, before its guest is there */
	bool is_refused;  /* it came back, and its token was not taken */
	bool is_launched; /* the bundle came */
	bool is_open;     /* the session was answered */
	bool is_ready;    /* it was told to say so */
	bool has_exited;
	bool is_asked;    /* the gateway wants its processes to stop */
	bool is_ending;   /* the keeper was told to end */
	uint64_t exec_ms; /* that the last command in it may take */
};

/* What became of a call, in the words of tests/lib/grant_model.h. */
struct rig_answer {
	bool is_done;
	bool is_lost; /* the gateway went before it answered */
	bool is_yes;
	char word[160];      /* "ok", or the code with what explains it */
	char id[40];         /* of the sandbox in it, or of IN_PROGRESS */
	char state[16];      /* of that sandbox */
	bool has_exit;       /* so has it */
	uint64_t retry_ms;   /* of a refusal that says when to ask again */
	char text[RIG_TEXT]; /* all of a refusal, for messages */
	struct buf bytes;    /* of a reply: rig_answer_release() */
	struct rpc_call *call;
};

struct rig {
	struct loop *loop;
	char work[RIG_PATH];
	char state[RIG_PATH + 16];
	char program[RIG_PATH + 32];
	struct rig_clock *clock;
	pid_t gateway;
	struct rpc_link *api;
	int hall; /* where keepers come to */
	struct watch watch;
	bool holds;   /* guests that are asked to stop wait for rig_release() */
	bool is_mute; /* keepers do not say whose they are */
	bool launches;    /* a guest comes up as soon as it is launched */
	unsigned spawned; /* keepers so far */
	struct rig_guest guest[RIG_GUESTS];
};

/* A state folder with one image, "tiny"; no gateway yet. */
void rig_init(struct rig *r);
void rig_clear(struct rig *r);

/* Files beside the state folder: the gateway's "config"; "clones", "duds",
 * "ends" and "none" are for the stand-in (rig_keeper.c). text NULL: it goes. */
void rig_file(const struct rig *r, const char *name, const char *text);
/* Templates that were made or tried, or clones started; what: "template",
 * "template auto", "clone". */
unsigned rig_jobs(const struct rig *r, const char *what);

/* Start it and wait until it listens. crash: a point of gateway/crash.c. */
void rig_start(struct rig *r, const char *crash);
void rig_kill(struct rig *r);    /* SIGKILL */
void rig_stop(struct rig *r);    /* SIGTERM, and it must end well */
bool rig_is_dead(struct rig *r); /* reaps it */
void rig_tick(struct rig *r);
/* Until *flag; the test fails when that takes longer than all patience. */
void rig_until(struct rig *r, const bool *flag, const char *what);
int64_t rig_real_ms(void);
/* Of the environment. */
uint64_t rig_number(const char *name, uint64_t otherwise);
/* 0 .. n - 1; the seed, which goes on, is not 0. */
uint32_t rig_chance(uint64_t *seed, uint32_t n);
/* Time goes on by ms, the wall clock by jump_ms more; timers that are due
 * fire. */
void rig_pass(struct rig *r, int64_t ms, int64_t jump_ms);

/* A gRPC call; rig_ask() waits for its answer. */
void rig_call(struct rig *r, struct rig_answer *a, const char *path,
    const struct pb_msgdesc_s *fields, const void *message);
void rig_ask(struct rig *r, struct rig_answer *a, const char *path,
    const struct pb_msgdesc_s *fields, const void *message);
/* A reply that tells of one sandbox: its id and state. */
void rig_answer_child(struct rig_answer *a);
void rig_answer_release(struct rig_answer *a);
/* The gateway has taken all that was sent before. */
void rig_barrier(struct rig *r);

/* A tool call through the door of a guest, by the program at that path. */
void rig_door(struct rig_guest *g, struct rig_answer *a, const char *tool,
    const char *arguments, const char *program);

/* A request to it with these fields (name and value; NULL: no more), as its
 * supervisor forwards it. */
struct rpc_call *rig_door_request(struct rig_guest *g,
    const char *const (*fields)[2], const char *program, struct span body,
    const struct rpc_call_events *events, void *owner);

/* --- guests */
struct rig_guest *rig_guest_of(struct rig *r, const char *sandbox);
void rig_say_ready(struct rig_guest *g);
void rig_say_failed(struct rig_guest *g);
void rig_say_exit(struct rig_guest *g);
/* It stops as it was asked to. */
void rig_release(struct rig_guest *g);
/* The machine is gone, with its keeper. */
void rig_lose(struct rig_guest *g);
/* New tokens where half of their life is over. */
void rig_renew(struct rig *r);
size_t rig_guests(const struct rig *r);

/*
 * What main() of such a test does: this program is its gateway too, which argv
 * tells. r is there for all of the tests; NULL: each makes its own.
 */
struct CMUnitTest;
int rig_main(int argc, char **argv, struct rig *r,
    const struct CMUnitTest *tests, size_t n);

/* --- between the files of the rig */
/* What each refusal has beside its code, in all forms of it (GRANTS.md 4); it
 * ends with NULL. */
struct rig_member {
	const char *code;
	const char *member;
};
extern const struct rig_member rig_members[];
void rig_keeper_main(char *const argv[]);
void rig_guest_come(struct rig *r, int from);
void rig_guest_end(struct rig_guest *g);
void rig_send(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *m);
/* When it can be: it is assigned, and the gateway waits. */
void rig_open_tunnel(struct rig_guest *g);
void rig_take_tunnel(struct rig_guest *g, struct rpc_call *c);
void rig_take_tokens(struct rig_guest *g, const char *gateway, const char *door,
    int64_t life_ms);
void rig_take_refusal(struct rig_answer *a, struct span detail,
    const struct fault *f);

#endif
