/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoints that share a place (host, port and path) must be of one mind
 * about it: protocol, enforcement and tls. Otherwise which of them counts
 * would depend on order or chance. Programs do not matter here.
 *
 * Every pair of minds that differ is looked at. The work is counted and has an
 * end, so that no file holds up who reads it.
 */
#include <string.h>

#include "policy/inner.h"

enum {
	PAIR = 4,         /* steps that a look at one pair is worth, */
	TELL = 400,       /* and a sentence about one */
	STEPS = 80000000, /* some 100 ms */
};

struct at {
	const struct policy_entry *entry;
	const struct policy_endpoint *endpoint;
};

static unsigned
mind(const struct policy_endpoint *e)
{
	return (unsigned)e->kind << 2 | (unsigned)e->audit << 1 |
	    (unsigned)e->skip_tls;
}

/* Opaque traffic has no path: it is on all of them. */
static bool
meet(const struct policy_endpoint *a, const struct policy_endpoint *b,
    uint64_t *steps)
{
	if (!policy_ports_meet(&a->ports, &b->ports) ||
	    !policy_hosts_meet(&a->host, &b->host, steps))
		return false;
	return a->kind == POLICY_OPAQUE || b->kind == POLICY_OPAQUE ||
	    policy_globs_meet(&a->path, &b->path, steps);
}

static const char *
difference(const struct policy_endpoint *a, const struct policy_endpoint *b)
{
	if (a->kind != b->kind)
		return "protocol";
	return a->audit != b->audit ? "enforcement" : "tls";
}

static const char *
rewrite(const struct policy_endpoint *a, const struct policy_endpoint *b)
{
	if (a->kind == b->kind)
		return "write the same in both";
	if (a->kind == POLICY_OPAQUE || b->kind == POLICY_OPAQUE)
		return "give both one, as in 'protocol: rest, access: full'";
	return "give them one, or paths that do not meet";
}

/* Said at the later of the two. */
static void
tell(struct reader *r, const struct at *a, const struct at *b)
{
	const struct policy_place *p = &a->endpoint->place;
	const char *what = difference(a->endpoint, b->endpoint);
	char key[48];
	char other[96];

	text_escape(a->entry->key, key, sizeof(key));
	if (r->source == READ_YAML)
		(void)text_fmt(other, sizeof(other), "%s endpoint %u (%u:%u)",
		    key, (unsigned)a->endpoint->index, (unsigned)p->line,
		    (unsigned)p->column);
	else
		(void)text_fmt(other, sizeof(other), "%s endpoint %u", key,
		    (unsigned)a->endpoint->index);
	text_escape(b->entry->key, key, sizeof(key));
	yaml_error(r->errors, b->endpoint->place.line,
	    b->endpoint->place.column,
	    "%s endpoint %u overlaps %s, but their %s differs: %s", key,
	    (unsigned)b->endpoint->index, other, what,
	    rewrite(a->endpoint, b->endpoint));
}

static struct at *
collect(struct reader *r, size_t *n)
{
	const struct policy *p = r->p;
	struct at *list = read_room(r, r->endpoints, sizeof(*list));

	*n = 0;
	for (size_t i = 0; list && i < p->entries_n; i++)
		for (size_t k = 0; k < p->entries[i].endpoints_n; k++)
			list[(*n)++] = (struct at){ &p->entries[i],
				&p->entries[i].endpoints[k] };
	return list;
}

void
overlap_check(struct reader *r)
{
	uint64_t steps = 0;
	size_t n;
	struct at *list;

	if (r->errors->count > 0 || r->spent)
		return; /* not all of them are whole */
	list = collect(r, &n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i && steps < STEPS; k++) {
			steps += PAIR;
			if (mind(list[i].endpoint) == mind(list[k].endpoint) ||
			    !meet(list[k].endpoint, list[i].endpoint, &steps))
				continue;
			tell(r, &list[k], &list[i]);
			steps += TELL;
		}
	if (steps >= STEPS && r->errors->count == 0)
		yaml_error(r->errors, r->p->network_place.line,
		    r->p->network_place.column,
		    "network_policies: too many wildcards of differing "
		    "endpoints on the same ports to tell whether they overlap");
}
