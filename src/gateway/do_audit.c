/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ListAudit: a page of the record, the last rows unless a place is named. A
 * page ends when it is full or when much was looked through; it says then
 * where to go on, so nothing is held back and no tick is long.
 */
#include <string.h>

#include "gateway/do.h"
#include "gateway/record.h"
#include "proto/nacre_v1.pb.h"

enum {
	DEFAULT = 100,
	MOST = 1000,
	LOOK = 10000, /* rows that a page looks through */
	BYTES = LIMIT_MESSAGE / 2,
	ROW_BYTES = 256, /* of numbers, lengths and the hash */
};

struct page {
	struct call *c;
	nacre_v1_AuditRow *rows;
	size_t n;
	size_t room;
	size_t bytes;
	bool full;
};

static size_t
weight(const struct store_audit *row)
{
	const char *const texts[] = { row->caller, row->program, row->parent,
		row->root, row->verb, row->sandbox_id, row->sandbox,
		row->request_id, row->verdict, row->reason, row->detail };
	size_t n = ROW_BYTES;

	for (size_t i = 0; i < NELEM(texts); i++)
		n += strlen(texts[i]);
	return n;
}

static int
add(void *owner, const struct store_audit *row, struct fault *f)
{
	struct page *p = owner;

	if (p->full || p->n == p->room || p->bytes + weight(row) > BYTES) {
		p->full = true;
		return 0;
	}
	p->bytes += weight(row);
	return record_row(row, &p->c->arena, &p->rows[p->n++], f);
}

static void
turn_round(struct page *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		nacre_v1_AuditRow r = p->rows[i];

		p->rows[i] = p->rows[p->n - 1 - i];
		p->rows[p->n - 1 - i] = r;
	}
}

/* From a row on, up to the bound or the head. */
static int
list_on(struct page *p, struct store_audit_filter *w, uint64_t head,
    nacre_v1_ListAuditReply *reply, struct fault *f)
{
	uint64_t last =
	    w->before == 0 || w->before > head ? head : w->before - 1;

	if (w->after >= last)
		return 0;
	if (last - w->after > LOOK)
		w->before = w->after + LOOK + 1;
	if (store_audit_list(p->c->g->store, w, add, p, f) < 0)
		return -1;
	if (p->full)
		reply->next_after = p->rows[p->n - 1].row;
	else if (last - w->after > LOOK)
		reply->next_after = w->after + LOOK;
	return 0;
}

/* The last ones before a row. */
static int
list_back(struct page *p, struct store_audit_filter *w, uint64_t head,
    nacre_v1_ListAuditReply *reply, struct fault *f)
{
	uint64_t end =
	    w->before == 0 || w->before > head ? head + 1 : w->before;

	w->tail = true;
	w->before = end;
	w->after = end > LOOK ? end - LOOK - 1 : 0;
	if (store_audit_list(p->c->g->store, w, add, p, f) < 0)
		return -1;
	if (p->full)
		reply->next_before = p->rows[p->n - 1].row;
	else if (w->after > 0)
		reply->next_before = w->after + 1;
	turn_round(p);
	return 0;
}

int
do_audit(struct call *c, struct fault *f)
{
	const nacre_v1_ListAuditRequest *ask = c->ask;
	nacre_v1_ListAuditReply reply = nacre_v1_ListAuditReply_init_zero;
	struct store_audit_filter w = {
		.after = ask->after,
		.before = ask->before,
	};
	struct page p = { .c = c };
	uint8_t hash[STORE_HASH];
	uint64_t head;
	bool is_all;
	int rc;

	if (ask->after > INT64_MAX || ask->before > INT64_MAX)
		return fault_field(f, "after", "no row has such a number");
	p.room = ask->limit == 0 ? DEFAULT
	    : ask->limit > MOST  ? MOST
				 : ask->limit;
	w.limit = (uint32_t)p.room + 1; /* one more tells that there are more */
	p.rows = arena_get(&c->arena, p.room * sizeof(*p.rows));
	if (p.rows == NULL)
		return fault_set(f, FAULT_LIMIT, "too many rows");
	if (record_filter(c->g, &ask->filter, &c->arena, &w, &is_all, f) < 0 ||
	    store_audit_head(c->g->store, &head, hash, f) < 0)
		return -1;
	if (ask->after > 0 || ask->from_start)
		rc = list_on(&p, &w, head, &reply, f);
	else
		rc = list_back(&p, &w, head, &reply, f);
	if (rc < 0)
		return -1;
	reply.rows = p.rows;
	reply.rows_count = (pb_size_t)p.n;
	return CALL_REPLY(c, nacre_v1_ListAuditReply, &reply, f);
}
