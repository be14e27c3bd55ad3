/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A child written out below its parent, before anything is judged: sections it
 * does not have are the parent's, and a name that the parent reaches through
 * wildcards only, hence at public addresses only, is held to those.
 */
#include <string.h>

#include "policy/inner.h"

struct completion {
	const struct policy *parent;
	struct arena *a;
	struct policy_addresses public_set;
	bool spent;
};

/* Any program, any port; hostless is no wildcard. */
static bool
only_by_wildcards(const struct policy *parent, const struct policy_host *host)
{
	bool some = false;

	for (size_t i = 0; i < parent->entries_n; i++)
		for (size_t k = 0; k < parent->entries[i].endpoints_n; k++) {
			const struct policy_host *h =
			    &parent->entries[i].endpoints[k].host;

			if (!policy_host_match(h, host->glob.text))
				continue;
			if (h->kind != POLICY_HOST_GLOB)
				return false;
			some = true;
		}
	return some;
}

static void
endpoint_complete(struct completion *c, struct policy_endpoint *e)
{
	if (e->host.kind != POLICY_HOST_NAME || allowed_given(&e->allowed) ||
	    !only_by_wildcards(c->parent, &e->host))
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

	if (!list) {
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
	struct completion c = { .parent = parent, .a = a };
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
		network_complete(&c, &p);
	}
	if (c.spent)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	if (policy_settle(&p, a, f) != 0)
		return -1;
	*out = p;
	return 0;
}
