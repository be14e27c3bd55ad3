/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual machines: one VM under a driver (QEMU microvm), templates that are
 * booted once and restored many times, disks, and the keeper process that
 * holds one VM.
 *
 *   gateway   machine_template_get()  ->  machine_keeper_spawn()
 *             machine_disk_make(), machine_host_memory()
 *   keeper    machine_new() ... machine_assign() ... machine_stop()
 *
 * The VMM gets descriptors only and is jailed before its first instruction
 * (confine_vmm). Nothing here waits in the gateway: what takes time (booting,
 * hashing, mke2fs) is done by a child, `nacre-keeper template`.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "loop/loop.h"

enum machine_accel {
	MACHINE_AUTO, /* KVM if a template really boots under it, else TCG */
	MACHINE_TCG,
	MACHINE_KVM,
};
const char *machine_accel_name(enum machine_accel a); /* "tcg" */
bool machine_accel_parse(struct span s, enum machine_accel *out);

/* Where things are. All borrowed; all but vmm and kvm must exist. */
struct machine_paths {
	const char *keeper; /* the program nacre-keeper */
	const char *vmm;    /* NULL: qemu-system-x86_64 of the usual places */
	const char *kvm;    /* NULL: /dev/kvm */
	const char *kernel; /* vmlinux */
	const char *initramfs; /* cpio */
	const char *guest;     /* static program for the scrap image */
	const char *cache;     /* made 0700: templates, blank disks, facts */
};

/* What one kind of machine looks like. */
struct machine_shape {
	unsigned memory_mib; /* LIMIT_MEMORY_LEAST_MIB * 2^n */
	unsigned vcpus;      /* 1..LIMIT_CPUS */
	enum machine_accel accel;
};
/* INVALID with the field named ("memory", "cpus"). */
int machine_shape_check(const struct machine_shape *s,
    struct fault *f) MUST_CHECK;

#define MACHINE_KEY 65 /* SHA-256 as text, with its NUL */

/*
 * All that is needed to start machines of one shape. The memory and state
 * are sealed memfds; they are -1, and `why_cold` says why, when no template
 * could be made: cold boots still work then.
 */
struct machine_template {
	struct machine_shape shape; /* accel is what was chosen, never AUTO */
	char key[MACHINE_KEY];
	char kernel_digest[MACHINE_KEY];
	char initramfs_digest[MACHINE_KEY];
	char vmm_digest[MACHINE_KEY];
	char vmm_version[32]; /* "7.2.22" */
	char vmm_path[256];
	char accel_reason[200]; /* why TCG, when AUTO was asked for */
	char why_cold[240];     /* empty: there is a template */
	unsigned tsc_khz;
	bool built; /* booted just now, not found on disk */
	int64_t took_ms;
	int memory_fd;
	int state_fd;
	int kernel_fd; /* sealed copies */
	int initramfs_fd;
	int scrap_image_fd; /* squashfs to rehearse with; -1 none */
	int scrap_disk_fd;  /* ext4 to copy for it */
};
void machine_template_init(struct machine_template *t);    /* no descriptors */
void machine_template_release(struct machine_template *t); /* closes all */

/*
 * Find the template on disk, or boot, save and seal one, in a child process.
 * done is called once, from the loop: f->code FAULT_NONE and *t (which the
 * callee takes over and releases), or why not (t NULL). One job at a time.
 */
struct machine_job {
	struct child child; /* the rest is the room's */
	struct watch watch;
	struct timer timer;
	struct loop *loop;
	struct buf text;
	int sock;
	int fds[8];
	size_t fds_n;
	bool ended;
	void (*done)(struct machine_job *j, struct machine_template *t,
	    const struct fault *f);
};
int machine_template_get(struct loop *l, struct machine_job *j,
    const struct machine_paths *p, const struct machine_shape *s,
    struct fault *f) MUST_CHECK;
/* Ends the child; done is not called. Fine when no job runs. */
void machine_job_cancel(struct machine_job *j);
bool machine_job_runs(const struct machine_job *j);

/* Its copy on disk goes: the next job boots one. */
void machine_template_forget(const char *cache, const char *key);

/* What the gateway gives to one keeper. */
struct machine_keeper {
	const char *program;  /* nacre-keeper */
	const char *dir;      /* 0700; the socket is DIR/<id>.sock */
	const char *id;       /* LIMIT_ID characters of [A-Za-z0-9._-] */
	const char *read_dir; /* images lie below it (Landlock) */
	const char *disk_dir; /* writable disks lie below it */
	const struct machine_template *template;
	bool cold;    /* boot, do not restore */
	bool no_park; /* do not rehearse */
};
/*
 * Start a keeper in its own session. *link becomes one end of a socketpair
 * that already speaks nacre.keeper.v1 (rpc_link_open_fd, client): the keeper
 * that was never assigned ends when it closes. *pid is our child until we
 * end. Later gateways connect to DIR/<id>.sock.
 */
int machine_keeper_spawn(const struct machine_keeper *k, pid_t *pid, int *link,
    struct fault *f) MUST_CHECK;

/* Disks. The blank file is made by mke2fs once a size and kept in the cache
 * (machine_template_get makes the one of the default size). */
#define MACHINE_DISK_BYTES ((uint64_t)8 << 30)
int machine_disk_blank(const char *cache, uint64_t bytes,
    struct fault *f) MUST_CHECK;
/* Copy the blank file to path (0600, EXISTS if there), reflink or sparse, by
 * way of path.part: what is at path is whole, also after a power cut. */
int machine_disk_make(const char *cache, const char *path, uint64_t bytes,
    struct fault *f) MUST_CHECK;
/* A private copy of a (small) blank file, in memory; -1 on fault. */
int machine_disk_in_memory(int blank_fd, struct fault *f);
/* MemAvailable of the host, in bytes; 0 when it cannot be read. */
uint64_t machine_host_memory(void);

/*
 * One requirement of the host, for `nacre-keeper doctor`. name is stable
 * ("kvm", "qemu", "landlock"); needed: without it nothing works.
 */
struct machine_check {
	const char *name;
	bool ok;
	bool needed;
	char text[200]; /* what was found, or what to do */
};
/* Fills out[0..n), returns how many; blocks (starts programs). */
size_t machine_doctor(const struct machine_paths *p, struct machine_check *out,
    size_t n);

/* ---- the keeper's side: one VM ---- */

enum machine_phase {
	MACHINE_STARTING = 1,  /* VMM started, not yet restored or booted */
	MACHINE_WAITING = 2,   /* the supervisor waits for a wake frame */
	MACHINE_PARKED = 3,    /* rehearsed */
	MACHINE_ASSIGNED = 4,  /* disks given, LAUNCH sent */
	MACHINE_CONNECTED = 5, /* said by the owner: machine_connected() */
	MACHINE_ENDED = 6,     /* VMM gone and reaped */
};
const char *machine_phase_name(enum machine_phase p);

struct machine;

struct machine_events {
	/* A phase was reached. With ENDED, why->code is not NONE when it was
	 * a failure: neither asked for nor the guest's own end. */
	void (*phase)(struct machine *m, void *owner, enum machine_phase p,
	    const struct fault *why);
	/* LAUNCH is written: the port is the owner's (HTTP/2 follows). */
	void (*port)(struct machine *m, void *owner, int fd);
	/* The guest's clock must be set again: after every cont. */
	void (*resumed)(struct machine *m, void *owner);
};

struct machine_config {
	struct machine_shape shape;
	const char *vmm; /* path */
	const char *vmm_version;
	unsigned tsc_khz;
	bool cold;
	bool park;
	/* Borrowed until machine_start() returns; -1 where there is none. */
	int kernel_fd;
	int initramfs_fd;
	int memory_fd; /* restore: sealed; building a template: shared */
	int state_fd;
	int image_fd;        /* first disk: scrap or placeholder, read-only */
	int disk_fd;         /* second disk, read-write */
	bool share;          /* building a template: memory_fd is written to */
	int64_t deadline_ms; /* until WAITING; 0: two minutes */
};

/* Owner and events are borrowed; nothing is started yet. */
struct machine *machine_new(struct loop *l, const struct machine_config *c,
    const struct machine_events *e, void *owner, struct fault *f) MUST_CHECK;
/* Start the VMM; phases follow. After -1 the machine can only be freed. */
int machine_start(struct machine *m, struct fault *f) MUST_CHECK;
/* Kills a VMM that still runs, waits for it, frees. */
void machine_free(struct machine *m);

/* An operation that ends later; embedded in its owner, one use at a time. */
struct machine_op {
	void (*done)(struct machine_op *op, const struct fault *f);
	struct machine_op *next;
	bool queued;
};
/*
 * Give the machine its disks and launch it, once; before it is WAITING or
 * PARKED that is held. disk_fd -1: an empty disk. The descriptors are taken
 * over (also on -1). done: LAUNCH was written, or why not (the machine then
 * ends).
 */
int machine_assign(struct machine *m, int image_fd, int disk_fd,
    struct machine_op *op, struct fault *f) MUST_CHECK;
int machine_pause(struct machine *m, bool pause, struct machine_op *op,
    struct fault *f) MUST_CHECK;
/* Stop and write the device state into fd (borrowed until done). */
int machine_save(struct machine *m, int fd, struct machine_op *op,
    struct fault *f) MUST_CHECK;
/* quit by QMP, SIGKILL after grace_ms, which a later call may only shorten;
 * ENDED follows. Fine at any time. */
void machine_stop(struct machine *m, int64_t grace_ms);
void machine_connected(struct machine *m);

struct machine_stat {
	enum machine_phase phase;
	pid_t pid; /* of the VMM; 0 none */
	/* us since the VMM was started; 0 not yet */
	int64_t restored_us;
	int64_t parked_us;
	int64_t assigned_us;
	int64_t connected_us;
	int64_t swap_us;        /* the disks' part of the assignment */
	uint64_t private_bytes; /* of the VMM */
	uint64_t code_bytes;    /* translated code within them */
};
enum machine_phase machine_phase(const struct machine *m);
/* Without its memory, which takes a walk through /proc. */
void machine_times(const struct machine *m, struct machine_stat *out);
void machine_stat(struct machine *m, struct machine_stat *out);
/* us since the VMM was started. */
int64_t machine_age_us(const struct machine *m);
/* The console's last bytes, escaped, into b; *dropped: bytes lost so far. */
int machine_console(struct machine *m, struct buf *b, uint64_t *dropped,
    struct fault *f) MUST_CHECK;

/* The guest said at READY that its clock source is tsc. */
bool machine_clock_is_tsc(const struct machine *m);

/*
 * The work of `nacre-keeper template`: everything machine_template_get()
 * promises, blocking, on a loop of its own.
 */
int machine_template_make(const struct machine_paths *p,
    const struct machine_shape *s, struct machine_template *out,
    struct fault *f) MUST_CHECK;
/* The child's answer: one JSON line; sent with the descriptors beside it. */
int machine_template_format(const struct machine_template *t, struct buf *b,
    struct fault *f) MUST_CHECK;
int machine_template_send(const struct machine_template *t, int sock,
    struct fault *f) MUST_CHECK;

/*
 * The keeper's arguments, after the mode ("run", "template", "doctor"), read
 * back. Strings borrow argv; descriptors are the caller's, -1 when absent.
 */
struct machine_args {
	struct machine_paths paths;
	struct machine_shape shape;
	const char *dir;
	const char *id;
	const char *read_dir;
	const char *disk_dir;
	const char *key;
	const char *vmm_digest;
	const char *vmm_version;
	int64_t tsc_khz;
	int link_fd;
	int answer_fd;
	int memory_fd;
	int state_fd;
	int kernel_fd;
	int initramfs_fd;
	int scrap_image_fd;
	int scrap_disk_fd;
	bool cold;
	bool no_park;
	bool json;
};
int machine_args_parse(int argc, char **argv, struct machine_args *out,
    struct fault *f) MUST_CHECK;

#endif
