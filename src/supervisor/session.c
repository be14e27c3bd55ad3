/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session: one bidirectional call. The first Hello of a launch brings the
 * bundle; every later one names a higher epoch, carries the gateway token and
 * is answered by Resume. Tokens are replaced together or not at all.
 */
#include <sys/utsname.h>

#include <fcntl.h>
#include <string.h>

#include "supervisor/inner.h"

#define SERVICE "/nacre.session.v1.Session/"

enum {
	REFRESH_RETRY_MS = 10000,
	REFRESH_LEAST_MS = 1000,
	TOKENS_MOST_MS = 3600000 /* of life */
};

int
session_send(struct session *s, const nacre_session_v1_Up *up, struct fault *f)
{
	struct buf b;
	int r = -1;

	if (!s->call)
		return fault_set(f, FAULT_LOST, "there is no session");
	buf_init(&b, LIMIT_MESSAGE);
	if (WIRE_ENCODE(nacre_session_v1_Up, up, &b, f) == 0)
		r = rpc_send(s->call, buf_span(&b), f);
	buf_release(&b);
	return r;
}

struct span
session_bearer(struct session *s)
{
	struct supervisor *sv = s->sv;

	if (sv->tokens.gateway[0] == '\0' ||
	    !text_fmt(sv->bearer, sizeof(sv->bearer), "Bearer %s",
		sv->tokens.gateway))
		return span_of(NULL, 0);
	return span_str(sv->bearer);
}

/* --- tokens */
static void
refresh_in(struct session *s, int64_t ms)
{
	loop_timer_set(s->sv->loop, &s->refresh,
	    ms > REFRESH_LEAST_MS ? ms : REFRESH_LEAST_MS);
}

int
session_take_tokens(struct session *s, const nacre_session_v1_Tokens *t,
    struct fault *f)
{
	struct tokens *mine = &s->sv->tokens;
	const char *const from[] = { t->gateway, t->sandbox, t->door };
	bool is_first = mine->gateway[0] == '\0';

	for (size_t i = 0; i < NELEM(from); i++)
		if (!from[i] || from[i][0] == '\0' ||
		    strlen(from[i]) >= SUPERVISOR_TOKEN)
			return fault_field(f, "tokens",
			    "one is empty or too long");
	if (t->life_ms <= 0 || t->life_ms > TOKENS_MOST_MS)
		return fault_field(f, "tokens",
		    "have no life, or too long a one");
	if (!is_first && strcmp(mine->sandbox, t->sandbox) != 0 &&
	    box_renew(&s->sv->box, t->sandbox, f) != 0)
		return -1;
	(void)text_copy(mine->gateway, SUPERVISOR_TOKEN, span_str(from[0]));
	(void)text_copy(mine->sandbox, SUPERVISOR_TOKEN, span_str(from[1]));
	(void)text_copy(mine->door, SUPERVISOR_TOKEN, span_str(from[2]));
	mine->until_ms = clock_mono_ms() + t->life_ms;
	/* Before two thirds of their life are over. */
	refresh_in(s, t->life_ms / 10 * 6);
	brake_renewed(&s->sv->brake);
	return 0;
}

static void
refresh_message(struct rpc_call *c, void *owner, struct span m)
{
	struct session *s = owner;
	nacre_session_v1_Tokens t = nacre_session_v1_Tokens_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_Tokens, &t, m, &a, &f) != 0 ||
	    session_take_tokens(s, &t, &f) != 0)
		log_warn(&f, "cannot take new tokens");
	arena_release(&a);
}

static void
refresh_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct session *s = owner;

	(void)c;
	(void)detail;
	s->refreshing = NULL;
	if (f->code == FAULT_NONE)
		return;
	log_warn(f, "cannot refresh the tokens");
	refresh_in(s, REFRESH_RETRY_MS);
}

static void
refresh(struct timer *t)
{
	static const struct rpc_call_events events = {
		.message = refresh_message,
		.closed = refresh_closed,
	};
	struct session *s = CONTAINER_OF(t, struct session, refresh);
	nacre_session_v1_RefreshRequest q =
	    nacre_session_v1_RefreshRequest_init_zero;
	struct fault f = { 0 };
	struct buf b;

	if (s->refreshing)
		return;
	buf_init(&b, 256);
	q.epoch = s->epoch;
	if (s->is_open && s->sv->tunnel.link &&
	    WIRE_ENCODE(nacre_session_v1_RefreshRequest, &q, &b, &f) == 0)
		s->refreshing = rpc_call(s->sv->tunnel.link, SERVICE "Refresh",
		    session_bearer(s), REFRESH_RETRY_MS, &events, s, &f);
	if (!s->refreshing)
		refresh_in(s, REFRESH_RETRY_MS);
	else if (rpc_call_unary(s->refreshing, buf_span(&b), &f) != 0)
		rpc_cancel(s->refreshing);
	buf_release(&b);
}

/* --- what the gateway says */
static void
take_bundle(struct session *s, const nacre_session_v1_Bundle *b,
    struct arena *a, struct fault *f)
{
	struct supervisor *sv = s->sv;

	if (sv->has_bundle) {
		(void)fault_set(f, FAULT_PROTOCOL, "there is a bundle already");
		return;
	}
	if (!b->has_tokens || session_take_tokens(s, &b->tokens, f) != 0) {
		(void)fault_field(f, "tokens", "are missing");
		return;
	}
	/* The bundle lives as long as the launch: its memory moves over. */
	sv->bundle_arena = *a;
	arena_init(a, SUPERVISOR_ARENA);
	sv->bundle = *b;
	sv->has_bundle = true;
	s->epoch = b->epoch ? b->epoch : 1;
	s->is_open = true;
	sv->tunnel.wait_ms = 0;
	launch_bundle(sv);
}

/* So the gateway need not wait for the new token to let the old one die. */
static void
tell_taken(struct session *s)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };

	up.which_kind = nacre_session_v1_Up_taken_tag;
	up.kind.taken.epoch = s->epoch;
	if (session_send(s, &up, &f) != 0)
		log_warn(&f, "cannot confirm an epoch");
}

static void
take_resume(struct session *s, const nacre_session_v1_Resume *r,
    struct fault *f)
{
	if (!s->sv->has_bundle) {
		(void)fault_set(f, FAULT_PROTOCOL, "nothing is to be resumed");
		return;
	}
	if (r->has_tokens && session_take_tokens(s, &r->tokens, f) != 0)
		return;
	if (r->epoch)
		s->epoch = r->epoch;
	s->is_open = true;
	s->sv->tunnel.wait_ms = 0;
	tell_taken(s);
	mainlog_resume(&s->sv->log, r->log_offset);
	launch_resumed(s->sv);
}

static void
take_open(struct session *s, const nacre_session_v1_Open *o)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };
	struct fault lost = { 0 };
	char code[32];

	if (attach_open(s->sv, o, &f) == 0)
		return;
	(void)text_copy(code, sizeof(code), span_str(fault_reason(f.code)));
	up.which_kind = nacre_session_v1_Up_opened_tag;
	up.kind.opened.attach_id = o->attach_id;
	up.kind.opened.code = code;
	up.kind.opened.text = f.text;
	if (session_send(s, &up, &lost) != 0)
		log_warn(&lost, "cannot refuse a stream");
}

static void
take_down(struct session *s, const nacre_session_v1_Down *d, struct arena *a,
    struct fault *f)
{
	switch (d->which_kind) {
	case nacre_session_v1_Down_bundle_tag:
		take_bundle(s, &d->kind.bundle, a, f);
		break;
	case nacre_session_v1_Down_resume_tag:
		take_resume(s, &d->kind.resume, f);
		break;
	case nacre_session_v1_Down_open_tag:
		take_open(s, &d->kind.open);
		break;
	case nacre_session_v1_Down_stop_tag:
		finish_stop(s->sv, d->kind.stop.grace_ms);
		break;
	case nacre_session_v1_Down_tokens_tag:
		if (session_take_tokens(s, &d->kind.tokens, f) != 0)
			return;
		break;
	case nacre_session_v1_Down_log_ack_tag:
		mainlog_ack(&s->sv->log, d->kind.log_ack.offset);
		if (s->sv->main)
			run_pump(s->sv->main);
		break;
	default:
		(void)fault_set(f, FAULT_PROTOCOL, "message is not known");
	}
}

static void
session_message(struct rpc_call *c, void *owner, struct span m)
{
	struct session *s = owner;
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, SUPERVISOR_ARENA);
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_Down, &d, m, &a, &f) == 0)
		take_down(s, &d, &a, &f);
	arena_release(&a);
	if (f.code != FAULT_NONE) {
		log_warn(&f, "session");
		tunnel_drop(&s->sv->tunnel, &f);
	}
}

static void
session_writable(struct rpc_call *c, void *owner)
{
	struct session *s = owner;

	(void)c;
	launch_log_room(s->sv);
}

static void
session_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct session *s = owner;

	(void)c;
	(void)detail;
	s->call = NULL;
	s->is_open = false;
	/* The main process waits no longer for acknowledgements. */
	if (s->sv->main)
		run_pump(s->sv->main);
	finish_check(s->sv);
	/* Not lost but refused: the tokens are good no more. */
	if (f->code == FAULT_UNAUTHENTICATED && s->sv->has_bundle)
		brake_pull(&s->sv->brake, f);
	tunnel_drop(&s->sv->tunnel, f);
}

static int
send_hello(struct session *s, struct fault *f)
{
	static char none[] = "";
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	nacre_session_v1_Hello *h = &up.kind.hello;
	struct supervisor *sv = s->sv;
	struct utsname names;
	struct buf id;
	int r = -1;

	buf_init(&id, 64);
	/* boot_id is drawn when it is first read: not in a rehearsal. */
	if (sv->is_rehearsal && buf_add(&id, "rehearsal", 10, f) != 0)
		return -1;
	if (uname(&names) != 0)
		(void)fault_sys(f, "cannot read the kernel's release");
	else if (sv->is_rehearsal ||
	    (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &id, f) ==
		    0 &&
		buf_add(&id, "", 1, f) == 0)) {
		char *text = (char *)buf_ptr(&id);

		text[strcspn(text, "\n")] = '\0';
		up.which_kind = nacre_session_v1_Up_hello_tag;
		h->protocol = 1;
		h->epoch = ++s->epoch;
		h->sandbox_id = sv->has_bundle ? sv->bundle.sandbox_id : none;
		h->boot_id = text;
		h->supervisor_digest = sv->digest;
		h->kernel_release = names.release;
		h->log_end = sv->log.end;
		h->running = sv->main && !sv->main->has_exited;
		r = session_send(s, &up, f);
	}
	buf_release(&id);
	return r;
}

int
session_open(struct session *s, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = session_message,
		.writable = session_writable,
		.closed = session_closed,
	};

	s->refresh.fire = refresh;
	s->is_open = false;
	s->call = rpc_call(s->sv->tunnel.link, SERVICE "Session",
	    session_bearer(s), -1, &events, s, f);
	if (!s->call)
		return -1;
	return send_hello(s, f);
}
