/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VerifyAudit: the chain is walked so many rows a tick, while calls are
 * answered between; then it is told how it is.
 */
#include <string.h>

#include "gateway/do.h"
#include "gateway/record.h"
#include "proto/nacre_v1.pb.h"

enum {
	ROWS = 1000, /* a tick: some ms */
	AT_ONCE = 4,
};

struct verify {
	struct call *c;
	struct audit_walk walk;
	struct deferred go;
	struct fault fault;
};

static void
on_go(struct deferred *d)
{
	struct verify *v = CONTAINER_OF(d, struct verify, go);
	struct gateway *g = v->c->g;

	if (audit_walk_step(&v->walk, g->store, ROWS, &v->fault) == 0 &&
	    !v->walk.done) {
		loop_later(g->loop, d);
		return;
	}
	g->verifies--;
	call_resume(v->c);
}

static int
walked(struct call *c, struct fault *f)
{
	struct verify *v = c->waits_for;

	c->work = v;
	if (v->fault.code == FAULT_NONE)
		return 0;
	*f = v->fault;
	return -1;
}

static void
left(struct call *c)
{
	struct verify *v = c->waits_for;

	c->g->verifies--;
	loop_deferred_drop(c->g->loop, &v->go);
}

static int
take_hash(const char *text, const char *field, uint8_t out[STORE_HASH],
    bool *given, struct fault *f)
{
	struct span s = span_str(text);

	*given = s.len > 0;
	if (*given &&
	    (s.len != 2 * STORE_HASH || !hex_parse(s, out, STORE_HASH)))
		return fault_field(f, field, "'%.80s' is not %d hex digits",
		    text, 2 * STORE_HASH);
	return 0;
}

int
do_verify_decide(struct call *c, struct fault *f)
{
	const nacre_v1_VerifyAuditRequest *ask = c->ask;
	struct verify *v = arena_get(&c->arena, sizeof(*v));
	uint8_t head[STORE_HASH];
	uint8_t pin[STORE_HASH];
	bool has_head;
	bool has_pin;

	BUG_IF(v == NULL);
	if (take_hash(ask->head, "head", head, &has_head, f) < 0 ||
	    take_hash(ask->key, "key", pin, &has_pin, f) < 0)
		return -1;
	if (c->g->verifies >= AT_ONCE)
		return fault_set(f, FAULT_BUSY,
		    "the record is being verified %d times already", AT_ONCE);
	c->g->verifies++;
	v->c = c;
	v->go.run = on_go;
	audit_walk_init(&v->walk, has_pin ? pin : c->g->audit_key.pin,
	    has_head ? head : NULL);
	call_wait(c, walked, left, v);
	loop_later(c->g->loop, &v->go);
	return 0;
}

static char *
hex(struct arena *a, const uint8_t *bytes, size_t n)
{
	char *out = arena_get(a, 2 * n + 1);

	if (out != NULL)
		hex_format(bytes, n, out);
	return out;
}

int
do_verify(struct call *c, struct fault *f)
{
	nacre_v1_VerifyAuditReply r = nacre_v1_VerifyAuditReply_init_zero;
	const struct verify *v = c->work;
	const struct audit_walk *w = &v->walk;
	const struct tls_key *k = &c->g->audit_key;
	struct arena *a = &c->arena;
	char text[160];

	audit_walk_say(w, text, sizeof(text));
	r.whole = w->wrong == AUDIT_WHOLE;
	r.wrong =
	    r.whole ? NULL : arena_str(a, span_str(audit_wrong_name(w->wrong)));
	r.row = (int64_t)w->at;
	r.message = arena_str(a, span_str(text));
	r.first = w->first + 1;
	r.last = w->row;
	r.head = hex(a, w->head, sizeof(w->head));
	r.checkpoints = w->checkpoints;
	r.has_checkpoint = w->checkpoints > 0;
	if (r.has_checkpoint &&
	    record_checkpoint(&w->last, a, &r.checkpoint, f) < 0)
		return -1;
	r.pin = hex(a, k->pin, sizeof(k->pin));
	r.key = hex(a, k->point, sizeof(k->point));
	return CALL_REPLY(c, nacre_v1_VerifyAuditReply, &r, f);
}
