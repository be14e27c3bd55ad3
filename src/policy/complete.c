/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child written out below its parent, before anything is judged: sections it
 * does not have are the parent's, and a name that the parent reaches through
 * wildcards only, hence at public addresses only, is held to those.
 */
#include <string.h>

#include "policy/inner.h"

enum {
	PAIR = 2, /* positions that a look at one wildcard is worth */
	POSITIONS = 30000000, /* gone through for one policy, some 50 ms */
};

struct completion {
	const struct policy *parent;
	struct arena *a;
	struct policy_addresses public_set;
	struct span *names; /* of the parent's endpoints, sorted */
	size_t names_n;
	const struct policy_glob **globs;
	size_t globs_n;
	bool hostless; /* one of them is */
	uint64_t left; /* of POSITIONS */
	bool spent;
};

static int
by_bytes(const void *x, const void *y)
{
	const struct span *a = x;
	const struct span *b = y;
	int c = memcmp(a->ptr, b->ptr, a->len < b->len ? a->len : b->len);

	return c ? c : (a->len > b->len) - (a->len < b->len);
}

static void
host_collect(struct completion *c, const struct policy_host *h)
{
	switch (h->kind) {
	case POLICY_HOST_NONE:
		c->hostless = true;
		break;
	case POLICY_HOST_NAME:
		c->names[c->names_n++] = h->glob.text;
		break;
	case POLICY_HOST_GLOB:
		c->globs[c->globs_n++] = &h->glob;
		break;
	case POLICY_HOST_ADDRESS:
		break;
	}
}

/* The parent's hosts: of any program, any port. */
static void
hosts_collect(struct completion *c)
{
	const struct policy *parent = c->parent;
	size_t n = 1;

	for (size_t i = 0; i < parent->entries_n; i++)
		n += parent->entries[i].endpoints_n;
	c->names = arena_get(c->a, n * sizeof(*c->names));
	c->globs = arena_get(c->a, n * sizeof(*c->globs));
	if (!c->names || !c->globs) {
		c->spent = true;
		return;
	}
	for (size_t i = 0; i < parent->entries_n; i++)
		for (size_t k = 0; k < parent->entries[i].endpoints_n; k++)
			host_collect(c, &parent->entries[i].endpoints[k].host);
	if (c->names_n > 0)
		qsort(c->names, c->names_n, sizeof(*c->names), by_bytes);
}

/* What comes after the last hole of both is the same. */
static bool
ends_alike(const struct policy_glob *g, struct span name)
{
	uint32_t i = g->n;

	while (name.len > 0 && i > 0 && g->steps[i - 1] < POLICY_STEP_STAR) {
		if (g->steps[--i] != name.ptr[--name.len])
			return false;
	}
	return true;
}

/* Hostless is no wildcard. */
static bool
only_by_wildcards(struct completion *c, struct span name)
{
	if (c->hostless ||
	    bsearch(&name, c->names, c->names_n, sizeof(name), by_bytes))
		return false;
	for (size_t i = 0; i < c->globs_n && c->left > 0; i++) {
		c->left -= c->left < PAIR ? c->left : PAIR;
		if (ends_alike(c->globs[i], name) &&
		    policy_glob_walk(c->globs[i], name, &c->left))
			return true;
	}
	return false;
}

static void
endpoint_complete(struct completion *c, struct policy_endpoint *e)
{
	if (e->host.kind != POLICY_HOST_NAME || allowed_given(&e->allowed) ||
	    !only_by_wildcards(c, e->host.glob.text))
		return;
	e->allowed.is_public = true;
	e->addresses = c->public_set;
}

static void
entry_complete(struct completion *c, struct policy_entry *entry)
{
	struct policy_endpoint *list =
	    arena_get(c->a, (entry->endpoints_n + 1) * sizeof(*list));

	if (!list) {
		c->spent = true;
		return;
	}
	for (size_t i = 0; i < entry->endpoints_n; i++) {
		list[i] = entry->endpoints[i];
		endpoint_complete(c, &list[i]);
	}
	entry->endpoints = list;
}

static void
network_complete(struct completion *c, struct policy *p)
{
	struct policy_entry *list =
	    arena_get(c->a, (p->entries_n + 1) * sizeof(*list));

	if (!list || c->spent) {
		c->spent = true;
		return;
	}
	for (size_t i = 0; i < p->entries_n && !c->spent; i++) {
		list[i] = p->entries[i];
		entry_complete(c, &list[i]);
	}
	p->entries = list;
}

static void
inherit_files(struct policy *p, const struct policy *parent)
{
	p->has_filesystem = parent->has_filesystem;
	p->filesystem_place = parent->filesystem_place;
	p->include_workdir = parent->include_workdir;
	p->read_only = parent->read_only;
	p->read_write = parent->read_write;
}

static void
inherit_network(struct policy *p, const struct policy *parent)
{
	p->has_network = parent->has_network;
	p->network_place = parent->network_place;
	p->entries = parent->entries;
	p->entries_n = parent->entries_n;
}

int
policy_complete(const struct policy *child, const struct policy *parent,
    unsigned inherit, struct arena *a, struct policy *out, struct fault *f)
{
	struct completion c = { .parent = parent, .a = a, .left = POSITIONS };
	struct policy p = { 0 };

	if (child)
		p = *child;
	if (!p.has_filesystem || (inherit & POLICY_FILESYSTEM))
		inherit_files(&p, parent);
	if (!p.has_landlock || (inherit & POLICY_LANDLOCK)) {
		p.has_landlock = parent->has_landlock;
		p.landlock_place = parent->landlock_place;
		p.best_effort = parent->best_effort;
	}
	if (!p.has_process || (inherit & POLICY_PROCESS)) {
		p.has_process = parent->has_process;
		p.process_place = parent->process_place;
		memcpy(p.user, parent->user, sizeof(p.user));
		memcpy(p.group, parent->group, sizeof(p.group));
	}
	if (!p.has_network || (inherit & POLICY_NETWORK)) {
		inherit_network(&p, parent);
	} else if (policy_addresses_of(false, a, &c.public_set, f) != 0) {
		return -1;
	} else {
		hosts_collect(&c);
		network_complete(&c, &p);
	}
	if (c.spent)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	if (c.left == 0)
		return fault_set(f, FAULT_LIMIT,
		    "network_policies: too many names to look for in too many "
		    "wildcards of the parent");
	if (policy_settle(&p, a, f) != 0)
		return -1;
	*out = p;
	return 0;
}
