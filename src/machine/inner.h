/* SPDX-License-Identifier: Apache-2.0 */
/* For the room alone: one machine in parts, the driver, helpers. */
#ifndef MACHINE_INNER_H
#define MACHINE_INNER_H

#include "base/base.h"
#include "digest/digest.h"
#include "json/json.h"
#include "machine/machine.h"
#include "wire/wire.h"

/*
 * QMP client: one command in flight, the rest queued; `idle` tells when the
 * queue is empty or (with a fault) that a command failed and the rest was
 * dropped. Answers carry nothing that we need: sets of descriptors are
 * numbered by us.
 */
enum {
	QMP_QUEUE = 16,
	QMP_COMMAND = 768,
	QMP_LINE = 256 << 10,
};

enum qmp_wait {
	QMP_REPLY,    /* done when answered */
	QMP_MIGRATED, /* and when a MIGRATION event says completed */
};

struct qmp_command {
	char text[QMP_COMMAND];
	size_t len;
	int fd; /* goes with the command; owned; -1 none */
	enum qmp_wait wait;
};

struct qmp {
	struct loop *loop;
	int fd;
	struct watch watch;
	struct buf in;
	struct qmp_command queue[QMP_QUEUE];
	size_t head;
	size_t count;
	bool greeted;
	bool sent;     /* the head is in flight */
	bool answered; /* and waits for its event */
	bool quitting;
	void (*idle)(struct qmp *q, const struct fault *f);
};

/* fd is taken over, also on -1. */
int qmp_open(struct qmp *q, struct loop *l, int fd, struct fault *f) MUST_CHECK;
void qmp_close(struct qmp *q); /* fine when never opened (fd -1) */
/* Queue one command; fd (-1 none) is taken over. */
void qmp_push(struct qmp *q, enum qmp_wait wait, int fd, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Past all that is queued. */
void qmp_quit(struct qmp *q);

/* The guest's console and the VMM's stderr: the last 64 KiB, rate-limited. */
enum {
	CONSOLE_RING = 64 << 10,
	CONSOLE_STEP = 16 << 10,   /* one read */
	CONSOLE_RATE = 256 << 10,  /* bytes a second */
	CONSOLE_BURST = 256 << 10, /* and at once */
};

struct console {
	struct loop *loop;
	int fd;
	struct watch watch;
	struct timer timer; /* armed while not reading */
	uint8_t *ring;
	size_t at; /* next byte written */
	size_t used;
	uint64_t dropped;
	int64_t tokens;
	int64_t filled_ms;
};

/* fd is taken over, also on -1. */
int console_open(struct console *c, struct loop *l, int fd,
    struct fault *f) MUST_CHECK;
void console_close(struct console *c); /* stops reading; keeps the ring */
void console_release(struct console *c);
void console_drain(struct console *c); /* what is there, at the VMM's end */
/* The last n bytes, raw, into out; returns how many. */
size_t console_tail(const struct console *c, uint8_t *out, size_t n);

/*
 * A driver: how a kind of VMM is started and told things. All but start,
 * stop and stat end later, with machine_driver_done(); one at a time.
 */
struct machine_driver {
	const char *name;
	/* Spawns the VMM: m->pid, m->port_fd, m->console are set. */
	int (*start)(struct machine *m, struct fault *f);
	void (*restore)(struct machine *m, int state_fd);
	void (*pause)(struct machine *m, bool pause);
	void (*save)(struct machine *m, int fd);
	/* The descriptors are the driver's. */
	void (*attach_disks)(struct machine *m, int image_fd, int disk_fd);
	void (*stop)(struct machine *m);
	void (*stat)(struct machine *m, struct machine_stat *out);
	void (*release)(struct machine *m);
};
extern const struct machine_driver machine_qemu;
/* stat.c: private and translated bytes of the VMM, from /proc. */
void machine_smaps(struct machine *m, struct machine_stat *out);

enum machine_work {
	WORK_NONE,
	WORK_RESTORE,
	WORK_ASSIGN,
	WORK_PAUSE,
	WORK_RESUME,
	WORK_SAVE,
};

struct machine {
	struct loop *loop;
	const struct machine_driver *driver;
	struct machine_config config;
	const struct machine_events *events;
	void *owner;

	enum machine_phase phase;
	struct machine_stat times;
	int64_t started_us;
	bool tsc; /* READY said so */
	bool stopping;
	bool killed; /* by us, after the grace */
	struct fault why;

	pid_t pid;
	struct child child;
	struct timer deadline;
	struct timer grace;

	enum machine_work work; /* the driver's, in flight */
	struct machine_op *op;  /* who waits for it */
	struct machine_op *assign_op;
	int assign_image; /* held until WAITING or PARKED */
	int assign_disk;
	bool assigned;

	int port_fd;
	struct watch port;
	uint8_t woke[WIRE_WOKE_SIZE];
	size_t woke_n;

	struct console console;
	struct console stderr_tail;
	struct qmp qmp;
};

void machine_driver_done(struct machine *m, const struct fault *f);
/* Remember why and end the VMM. */
void machine_fail(struct machine *m, const struct fault *why);

/* qemu_args.c: the command line from vm/qemu.def and vm/cmdline.def. */
enum {
	QEMU_ARGS = 96,
};
struct qemu_fds {
	int port;
	int qmp;
	int console;
};
struct qemu_line {
	struct arena arena;
	char *argv[QEMU_ARGS];
	size_t argc;
};
int qemu_line_make(struct qemu_line *q, const struct machine_config *c,
    const struct qemu_fds *fds, struct fault *f) MUST_CHECK;
void qemu_line_release(struct qemu_line *q);
/* Everything about the command line that a template depends on. */
void qemu_line_digest(struct digest *d, enum machine_accel a);
/* "7.2.22" is before 8.2: the stream goes by fd:, not by file:. */
bool qemu_is_before(const char *version, unsigned major, unsigned minor);

/* spawn.c */
struct confine_program;
struct machine_exec {
	const char *path;
	char *const *argv;
	const int *keep; /* descriptors to hand on, numbers kept */
	size_t keep_n;
	int in;  /* becomes 0; -1: /dev/null */
	int out; /* becomes 1; -1: /dev/null */
	int err; /* becomes 2; -1: as ours */
	bool session;
	const struct confine_program *jail; /* may be NULL */
};
/* fork, jail, exec with an empty environment; waits until exec is done. */
int machine_exec(const struct machine_exec *x, pid_t *pid,
    struct fault *f) MUST_CHECK;
/* Run a helper to its end and take its stdout; blocking, killed after
 * timeout_ms. -1 also when it does not exit 0 (what it said is the fault). */
int machine_run(char *const argv[], int in, struct buf *out, int64_t timeout_ms,
    struct fault *f) MUST_CHECK;
/* "name" in the usual places, into out; false when there is none. */
bool machine_find_program(const char *name, char *out, size_t size);

/* memfd.c: files in memory, sealed. */
int memfd_new(const char *name, uint64_t size, struct fault *f);
int memfd_seal(int fd, struct fault *f) MUST_CHECK;
/* A sealed copy of a file and its digest; -1 on fault. */
int memfd_of_file(const char *path, const char *name, char digest[MACHINE_KEY],
    struct fault *f);
/* The same file under another access mode, through /proc/self/fd. */
int memfd_reopen(int fd, int flags, struct fault *f);
/* A sparse file of 1 TiB that nothing reads: the guest's driver stays bound
 * while its disk is another. */
int memfd_hollow(int flags, struct fault *f);
/* Copy the data extents of in to the same places of out. */
int sparse_copy(int in, int out, struct fault *f) MUST_CHECK;

/* facts.c: what the host is, measured once and remembered in the cache. */
struct vmm_facts {
	char path[256];
	char digest[MACHINE_KEY];
	char version[32];
};
int facts_vmm(const char *cache, const char *wanted, struct vmm_facts *out,
    struct fault *f) MUST_CHECK;
int facts_tsc_khz(const char *cache, unsigned *khz, struct fault *f) MUST_CHECK;
/* 0 when this process may open the KVM device, else why not. */
int facts_kvm(const struct machine_paths *p, struct fault *f) MUST_CHECK;
/* True when something is known for this VMM and host kernel: what a boot has
 * shown, or AUTO: KVM was no good last time, which may pass. */
bool facts_accel(const char *cache, const struct vmm_facts *v,
    enum machine_accel *a, char *reason, size_t size);
void facts_accel_remember(const char *cache, const struct vmm_facts *v,
    enum machine_accel a, const char *reason);
/* A member of a small JSON file of the cache, as text; false when absent. */
bool facts_get(const char *cache, const char *file, const char *key, char *out,
    size_t size);

/* template_disk.c: the copy on disk. */
int template_store(const char *cache, const struct machine_template *t,
    struct fault *f) MUST_CHECK;
/* FAULT_NOT_FOUND when there is none; anything else: it is damaged. */
int template_load(const char *cache, struct machine_template *t,
    struct fault *f) MUST_CHECK;
/* template_old.c: a use of the folder; and those not used for longest go. */
void template_touch(int dir);
void template_drop_old(const char *cache);

/* disk.c: the blank file, which exists, read-only; -1 on fault. */
int disk_blank_open(const char *cache, uint64_t bytes, struct fault *f);
/* A file that others may read, 0400, from part; it is on the disk then. */
int disk_keep(const char *part, const char *path, struct fault *f) MUST_CHECK;
/* These n bytes (at most 16) are there. */
bool disk_has(int fd, off_t at, const void *magic, size_t n);

/* scrap.c: what clones rehearse on, made once into the cache. */
int scrap_open(const char *cache, const char *guest, int *image, int *disk,
    struct fault *f) MUST_CHECK;

/* answer.c: a template as one line of JSON, and back with its descriptors
 * (those taken over become -1 in got). */
enum {
	ANSWER_BYTES = 8192,
};
int machine_template_parse(struct span line, int *got, size_t n,
    struct machine_template *t, struct fault *f) MUST_CHECK;

/* args.c: the arguments of our own programs. */
enum {
	ARGS = 64,
};
struct args {
	struct arena arena;
	char *argv[ARGS];
	size_t n;
};
void args_init(struct args *a, const char *program, const char *mode);
void args_text(struct args *a, const char *name, const char *value);
void args_number(struct args *a, const char *name, int64_t value);
void args_flag(struct args *a, const char *name, bool on);
void args_release(struct args *a);

#endif
