/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One virtual machine as the gateway sees it: a keeper process, one link to
 * it, and the sessions of its supervisor. A slot of a fixed table; free when
 * the keeper's process is gone, whatever else was said.
 */
#ifndef GATEWAY_VM_H
#define GATEWAY_VM_H

#include "digest/digest.h"
#include "gateway/inner.h"
#include "gateway/journal.h"
#include "machine/machine.h"
#include "proto/nacre_keeper.pb.h"

struct session;
struct arrival;
struct attach;

enum vm_end {
	VM_ALIVE,
	VM_ASKING,   /* the supervisor ends its processes */
	VM_STOPPING, /* the keeper ends the machine */
	VM_KILLED,
};

/* What a guest says once in a launch; it may repeat it, not change it. */
struct vm_word {
	bool is_said;
	bool is_fresh; /* its commit has not come */
	uint8_t digest[DIGEST_SIZE];
};

struct vm {
	struct gateway *g;
	bool used;
	bool is_leaving; /* not used any more, emptied when the tick ends */
	char id[LIMIT_ID + 1];
	char sandbox_id[LIMIT_ID + 1]; /* empty: nobody's */
	struct machine_shape shape;
	char template_key[MACHINE_KEY];
	bool cold;
	bool adopted;     /* from an earlier gateway */
	unsigned asked;   /* whose it is, so often in vain; 0: it is known */
	bool from_parked; /* it was waiting when it was taken */
	bool assigned;    /* Assign was sent */
	bool known;       /* the keeper has said its phase */
	nacre_keeper_v1_Phase phase;
	nacre_keeper_v1_Phase reached; /* the last but ENDED */
	bool has_failed;               /* it ended, and nobody asked it to */
	enum vm_end end;
	pid_t pid;
	struct child child;
	struct rpc_link *link;
	bool has_waiting;         /* a tunnel call waits */
	unsigned tunnel_faults;   /* one after the other */
	struct timer reopen;      /* a tunnel that failed */
	struct timer timer;       /* of the launch, then of the end */
	int64_t accepted_us;      /* mono; 0 unknown */
	int64_t assigned_us;      /* since accepted */
	struct fault why;         /* of its end */
	struct session *sessions; /* all tunnels that are open */
	struct session *session;  /* the accepted one; may be NULL */
	struct attach *attaches;
	int64_t used_ms; /* mono: last stream into it began or ended; 0: none */
	struct arrival *spare;  /* attach.c: a stream for the next exec */
	struct journal journal; /* of the launch */
	struct vm_word ready;
	struct vm_word exit;
	struct deferred told; /* held: what was said is kept, or not */
	bool is_unkept;
	unsigned early_refreshes; /* since the last one in time */
	unsigned doors;           /* requests of its door (door.c) */
	size_t door_bytes;        /* and what came of their bodies */
	/* what the keeper was asked, one of each at a time */
	bool asked_assign;
	bool asked_stop;
};

/* Machines in use, in no order. */
struct vm *vm_first(struct gateway *g);
struct vm *vm_next(struct vm *vm);
struct vm *vm_find(struct gateway *g, const char *id);
/* The machine of a row, if it is there. */
struct vm *vm_of(struct gateway *g, const struct store_sandbox *row);
size_t vm_count(const struct gateway *g);
bool vm_is_keeper(const struct gateway *g, pid_t pid);

/* Start a keeper and its machine. NULL with BUSY when all slots are taken. */
struct vm *vm_spawn(struct gateway *g, const struct machine_template *t,
    bool cold, bool no_park, struct fault *f) MUST_CHECK;
/* Take over a keeper of an earlier gateway by its socket. */
int vm_adopt(struct gateway *g, const char *id, struct fault *f) MUST_CHECK;
/* Give it to the sandbox it belongs to (vm->sandbox_id): disks and launch. */
void vm_assign(struct vm *vm, const char *image_path, const char *disk_path);
/* It ends; graceful: processes are asked first. Fine when ending already. */
void vm_end(struct vm *vm, bool graceful);
/* The session says that all its processes have ended. */
void vm_processes_ended(struct vm *vm);
/* The waiting tunnel is in use, or failed: another one waits (session.c). */
void vm_tunnel_taken(struct vm *vm, bool failed);
/* A launch is under way: it has its deadline. */
void vm_expect(struct vm *vm);
/* The launch is confirmed: its deadline is off. */
void vm_ready(struct vm *vm);
/* Forget all without ending them, at the end of the gateway. */
void vm_forget_all(struct gateway *g);

/*
 * Ask the keeper for one answer. done gets the encoded reply, or a fault; it
 * is called once, also when the machine goes. NULL: it has been called.
 */
struct vm_ask;
typedef void (
    *vm_answer)(void *owner, struct span reply, const struct fault *f);
struct vm_ask *vm_ask(struct vm *vm, const char *path, struct span request,
    int64_t timeout_ms, vm_answer done, void *owner);
/* done will not be called. */
void vm_ask_drop(struct vm_ask *ask);
/* A question of the machine's own: done gets the vm. */
struct pb_msgdesc_s;
void vm_errand(struct vm *vm, const char *path,
    const struct pb_msgdesc_s *fields, const void *message, int64_t timeout_ms,
    vm_answer done);

#endif
