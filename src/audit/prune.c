/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record's oldest rows go, a slice at a time: rows and the signed point
 * from which the chain goes on are one transaction, so at any moment the
 * rows that are there are those after the last such point.
 */
#include <string.h>

#include "audit/inner.h"
#include "tls/tls.h"

enum {
	SLICE = 500, /* rows */
};

struct slice {
	struct store *s;
	const struct tls_key *key;
	const struct audit_bounds *bounds;
	struct store_checkpoint edge; /* how far it has come */
	uint64_t end;                 /* this row stays in any case */
	uint64_t total;               /* bytes up to the last checkpoint */
	bool full;                    /* the next row stays */
	struct store_checkpoint next; /* that the rows come to */
	bool has_next;
};

/* What is not found now is gone for good. */
static int
refuse(const struct store_checkpoint *c, const char *what, struct fault *f)
{
	return fault_set(f, FAULT_PROTOCOL,
	    "the checkpoint at row %lld %s: nothing of the record is pruned",
	    (long long)c->row, what);
}

static int
must_be_own(const struct slice *p, const struct store_checkpoint *c,
    struct fault *f)
{
	return audit_checkpoint_is_by(c, p->key->pin)
	    ? 0
	    : refuse(c, "is not signed by the key", f);
}

static int
look_further(struct slice *p, struct fault *f)
{
	struct store_checkpoint c = p->next;

	if (store_checkpoint_next(p->s, &c, &p->has_next, f) < 0)
		return -1;
	p->next = c;
	return 0;
}

/* Those of the row that goes now, which go along. */
static int
check_signed(struct slice *p, struct fault *f)
{
	while (p->has_next && p->next.row <= p->edge.row) {
		if (must_be_own(p, &p->next, f) < 0)
			return -1;
		if (memcmp(p->next.hash, p->edge.hash, STORE_HASH) != 0)
			return refuse(&p->next, "has another hash", f);
		if (look_further(p, f) < 0)
			return -1;
	}
	return 0;
}

static bool
must_go(const struct slice *p, const struct store_audit *row)
{
	return row->row < p->end &&
	    (row->time_ms < p->bounds->oldest_ms ||
		(p->total > p->edge.bytes &&
		    p->total - p->edge.bytes > p->bounds->bytes));
}

static uint64_t
bytes_of(const struct store_audit *row)
{
	const char *const texts[] = { row->caller, row->program, row->parent,
		row->root, row->verb, row->sandbox_id, row->sandbox,
		row->request_id, row->verdict, row->reason, row->detail };
	uint64_t n = 128; /* as in store_audit_bytes() */

	for (size_t i = 0; i < NELEM(texts); i++)
		n += strlen(texts[i]);
	return n;
}

static int
take(void *owner, const struct store_audit *row, struct fault *f)
{
	struct slice *p = owner;
	uint8_t hash[STORE_HASH];

	if (p->full || !must_go(p, row)) {
		p->full = true;
		return 0;
	}
	audit_hash(row, p->edge.hash, hash);
	if (row->row != p->edge.row + 1 ||
	    memcmp(hash, row->hash, sizeof(hash)) != 0)
		return fault_set(f, FAULT_PROTOCOL,
		    "row %llu of the record is not as it was written: "
		    "nothing of it is pruned",
		    (unsigned long long)p->edge.row + 1);
	p->edge.row = row->row;
	p->edge.bytes += bytes_of(row);
	memcpy(p->edge.hash, hash, sizeof(hash));
	return check_signed(p, f);
}

/* Where the record is cut, up to where it may be, and how large it is. */
static int
begin(struct slice *p, bool *found, struct fault *f)
{
	struct store_checkpoint last;
	bool was_pruned;

	if (store_checkpoint_last(p->s, &last, found, f) < 0 ||
	    store_checkpoint_last_of(p->s, AUDIT_PRUNED, &p->edge, &was_pruned,
		f) < 0)
		return -1;
	if ((*found && must_be_own(p, &last, f) < 0) ||
	    (was_pruned && must_be_own(p, &p->edge, f) < 0))
		return -1;
	p->end = last.row;
	p->total = last.bytes;
	p->next.row = p->edge.row;
	p->next.seq = INT64_MAX;
	return look_further(p, f);
}

int
audit_prune(struct store *s, const struct tls_key *key,
    const struct audit_bounds *b, uint64_t *row, struct fault *f)
{
	struct slice p = { .s = s, .key = key, .bounds = b };
	uint64_t from;
	bool found;

	*row = 0;
	if (begin(&p, &found, f) < 0)
		return -1;
	if (!found)
		return 0;
	from = p.edge.row;
	if (store_audit_walk(s, from, SLICE, take, &p, f) < 0)
		return -1;
	if (p.edge.row == from)
		return 0;
	p.edge.kind = AUDIT_PRUNED;
	p.edge.time_ms = clock_wall_ms();
	if (store_audit_prune(s, from, p.edge.row, f) < 0 ||
	    audit_sign(s, key, &p.edge, f) < 0)
		return -1;
	*row = p.edge.row;
	return 0;
}
