/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Boxes by the literal end of their host and the literal begin of their path.
 * Two globs meet only if one of these heads is a prefix of the other, and a
 * head that is all there is only if it is equal or longer:
 *
 *	".example.com" and "api.example.com" whole    may meet
 *	"/v1/" and "/v1/users" whole                  may meet
 *	"/v1" whole and "/v1/"                        do not
 *
 * Sorted heads are a tree: those that begin with k follow k; those that k
 * begins with are the nearest one before it and that one's `up`, and so on.
 * A node of the tree of hosts holds a range of the nodes of paths.
 */
#include <string.h>

#include "prover/inner.h"

struct node {
	const struct box *box; /* the first: its key */
	uint32_t up;           /* the longest head of it before it, + 1 */
	uint32_t first;        /* box, or node of a path */
	uint32_t end;
};

struct index {
	const struct box **box; /* sorted */
	struct node *host;
	uint32_t host_n;
	struct node *path;
	uint32_t path_n;
};

/* Bytes that two heads have in common, counted from their fixed end. */
static size_t
common(const struct key *a, const struct key *b, bool from_end)
{
	size_t n = a->n < b->n ? a->n : b->n;
	size_t i = 0;

	if (from_end)
		while (i < n && a->ptr[a->n - 1 - i] == b->ptr[b->n - 1 - i])
			i++;
	else
		while (i < n && a->ptr[i] == b->ptr[i])
			i++;
	return i;
}

/* Byte i; -1 past a whole head, -2 past an open one. */
static int
byte_at(const struct key *k, size_t i, bool from_end)
{
	if (i == k->n)
		return k->whole ? -1 : -2;
	return k->ptr[from_end ? k->n - 1 - i : i];
}

static int
key_compare(const struct key *a, const struct key *b, bool from_end)
{
	size_t i = common(a, b, from_end);

	return byte_at(a, i, from_end) - byte_at(b, i, from_end);
}

/* b begins with a. */
static bool
is_head(const struct key *a, const struct key *b, bool from_end)
{
	return common(a, b, from_end) == a->n &&
	    (!a->whole || (b->whole && b->n == a->n));
}

static int
box_compare(const void *a, const void *b)
{
	const struct box *x = a;
	const struct box *y = b;
	int c = key_compare(&x->host_key, &y->host_key, true);

	return c ? c : key_compare(&x->path_key, &y->path_key, false);
}

/* Hosts are compared from their end. */
static const struct key *
key_at(const struct node *n, bool host)
{
	return host ? &n->box->host_key : &n->box->path_key;
}

/* The next node begins, of b; false: it is the one of before. */
static bool
node_next(struct node *list, uint32_t *n, const struct box *b, bool host,
    bool fresh)
{
	struct node *to = &list[*n];
	const struct key *key;
	uint32_t up;

	to->box = b;
	key = key_at(to, host);
	if (!fresh && *n > 0 &&
	    key_compare(key_at(to - 1, host), key, host) == 0)
		return false;
	for (up = fresh ? 0 : *n; up; up = list[up - 1].up)
		if (is_head(key_at(&list[up - 1], host), key, host))
			break;
	to->up = up;
	++*n;
	return true;
}

bool
index_make(struct prover *p, struct boxes *boxes)
{
	struct index *x = region_take(&p->s, 1, sizeof(*x));
	uint32_t n = boxes->box.n;
	const void **list = region_take(&p->s, n, sizeof(*list));
	const void **room = region_take(&p->s, n, sizeof(*room));

	if (p->s.spent)
		return false;
	for (uint32_t i = 0; i < n; i++)
		list[i] = (struct box *)boxes->box.items + i;
	region_sort(list, room, n, box_compare);
	boxes->index = x;
	x->box = (const struct box **)list;
	x->host = region_take(&p->s, n + 1, sizeof(*x->host));
	x->path = region_take(&p->s, n + 1, sizeof(*x->path));
	p->s.steps += (uint64_t)n * 4;
	if (p->s.spent)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct box *b = list[i];
		bool fresh = node_next(x->host, &x->host_n, b, true, i == 0);

		if (fresh)
			x->host[x->host_n - 1].first = x->path_n;
		if (node_next(x->path, &x->path_n, b, false, fresh))
			x->path[x->path_n - 1].first = i;
		x->path[x->path_n - 1].end = i + 1;
		x->host[x->host_n - 1].end = x->path_n;
	}
	return true;
}

/* The first node of [from, end) that does not come before key. */
static uint32_t
lower_bound(const struct node *list, uint32_t from, uint32_t end,
    const struct key *key, bool host)
{
	while (from < end) {
		uint32_t middle = from + (end - from) / 2;

		if (key_compare(key_at(&list[middle], host), key, host) < 0)
			from = middle + 1;
		else
			end = middle;
	}
	return from;
}

static void
add_boxes(struct prover *p, const struct index *x, const struct node *at)
{
	for (uint32_t i = at->first; i < at->end; i++) {
		const struct box **to = region_pool_add(&p->s, &p->hits);

		if (!to)
			return;
		*to = x->box[i];
	}
	p->s.steps += (at->end - at->first) / 2 + 1;
}

static void
find_paths(struct prover *p, const struct index *x, const struct node *host,
    const struct key *key)
{
	uint32_t at = lower_bound(x->path, host->first, host->end, key, false);

	for (uint32_t up = at > host->first ? at : 0; up;
	     up = x->path[up - 1].up)
		if (is_head(key_at(&x->path[up - 1], false), key, false))
			add_boxes(p, x, &x->path[up - 1]);
	for (;
	     at < host->end && is_head(key, key_at(&x->path[at], false), false);
	     at++)
		add_boxes(p, x, &x->path[at]);
	p->s.steps++;
}

void
index_find(struct prover *p, const struct boxes *in, struct key host,
    struct key path)
{
	const struct index *x = in->index;
	uint32_t at = lower_bound(x->host, 0, x->host_n, &host, true);

	p->hits.n = 0;
	for (uint32_t up = at; up; up = x->host[up - 1].up)
		if (is_head(key_at(&x->host[up - 1], true), &host, true))
			find_paths(p, x, &x->host[up - 1], &path);
	for (;
	     at < x->host_n && is_head(&host, key_at(&x->host[at], true), true);
	     at++)
		find_paths(p, x, &x->host[at], &path);
}
