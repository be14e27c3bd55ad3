/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the gateway: the one object that all files of this room share.
 * Nouns have headers of their own; main.c makes it and nothing else does.
 */
#ifndef GATEWAY_INNER_H
#define GATEWAY_INNER_H

#include <sys/types.h>

#include "base/base.h"
#include "gateway/crowd.h"
#include "identity/identity.h"
#include "image/image.h"
#include "loop/loop.h"
#include "rpc/rpc.h"
#include "store/store.h"
#include "tls/tls.h"

enum {
	GATEWAY_CLIENTS = 256,    /* connections on the socket */
	GATEWAY_CALLS = 1024,     /* calls that run */
	GATEWAY_SANDBOXES = 4096, /* rows */
	GATEWAY_PENDING = 256,    /* sandboxes to settle after a commit */
	GATEWAY_TREE = 16 << 20,  /* bytes of a tree that is looked at */
};

struct vm;
struct template;
struct call;
struct client;
struct watcher;
struct view;
struct obituary;
struct proof;
struct stale;
struct record;
struct follower;
struct tally;
struct mcp;
struct tree_memory;
struct line;
struct await;

/* config.c; the file is optional and so is every key in it. */
struct config {
	uint32_t parked;             /* clones kept for each template in use */
	uint32_t memory_reserve_mib; /* of the host, left alone */
	uint32_t token_life_s;
	uint32_t audit_days; /* how long the record is kept */
	uint32_t audit_mib;  /* and how large it may be */
	bool prewarm;        /* the default size counts as in use */
	bool templates;      /* else every machine boots cold */
	char accelerator[8]; /* "auto", "tcg", "kvm" */
	char trust_domain[IDENTITY_DOMAIN + 1];
	bool mcp_off;
	bool mcp_no_port;  /* not on 127.0.0.1 */
	uint16_t mcp_port; /* 0: one that is free, kept for the next start */
};

/* Where a list of all sandboxes, oldest first, goes on. */
struct sandbox_mark {
	bool is_set;
	int64_t created_ms;
	char name[LIMIT_NAME + 1];
};

struct gateway {
	struct loop *loop;
	struct store *store;
	struct image_store images;
	struct config config;
	char state[LIMIT_PATH]; /* absolute */
	char bin[LIMIT_PATH];   /* folder of the programs */
	char guest[LIMIT_PATH]; /* folder of kernel and initramfs */
	char socket[LIMIT_PATH];
	int lock;
	int ready_fd; /* told once it listens; -1: nobody waits */
	int64_t started_ms;
	int64_t steady_ms;         /* steady.c */
	struct fault failed;       /* why it ends by itself */
	struct tls_key tunnel_key; /* of the control tunnels' TLS */
	struct tls_key token_key;  /* of the launch tokens */
	struct tls_key audit_key;  /* of the record's checkpoints */
	uint8_t mcp_key[32];       /* of MCP's session ids */

	/* server.c */
	struct watch listener;
	struct timer listen_again;
	struct client *clients;
	struct crowd crowd; /* of clients */

	struct mcp *mcp; /* mcp.c */

	/* call.c */
	struct call *calls;
	size_t calls_n;
	struct fault commit_fault; /* of this tick's commit */

	/* settle.c: who is looked at after the commit */
	char pending[GATEWAY_PENDING][LIMIT_ID + 1];
	size_t pending_n;
	size_t committed_n;         /* of them, since before the last commit */
	bool pending_all;           /* and all others, from the first */
	struct sandbox_mark noted;  /* so far: of those more than fit */
	struct deferred settle;     /* held: behind a commit */
	struct deferred settle_now; /* behind the answers */
	struct deferred wake; /* a tick must follow: something was written */
	struct timer settle_again;

	/* fleet.c */
	struct vm *vms; /* LIMIT_VMS of them */
	struct template *templates;
	struct timer fleet_timer;
	unsigned adopting; /* keepers of an earlier gateway, being asked */
	/* They have answered, or will not: it can be served. main.c sets it */
	void (*adopted)(struct gateway *g);

	/* proof.c: proofs under way, in turn */
	struct proof *proofs;
	size_t proofs_n;
	uint64_t proof_turns;
	struct deferred prove;

	struct record *record;      /* record.c */
	struct follower *followers; /* do_follow.c */
	size_t followers_n;
	size_t verifies;           /* do_verify.c */
	struct tally *tally;       /* tally.c */
	struct tree_memory *trees; /* tree.c: of those that have a grant */
	uint64_t tree_numbers;
	struct line *line;    /* line.c: starts */
	struct await *awaits; /* await.c: creates that wait for theirs */
	struct timer idle;    /* idle.c: tool children that nobody uses */
	struct timer lapse;   /* lapse.c: grants that expire */

	struct stale *stale;      /* stale.c */
	struct timer crash;       /* crash.c */
	struct watcher *watchers; /* watch.c */
	struct view *views;       /* do_attach.c */
	struct child trash;       /* trash.c: it empties */
	bool trash_again;
	unsigned imports;     /* do_image.c */
	struct deferred gone; /* image_gone.c: after the commit */
	struct deferred gone_kept;
	struct timer gone_again;
	int64_t gone_wait_ms; /* before a failure is tried again; 0: none */
	bool gone_sweep;
	struct obituary *obituaries; /* obituary.c */
	size_t obituaries_n;
	/* stop.c */
	bool stopping;     /* clean stop under way */
	bool stopping_all; /* with the sandboxes */
	bool answers_sent;
	int64_t stop_by_ms;
	size_t stop_machines; /* left when it was looked last */
	struct timer stop_timer;
	char supervisor_digest[65]; /* of the guest file; main.c */
	char kernel_release[65];    /* as the last guest said it */
};

/* config.c */
void config_defaults(struct config *c);
int config_read(struct config *c, const char *path, struct fault *f) MUST_CHECK;

/* keys.c: make or read the keys of the state folder. */
int keys_open(struct gateway *g, struct fault *f) MUST_CHECK;

/* server.c */
int server_open(struct gateway *g, struct fault *f) MUST_CHECK;
void server_close(struct gateway *g);

/* stop.c: the end that was asked for. */
void stop_begin(struct gateway *g, bool sandboxes);

/* A version 4 UUID in text form. */
void uuid_make(char out[LIMIT_ID + 1]);
/* state/sandboxes/<id>, with more behind it; false when too long. */
bool sandbox_path(const struct gateway *g, const char *id, const char *name,
    char *out, size_t size);

/*
 * crash.c: for the tests of DESIGN 9. With NACRE_CRASH_AT=<point> in the
 * environment the process kills itself when it comes to that point:
 *   after_row  after_keeper  after_restore  after_session
 *   after_first_instruction  during_exec  after_stop_row  before_delete_row
 *   before_resume  before_image_unlink  before_commit  after_reserve
 *   after_leave  during_cascade
 */
void crash_at(const char *point);
/* The same, after a while; once. */
void crash_later(struct gateway *g, const char *point, int64_t delay_ms);

#endif
