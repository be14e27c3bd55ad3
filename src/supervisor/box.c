/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of the Sandbox Protocol. Control crosses the link (gRPC over
 * TLS, the token on every call), descriptors cross a packet socket beside it.
 * A call here never blocks; its answer comes by callback.
 */
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

#define EXEC   "/nacre.sandbox.v1.Sandbox/Exec"
#define BEARER "Bearer "

struct pending {
	struct box *box;
	struct rpc_call *call;
	box_done done; /* NULL once told, and in a call that is opened ahead */
	void *owner;
	struct buf reply;
};

static void
tell(struct pending *p, const struct fault *f, struct span reply)
{
	box_done done = p->done;

	p->done = NULL;
	if (done)
		done(p->owner, f, reply);
}

static void
call_message(struct rpc_call *c, void *owner, struct span m)
{
	struct pending *p = owner;
	struct fault f = { 0 };

	rpc_consume(c, m.len);
	buf_clear(&p->reply);
	if (buf_add(&p->reply, m.ptr, m.len, &f) != 0)
		log_warn(&f, "sandbox answers too much");
}

static void
call_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct pending *p = owner;

	(void)c;
	(void)detail;
	if (p->box->spare == p)
		p->box->spare = NULL;
	tell(p, f, buf_span(&p->reply));
	buf_release(&p->reply);
	free(p);
}

static const struct rpc_call_events call_events = {
	.message = call_message,
	.closed = call_closed,
};

struct rpc_call *
box_stream(struct box *b, const char *method,
    const struct rpc_call_events *events, void *owner, struct fault *f)
{
	if (b->link)
		return rpc_call(b->link, method, span_str(b->bearer), -1,
		    events, owner, f);
	(void)fault_set(f, FAULT_LOST, "the sandbox is gone");
	return NULL;
}

static struct pending *
open_call(struct box *b, const char *method, struct fault *f)
{
	struct pending *p = must_alloc(sizeof(*p));

	p->box = b;
	buf_init(&p->reply, LIMIT_MESSAGE);
	p->call = box_stream(b, method, &call_events, p, f);
	if (p->call)
		return p;
	free(p);
	return NULL;
}

static struct pending *
take_call(struct box *b, const char *method, struct fault *f)
{
	struct pending *p = b->spare;

	if (!p || strcmp(method, EXEC) != 0)
		return open_call(b, method, f);
	b->spare = NULL;
	return p;
}

int
/* NOLINTNEXTLINE(readability-function-size): one more than the wall */
box_call(struct box *b, const char *method, const struct pb_msgdesc_s *fields,
    const void *message, box_done done, void *owner, struct fault *f)
{
	struct pending *p = NULL;
	struct buf m;
	int r = -1;

	buf_init(&m, LIMIT_MESSAGE);
	if (wire_encode(fields, message, &m, f) == 0)
		p = take_call(b, method, f);
	if (p && rpc_call_unary(p->call, buf_span(&m), f) == 0) {
		p->done = done;
		p->owner = owner;
		r = 0;
	} else if (p) {
		/* closed follows and frees it; the caller knows already. */
		rpc_cancel(p->call);
	}
	buf_release(&m);
	return r;
}

void
box_spare(struct box *b)
{
	struct fault f = { 0 };

	if (!b->spare && b->link)
		b->spare = open_call(b, EXEC, &f);
}

static void
watch_message(struct rpc_call *c, void *owner, struct span m)
{
	struct box *b = owner;
	nacre_sandbox_v1_Event e = nacre_sandbox_v1_Event_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_sandbox_v1_Event, &e, m, &a, &f) == 0)
		b->events->event(b->owner, &e);
	else
		log_warn(&f, "sandbox event is not understood");
	arena_release(&a);
}

static void
watch_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct box *b = owner;

	(void)c;
	(void)detail;
	/* Without events nothing of the sandbox can be trusted. */
	if (b->link)
		rpc_link_drop(b->link, f);
}

static const struct rpc_call_events watch_events = {
	.message = watch_message,
	.closed = watch_closed,
};

int
box_watch(struct box *b, struct fault *f)
{
	struct rpc_call *c = box_stream(b, "/nacre.sandbox.v1.Sandbox/Watch",
	    &watch_events, b, f);

	return c ? rpc_call_unary(c, span_of(NULL, 0), f) : -1;
}

static int
set_bearer(struct box *b, const char *token, struct fault *f)
{
	if (!text_fmt(b->bearer, sizeof(b->bearer), BEARER "%s", token))
		return fault_set(f, FAULT_LIMIT, "sandbox token is too long");
	return 0;
}

int
box_start_write(int fd, const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f)
{
	struct buf m;
	int r = -1;

	buf_init(&m, LIMIT_MESSAGE);
	if (wire_encode(fields, message, &m, f) == 0) {
		uint8_t head[4];

		for (unsigned i = 0; i < sizeof(head); i++)
			head[i] = (uint8_t)(m.len >> (24 - 8 * i));
		r = fd_write_all(fd, head, sizeof(head), f);
		if (r == 0)
			r = fd_write_all(fd, buf_ptr(&m), m.len, f);
		secret_wipe(buf_ptr(&m), m.len);
	}
	buf_release(&m);
	return r;
}

int
box_grant(struct box *b, const char *token, struct fault *f)
{
	nacre_sandbox_v1_Grant g = nacre_sandbox_v1_Grant_init_zero;
	uint8_t sum[DIGEST_SIZE];
	struct arena a;
	int r;

	if (set_bearer(b, token, f) != 0)
		return -1;
	arena_init(&a, 4096);
	digest_of(span_str(token), sum);
	g.token_sha256 = wire_bytes(&a, span_of(sum, sizeof(sum)));
	r = box_start_write(b->start, nacre_sandbox_v1_Grant_fields, &g, f);
	arena_release(&a);
	fd_close(&b->start);
	return r;
}

static void renewed(void *owner, const struct fault *why, struct span reply);

static int
send_renewal(struct box *b, struct fault *f)
{
	nacre_sandbox_v1_RenewRequest q =
	    nacre_sandbox_v1_RenewRequest_init_zero;
	uint8_t sum[DIGEST_SIZE];
	struct arena a;
	int r;

	arena_init(&a, 4096);
	digest_of(span_from(span_str(b->renewal), sizeof(BEARER) - 1), sum);
	q.token_sha256 = wire_bytes(&a, span_of(sum, sizeof(sum)));
	r = BOX_CALL(b, "Renew", RenewRequest, &q, renewed, b, f);
	arena_release(&a);
	if (r != 0)
		secret_wipe(b->renewal, sizeof(b->renewal));
	return r;
}

/* The newest that came meanwhile. */
static int
go_on_renewing(struct box *b, struct fault *f)
{
	memcpy(b->renewal, b->newest, sizeof(b->renewal));
	secret_wipe(b->newest, sizeof(b->newest));
	return b->renewal[0] != '\0' ? send_renewal(b, f) : 0;
}

static void
renewed(void *owner, const struct fault *why, struct span reply)
{
	struct box *b = owner;
	struct fault f = *why;

	(void)reply;
	if (f.code == FAULT_NONE) {
		memcpy(b->bearer, b->renewal, sizeof(b->bearer));
		if (b->spare) /* under the old token */
			rpc_cancel(b->spare->call);
		if (go_on_renewing(b, &f) == 0)
			return;
	}
	log_warn(&f, "sandbox refused its new token");
	if (b->link)
		rpc_link_drop(b->link, &f);
}

int
box_renew(struct box *b, const char *token, struct fault *f)
{
	bool is_under_way = b->renewal[0] != '\0';
	char *to = is_under_way ? b->newest : b->renewal;

	if (strlen(token) >= SUPERVISOR_TOKEN)
		return fault_set(f, FAULT_LIMIT, "sandbox token is too long");
	(void)text_fmt(to, sizeof(b->renewal), BEARER "%s", token);
	return is_under_way ? 0 : send_renewal(b, f);
}

static void
keep(struct box *b, uint64_t tag, int *fds, size_t n)
{
	for (size_t i = 0; i < NELEM(b->kept); i++) {
		if (b->kept[i].n > 0)
			continue;
		b->kept[i].tag = tag;
		b->kept[i].n = n;
		memcpy(b->kept[i].fds, fds, n * sizeof(*fds));
		return;
	}
	for (size_t i = 0; i < n; i++)
		fd_close(&fds[i]);
}

static bool
take_kept(struct box *b, uint64_t tag, int *fds, size_t n)
{
	for (size_t i = 0; i < NELEM(b->kept); i++) {
		if (b->kept[i].n != n || b->kept[i].tag != tag)
			continue;
		memcpy(fds, b->kept[i].fds, n * sizeof(*fds));
		b->kept[i].n = 0;
		return true;
	}
	return false;
}

int
box_take(struct box *b, uint64_t tag, int *fds, size_t n, struct fault *f)
{
	if (take_kept(b, tag, fds, n))
		return 0;
	for (;;) {
		uint8_t head[8];
		int came[3] = { -1, -1, -1 };
		size_t came_n = NELEM(came);
		size_t got = 0;
		uint64_t its = 0;

		if (fd_receive(b->pass, head, sizeof(head), &got, came, &came_n,
			f) != 0)
			return fault_prefix(f, "descriptors of the sandbox");
		if (got != sizeof(head) || came_n == 0)
			return fault_set(f, FAULT_PROTOCOL,
			    "the sandbox passed no descriptors");
		for (size_t i = 0; i < sizeof(head); i++)
			its = its << 8 | head[i];
		if (its == tag && came_n == n) {
			memcpy(fds, came, n * sizeof(*fds));
			return 0;
		}
		keep(b, its, came, came_n);
	}
}

static void
link_up(struct rpc_link *l, void *owner)
{
	struct box *b = owner;

	(void)l;
	b->events->up(b->owner);
}

static void
link_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct box *b = owner;

	(void)l;
	b->link = NULL;
	b->events->down(b->owner, f);
}

static const struct rpc_link_events link_events = {
	.up = link_up,
	.down = link_down,
};

int
box_open(struct box *b, struct loop *loop, const struct box_events *events,
    void *owner, struct fault *f)
{
	struct rpc_link_options o = { .events = &link_events, .owner = b };
	uint8_t random[TLS_ENTROPY];
	uint8_t pin[TLS_PIN];
	with_fd link = -1;

	*b = (struct box){ .loop = loop,
		.events = events,
		.owner = owner,
		.pass = -1,
		.start = -1 };
	if (box_spawn(b, &link, pin, f) != 0)
		return -1;
	random_bytes(random, sizeof(random));
	o.tls = tls_client_new("sandbox.nacre", pin, random, f);
	if (!o.tls)
		return -1;
	b->link = rpc_link_open_fd(loop, fd_take(&link), &o, f);
	return b->link ? 0 : -1;
}

static void
close_kept(struct box *b)
{
	/* With it goes what is still on its way in it. */
	fd_close(&b->pass);
	for (size_t i = 0; i < NELEM(b->kept); i++) {
		for (size_t j = 0; j < b->kept[i].n; j++)
			fd_close(&b->kept[i].fds[j]);
		b->kept[i].n = 0;
	}
}

void
box_kill(struct box *b)
{
	fd_close(&b->start);
	if (b->pid > 0) {
		(void)kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR) {
		}
		b->pid = 0;
	}
	close_kept(b);
}
