/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slots of one minute. It is full when strangers make up names: those
 * without a slot share one. Rows are written when the minute is over; a crash
 * loses the counts of one minute.
 */
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "gateway/tally.h"

enum {
	PEERS = 128,
	MINUTE_MS = 60 * 1000,
};

struct slot {
	char peer[LIMIT_ID + 16];
	enum fault_code why;
	uint64_t n;
	int64_t first_ms;
};

struct tally {
	struct gateway *g;
	struct slot slots[PEERS];
	size_t used;
	struct timer minute;
};

static int
write_slot(struct tally *t, const struct slot *s, struct fault *f)
{
	char text[128];
	char when[32];
	const struct audit_row row = {
		.time_ms = clock_wall_ms(),
		.caller = s->peer,
		.verb = "call.counted",
		.verdict = AUDIT_REFUSED,
		.reason = fault_reason(s->why),
		.detail = text,
	};

	time_format(s->first_ms, when);
	(void)text_fmt(text, sizeof(text), "%llu request%s since %s",
	    (unsigned long long)s->n, s->n == 1 ? "" : "s", when);
	return audit_append(t->g->store, &row, f);
}

static void
write_all(struct tally *t)
{
	struct fault f = { 0 };

	for (size_t i = 0; i < t->used; i++) {
		if (write_slot(t, &t->slots[i], &f) < 0) {
			log_warn(&f, "cannot record what was counted");
			break;
		}
	}
	memset(t->slots, 0, sizeof(t->slots));
	t->used = 0;
}

static void
on_minute(struct timer *timer)
{
	write_all(CONTAINER_OF(timer, struct tally, minute));
}

static struct slot *
slot_of(struct tally *t, const char *peer, enum fault_code why)
{
	struct slot *s;

	for (size_t i = 0; i < t->used; i++) {
		s = &t->slots[i];
		if (s->why == why && strcmp(s->peer, peer) == 0)
			return s;
	}
	/* The last two are for all others. */
	if (t->used >= PEERS - 2 && strcmp(peer, "others") != 0)
		return slot_of(t, "others", why);
	s = &t->slots[t->used++];
	(void)text_copy(s->peer, sizeof(s->peer), span_str(peer));
	s->why = why;
	s->first_ms = clock_wall_ms();
	return s;
}

void
tally_count(struct gateway *g, const char *peer, enum fault_code why)
{
	struct tally *t = g->tally;

	if (t == NULL) {
		t = g->tally = must_alloc(sizeof(*t));
		t->g = g;
		t->minute.fire = on_minute;
	}
	BUG_IF(why != FAULT_UNAUTHENTICATED && why != FAULT_RATE_LIMITED);
	if (t->used == 0)
		loop_timer_set(g->loop, &t->minute,
		    MINUTE_MS - clock_wall_ms() % MINUTE_MS);
	slot_of(t, peer[0] == '\0' ? "unknown" : peer, why)->n++;
}

void
tally_close(struct gateway *g)
{
	if (g->tally == NULL)
		return;
	loop_timer_clear(&g->tally->minute);
	write_all(g->tally);
	free(g->tally);
	g->tally = NULL;
}
