/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share.
 *
 *   sandbox start and loop          server  calls, tokens, states
 *   confirm the Confirm call        root    the agent's root, /dev, /proc
 *   furnish names, home, loopback
 *   jail    the agents' files       rights  giving up capabilities
 *   probe   proof by trying
 *   exec    processes               plan    what one needs, from a request
 *   child   after the clone: system calls only
 *   cell    what it shares with us  spare   one made ahead
 *   leaf    a cgroup for each       reap    ends, events, stop
 *   ledger  what ran, so that nothing runs twice
 *   file    acts inside the root        remove  of files and folders
 *   bulk    bytes in frames where descriptors cannot cross
 *   broker.h   connects of agents: broker, broker_join, broker_serve
 *   evidence.h who does it: evidence, evidence_hash, evidence_holders
 *
 * One object, one thread, one loop. Nothing here may run a program as
 * anybody but the agent, or open a path of the agent's with more rights than
 * the agent has.
 */
#ifndef SANDBOX_INNER_H
#define SANDBOX_INNER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "confine/confine.h"
#include "digest/digest.h"
#include "loop/loop.h"
#include "proto/nacre_sandbox.pb.h"
#include "rpc/rpc.h"
#include "sandbox/broker.h"
#include "tls/tls.h"
#include "wire/wire.h"

enum sandbox_limits {
	SANDBOX_EXECS = 65,             /* the main process and 64 execs */
	SANDBOX_LEAVES = 128,           /* with what outlived its exec */
	SANDBOX_LEDGER = 512,           /* execs that are remembered */
	SANDBOX_ID = 64,                /* bytes of an exec id */
	SANDBOX_GROUPS = 32,            /* supplementary groups of the agent */
	SANDBOX_ARENA = 4 << 20,        /* what one decoded message may take */
	SANDBOX_TAGS = 8,               /* files open for frames at once */
	SANDBOX_KILL_MS = 2000,         /* from TERM to KILL after a timeout */
	SANDBOX_LIST = 256,             /* nodes of one LIST answer */
	SANDBOX_LIST_BYTES = 512 << 10, /* names and targets in it */
	SANDBOX_REMOVE = 256,           /* names and folders of one REMOVE */
	SANDBOX_PATHS = 32,             /* folders of PATH that are searched */
};
/* Nobody else's uid: the agent can neither signal nor trace this process. */
#define SANDBOX_UID 4294960000U

enum sandbox_state {
	SANDBOX_BOUND,    /* the root is not built */
	SANDBOX_READY,    /* confirmed: exec and files are served */
	SANDBOX_STOPPING, /* processes are being ended */
	SANDBOX_STOPPED,  /* none is left */
	SANDBOX_BROKEN,   /* a probe failed or the root could not be built */
};

/* Who agent processes are. */
struct identity {
	uint32_t uid;
	uint32_t gid;
	uint32_t groups[SANDBOX_GROUPS];
	size_t groups_n;
};

/* What a failed exec says through its pipe. */
enum child_stage {
	CHILD_SETUP,
	CHILD_WORKDIR,
	CHILD_IDENTITY,
	CHILD_RIGHTS,
	CHILD_EXEC,
};
enum {
	CHILD_KEEPS = 3
};
struct child_report {
	int32_t error;
	int32_t stage;
};

struct sandbox;

/* All that the child needs, made before the fork. */
struct child_plan {
	struct identity who;
	/* Applied last; NULL: none (a test without a guest's kernel). */
	const struct confine_agent *jail;
	int stdio[3];
	int report;
	bool tty;
	bool waits; /* a spare: for a byte from go */
	int go;
	int keep[CHILD_KEEPS]; /* a spare's descriptors, ascending, -1 first */
	const char *workdir;
	char *const *argv;
	char *const *env;
	char *const *files; /* what to try, in order */
	size_t files_n;
};

/* Memory shared with one child until its exec; cell.c draws it. */
struct cell {
	void *at; /* NULL: none */
	size_t size;
};

/* A cgroup below the agent's. */
struct leaf {
	bool is_open;
	bool is_used; /* by an exec that is not told to have ended */
	int fd;       /* its folder */
};

struct exec {
	struct sandbox *sb;
	bool is_used;
	char id[SANDBOX_ID + 1];
	pid_t pid; /* 0 once reaped */
	pid_t first_pid;
	bool is_told;    /* exec's answer has been given */
	bool has_failed; /* it never ran: no event */
	bool has_ended;
	int status;
	bool timed_out;
	struct leaf *leaf; /* NULL where there are no cgroups */
	uint64_t ooms;     /* the leaf's count at the start */
	bool was_oom;
	struct rpc_call *call; /* the Exec call that waits for its answer */
	struct arena arena;    /* of the request, until the child has it all */
	struct child_plan plan;
	struct cell cell;
	int report_fd; /* -1 once its end or a report was read */
	struct watch report;
	struct timer look;
	int64_t began_ms; /* mono; the child was made */
	struct child_report said;
	struct timer timer;
	int ours[3]; /* ends for the supervisor, until passed */
	size_t ours_n;
	int pty; /* kept for Resize, else -1 */
};

/* The child that waits for the next exec; see spare.c. */
struct spare {
	pid_t pid; /* 0: none */
	struct leaf *leaf;
	uint64_t ooms;    /* the leaf's count */
	struct cell cell; /* kept for the next one, too */
	int go;
	int report;
	int ours[3];
	struct timer refill;
};

/* --- ledger.c */
enum ledger_state {
	LEDGER_EMPTY,
	LEDGER_OPEN, /* being started */
	LEDGER_ANSWERED,
};
enum ledger_verdict {
	LEDGER_NEW,   /* run it */
	LEDGER_AGAIN, /* the answer is there */
	LEDGER_SOON,  /* it is being started */
	LEDGER_OTHER, /* the id is another command's */
};
/* What ExecReply says. */
struct ledger_answer {
	uint64_t tag;
	int32_t pid;
	int32_t error;
	int32_t stage;
};
struct ledger_row {
	enum ledger_state state;
	char id[SANDBOX_ID + 1];
	uint8_t inputs[DIGEST_SIZE];
	struct ledger_answer answer;
};
struct ledger {
	struct ledger_row rows[SANDBOX_LEDGER];
	size_t next; /* the oldest goes first */
};
/* A call with these bytes came. *out is its row, valid until the next one. */
enum ledger_verdict ledger_enter(struct ledger *l, const char *id,
    struct span inputs, const struct ledger_row **out);
void ledger_answer(struct ledger *l, const char *id,
    const struct ledger_answer *answer);
/* It had no effect: the same may be asked again. */
void ledger_strike(struct ledger *l, const char *id);

/* One call being served. */
struct serving {
	struct sandbox *sb;
	const struct method *method;
	struct rpc_call *call;
	struct bulk *bulk;
	bool has_ended; /* no more requests come */
};
struct method {
	const char *name;
	unsigned states; /* bit of each state in which it is served */
	void (*serve)(struct serving *s, struct span m);
};

struct sandbox {
	struct loop *loop;
	struct rpc_server handlers;
	struct rpc_link *link;
	int link_fd;
	int pass;   /* -1: frames */
	int cgroup; /* folder */
	int image;  /* the image's own root, until the jail is made */
	struct confine_agent *jail;
	struct watch start;
	struct buf start_in;
	bool has_key;
	bool has_grant;
	struct tls_key key;
	uint64_t outside[5];
	char root[64];
	uint8_t token[DIGEST_SIZE];
	uint8_t token_before[DIGEST_SIZE]; /* until the new one is used */
	bool has_before;
	enum sandbox_state state;
	struct identity who;
	uint8_t confirm_digest[DIGEST_SIZE];
	struct buf confirm_reply;
	struct exec execs[SANDBOX_EXECS];
	struct leaf leaves[SANDBOX_LEAVES];
	struct ledger ledger;
	/* Children get none of our memory. Not where the C library has the
	 * kernel write into a thread's (rseq, in tests with glibc). */
	bool keeps_memory;
	struct spare spare;
	uint32_t pids_max; /* of the agent; 0: no limit */
	int pids_limit;    /* its pids.max and pids.current, if so */
	int pids_now;
	uint64_t last_tag;
	struct rpc_call *watcher;
	struct rpc_call *stopper;
	struct timer grace;
	struct broker broker;
	unsigned attempts; /* Exec calls so far */
	struct {
		uint64_t tag;
		int fds[3];
		size_t n;
	} held[SANDBOX_TAGS]; /* for Bulk */
};

/* --- sandbox.c: take what the start pipe holds now. */
void sandbox_read_start(struct sandbox *sb);

/* --- server.c */
int sandbox_serve(struct sandbox *sb, struct fault *f) MUST_CHECK;
/* One message of a call that goes on. */
int sandbox_send(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f) MUST_CHECK;
/* Answer a call: encoded message or fault. The call ends. */
void sandbox_answer(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *message);
void sandbox_refuse(struct rpc_call *c, const struct fault *f);
extern const struct method sandbox_methods[];

/* --- confirm.c, root.c, jail.c, rights.c, probe.c */
void confirm_serve(struct serving *s, struct span m);
/* identity.c: from a request; INVALID for who may not be one. */
int identity_take(struct identity *who,
    const nacre_sandbox_v1_ConfirmRequest *q, struct fault *f) MUST_CHECK;
int root_build(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f) MUST_CHECK;
/* Files and folders that programs expect; inside the new root. */
int root_furnish(const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f) MUST_CHECK;
/* A folder of the agent's, with those on the way, when it is not there. */
int root_folder(const char *path, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f) MUST_CHECK;
/* While the image is still mounted: hold on to it. */
int jail_image(struct sandbox *sb, struct fault *f) MUST_CHECK;
/* sb->jail: the baseline and the policy's files; inside the new root. */
int jail_make(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f) MUST_CHECK;
/* Keep what DESIGN 1 lists, for good. */
int rights_reduce(struct fault *f) MUST_CHECK;
/* Act on files as the agent: 0 or -1 with errno. Nothing blocks between. */
int rights_act_as(const struct identity *who);
void rights_act_end(void);
enum {
	PROBE_MAX = 24,
	PROBE_TEXT = 80
};
struct probe {
	char name[24];
	char detail[PROBE_TEXT];
	bool passed;
};
int probe_run(struct sandbox *sb, struct probe *out, size_t *n,
    struct fault *f) MUST_CHECK;

/* --- exec.c, plan.c, child.c */
void exec_serve(struct serving *s, struct span m);
void exec_signal_serve(struct serving *s, struct span m);
void exec_resize_serve(struct serving *s, struct span m);
/* Answer the Exec call if it is known by now whether the program runs. */
void exec_look(struct exec *e);
void exec_release(struct exec *e);
int plan_check(const nacre_sandbox_v1_ExecRequest *q,
    struct fault *f) MUST_CHECK;
/* Fill e->plan from a checked request, which lives in e->arena, and open its
 * descriptors: ours into e, the child's into the plan. */
int plan_make(struct exec *e, const nacre_sandbox_v1_ExecRequest *q,
    struct fault *f) MUST_CHECK;
int plan_set_size(int pty, uint32_t cols, uint32_t rows);
/* Its descriptors alone: ours into e, the child's into the plan. */
int plan_stdio(struct exec *e, const nacre_sandbox_v1_ExecRequest *q,
    struct fault *f) MUST_CHECK;
int plan_pipes(int ours[3], int theirs[3], struct fault *f) MUST_CHECK;
void plan_close(struct child_plan *p);
/* A child that runs the plan in the cell; -1 with errno. */
pid_t child_start(const struct cell *c, int cgroup);
/* All that is taken from a child before it may touch a path of the agent's:
 * descriptors of a spare, identity, rights, signals, the jail. 0, or -errno
 * with *stage. Bare system calls. */
int child_confine(const struct child_plan *p, int32_t *stage);

/* --- cell.c: for a plan whose cell_need() is at most `bytes`. */
int cell_open(struct cell *c, size_t bytes, struct fault *f) MUST_CHECK;
void cell_close(struct cell *c); /* fine when there is none */
struct child_plan *cell_plan(const struct cell *c);
uint8_t *cell_stack(const struct cell *c, size_t *size);
size_t cell_need(const struct child_plan *p);
/* Copy the plan and all it points to; false when it does not fit. */
bool cell_fill(const struct cell *c, const struct child_plan *from);
/* Does a child that is made now have it? */
void cell_lend(const struct cell *c, bool lent);
/* Children get nothing of the memory that is ours now. */
void cell_keep_memory(void);

/* --- spare.c */
void spare_init(struct sandbox *sb);
/* Make one in so many ms, unless there is one then. */
void spare_later(struct sandbox *sb, int64_t ms);
/* Let it run e's plan: true when it does. */
bool spare_use(struct exec *e);
/* A process was reaped: was it the spare? */
bool spare_ended(struct sandbox *sb, pid_t pid);
void spare_drop(struct sandbox *sb);
/* A cell that is of no use any more. */
void spare_give_cell(struct sandbox *sb, struct cell *c);

/* --- leaf.c */
/* An empty leaf if there is one. *out is NULL where there are no cgroups. */
int leaf_take(struct sandbox *sb, struct leaf **out,
    struct fault *f) MUST_CHECK;
void leaf_give(struct leaf *l);           /* NULL is fine */
int leaf_fd(const struct leaf *l);        /* -1 for NULL */
uint64_t leaf_ooms(const struct leaf *l); /* 0 for NULL */
bool leaf_is_empty(const struct leaf *l); /* true for NULL */
/* The agent's limit of processes (0: none), which a spare is not one of. */
int leaf_limit_pids(struct sandbox *sb, uint32_t max,
    struct fault *f) MUST_CHECK;
int leaf_count_spare(struct sandbox *sb, bool is_there,
    struct fault *f) MUST_CHECK;
/* Has the agent reached it, with a spare there? */
bool leaf_is_full(const struct sandbox *sb);

/* --- reap.c */
int reap_open(struct sandbox *sb, struct fault *f) MUST_CHECK;
/* Told and ended: say so to the watcher. */
void reap_settle(struct exec *e);
void reap_watch_serve(struct serving *s, struct span m);
void reap_stop_serve(struct serving *s, struct span m);

/* --- remove.c: errno or 0; what is left for the next call in reply->more */
int remove_act(int parent, const char *name, bool all,
    nacre_sandbox_v1_FileReply *reply);

/* --- file.c, bulk.c */
/* One act below the folder `root`, with the rights of the moment. Returns
 * errno or 0; *fd >= 0 is handed over (the caller's). */
int file_act(int root, const nacre_sandbox_v1_FileRequest *q,
    nacre_sandbox_v1_FileReply *r, int *fd, struct arena *a);
void file_serve(struct serving *s, struct span m);
void bulk_serve(struct serving *s, struct span m);
void bulk_writable(struct bulk *b);
void bulk_close(struct bulk *b);
/* Hand descriptors over: by SCM_RIGHTS, or keep them for Bulk. They are the
 * callee's in any case. */
int bulk_pass(struct sandbox *sb, uint64_t tag, const int *fds, size_t n,
    struct fault *f) MUST_CHECK;

#endif
