/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this room share.
 *
 *   spawn    the sandbox process          rights   what is kept after it
 *   supervisor roles          boot     first boot      wake   frames on the port
 *   disks    mounts         box      client of the sandbox
 *   tunnel   to the gateway session  what it says    launch state table
 *   run      a process and its pipes mainlog         output of the main one
 *   attach   streams         attach_main  input of the main process
 *   put get  copies   remove  of files  memory of the machine
 *   files    what the agent may reach          top    what runs
 *   finish   stop and end            brake  the agent stands still
 *   door.h   what agents knock at: door, door_conn, door_serve
 *   rehearse the launch path on scrap disks   partner  its other side
 *
 * Nothing here is global: the one object is `struct supervisor`, owned by
 * supervisor.c. All of it is one thread on one loop.
 */
#ifndef SUPERVISOR_INNER_H
#define SUPERVISOR_INNER_H

#include <sys/ioctl.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"
#include "http/http.h"
#include "loop/loop.h"
#include "proto/nacre_sandbox.pb.h"
#include "proto/nacre_session.pb.h"
#include "rpc/rpc.h"
#include "supervisor/door.h"
#include "tls/tls.h"
#include "wire/wire.h"

struct supervisor;

enum supervisor_limits {
	SUPERVISOR_RUNS = 64,       /* attached streams and processes */
	SUPERVISOR_ID = 64,         /* bytes of an attach id */
	SUPERVISOR_TOKEN = 4096,    /* bytes of one token */
	SUPERVISOR_ARENA = 4 << 20, /* what one decoded message may take */
	SUPERVISOR_KEPT = 32        /* descriptors that are early */
};

/* --- disks.c: the image, the writable layer and their union at /new. */
#define DISKS_ROOT "/new"

struct disks {
	bool image;
	bool upper;
	bool root;
	bool on_disk; /* the upper layer is the disk's file system */
};
/* The disk holds a file system: it is the upper layer; else memory is. */
int disks_mount(struct disks *d, struct fault *f) MUST_CHECK;
/* Unmount all that is mounted and see that the disk is let go. */
int disks_unmount(struct disks *d, struct fault *f) MUST_CHECK;
/* Forget what the kernel has read of the disks: the host may swap them. */
int disks_flush(struct fault *f) MUST_CHECK;

/* --- boot.c, wake.c: before the launch. */
struct boot {
	int port;
	bool tsc;
	char digest[DIGEST_HEX]; /* of /init */
};
int boot_mounts(struct fault *f) MUST_CHECK;
int boot_write(const char *path, const char *text, struct fault *f) MUST_CHECK;
int boot_port(int *port, struct fault *f) MUST_CHECK;
int boot_digest(char out[DIGEST_HEX], struct fault *f) MUST_CHECK;
bool boot_is_tsc(void);
void boot_set_clock(int64_t wall_ns);
/* Answer wake frames until LAUNCH, then re-execute. Returns only on -1. */
int wake_wait(const struct boot *b, struct fault *f) MUST_CHECK;
/* Ends the machine. */
_Noreturn void machine_end(void);

/* --- box.c: the sandbox process and the client of its protocol. */
typedef void (*box_done)(void *owner, const struct fault *f, struct span reply);

struct box_events {
	/* The link is up; calls wait for box_grant(). */
	void (*up)(void *owner);
	/* A process ended. */
	void (*event)(void *owner, const nacre_sandbox_v1_Event *e);
	/* The link is gone, asked for or not. */
	void (*down)(void *owner, const struct fault *f);
};

struct box {
	struct loop *loop;
	const struct box_events *events;
	void *owner;
	pid_t pid; /* 0: none */
	int pass;  /* descriptors come here */
	int start; /* the sandbox's start pipe */
	struct rpc_link *link;
	char bearer[SUPERVISOR_TOKEN + 8];
	struct pending *spare; /* an Exec that was opened ahead, or NULL */
	char renewal[SUPERVISOR_TOKEN + 8]; /* once the sandbox has it */
	char newest[SUPERVISOR_TOKEN + 8];  /* came meanwhile, goes next */
	/* Descriptors that came before they were asked for. */
	struct {
		uint64_t tag;
		int fds[3];
		size_t n;
	} kept[SUPERVISOR_KEPT];
};

/* Start the process and its link. cgroup is the agent's, borrowed. */
int box_open(struct box *b, struct loop *loop, const struct box_events *events,
    void *owner, struct fault *f) MUST_CHECK;
/* spawn.c: the process with its descriptors; *link is our end, unwatched. */
int box_spawn(struct box *b, int *link, uint8_t pin[TLS_PIN],
    struct fault *f) MUST_CHECK;
/* rights.c: what the supervisor keeps of itself when the sandbox runs. */
int rights_narrow(struct fault *f) MUST_CHECK;
/* One message into the start pipe, behind its length. */
int box_start_write(int fd, const struct pb_msgdesc_s *fields,
    const void *message, struct fault *f) MUST_CHECK;
/* The token that calls carry from now on; the first one opens the gate. */
int box_grant(struct box *b, const char *token, struct fault *f) MUST_CHECK;
/* One request, one answer. done is called exactly once when this is 0; its
 * reply is valid during the call. */
int box_call(struct box *b, const char *method,
    const struct pb_msgdesc_s *fields, const void *message, box_done done,
    void *owner, struct fault *f) MUST_CHECK;
#define BOX_CALL(b, method, type, message, done, owner, f) \
 box_call(b, "/nacre.sandbox.v1.Sandbox/" method,          \
     nacre_sandbox_v1_##type##_fields, message, done, owner, f)
/* Open the call of the next Exec, while nobody waits for it. */
void box_spare(struct box *b);
/* Replace the token: the sandbox is told under the old one, which calls carry
 * until it has answered. One at a time: of those that come meanwhile it is told
 * the last. */
int box_renew(struct box *b, const char *token, struct fault *f) MUST_CHECK;
/* A call of many messages, the caller's own; NULL: it cannot be opened. */
struct rpc_call *box_stream(struct box *b, const char *method,
    const struct rpc_call_events *events, void *owner, struct fault *f);
/* Start to listen for events. */
int box_watch(struct box *b, struct fault *f) MUST_CHECK;
/* The n descriptors sent under tag, now the caller's. */
int box_take(struct box *b, uint64_t tag, int *fds, size_t n,
    struct fault *f) MUST_CHECK;
/* Kill the process (and so all in its namespaces), wait for it, and close the
 * descriptors of it that nobody has taken. */
void box_kill(struct box *b);

/* --- tunnel.c: CONNECT gateway.nacre:443, TLS, gRPC; again when it breaks. */
struct tunnel {
	struct supervisor *sv;
	struct rpc_stream *stream;
	struct rpc_link *link;
	uint8_t pin[TLS_PIN];
	size_t pin_n;
	struct buf in; /* came, not yet taken by the link */
	struct timer retry;
	int64_t wait_ms;
	bool is_closing; /* the machine ends: no retry */
};
int tunnel_open(struct tunnel *t, struct fault *f) MUST_CHECK;
/* Give this connection up; a new one follows by itself. */
void tunnel_drop(struct tunnel *t, const struct fault *why);

/* --- clock.c: CONNECT time.nacre:1, 8 bytes a time. */
struct clock_line {
	struct supervisor *sv;
	struct rpc_stream *stream;
	uint8_t part[8];
	size_t n;
	struct timer retry;
};
void clock_open(struct clock_line *c);

/* --- session.c: the Session call. */
struct tokens {
	char gateway[SUPERVISOR_TOKEN];
	char sandbox[SUPERVISOR_TOKEN];
	char door[SUPERVISOR_TOKEN];
	int64_t until_ms; /* mono; 0: there are none */
};
struct session {
	struct supervisor *sv;
	struct rpc_call *call;
	bool is_open;   /* Bundle or Resume has come on this call */
	uint64_t epoch; /* of the last Hello */
	struct timer refresh;
	struct rpc_call *refreshing;
};
int session_open(struct session *s, struct fault *f) MUST_CHECK;
/* Queue one message up; BUSY when the stream is full, LOST without one. */
int session_send(struct session *s, const nacre_session_v1_Up *up,
    struct fault *f) MUST_CHECK;
/* "Bearer <gateway token>", empty in a first launch. */
struct span session_bearer(struct session *s);
int session_take_tokens(struct session *s, const nacre_session_v1_Tokens *t,
    struct fault *f) MUST_CHECK;

/* --- brake.c: the agent stands still, or goes on. */
struct brake {
	struct supervisor *sv;
	int freeze; /* cgroup.freeze of all agents */
	int events; /* cgroup.events */
	bool is_on;
	bool is_sure; /* the kernel has confirmed it */
	int64_t began_us;
	struct fault why;
	struct watch watch;
	struct timer bound; /* to be confirmed; then to be renewed */
	struct timer expiry;
};
/* Before rights_narrow(). */
int brake_open(struct brake *b, struct fault *f) MUST_CHECK;
/* Freeze; in 30 s without brake_renewed() the machine ends. */
void brake_pull(struct brake *b, const struct fault *why);
/* New tokens are held: go on, until their life is over, whatever the wall
 * clock is set to. */
void brake_renewed(struct brake *b);
/* Freeze and wait for it, a second at most; is it confirmed? */
bool brake_now(struct brake *b);

/* --- memory.c: files that are kept in memory */
bool memory_holds(int fd, bool on_disk);
/* The number behind a key that begins a line; 0 when it is not there. */
uint64_t memory_number(struct span text, const char *key);
/* May a put go on, when the agent has at most `most` bytes? Else LIMIT. */
int memory_check(uint64_t most, struct fault *f) MUST_CHECK;

/* --- mainlog.c: a ring with offsets. */
enum mainlog_sizes {
	MAINLOG_BYTES = 256 << 10,
	MAINLOG_PIECES = 1024
};
struct mainlog_piece {
	uint64_t offset;
	int64_t time_ms;
	uint32_t len;
	bool is_error;
};
struct mainlog {
	uint8_t *bytes;
	struct mainlog_piece pieces[MAINLOG_PIECES];
	uint32_t first;
	uint32_t count;
	uint64_t end;   /* offset after the last byte held */
	uint64_t acked; /* below it the gateway has everything */
	uint64_t sent;  /* next byte to send in this session */
};
void mainlog_init(struct mainlog *m);
/* Bytes that may be added now. keep: never drop what is not acknowledged. */
size_t mainlog_room(struct mainlog *m, bool keep);
/* Add; without room the oldest go. */
void mainlog_add(struct mainlog *m, struct span s, bool is_error,
    int64_t now_ms);
void mainlog_ack(struct mainlog *m, uint64_t offset);
/* The next piece to send, false when all is sent. */
bool mainlog_next(const struct mainlog *m, size_t most, uint64_t *offset,
    struct span *s, bool *is_error, int64_t *time_ms);
void mainlog_sent(struct mainlog *m, uint64_t upto);
void mainlog_resume(struct mainlog *m, uint64_t offset);

/* --- run.c: one process in the sandbox: pipes, end, drain. */
struct run;
struct run_outlet {
	struct run *run;
	int fd;
	struct watch watch;
	bool is_error;
	size_t owed; /* bytes that were there when the process ended */
};
struct run {
	struct supervisor *sv;
	char id[SUPERVISOR_ID + 1];
	struct rpc_call *call; /* Attach; NULL: main process, or lost */
	/* Exec was answered; the process runs or has_exited is set. */
	void (*begun)(struct run *r);
	/* All output is out. Called once; may bury r. */
	void (*ended)(struct run *r);
	bool is_main;
	bool is_lost;     /* its Attach is gone, output goes nowhere */
	bool is_starting; /* Exec is not answered */
	bool is_started;  /* descriptors are here */
	bool ends_early;  /* to be ended, also when it has started */
	bool has_exited;
	bool drain_over;
	bool is_done;
	bool is_told; /* exec: the exit is on its way */
	bool is_tty;
	struct run_outlet out[2];
	int in_fd;
	struct watch in; /* stdin's write end */
	struct buf in_held;
	struct deferred in_turn; /* write what this tick brought */
	bool in_is_wide;         /* its pipe was made larger */
	size_t in_owed; /* message bytes to give back when in_held is out */
	bool in_ends;
	int32_t pid;
	int32_t code;
	int32_t signal;
	int32_t failed_errno; /* exec's, when it never ran */
	struct fault why;     /* when Exec itself was refused */
	char reason[16];
	struct timer drain;
	struct timer kill;
	struct winsize size; /* asked for, maybe before it started */
	uint64_t wasted;     /* bytes drained to nowhere */
};
struct run *run_new(struct supervisor *sv, const char *id);
void run_free(void *p); /* for loop_bury() */
/* Start the process. That exec fails is told as the run's end. */
int run_start(struct run *r, const nacre_session_v1_Command *c,
    uint64_t timeout_ms, struct fault *f) MUST_CHECK;
void run_event(struct run *r, const nacre_sandbox_v1_Event *e);
/* owed: bytes of the message, given back when the input is written. */
void run_input(struct run *r, struct span s, size_t owed);
void run_input_end(struct run *r);
void run_resize(struct run *r, uint32_t cols, uint32_t rows);
void run_signal(struct run *r, int32_t signal);
/* The sink has room again. */
void run_pump(struct run *r);
/* Nobody reads any more. end_it: TERM, and KILL after two seconds; before its
 * start KILL. */
void run_detach(struct run *r, bool end_it);

/* --- exec.c: execs, each with its Attach call. */
int exec_open(struct supervisor *sv, const char *id,
    const nacre_session_v1_Exec *e, struct fault *f) MUST_CHECK;

/* --- attach.c: streams that the gateway asked for. */
/* May a stream be opened now, and has it a name? */
int attach_check(const struct supervisor *sv, const nacre_session_v1_Open *o,
    struct fault *f) MUST_CHECK;
int attach_open(struct supervisor *sv, const nacre_session_v1_Open *o,
    struct fault *f) MUST_CHECK;
/* attach_main.c: input, sizes and signals for the main process, from one
 * stream at a time. */
int attach_main(struct supervisor *sv, const char *id,
    struct fault *f) MUST_CHECK;
void attach_main_ended(struct supervisor *sv);
/* Send one message on a call. */
int attach_send(struct rpc_call *call, const nacre_session_v1_AttachUp *up,
    struct fault *f) MUST_CHECK;
/* Room for one more message of a chunk. When not, `writable` follows. */
bool attach_has_room(struct rpc_call *call);
/* Open the Attach call and name it. */
struct rpc_call *attach_call(struct supervisor *sv, const char *id,
    const struct rpc_call_events *events, void *owner,
    struct fault *f) MUST_CHECK;
/* What a file act in the sandbox failed with, as a fault; -1. */
int attach_errno(struct fault *f, int error, const char *what,
    const char *path);
/* The last message of a put or get, then the end. */
void attach_done(struct rpc_call *call, const struct fault *f, uint64_t bytes,
    uint64_t entries);
/* A put or a get. Before the disks are let go each is ended, and then has no
 * file open and opens none. */
struct copy {
	struct copy *next;
	void (*end)(struct copy *c, const struct fault *why);
};
void attach_copy_add(struct supervisor *sv, struct copy *c);
/* Not before its file is closed. Fine when it was never added. */
void attach_copy_remove(struct supervisor *sv, const struct copy *c);
void attach_copies_end(struct supervisor *sv, const struct fault *why);
int put_open(struct supervisor *sv, const char *id,
    const nacre_session_v1_Put *q, struct fault *f) MUST_CHECK;
int remove_open(struct supervisor *sv, const char *id,
    const nacre_session_v1_Remove *q, struct fault *f) MUST_CHECK;
/* top.c: what runs, for one stream. */
int top_open(struct supervisor *sv, const char *id, struct fault *f) MUST_CHECK;
int get_open(struct supervisor *sv, const char *id,
    const nacre_session_v1_Get *q, struct fault *f) MUST_CHECK;

/* --- launch.c, finish.c */
enum phase {
	PHASE_LAUNCHING, /* no bundle yet */
	PHASE_CONFIRMING,
	PHASE_STARTING, /* the main process is being started */
	PHASE_RUNNING,
	PHASE_STOPPING,
	PHASE_STOPPED,
	PHASE_FAILED,
};

struct supervisor {
	struct loop *loop;
	enum phase phase;
	bool is_rehearsal;
	int64_t launch_us; /* when LAUNCH was read */
	int64_t mounted_us;
	int64_t tls_us;
	int64_t started_us;
	char digest[DIGEST_HEX];
	struct rpc_link *port;
	struct disks disks;
	struct fault early_fault; /* of what is done before the bundle */
	struct box box;
	bool box_up;
	struct tunnel tunnel;
	struct clock_line clock;
	struct session session;
	struct tokens tokens;
	char bearer[SUPERVISOR_TOKEN + 8];
	/* The bundle, kept for the life of the launch. */
	struct arena bundle_arena;
	nacre_session_v1_Bundle bundle;
	bool has_bundle;
	nacre_session_v1_Probe *probes;
	size_t probes_n;
	struct mainlog log;
	struct run *main;
	struct run *runs[SUPERVISOR_RUNS]; /* execs */
	struct run *spare;                 /* a call for the next one */
	struct timer spare_due;
	unsigned files; /* puts and gets that run */
	struct copy *copies;
	struct door door;
	struct brake brake;
	struct deferred early;
	struct timer ending;
	uint32_t grace_ms;
	struct fault failure; /* of PHASE_FAILED */
	char failed_stage[16];
	bool exit_told; /* Up.exit of the main process in this session */
	bool are_gone;  /* Stop was answered: no process is left */
};

/* The whole life after the re-execution. */
int launch_run(struct supervisor *sv, int port, struct fault *f) MUST_CHECK;
void launch_bundle(struct supervisor *sv);
/* files.c: q->files, in the bundle's arena. */
int files_rules(struct supervisor *sv, nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f) MUST_CHECK;
void launch_failed(struct supervisor *sv, const char *stage,
    const struct fault *f);
/* The session has been accepted again: tell it what it missed. */
void launch_resumed(struct supervisor *sv);
/* The session takes more: output, then the exit behind it. */
void launch_log_room(struct supervisor *sv);
/* The end of the main process and of this stop, once both are known. */
void finish_check(struct supervisor *sv);
/* The port or the sandbox is gone: leave the disk clean and end. */
_Noreturn void finish_lost(struct supervisor *sv, const struct fault *f);
/* Send what the ring holds as far as the stream takes it. */
void launch_push_log(struct supervisor *sv);
/* Stopped was said on a session that is lost: say it again. */
void finish_tell(struct supervisor *sv);
void finish_stop(struct supervisor *sv, uint32_t grace_ms);

/* --- rehearse.c */
int rehearse_run(struct supervisor *sv, struct fault *f) MUST_CHECK;
/* The rehearsal's process ends: 0 when all went well and is undone. */
_Noreturn void rehearse_end(struct supervisor *sv);
/* --- partner.c: keeper and gateway of a rehearsal; an exit code. */
int partner_run(int port);

#endif
