/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CreateChildSandbox without a parent: a root of its own, as CreateSandbox
 * makes it, in the words of this call. The call goes on as one of a row that
 * differs in its effect.
 */
#include <string.h>

#include "gateway/await.h"
#include "gateway/child.h"
#include "gateway/do.h"
#include "gateway/refuse.h"
#include "wire/wire.h"

struct root_ask {
	openshell_v1_CreateSandboxRequest north; /* first: c->ask */
	struct child_create *k;
};

static struct root_ask *
ask_of(struct call *c)
{
	return c->ask;
}

static int
do_root(struct call *c, struct fault *f)
{
	struct child_create *k = ask_of(c)->k;

	if (k->is_repeat)
		return 0;
	if (child_repeat(c, k, f) < 0)
		return -1;
	if (k->is_repeat)
		return 0;
	if (do_create(c, f) < 0)
		return -1;
	buf_clear(&c->answer);
	(void)text_copy(k->row.id, sizeof(k->row.id), span_str(c->sandbox_id));
	c->undo = await_undo;
	return child_keep_request(c, k, f);
}

static void
do_root_answer(struct call *c)
{
	const struct child_create *k = ask_of(c)->k;

	if (!k->is_repeat)
		crash_at("after_reserve");
	await_start(c, k->is_repeat ? 0 : k->ask.wait_ms);
}

static int
fill(struct call *c, struct root_ask *to, struct fault *f)
{
	const nacre_v1_CreateChildSandboxRequest *ask = c->ask;
	openshell_v1_SandboxSpec *s = &to->north.spec;

	to->north.name = ask->name;
	to->north.has_spec = true;
	s->has_template = true;
	s->template.image = ask->from;
	s->command = ask->command;
	s->command_count = ask->command_count;
	s->environment = (void *)ask->environment;
	s->environment_count = ask->environment_count;
	if (ask->inherit_count > 0)
		return fault_field(f, "inherit",
		    "inherit is for a child: a root has no parent");
	if (to->k->ask.providers_n > 0)
		return fault_set(f, FAULT_UNIMPLEMENTED,
		    "providers are not served by this gateway");
	if (!to->k->ask.has_policy)
		return 0;
	s->has_policy = true;
	return policy_message(&to->k->written, &c->arena, &s->policy, f);
}

int
do_root_decide(struct call *c, struct child_create *k, struct fault *f)
{
	struct root_ask *to = arena_get(&c->arena, sizeof(*to));
	struct method *m = arena_get(&c->arena, sizeof(*m));

	if (to == NULL || m == NULL)
		return fault_set(f, FAULT_LIMIT, "the call is too big");
	to->k = k;
	if (child_policy(c, k, f) < 0)
		return -1;
	child_digest(k);
	if (child_repeat(c, k, f) < 0)
		return -1;
	if (k->unread.code != FAULT_NONE) {
		*f = k->unread;
		return -1;
	}
	if (fill(c, to, f) < 0)
		return -1;
	*m = *c->method;
	m->effect = do_root;
	m->answer = do_root_answer;
	c->method = m;
	c->ask = to;
	return k->is_repeat ? 0 : do_create_decide(c, f);
}
