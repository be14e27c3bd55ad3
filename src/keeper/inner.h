/* SPDX-License-Identifier: Apache-2.0 */
/* For the program alone: its modes and the parts of one keeper. */
#ifndef KEEPER_INNER_H
#define KEEPER_INNER_H

#include "base/base.h"
#include "http/http.h"
#include "loop/loop.h"
#include "machine/machine.h"
#include "rpc/rpc.h"

/* Each mode returns the exit code: 0, 1 failed, 2 usage. */
int keeper_run(const struct machine_args *a);
int keeper_template(const struct machine_args *a);
int keeper_doctor(const struct machine_args *a);

enum {
	KEEPER_PIN = 32,
	KEEPER_LINKS = 8,   /* gateways at once: one, or two for a moment */
	KEEPER_TUNNELS = 8, /* guest streams to the gateway, likewise calls */
	KEEPER_CLOCKS = 4,  /* time streams */
	/* A tunnel costs the gateway a handshake: so many at once, then one in
	 * that time; who asks for more waits. */
	KEEPER_TUNNEL_BURST = 10,
	KEEPER_TUNNEL_MS = 2000,
};

struct keeper;

/* One call of the gateway's on nacre.keeper.v1 (serve.c). */
struct ask;

/* The guest's CONNECT paired with a Tunnel call; either may come first. */
struct tunnel {
	struct keeper *k; /* NULL: free */
	struct rpc_call *call;
	struct rpc_stream *stream;
	struct buf up;     /* guest to gateway, not consumed from the guest */
	struct buf down;   /* gateway to guest, not consumed from the gateway */
	struct timer wait; /* a guest's stream without a gateway */
	bool is_paired;
	bool up_ended;   /* the guest sends no more */
	bool down_ended; /* the gateway sends no more */
};

struct keeper {
	struct loop *loop;
	const struct machine_args *args;
	struct machine *machine;
	char path[108]; /* of the socket */
	int listen_fd;
	struct watch listener;
	int read_dir; /* where Assign may open, -1 anywhere */
	int disk_dir;
	struct rpc_server handlers;      /* for gateways */
	struct rpc_server port_handlers; /* for the guest */
	struct rpc_link *links[KEEPER_LINKS];

	struct ask *asks; /* all that run */
	struct rpc_link *port;
	struct tunnel tunnels[KEEPER_TUNNELS];
	struct pace tunnel_pace;
	struct timer tunnel_due; /* streams wait for their turn */
	struct rpc_stream *clocks[KEEPER_CLOCKS];
	struct timer tell_time;

	bool is_assigned;
	char sandbox_id[LIMIT_ID + 1];
	uint8_t pin[KEEPER_PIN];
	struct fault why; /* of the machine's end */
	bool is_ended;
	struct deferred ended;
	struct timer leave;
};

/* run.c: end the machine, then us. */
void keeper_stop(struct keeper *k, int64_t grace_ms);
size_t keeper_links(const struct keeper *k);

/* serve.c */
void serve_init(struct rpc_server *s, struct keeper *k);
void serve_phase(struct keeper *k, enum machine_phase p);
/* The machine has ended: every call gets its answer. */
void serve_ended(struct keeper *k);

/* assign.c: the disks of an Assign, opened and checked. */
int assign_open_image(struct keeper *k, const char *path, struct fault *f);
int assign_open_disk(struct keeper *k, const char *path, struct fault *f);

/* port.c: the guest's HTTP/2 connection. */
void port_open(struct keeper *k, int fd);
void port_tell_time(struct keeper *k);

/* tunnel.c */
void tunnels_init(struct keeper *k);
void tunnel_of_guest(struct keeper *k, struct rpc_stream *s);
void tunnel_of_gateway(struct keeper *k, struct rpc_call *c);
/* Both ends are dropped by their links when those go. */

#endif
