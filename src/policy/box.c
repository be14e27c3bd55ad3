/* SPDX-License-Identifier: Apache-2.0 */
/* From the form to its boxes, and what a box is called. */
#include <string.h>

#include "policy/inner.h"

/* An endpoint without rules of its own allows all that it carries. */
static bool
is_whole(const struct policy_endpoint *e)
{
	return e->kind == POLICY_OPAQUE || e->audit;
}

struct making {
	struct policy_box *allow; /* NULL while counting */
	struct policy_box *deny;
	size_t allows;
	size_t denies;
};

static void
add(struct policy_box *list, size_t *n, const struct policy_entry *entry,
    const struct policy_endpoint *e, const struct policy_rule *rule, bool deny)
{
	if (list)
		list[*n] = (struct policy_box){ entry, e, rule, deny };
	++*n;
}

static void
endpoint_make(struct making *m, const struct policy_entry *entry,
    const struct policy_endpoint *e)
{
	if (is_whole(e)) {
		add(m->allow, &m->allows, entry, e, NULL, false);
		return;
	}
	for (size_t i = 0; i < e->allows.n; i++)
		add(m->allow, &m->allows, entry, e, &e->allows.rule[i], false);
	for (size_t i = 0; i < e->denies.n; i++)
		add(m->deny, &m->denies, entry, e, &e->denies.rule[i], true);
}

static void
make(struct making *m, const struct policy *p)
{
	m->allows = m->denies = 0;
	for (size_t i = 0; i < p->entries_n; i++)
		for (size_t k = 0; k < p->entries[i].endpoints_n; k++)
			endpoint_make(m, &p->entries[i],
			    &p->entries[i].endpoints[k]);
}

int
boxes_make(struct policy *p, struct arena *a, struct fault *f)
{
	struct making m = { NULL, NULL, 0, 0 };

	make(&m, p);
	m.allow = arena_get(a, (m.allows + 1) * sizeof(*m.allow));
	m.deny = arena_get(a, (m.denies + 1) * sizeof(*m.deny));
	if (!m.allow || !m.deny)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	make(&m, p);
	p->allows = (struct policy_boxes){ m.allow, m.allows };
	p->denies = (struct policy_boxes){ m.deny, m.denies };
	return 0;
}

static void
rule_name(const struct policy_box *b, char *out, size_t size)
{
	static const char *const access[] = { "", "read-only", "read-write",
		"full" };
	const struct policy_endpoint *e = b->endpoint;

	if (!b->rule)
		(void)text_fmt(out, size, "%s",
		    e->kind == POLICY_OPAQUE ? "" : " audit");
	else if (b->deny)
		(void)text_fmt(out, size, " deny %u", (unsigned)b->rule->index);
	else if (b->rule->index == POLICY_IMPLIED)
		(void)text_fmt(out, size, " all methods");
	else if (e->access)
		(void)text_fmt(out, size, " access %s", access[e->access]);
	else
		(void)text_fmt(out, size, " rule %u", (unsigned)b->rule->index);
}

void
policy_box_format(const struct policy_box *b, char *out, size_t size)
{
	char key[128];
	char rule[32];

	text_escape(b->entry->key, key, sizeof(key));
	rule_name(b, rule, sizeof(rule));
	(void)text_fmt(out, size, "network_policies.%s endpoint %u%s", key,
	    (unsigned)b->endpoint->index, rule);
}
