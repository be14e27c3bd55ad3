/* SPDX-License-Identifier: Apache-2.0 */
/* Both directions of a pipe are the same: queue, pump, give credit back. */
#include <stdlib.h>
#include <string.h>

#include "gateway/pipe.h"
#include "wire/wire.h"

enum {
	QUEUE = 4 * LIMIT_MESSAGE,
};

static void
free_pipe(void *p)
{
	struct pipe *pipe = p;

	buf_release(&pipe->down);
	buf_release(&pipe->up);
	free(pipe);
}

static void
check_end(struct pipe *p)
{
	if (p->call == NULL && p->attach == NULL)
		loop_bury(p->g->loop, p, free_pipe);
}

static void
end_call(struct pipe *p, const struct fault *f)
{
	struct call *c = p->call;

	if (c == NULL)
		return;
	p->call = NULL;
	call_finish(c, f);
}

static void
fail(struct pipe *p, const struct fault *f)
{
	struct attach *a = p->attach;

	p->attach = NULL;
	if (a != NULL)
		attach_cancel(a);
	end_call(p, f);
	check_end(p);
}

static int
queue(struct buf *b, const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f)
{
	struct buf one;
	uint8_t head[4];
	int rc;

	buf_init(&one, LIMIT_MESSAGE);
	rc = wire_encode(fields, message, &one, f);
	for (int i = 0; i < 4; i++)
		head[i] = (uint8_t)(one.len >> (8 * i));
	if (rc == 0)
		rc = buf_add(b, head, sizeof(head), f);
	if (rc == 0)
		rc = buf_add(b, buf_ptr(&one), one.len, f);
	buf_release(&one);
	return rc;
}

/* Send what the receiver takes; true when nothing is left. */
static bool
pump(struct buf *b, struct rpc_call *to)
{
	while (b->len > 0) {
		struct span s = buf_span(b);
		struct fault f = { 0 };
		size_t n = 0;

		for (int i = 0; i < 4; i++)
			n |= (size_t)s.ptr[i] << (8 * i);
		if (rpc_send(to, span_of(s.ptr + 4, n), &f) < 0)
			return false;
		buf_eat(b, n + 4);
	}
	return true;
}

static void
pump_down(struct pipe *p)
{
	struct rpc_call *to = p->attach == NULL ? NULL : attach_call(p->attach);

	if (!p->is_open || to == NULL || !pump(&p->down, to))
		return;
	if (p->owed_client > 0 && p->call != NULL && p->call->rpc != NULL) {
		size_t n = p->owed_client;

		p->owed_client = 0;
		rpc_consume(p->call->rpc, n);
	}
}

static void
pump_up(struct pipe *p)
{
	if (p->call == NULL || p->call->rpc == NULL ||
	    !pump(&p->up, p->call->rpc))
		return;
	if (p->owed_sandbox > 0 && p->attach != NULL) {
		size_t n = p->owed_sandbox;

		p->owed_sandbox = 0;
		attach_consume(p->attach, n);
	}
	if (p->is_finished)
		end_call(p, NULL);
}

int
pipe_down(struct pipe *p, const nacre_session_v1_AttachDown *m, struct fault *f)
{
	if (queue(&p->down, nacre_session_v1_AttachDown_fields, m, f) < 0)
		return -1;
	pump_down(p);
	return 0;
}

int
pipe_down_bytes(struct pipe *p, struct span s, struct fault *f)
{
	while (s.len > 0) {
		nacre_session_v1_AttachDown m =
		    nacre_session_v1_AttachDown_init_zero;
		size_t n = s.len < LIMIT_CHUNK ? s.len : LIMIT_CHUNK;
		struct arena a;
		int rc;

		arena_init(&a, 2 * LIMIT_CHUNK);
		m.which_kind = nacre_session_v1_AttachDown_in_tag;
		m.kind.in = wire_bytes(&a, span_of(s.ptr, n));
		rc = pipe_down(p, &m, f);
		arena_release(&a);
		if (rc < 0)
			return -1;
		s = span_from(s, n);
	}
	return 0;
}

int
pipe_up(struct pipe *p, const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f)
{
	return queue(&p->up, fields, message, f);
}

void
pipe_finish(struct pipe *p)
{
	p->is_finished = true;
}

/* ---- the client's call ---- */

static void
on_message(struct call *c, struct span s)
{
	struct pipe *p = c->work;
	struct fault f = { 0 };

	p->owed_client += s.len;
	if (p->is_finished)
		return;
	if (p->ops->from_client(p, s, &f) < 0) {
		fail(p, &f);
		return;
	}
	pump_down(p);
}

static void
on_half_closed(struct call *c)
{
	struct pipe *p = c->work;
	struct fault f = { 0 };

	if (!p->is_finished && p->ops->client_ended(p, &f) < 0)
		fail(p, &f);
}

static void
on_writable(struct call *c)
{
	struct pipe *p = c->work;

	pump_up(p);
	check_end(p);
}

static void
on_gone(struct call *c)
{
	struct pipe *p = c->work;
	struct attach *a = p->attach;

	p->call = NULL;
	p->attach = NULL;
	if (a != NULL)
		attach_cancel(a);
	check_end(p);
}

static const struct call_events call_events = {
	.message = on_message,
	.half_closed = on_half_closed,
	.writable = on_writable,
	.gone = on_gone,
};

/* ---- the stream into the sandbox ---- */

static void
attach_opened(struct attach *a, void *owner)
{
	struct pipe *p = owner;

	(void)a;
	p->is_open = true;
	if (p->ops->opened != NULL)
		p->ops->opened(p);
	pump_down(p);
}

static void
attach_message(struct attach *a, void *owner,
    const nacre_session_v1_AttachUp *up, size_t size)
{
	struct pipe *p = owner;
	struct fault f = { 0 };

	(void)a;
	p->owed_sandbox += size;
	if (p->call == NULL || p->is_finished)
		return;
	if (p->ops->from_sandbox(p, up, &f) < 0) {
		fail(p, &f);
		return;
	}
	pump_up(p);
}

static void
attach_writable(struct attach *a, void *owner)
{
	(void)a;
	pump_down(owner);
}

static void
attach_closed(struct attach *a, void *owner, const struct fault *f)
{
	struct pipe *p = owner;
	struct fault lost = *f;

	(void)a;
	p->attach = NULL;
	if (lost.code == FAULT_NONE)
		fault_set(&lost, FAULT_LOST,
		    "the sandbox closed the stream before its end");
	if (!p->is_finished)
		end_call(p, &lost);
	check_end(p);
}

static const struct attach_events attach_events = {
	.opened = attach_opened,
	.message = attach_message,
	.writable = attach_writable,
	.closed = attach_closed,
};

void
pipe_start(struct call *c, struct vm *vm, nacre_session_v1_Open *open,
    const struct pipe_ops *ops, const void *exec)
{
	struct pipe *p = must_alloc(sizeof(*p));
	struct fault f = { 0 };

	p->g = c->g;
	p->call = c;
	p->ops = ops;
	p->exec = exec;
	buf_init(&p->down, QUEUE);
	buf_init(&p->up, QUEUE);
	p->attach = attach_open(vm, open, &attach_events, p, &f);
	if (p->attach == NULL) {
		free_pipe(p);
		call_finish(c, &f);
		return;
	}
	if (attach_call(p->attach) != NULL)
		attach_opened(p->attach, p);
	call_take(c, &call_events, p);
}

int
pipe_check_done(const nacre_session_v1_Done *d, struct fault *f)
{
	enum fault_code code;

	if (d->code == NULL || *d->code == '\0')
		return 0;
	code = fault_from_reason(d->code);
	return fault_set(f, code == FAULT_NONE ? FAULT_SYSTEM : code, "%.200s",
	    d->text == NULL ? "it failed in the sandbox" : d->text);
}

int
/* cppcheck-suppress constParameter ; a callback's type */
pipe_no_message(struct pipe *p, struct span message, struct fault *f)
{
	(void)p;
	(void)message;
	return fault_set(f, FAULT_INVALID, "one request is one message");
}

int
/* cppcheck-suppress constParameter ; a callback's type */
pipe_no_end(struct pipe *p, struct fault *f)
{
	(void)p;
	(void)f;
	return 0;
}
