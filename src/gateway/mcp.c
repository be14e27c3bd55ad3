/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One exchange: a request, its calls, its answer. It lives until the answer is
 * complete (or nobody wants it) and its calls are freed.
 *
 *   begin -> decide -+-> answer
 *                    +-> calls -> ... over, one by one -> answer
 *
 * Cancels find calls by session and id, so exchanges of all places are in one
 * list.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/mcp.h"
#include "gateway/tally.h"
#include "http/http.h"

struct exchange {
	struct gateway *g;
	struct mcp_who who;
	struct arena arena;
	struct mcp_decision decision;
	struct mcp_reply reply;
	struct mcp_run *runs; /* decision.ncalls of them */
	size_t unfreed;       /* calls that may look at this */
	struct buf piece;
	const struct mcp_sink *sink; /* NULL: complete, or left */
	void *owner;
	bool running; /* calls are under way */
	bool silent;  /* the last one over has no response: it was cancelled */
	struct timer tick;
	struct timer overdue;
	struct exchange *next;
	struct exchange *prev;
};

/* --- life */
static void
exchange_free(void *p)
{
	struct exchange *x = p;

	for (size_t i = 0; x->runs != NULL && i < x->decision.ncalls; i++) {
		buf_release(&x->runs[i].told);
		buf_release(&x->runs[i].message);
	}
	buf_release(&x->piece);
	arena_release(&x->arena);
}

static void
exchange_check(struct exchange *x)
{
	struct mcp *m = x->g->mcp;

	if (x->running || x->sink != NULL || x->unfreed > 0)
		return;
	loop_timer_clear(&x->tick);
	loop_timer_clear(&x->overdue);
	if (x->prev != NULL)
		x->prev->next = x->next;
	else
		m->exchanges = x->next;
	if (x->next != NULL)
		x->next->prev = x->prev;
	share_give(&m->shared, x->who.tree);
	x->unfreed = SIZE_MAX; /* it is buried once */
	loop_bury(x->g->loop, x, exchange_free);
}

static void
complete(struct exchange *x, bool broken)
{
	const struct mcp_sink *sink = x->sink;

	x->running = false;
	x->sink = NULL;
	if (sink != NULL)
		sink->end(x->owner, broken);
	exchange_check(x);
}

/* --- the answer over time */
static void
set_tick(struct exchange *x)
{
	int64_t due = mcp_reply_due(&x->reply);
	int64_t now = loop_now_ms(x->g->loop);

	loop_timer_clear(&x->tick);
	if (due >= 0)
		loop_timer_set(x->g->loop, &x->tick, due > now ? due - now : 0);
}

/* Send what the reply says; x->piece holds its bytes. */
static void
tell(struct exchange *x, unsigned send, const struct mcp_answer *head)
{
	bool streams = x->reply.streaming;

	if ((send & MCP_SEND_HEAD) && x->sink != NULL)
		x->sink->head(x->owner, head);
	if ((send & MCP_SEND_BODY) && streams && x->sink != NULL)
		x->sink->piece(x->owner, buf_span(&x->piece));
	buf_clear(&x->piece);
	/* An end alone is whole only where a stream's call was cancelled: else
	 * a head, or the last event, is missing. */
	if (send & MCP_SEND_END)
		complete(x,
		    !(send & (MCP_SEND_HEAD | MCP_SEND_BODY)) &&
			!(streams && x->silent));
	else if (send != 0)
		set_tick(x);
}

static void
on_tick(struct timer *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, tick);
	struct mcp_answer head;

	tell(x,
	    mcp_reply_tick(&x->reply, loop_now_ms(x->g->loop), &head,
		&x->piece),
	    &head);
}

/* Responses that wait for the rest of their batch: of one caller, or (NULL) of
 * all. */
static size_t
batched(const struct mcp *m, const char *principal)
{
	size_t n = 0;

	for (const struct exchange *x = m->exchanges; x; x = x->next) {
		if (!x->running || !x->decision.is_batch ||
		    (principal != NULL &&
			strcmp(x->who.principal, principal) != 0))
			continue;
		for (size_t i = 0; i < x->decision.ncalls; i++)
			n += x->runs[i].message.len;
	}
	return n;
}

static void
bound_batch(struct mcp_run *r)
{
	const struct mcp *m = r->x->g->mcp;

	if (!r->x->decision.is_batch || r->message.len == 0 ||
	    (batched(m, r->x->who.principal) <= MCP_BATCHED &&
		batched(m, NULL) <= MCP_BATCHED_ALL))
		return;
	buf_release(&r->message);
	r->ask->is_lost = true;
}

void
mcp_run_over(struct mcp_run *r)
{
	struct exchange *x = r->x;
	struct mcp_answer head;

	if (!x->running)
		return;
	bound_batch(r);
	x->silent = r->message.len == 0;
	tell(x,
	    mcp_reply_over(&x->reply, r->ask, buf_span(&r->message), &head,
		&x->piece),
	    &head);
	if (!x->decision.is_batch)
		buf_release(&r->message);
}

void
mcp_run_freed(struct mcp_run *r)
{
	r->x->unfreed--;
	exchange_check(r->x);
}

void
mcp_run_progress(struct mcp_run *r, const struct call_progress *p)
{
	struct exchange *x = r->x;
	const struct mcp_progress told = { p->done, p->total, p->what };
	struct mcp_answer head;

	if (!x->running || x->sink == NULL)
		return;
	tell(x,
	    mcp_reply_progress(&x->reply, loop_now_ms(x->g->loop), &told, &head,
		&x->piece),
	    &head);
}

struct arena *
mcp_run_arena(struct mcp_run *r)
{
	return &r->x->arena;
}

/* --- cancels */
static void
stop_run(struct mcp_run *r)
{
	mcp_run_cancel(r);
	buf_clear(&r->message);
	mcp_run_over(r);
}

static bool
is_of_session(const struct exchange *x, const struct exchange *asker)
{
	return x != asker && x->running && x->decision.in_session &&
	    strcmp(x->who.principal, asker->who.principal) == 0 &&
	    mcp_session_equal(&x->decision.session, &asker->decision.session);
}

/* Calls of the asker's session: of that id, or (NULL) all. */
static void
stop_calls(struct exchange *asker, const struct mcp_id *id)
{
	struct exchange *next;

	for (struct exchange *x = asker->g->mcp->exchanges; x; x = next) {
		next = x->next;
		for (size_t i = 0; i < x->decision.ncalls; i++) {
			if (!is_of_session(x, asker))
				break;
			if (id == NULL || mcp_id_equal(&x->runs[i].ask->id, id))
				stop_run(&x->runs[i]);
		}
	}
}

void
mcp_left(struct exchange *x)
{
	x->sink = NULL;
	if (x->decision.era == MCP_MODERN)
		for (size_t i = 0; x->running && i < x->decision.ncalls; i++)
			stop_run(&x->runs[i]);
	exchange_check(x);
}

static void
on_overdue(struct timer *t)
{
	struct exchange *x = CONTAINER_OF(t, struct exchange, overdue);
	struct fault f = { 0 };

	fault_set(&f, FAULT_BUSY, "it is not done after %d s",
	    MCP_OVERDUE_MS / 1000);
	for (size_t i = 0; x->running && i < x->decision.ncalls; i++) {
		if (x->runs[i].ask->over)
			continue;
		mcp_run_cancel(&x->runs[i]);
		mcp_run_refuse(&x->runs[i], &f, "call it again");
		mcp_run_over(&x->runs[i]);
	}
}

/* --- the beginning */
static size_t
calls_of(const struct mcp *m, const char *principal)
{
	size_t n = 0;

	for (const struct exchange *x = m->exchanges; x; x = x->next) {
		if (!x->running || strcmp(x->who.principal, principal) != 0)
			continue;
		for (size_t i = 0; i < x->decision.ncalls; i++)
			n += x->runs[i].call != NULL;
	}
	return n;
}

static void
start(struct exchange *x, struct mcp_run *r)
{
	struct fault f = { 0 };

	if (calls_of(x->g->mcp, x->who.principal) < MCP_CALLS) {
		x->unfreed++;
		mcp_run_start(x->g, r, &x->who);
		return;
	}
	fault_set(&f, FAULT_BUSY, "%d calls run already", MCP_CALLS);
	mcp_run_refuse(r, &f, "wait until one of them has ended");
	mcp_run_over(r);
}

static bool
run(struct exchange *x)
{
	struct mcp_decision *d = &x->decision;

	x->runs = arena_get(&x->arena, d->ncalls * sizeof(*x->runs));
	if (x->runs == NULL)
		return false;
	for (size_t i = 0; i < d->ncalls; i++) {
		x->runs[i].x = x;
		x->runs[i].ask = &d->calls[i];
		buf_init(&x->runs[i].told, MCP_RESULT / 2);
		buf_init(&x->runs[i].message, MCP_RESULT);
	}
	x->running = true;
	mcp_reply_begin(&x->reply, d, loop_now_ms(x->g->loop));
	set_tick(x);
	loop_timer_set(x->g->loop, &x->overdue, MCP_OVERDUE_MS);
	for (size_t i = 0; x->running && i < d->ncalls; i++)
		start(x, &x->runs[i]);
	return true;
}

/* Each byte once; the kernel is asked for many at a time. */
static void
take_random(struct mcp *m, uint8_t out[MCP_RANDOM])
{
	if (m->random_left == 0) {
		random_bytes(m->random, sizeof(m->random));
		m->random_left = NELEM(m->random);
	}
	m->random_left--;
	memcpy(out, m->random[m->random_left], MCP_RANDOM);
}

static void
decide(struct exchange *x, const struct mcp_head *h, struct span body)
{
	struct mcp_request q = {
		.server = &x->g->mcp->server,
		.head = h,
		.body = arena_dup(&x->arena, body),
		.side = x->who.side,
		.auth = x->who.auth,
		.principal = span_str(x->who.principal),
		.now_s = clock_wall_ms() / 1000,
	};
	struct mcp_decision *d = &x->decision;
	struct mcp_answer spent = { .status = 503, .close = true };

	take_random(x->g->mcp, q.random);
	if (body.len > 0 && q.body.ptr == NULL)
		mcp_too_large(&d->answer);
	else
		mcp_decide(&q, &x->arena, d);
	for (size_t i = 0; i < d->ncancels; i++)
		stop_calls(x, &d->cancels[i]);
	if (d->ends_session) {
		stop_calls(x, NULL);
		mcp_ended_keep(x->g, &d->session);
	}
	if (d->next == MCP_RUN && run(x))
		return;
	x->sink->head(x->owner, d->next == MCP_RUN ? &spent : &d->answer);
	complete(x, false);
}

/* The evidence is its place's: keep a copy. */
static void
keep_who(struct exchange *x, const struct mcp_who *who)
{
	struct grant_evidence *e = &x->who.caller.evidence;
	size_t n = who->caller.evidence.holders_n;
	struct grant_executable *holders =
	    arena_get(&x->arena, (n + 1) * sizeof(*holders));

	x->who = *who;
	e->self.path = arena_dup(&x->arena, e->self.path);
	e->holders = holders;
	for (size_t i = 0; holders != NULL && i < n; i++) {
		holders[i] = who->caller.evidence.holders[i];
		holders[i].path = arena_dup(&x->arena, holders[i].path);
	}
	if (holders == NULL) {
		e->self.flags |= GRANT_EXE_UNREADABLE;
		e->holders_n = 0;
	}
	if (who->caller.scopes != NULL)
		x->who.caller.scopes = x->who.scopes;
}

bool
mcp_refuse(struct gateway *g, const struct mcp_who *who,
    const struct mcp_head *h, struct arena *arena, struct mcp_answer *a)
{
	const struct mcp_request q = {
		.server = &g->mcp->server,
		.head = h,
		.side = who->side,
		.auth = who->auth,
		.principal = span_str(who->principal),
	};

	if (g->stopping || !share_has_room(&g->mcp->shared, who->tree)) {
		mcp_unavailable(a);
		return true;
	}
	if (!mcp_front(&q, arena, a))
		return false;
	/* Only the port knows such. */
	if (who->auth != MCP_KNOWN)
		tally_count(g, "127.0.0.1", FAULT_UNAUTHENTICATED);
	return true;
}

struct exchange *
mcp_begin(struct gateway *g, const struct mcp_who *who,
    const struct mcp_head *h, struct span body, const struct mcp_sink *sink,
    void *owner)
{
	struct mcp *m = g->mcp;
	struct arena arena;
	struct exchange *x =
	    arena_home(&arena, sizeof(*x), MCP_ARENA + MCP_BODY);

	x->arena = arena;
	x->g = g;
	x->sink = sink;
	x->owner = owner;
	x->tick.fire = on_tick;
	x->overdue.fire = on_overdue;
	buf_init(&x->piece, MCP_OUT);
	keep_who(x, who);
	x->next = m->exchanges;
	if (m->exchanges != NULL)
		m->exchanges->prev = x;
	m->exchanges = x;
	share_take(&m->shared, who->tree);
	decide(x, h, body);
	return x->sink != NULL ? x : NULL;
}

int
mcp_open(struct gateway *g, struct fault *f)
{
	struct mcp *m = must_alloc(sizeof(*m));

	g->mcp = m;
	m->g = g;
	m->listener.fd = -1;
	m->shared.max = MCP_EXCHANGES;
	m->at_port.max = MCP_CONNECTIONS;
	m->at_socket.max = MCP_CONNECTIONS;
	m->to_doors.max = LOAD_DOORS;
	m->to_host.max = LOAD_HOST;
	m->server.off = g->config.mcp_off;
	m->server.key = &m->key;
	m->server.ended = &m->ended;
	mcp_key_set(&m->key, g->mcp_key);
	mcp_ended_read(g);
	arena_init(&m->arena, 1 << 20);
	if (mcp_server_ready(&m->server, &m->arena, f) < 0)
		return -1;
	return mcp_listen_open(g, f);
}

/* Calls that run are ended before; what is left only waits to be freed. */
void
mcp_close(struct gateway *g)
{
	struct exchange *next;
	struct mcp *m = g->mcp;

	if (m == NULL)
		return;
	mcp_listen_close(g);
	mcp_conn_close_all(g);
	mcp_link_close_all(g);
	for (struct exchange *x = m->exchanges; x; x = next) {
		next = x->next;
		for (size_t i = 0; x->running && i < x->decision.ncalls; i++)
			mcp_run_cancel(&x->runs[i]);
		x->running = false;
		x->sink = NULL;
		exchange_check(x);
	}
}
