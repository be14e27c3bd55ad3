/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who did it, as the kernel knows it: process, executable, ancestors, digest,
 * and who holds a socket. argv and environment count for nothing: a process
 * writes them itself.
 *
 * All of it is true as long as the guest's kernel is. A process cannot change
 * its executable while one of its threads waits in a call: an exec ends the
 * other threads first, and what runs cannot be opened for writing (ETXTBSY).
 */
#ifndef SANDBOX_EVIDENCE_H
#define SANDBOX_EVIDENCE_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/base.h"
#include "digest/digest.h"
#include "loop/loop.h"

enum evidence_limits {
	EVIDENCE_ANCESTORS = 64,
	EVIDENCE_BYTES = 32 << 10, /* paths of one evidence; past it: cut */
	EVIDENCE_CACHE = 64,       /* digests that are kept */
	EVIDENCE_SLICE = 64 << 10, /* bytes hashed in one tick */
	EVIDENCE_FILE = 1 << 30,   /* larger executables are not hashed */
	EVIDENCE_HOLDERS = 64,     /* told of one socket */
	EVIDENCE_LOOKUPS = 32,     /* at once */
	EVIDENCE_LINKS = 256,      /* descriptors looked at in one tick */
	EVIDENCE_STEPS = 1 << 18,  /* and in one lookup; past it: cut */
	EVIDENCE_LISTING = 1024,   /* bytes of a folder read at once */
};

/* As in proto/nacre_sandbox.proto. */
enum program_state {
	PROGRAM_FILE,
	PROGRAM_MEMFD,
	PROGRAM_DELETED,
	PROGRAM_CHANGED,
	PROGRAM_UNREADABLE,
};

struct program {
	const char *path; /* in the owner's arena; never NULL */
	enum program_state state;
	bool in_image;
	bool has_digest;
	uint8_t digest[DIGEST_SIZE];
	uint64_t device;
	uint64_t inode;
};

/* Where one looks. */
struct eyes {
	int proc;  /* folder of this pid namespace's /proc */
	int upper; /* folder of the writable layer, -1: there is none */
	int image; /* the image's own root, below that layer; else -1 */
};

struct ancestor {
	pid_t pid;
	const char *path;
};

/* A file's bytes are the same while these are, once they are settled. */
struct hash_key {
	uint64_t device;
	uint64_t inode;
	uint64_t size;
	int64_t ctime_s;
	int64_t ctime_ns;
};

struct evidence {
	struct arena arena;
	pid_t pid; /* of the thread group */
	uint64_t start_ticks;
	struct program program;
	/* The executable's bytes while they are to be hashed, else -1: under a
	 * lease, so that nobody opens them for writing. */
	int file;
	struct hash_key key; /* of that file, when the process ran it */
	bool is_settled; /* false: has CHANGED, unless a later look differs */
	struct ancestor ancestors[EVIDENCE_ANCESTORS];
	size_t ancestors_n;
	bool is_cut;
};

/* --- evidence.c */
/* Of the thread tid, which waits. -1: it has ended. Release it in any case. */
int evidence_take(const struct eyes *eyes, pid_t tid, struct evidence *e,
    struct fault *f) MUST_CHECK;
void evidence_release(struct evidence *e);
/* Its bytes are not needed any more: let writers go on. */
void evidence_let_go(struct evidence *e);
/* The executable of a thread; *file as in struct evidence. NULL: only its name,
 * file and state are asked for. -1: it has ended, though others of its process
 * may not have. */
int evidence_program(const struct eyes *eyes, pid_t tid, struct arena *a,
    struct program *p, int *file, struct fault *f) MUST_CHECK;

/* --- evidence_hash.c: one file after another, a slice a tick. */
struct hash_job {
	struct evidence *of;
	void (*done)(struct hash_job *j);
	struct hash_job *next;
	bool is_queued;
};
struct hasher {
	struct loop *loop;
	struct deferred turn;
	struct hash_job *first;
	struct digest sum; /* of the first job's file */
	uint64_t at;       /* bytes of it that are in sum */
	struct hash_key key;
	struct {
		struct hash_key key;
		uint8_t digest[DIGEST_SIZE];
		uint64_t used; /* 0: empty */
	} cache[EVIDENCE_CACHE];
	uint64_t uses;
};
bool hash_key_read(int fd, struct hash_key *k);
/* Was the last change before that time, of CLOCK_REALTIME_COARSE? Then who
 * changes the file later gives it another key. */
bool hash_key_settled(const struct hash_key *k, const struct timespec *then);
void hasher_init(struct hasher *h, struct loop *l);
void hasher_release(struct hasher *h);
/*
 * Fill in the digest, or the state that says why there is none, and let go of
 * the file; what was changed since the evidence was taken, or is to be written
 * to, has CHANGED. done comes later, or at once (true is returned and done is
 * not called).
 */
bool hasher_add(struct hasher *h, struct hash_job *j);
void hasher_drop(struct hasher *h, struct hash_job *j);

/* --- evidence_holders.c: every process that holds a socket. */
struct holder {
	pid_t pid;
	struct program program; /* without a digest */
};
/* A folder of numbers, as far as it was read. */
struct listing {
	int fd; /* -1: closed */
	size_t at;
	size_t end;
	_Alignas(uint64_t) uint8_t bytes[EVIDENCE_LISTING];
};
struct lookup {
	uint64_t socket;
	char link[32]; /* what the socket is called in /proc/PID/fd */
	void (*done)(struct lookup *l);
	void *owner;
	struct arena arena;
	struct holder holders[EVIDENCE_HOLDERS];
	size_t n;
	bool is_cut;
	unsigned steps; /* so far */
	/* Where it is: processes, their threads, the descriptors of each. */
	struct listing processes;
	struct listing threads;
	struct listing files;
	pid_t pid;       /* 0: before the first */
	pid_t tid;       /* of pid, whose descriptors are looked at */
	bool is_counted; /* pid */
	bool has_more;   /* pid may have threads that were not looked at */
	struct lookup *next;
};
struct lookups {
	struct loop *loop;
	const struct eyes *eyes;
	struct deferred turn;
	struct lookup *first;
	struct lookup *kept; /* for the next: a guest's new pages cost time */
	size_t n;
	/* The executable whose processes do not count; inode 0: none. */
	dev_t own_device;
	ino_t own_inode;
};
void lookups_init(struct lookups *ls, struct loop *l, const struct eyes *eyes);
/*
 * Children of this process do not count until their exec: they were born with
 * what was open, and the exec or they themselves close it. They are known by
 * this process's executable, which no agent can reach.
 */
int lookups_skip_own(struct lookups *ls, struct fault *f) MUST_CHECK;
void lookups_release(struct lookups *ls);
/* done comes once, in a later tick; the lookup is freed after it. NULL: too
 * many at once, or no memory for it. */
struct lookup *lookup_start(struct lookups *ls, uint64_t socket,
    void (*done)(struct lookup *l), void *owner, struct fault *f);

#endif
