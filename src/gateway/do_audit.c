/* SPDX-License-Identifier: Apache-2.0 */
/* ListAudit: rows of the record, the last ones unless a place is named. */
#include <string.h>

#include "gateway/do.h"
#include "proto/nacre_v1.pb.h"

enum {
	DEFAULT = 100,
	MOST = 10000,
	BYTES = LIMIT_MESSAGE - 4096,
	ROW_BYTES = 128, /* of numbers and the hash */
};

struct list {
	struct call *c;
	nacre_v1_ListAuditReply *reply;
	size_t room;
	size_t bytes;
};

static int
add(void *owner, const struct store_audit *row, struct fault *f)
{
	struct list *l = owner;
	struct arena *a = &l->c->arena;
	nacre_v1_AuditRow *r = &l->reply->rows[l->reply->rows_count];
	char hash[2 * STORE_HASH + 1];

	if (l->reply->rows_count == l->room)
		return 0;
	hex_format(row->hash, sizeof(row->hash), hash);
	r->row = row->row;
	r->time_ms = row->time_ms;
	r->caller = arena_str(a, span_str(row->caller));
	r->verb = arena_str(a, span_str(row->verb));
	r->sandbox_id = arena_str(a, span_str(row->sandbox_id));
	r->sandbox = arena_str(a, span_str(row->sandbox));
	r->verdict = arena_str(a, span_str(row->verdict));
	r->reason = arena_str(a, span_str(row->reason));
	r->detail = arena_str(a, span_str(row->detail));
	r->hash = arena_str(a, span_str(hash));
	if (r->detail == NULL || r->hash == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	l->bytes += ROW_BYTES + strlen(row->caller) + strlen(row->verb) +
	    strlen(row->sandbox) + strlen(row->sandbox_id) +
	    strlen(row->verdict) + strlen(row->reason) + strlen(row->detail);
	l->reply->rows_count++;
	return 0;
}

/* One message holds so much: of the rows in hand, the newest or the oldest. */
static void
cut(struct list *l, bool keep_newest)
{
	nacre_v1_ListAuditReply *r = l->reply;
	size_t per_row;
	size_t keep;

	if (l->bytes <= BYTES || r->rows_count == 0)
		return;
	per_row = l->bytes / r->rows_count + 1;
	keep = BYTES / 2 / per_row;
	if (keep_newest)
		r->rows += r->rows_count - keep;
	r->rows_count = (pb_size_t)keep;
}

int
do_audit(struct call *c, struct fault *f)
{
	const nacre_v1_ListAuditRequest *ask = c->ask;
	nacre_v1_ListAuditReply reply = nacre_v1_ListAuditReply_init_zero;
	const struct store_audit_filter filter = {
		.after = ask->after,
		.limit = ask->limit == 0 ? DEFAULT
		    : ask->limit > MOST  ? MOST
					 : ask->limit,
		.tail = ask->after == 0 && !ask->from_start,
		.sandbox = ask->sandbox,
		.verb = ask->verb,
	};
	struct list l = { .c = c, .reply = &reply, .room = filter.limit };

	reply.rows = arena_get(&c->arena, filter.limit * sizeof(*reply.rows));
	if (reply.rows == NULL)
		return fault_set(f, FAULT_LIMIT, "too many rows");
	if (store_audit_list(c->g->store, &filter, add, &l, f) < 0)
		return -1;
	cut(&l, filter.tail);
	return CALL_REPLY(c, nacre_v1_ListAuditReply, &reply, f);
}
