/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints are part of the transaction whose rows they cover, and are
 * logged after its commit: a copy of the log is a checkpoint kept elsewhere.
 * Pruning runs a slice a tick, when the gateway starts, each hour, and when a
 * checkpoint says that rows have come.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/record.h"

enum {
	AGAIN_MS = 10000, /* after a commit that failed */
	HOUR_MS = 3600 * 1000,
	DAY_MS = 24 * HOUR_MS,
	FORGET = 500, /* rows of lineage, with each slice of the record */
};

struct record {
	struct gateway *g;
	struct store_checkpoint made; /* in this tick */
	bool is_made;
	struct timer hourly;
	struct deferred prune;
	uint64_t pruned; /* the last row that went, in this pass */
};

static void
log_checkpoint(const struct gateway *g, const struct store_checkpoint *c)
{
	char head[2 * STORE_HASH + 1];
	char pin[2 * STORE_HASH + 1];

	hex_format(c->hash, sizeof(c->hash), head);
	hex_format(g->audit_key.pin, sizeof(g->audit_key.pin), pin);
	log_info("audit checkpoint (%s): row %llu, head %s, key %s",
	    audit_kind_name(c->kind), (unsigned long long)c->row, head, pin);
}

/* Somebody may have been at the store while no gateway ran. What is wrong
 * stays to be found; it is only said early. */
static int
look_at_head(struct gateway *g, struct fault *f)
{
	struct store_checkpoint last;
	uint8_t hash[STORE_HASH];
	uint64_t head;
	bool found;

	if (store_audit_head(g->store, &head, hash, f) < 0 ||
	    store_checkpoint_last(g->store, &last, &found, f) < 0)
		return -1;
	if (found &&
	    (last.row > head || (last.kind == AUDIT_STOP && last.row != head) ||
		(last.row == head &&
		    memcmp(last.hash, hash, sizeof(hash)) != 0)))
		log_error("the record is not as the last checkpoint left it: "
			  "'nacre audit verify' says what is wrong");
	return 0;
}

static int
note(struct gateway *g, const char *verb, const char *detail, struct fault *f)
{
	const struct audit_row row = {
		.time_ms = clock_wall_ms(),
		.caller = "gateway",
		.verb = verb,
		.detail = detail,
	};

	return audit_append(g->store, &row, f);
}

static int
mark_life(struct gateway *g, const char *verb, enum audit_kind kind,
    struct fault *f)
{
	struct store_checkpoint c;

	if (note(g, verb, NACRE_VERSION, f) < 0 ||
	    audit_checkpoint(g->store, &g->audit_key, kind, &c, f) < 0 ||
	    store_commit(g->store, f) < 0)
		return -1;
	log_checkpoint(g, &c);
	return 0;
}

/* ---- pruning ---- */

static void
end_pass(struct record *r)
{
	struct fault f = { 0 };
	char text[64];

	if (r->pruned == 0)
		return;
	(void)text_fmt(text, sizeof(text), "rows up to %llu",
	    (unsigned long long)r->pruned);
	r->pruned = 0;
	if (note(r->g, "audit.prune", text, &f) < 0)
		log_warn(&f, "cannot record what was pruned");
}

/* Both the rows and the point from which the chain goes on, or none. Nobody
 * asks for the lineage of what the record does not tell of any more. */
static int
slice(struct record *r, uint64_t *row, struct fault *f)
{
	struct gateway *g = r->g;
	const struct audit_bounds bounds = {
		.oldest_ms =
		    clock_wall_ms() - (int64_t)g->config.audit_days * DAY_MS,
		.bytes = (uint64_t)g->config.audit_mib << 20,
	};

	if (store_mark(g->store, f) < 0)
		return -1;
	if (audit_prune(g->store, &g->audit_key, &bounds, row, f) < 0 ||
	    (*row != 0 && store_lineage_forget(g->store, FORGET, f) < 0)) {
		store_back(g->store);
		return -1;
	}
	store_keep(g->store);
	return 0;
}

static void
on_prune(struct deferred *d)
{
	struct record *r = CONTAINER_OF(d, struct record, prune);
	struct fault f = { 0 };
	uint64_t row = 0;

	/* The rows of the slice before are there again. */
	if (r->g->commit_fault.code != FAULT_NONE) {
		loop_timer_set(r->g->loop, &r->hourly, AGAIN_MS);
		return;
	}
	if (slice(r, &row, &f) < 0)
		log_warn(&f, "cannot prune the record");
	if (row == 0) {
		end_pass(r);
		return;
	}
	r->pruned = row;
	loop_later(r->g->loop, &r->prune);
}

static void
on_hour(struct timer *t)
{
	struct record *r = CONTAINER_OF(t, struct record, hourly);

	loop_later(r->g->loop, &r->prune);
	loop_timer_set(r->g->loop, t, HOUR_MS);
}

/* ---- the ticks ---- */

int
record_open(struct gateway *g, struct fault *f)
{
	struct record *r;

	if (look_at_head(g, f) < 0 ||
	    mark_life(g, "gateway.start", AUDIT_START, f) < 0)
		return -1;
	r = g->record = must_alloc(sizeof(*r));
	r->g = g;
	r->prune.run = on_prune;
	r->hourly.fire = on_hour;
	loop_timer_set(g->loop, &r->hourly, 1);
	return 0;
}

void
record_close(struct gateway *g)
{
	struct fault f = { 0 };

	if (mark_life(g, "gateway.stop", AUDIT_STOP, &f) < 0)
		log_warn(&f, "cannot record the end");
	loop_timer_clear(&g->record->hourly);
	loop_deferred_drop(g->loop, &g->record->prune);
	free(g->record);
	g->record = NULL;
}

void
record_seal(struct gateway *g)
{
	struct record *r = g->record;
	struct fault f = { 0 };

	if (!store_is_dirty(g->store))
		return;
	if (audit_seal(g->store, &g->audit_key, &r->made, &r->is_made, &f) < 0)
		log_warn(&f, "cannot sign the record");
}

void
record_committed(struct gateway *g)
{
	struct record *r = g->record;

	if (r->is_made && g->commit_fault.code == FAULT_NONE) {
		log_checkpoint(g, &r->made);
		loop_later(g->loop, &r->prune);
	}
	r->is_made = false;
	follow_committed(g);
}
