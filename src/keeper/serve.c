/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre.keeper.v1: what the gateway asks of its keeper. One `ask` is one call
 * that is still running; the table has a row a method.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "keeper/inner.h"
#include "proto/nacre_keeper.pb.h"
#include "wire/wire.h"

enum {
	ASK_ARENA = 512 << 10,
	REPLY_BYTES = 512 << 10,
	CONSOLE_TEXT = 300 << 10, /* 64 KiB escaped, cut in front if need be */
	GRACE_LEAST_MS = 100,
	GRACE_MOST_MS = 30000,
};

struct method {
	const char *path;
	/* One request message is here: answer, or keep the ask. */
	void (*run)(struct ask *q, struct span message);
};

struct ask {
	struct keeper *k;
	struct rpc_call *call; /* NULL: the gateway left */
	const struct method *method;
	struct machine_op op;
	struct ask *next;
	bool was_run;
	bool is_watch;
	bool is_stop;
};

static void
fail(struct ask *q, const struct fault *f)
{
	if (q->call)
		rpc_finish(q->call, f, span_of(NULL, 0));
}

/* One reply message and the end of the call; `more` leaves it open. */
static void
reply(struct ask *q, const struct pb_msgdesc_s *fields, const void *m,
    bool more)
{
	struct fault f = { 0 };
	struct buf b;

	if (!q->call)
		return;
	buf_init(&b, REPLY_BYTES);
	if (wire_encode(fields, m, &b, &f) != 0 ||
	    rpc_send(q->call, buf_span(&b), &f) != 0)
		rpc_finish(q->call, &f, span_of(NULL, 0));
	else if (!more)
		rpc_finish(q->call, NULL, span_of(NULL, 0));
	buf_release(&b);
}

static void
run_status(struct ask *q, struct span message)
{
	const struct machine_args *a = q->k->args;
	nacre_keeper_v1_StatusReply m = nacre_keeper_v1_StatusReply_init_zero;
	struct machine_stat st = { 0 };
	struct arena arena;

	(void)message;
	arena_init(&arena, 16384);
	machine_stat(q->k->machine, &st);
	m.phase = (nacre_keeper_v1_Phase)st.phase;
	m.sandbox_id = arena_str(&arena, span_str(q->k->sandbox_id));
	m.keeper_pid = getpid();
	m.vmm_pid = st.pid;
	m.accelerator =
	    arena_str(&arena, span_str(machine_accel_name(a->shape.accel)));
	m.template_key = arena_str(&arena, span_str(a->key));
	m.vmm_digest = arena_str(&arena, span_str(a->vmm_digest));
	m.fault = arena_str(&arena, span_str(q->k->why.text));
	m.cold = a->cold;
	m.restored_us = (uint64_t)st.restored_us;
	m.parked_us = (uint64_t)st.parked_us;
	m.assigned_us = (uint64_t)st.assigned_us;
	m.connected_us = (uint64_t)st.connected_us;
	m.private_bytes = st.private_bytes;
	m.code_bytes = st.code_bytes;
	reply(q, nacre_keeper_v1_StatusReply_fields, &m, false);
	arena_release(&arena);
}

static void
send_event(struct ask *q, enum machine_phase p)
{
	nacre_keeper_v1_Event m = nacre_keeper_v1_Event_init_zero;
	char text[sizeof(q->k->why.text)] = "";

	m.phase = (nacre_keeper_v1_Phase)p;
	m.at_us = (uint64_t)machine_age_us(q->k->machine);
	if (p == MACHINE_ENDED)
		(void)text_copy(text, sizeof(text), span_str(q->k->why.text));
	m.fault = text;
	reply(q, nacre_keeper_v1_Event_fields, &m, p != MACHINE_ENDED);
}

static void
run_watch(struct ask *q, struct span message)
{
	(void)message;
	q->is_watch = true;
	send_event(q, machine_phase(q->k->machine));
}

void
serve_phase(struct keeper *k, enum machine_phase p)
{
	for (struct ask *q = k->asks; q; q = q->next)
		if (q->is_watch)
			send_event(q, p);
}

static void
assigned(struct machine_op *op, const struct fault *f)
{
	struct ask *q = CONTAINER_OF(op, struct ask, op);
	nacre_keeper_v1_AssignReply m = nacre_keeper_v1_AssignReply_init_zero;
	struct machine_stat st = { 0 };

	if (f->code != FAULT_NONE) {
		fail(q, f);
	} else {
		machine_times(q->k->machine, &st);
		m.swap_us = (uint64_t)st.swap_us;
		reply(q, nacre_keeper_v1_AssignReply_fields, &m, false);
	}
	if (!q->call)
		free(q);
}

static int
check_assign(struct keeper *k, const nacre_keeper_v1_AssignRequest *m,
    struct fault *f)
{
	struct span pin = wire_span(m->gateway_pin);

	if (k->is_assigned)
		return fault_set(f, FAULT_EXISTS,
		    "the machine is assigned to '%s'", k->sandbox_id);
	if (!m->sandbox_id || !m->sandbox_id[0] ||
	    strlen(m->sandbox_id) > LIMIT_ID)
		return fault_field(f, "sandbox_id", "a sandbox id is needed");
	if (!m->image_path || !m->image_path[0])
		return fault_field(f, "image_path", "an image is needed");
	if (pin.len != KEEPER_PIN)
		return fault_field(f, "gateway_pin", "a pin has %d bytes",
		    KEEPER_PIN);
	memcpy(k->pin, pin.ptr, KEEPER_PIN);
	return 0;
}

static int
assign(struct ask *q, const nacre_keeper_v1_AssignRequest *m, struct fault *f)
{
	struct keeper *k = q->k;
	with_fd image = -1;
	with_fd disk = -1;

	if (check_assign(k, m, f) != 0)
		return -1;
	image = assign_open_image(k, m->image_path, f);
	if (image < 0)
		return -1;
	if (m->disk_path && m->disk_path[0]) {
		disk = assign_open_disk(k, m->disk_path, f);
		if (disk < 0)
			return -1;
	}
	q->op.done = assigned;
	if (machine_assign(k->machine, fd_take(&image), fd_take(&disk), &q->op,
		f) != 0)
		return -1;
	k->is_assigned = true;
	(void)text_copy(k->sandbox_id, sizeof(k->sandbox_id),
	    span_str(m->sandbox_id));
	return 0;
}

static void
run_assign(struct ask *q, struct span message)
{
	nacre_keeper_v1_AssignRequest m =
	    nacre_keeper_v1_AssignRequest_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, ASK_ARENA);
	if (WIRE_DECODE(nacre_keeper_v1_AssignRequest, &m, message, &a, &f) !=
		0 ||
	    assign(q, &m, &f) != 0)
		fail(q, &f);
	arena_release(&a);
}

static void
run_console(struct ask *q, struct span message)
{
	nacre_keeper_v1_ConsoleReply m = nacre_keeper_v1_ConsoleReply_init_zero;
	struct fault f = { 0 };
	struct arena a;
	struct buf b;

	(void)message;
	arena_init(&a, ASK_ARENA);
	buf_init(&b, 2 << 20);
	if (machine_console(q->k->machine, &b, &m.dropped, &f) != 0) {
		fail(q, &f);
	} else {
		struct span text = buf_span(&b);

		if (text.len > CONSOLE_TEXT)
			text = span_from(text, text.len - CONSOLE_TEXT);
		m.text = wire_bytes(&a, text);
		reply(q, nacre_keeper_v1_ConsoleReply_fields, &m, false);
	}
	buf_release(&b);
	arena_release(&a);
}

static void
run_stop(struct ask *q, struct span message)
{
	nacre_keeper_v1_StopRequest m = nacre_keeper_v1_StopRequest_init_zero;
	struct fault f = { 0 };
	struct arena a;
	int64_t grace;

	arena_init(&a, 4096);
	if (WIRE_DECODE(nacre_keeper_v1_StopRequest, &m, message, &a, &f) !=
	    0) {
		fail(q, &f);
		arena_release(&a);
		return;
	}
	arena_release(&a);
	grace = m.grace_ms < GRACE_LEAST_MS ? GRACE_LEAST_MS : m.grace_ms;
	q->is_stop = true;
	keeper_stop(q->k, grace < GRACE_MOST_MS ? grace : GRACE_MOST_MS);
}

static void
paused(struct machine_op *op, const struct fault *f)
{
	struct ask *q = CONTAINER_OF(op, struct ask, op);
	const nacre_keeper_v1_PauseReply m =
	    nacre_keeper_v1_PauseReply_init_zero;

	if (f->code != FAULT_NONE)
		fail(q, f);
	else
		reply(q, nacre_keeper_v1_PauseReply_fields, &m, false);
	if (!q->call)
		free(q);
}

static void
run_pause(struct ask *q, struct span message)
{
	nacre_keeper_v1_PauseRequest m = nacre_keeper_v1_PauseRequest_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 4096);
	q->op.done = paused;
	if (WIRE_DECODE(nacre_keeper_v1_PauseRequest, &m, message, &a, &f) !=
		0 ||
	    machine_pause(q->k->machine, m.pause, &q->op, &f) != 0)
		fail(q, &f);
	arena_release(&a);
}

static const struct method methods[] = {
	{ "/nacre.keeper.v1.Keeper/Status", run_status },
	{ "/nacre.keeper.v1.Keeper/Watch", run_watch },
	{ "/nacre.keeper.v1.Keeper/Assign", run_assign },
	{ "/nacre.keeper.v1.Keeper/Console", run_console },
	{ "/nacre.keeper.v1.Keeper/Stop", run_stop },
	{ "/nacre.keeper.v1.Keeper/Pause", run_pause },
};

static void
ask_message(struct rpc_call *c, void *owner, struct span message)
{
	struct ask *q = owner;
	struct fault f = { 0 };

	if (q->was_run) {
		(void)fault_set(&f, FAULT_INVALID, "one request is enough");
		fail(q, &f);
	} else {
		q->was_run = true;
		q->method->run(q, message);
	}
	rpc_consume(c, message.len);
}

static void
ask_half_closed(struct rpc_call *c, void *owner)
{
	struct ask *q = owner;
	struct fault f = { 0 };

	(void)c;
	if (q->was_run)
		return;
	(void)fault_set(&f, FAULT_INVALID, "the request is missing");
	fail(q, &f);
}

static void
ask_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct ask *q = owner;
	struct ask **at = &q->k->asks;

	(void)c;
	(void)f;
	(void)detail;
	while (*at != q)
		at = &(*at)->next;
	*at = q->next;
	q->call = NULL;
	if (!q->op.queued)
		free(q);
}

static const struct rpc_call_events ask_events = {
	.message = ask_message,
	.half_closed = ask_half_closed,
	.closed = ask_closed,
};

static void
opened(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct keeper *k = owner;
	struct fault f = { 0 };

	(void)link;
	if (span_is(r->path, "/nacre.keeper.v1.Keeper/Tunnel")) {
		tunnel_of_gateway(k, c);
		return;
	}
	for (size_t i = 0; i < NELEM(methods); i++) {
		struct ask *q;

		if (!span_is(r->path, methods[i].path))
			continue;
		q = must_alloc(sizeof(*q));
		q->k = k;
		q->call = c;
		q->method = &methods[i];
		q->next = k->asks;
		k->asks = q;
		rpc_call_accept(c, &ask_events, q);
		return;
	}
	(void)fault_set(&f, FAULT_UNIMPLEMENTED, "no such method");
	rpc_finish(c, &f, span_of(NULL, 0));
}

void
serve_init(struct rpc_server *s, struct keeper *k)
{
	*s = (struct rpc_server){ .open = opened, .owner = k };
}

void
serve_ended(struct keeper *k)
{
	const nacre_keeper_v1_StopReply m = nacre_keeper_v1_StopReply_init_zero;

	for (struct ask *q = k->asks; q; q = q->next)
		if (q->is_stop)
			reply(q, nacre_keeper_v1_StopReply_fields, &m, false);
}
