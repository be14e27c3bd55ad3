/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a keeper: one message, one answer. Whoever asks may leave; the
 * answer then falls on nobody.
 */
#include <stdlib.h>

#include "gateway/vm.h"
#include "wire/wire.h"

struct vm_ask {
	struct vm *vm;
	struct rpc_call *call;
	vm_answer done; /* NULL once it was called, or dropped */
	void *owner;
};

static void
tell(struct vm_ask *ask, struct span reply, const struct fault *f)
{
	vm_answer done = ask->done;

	ask->done = NULL;
	if (done != NULL)
		done(ask->owner, reply, f);
}

static void
ask_message(struct rpc_call *c, void *owner, struct span s)
{
	const struct fault none = { 0 };

	rpc_consume(c, s.len);
	tell(owner, s, &none);
}

static void
ask_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct vm_ask *ask = owner;
	struct fault lost = *f;

	(void)c;
	(void)detail;
	if (lost.code == FAULT_NONE)
		fault_set(&lost, FAULT_LOST, "the keeper gave no answer");
	tell(ask, span_of(NULL, 0), &lost);
	loop_bury(ask->vm->g->loop, ask, free);
}

static const struct rpc_call_events ask_events = {
	.message = ask_message,
	.closed = ask_closed,
};

struct vm_ask *
vm_ask(struct vm *vm, const char *path, struct span request, int64_t timeout_ms,
    vm_answer done, void *owner)
{
	struct vm_ask *ask = must_alloc(sizeof(*ask));
	struct fault f = { 0 };

	ask->vm = vm;
	ask->done = done;
	ask->owner = owner;
	if (vm->link == NULL)
		fault_set(&f, FAULT_LOST, "the keeper is gone");
	else
		ask->call = rpc_call(vm->link, path, span_of(NULL, 0),
		    timeout_ms, &ask_events, ask, &f);
	if (ask->call == NULL) {
		tell(ask, span_of(NULL, 0), &f);
		free(ask);
		return NULL;
	}
	if (rpc_call_unary(ask->call, request, &f) < 0)
		rpc_cancel(ask->call);
	return ask;
}

void
vm_ask_drop(struct vm_ask *ask)
{
	ask->done = NULL;
	rpc_cancel(ask->call);
}

void
vm_errand(struct vm *vm, const char *path, const struct pb_msgdesc_s *fields,
    const void *message, int64_t timeout_ms, vm_answer done)
{
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, LIMIT_MESSAGE);
	if (wire_encode(fields, message, &b, &f) < 0)
		done(vm, span_of(NULL, 0), &f);
	else
		(void)vm_ask(vm, path, buf_span(&b), timeout_ms, done, vm);
	buf_release(&b);
}
