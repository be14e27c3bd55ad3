/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor's sessions of one machine: nacre.session.v1 over TLS in a
 * tunnel that the keeper relays. The channel says which sandbox it is; tokens
 * are good on it alone. A newer session, with a higher epoch, replaces the
 * one before.
 */
#ifndef GATEWAY_SESSION_H
#define GATEWAY_SESSION_H

#include "gateway/vm.h"
#include "proto/nacre_session.pb.h"

/* Wait for the supervisor's next tunnel; when it comes, vm_tunnel_taken(). */
int session_wait(struct vm *vm, struct fault *f) MUST_CHECK;
/* All sessions of a machine that is gone. */
void session_close_all(struct vm *vm);
/* Ask the supervisor to end its processes; -1 when there is no session. */
int session_stop(struct vm *vm, uint32_t grace_ms, struct fault *f) MUST_CHECK;
/* Send one encoded Down by the accepted session; LOST when there is none. */
int session_send_bytes(struct vm *vm, struct span down,
    struct fault *f) MUST_CHECK;

/*
 * One stream that the gateway asks for: Down.open, then the supervisor's
 * Attach call. It waits up to 15 s for a session that is not there yet.
 */
struct attach_events {
	/* The stream is there: messages can be sent by attach_call(). */
	void (*opened)(struct attach *a, void *owner);
	/* One message; give it back with attach_consume(a, size). */
	void (*message)(struct attach *a, void *owner,
	    const nacre_session_v1_AttachUp *up, size_t size);
	void (*writable)(struct attach *a, void *owner);
	/* The end, once; a is freed after it. f->code NONE: in good order. */
	void (*closed)(struct attach *a, void *owner, const struct fault *f);
};

/* open's attach_id is set here; it is encoded before this returns. NULL: the
 * sandbox has no machine, or too many streams. */
struct attach *attach_open(struct vm *vm, nacre_session_v1_Open *open,
    const struct attach_events *events, void *owner,
    struct fault *f) MUST_CHECK;
/* Its call, for rpc_send() and rpc_room(); NULL when there is none. */
struct rpc_call *attach_call(const struct attach *a);
void attach_consume(struct attach *a, size_t n);
/* The supervisor kills what it ran; closed is not called any more. */
void attach_cancel(struct attach *a);
/* The owner has all that it wanted: it is told no more, whatever the guest and
 * the queue of the stream still do. */
void attach_finish(struct attach *a);
/* After the commit of what the guest said: it is kept, or to be said again
 * (report.c, for vm.c). */
void session_told(struct deferred *told);
/* A session was accepted: ask for what waited (attach.c, for session.c). */
void attach_session_ready(struct vm *vm);
/* The session is gone: those that were asked for by it will not come. */
void attach_session_lost(struct vm *vm);
/* The supervisor called Attach. */
void attach_accept(struct vm *vm, struct rpc_call *call);
/* The one ahead was opened under a token that is good no more. */
void attach_drop_spare(struct vm *vm);
/* It cannot serve one. */
void attach_refused(struct vm *vm, const nacre_session_v1_Opened *o);
/* The machine is gone. */
void attach_close_all(struct vm *vm, const struct fault *f);

#endif
