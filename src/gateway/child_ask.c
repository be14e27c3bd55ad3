/* SPDX-License-Identifier: Apache-2.0 */
/* What a create of a child asks for, read out of its message. */
#include <string.h>

#include "gateway/child.h"
#include "gateway/plan.h"
#include "wire/wire.h"

static int
out_of_room(struct fault *f)
{
	return fault_set(f, FAULT_LIMIT, "the arguments take too much memory");
}

static void
take(const char *text, bool *has, struct span *out)
{
	*has = text != NULL;
	*out = span_str(text);
}

static int
take_list(char *const *texts, size_t n, struct arena *a,
    const struct span **out, size_t *out_n, struct fault *f)
{
	struct span *to = arena_get(a, (n + 1) * sizeof(*to));

	if (to == NULL)
		return out_of_room(f);
	for (size_t i = 0; i < n; i++)
		to[i] = span_str(texts[i]);
	*out = to;
	*out_n = n;
	return 0;
}

static int
take_environment(const nacre_v1_CreateChildSandboxRequest *ask, struct arena *a,
    struct grant_create *to, struct fault *f)
{
	struct grant_variable *v =
	    arena_get(a, (ask->environment_count + 1) * sizeof(*v));

	if (v == NULL)
		return out_of_room(f);
	for (pb_size_t i = 0; i < ask->environment_count; i++) {
		v[i].name = span_str(ask->environment[i].key);
		v[i].value = span_str(ask->environment[i].value);
	}
	to->environment = v;
	to->environment_n = ask->environment_count;
	return 0;
}

static int
take_kind(const char *kind, struct grant_create *to, struct fault *f)
{
	if (kind == NULL || strcmp(kind, "agent") == 0)
		return 0;
	if (strcmp(kind, "tool") != 0)
		return fault_field(f, "kind", "kind must be agent or tool");
	to->kind = GRANT_TOOL;
	return 0;
}

int
child_ask(struct call *c, struct grant_create *to, struct fault *f)
{
	const nacre_v1_CreateChildSandboxRequest *ask = c->ask;

	grant_create_init(to);
	take(ask->name, &to->has_name, &to->name);
	take(ask->request_id, &to->has_request_id, &to->request_id);
	take(ask->parent, &to->has_parent, &to->parent);
	take(ask->from, &to->has_from, &to->from);
	take(ask->policy, &to->has_policy, &to->policy);
	to->has_command = ask->command_count > 0;
	to->has_providers = ask->has_providers || ask->providers_count > 0;
	to->has_idle = ask->has_idle_seconds;
	if (ask->has_idle_seconds)
		to->idle_seconds = ask->idle_seconds;
	if (ask->has_wait_ms)
		to->wait_ms = ask->wait_ms;
	if (ask->has_policy_message && to->has_policy)
		return fault_field(f, "policy",
		    "policy is given once, as text or as a message");
	if (take_kind(ask->kind, to, f) < 0 ||
	    plan_inherit(ask->inherit, ask->inherit_count, &to->inherit, f) <
		0 ||
	    take_list(ask->command, ask->command_count, &c->arena, &to->command,
		&to->command_n, f) < 0 ||
	    take_list(ask->providers, ask->providers_count, &c->arena,
		&to->providers, &to->providers_n, f) < 0)
		return -1;
	return take_environment(ask, &c->arena, to, f);
}

/* --- its policy */

int
child_policy(struct call *c, struct child_create *k, struct fault *f)
{
	const nacre_v1_CreateChildSandboxRequest *ask = c->ask;

	if (ask->has_policy_message) {
		k->ask.has_policy = true;
		(void)!plan_policy(&ask->policy_message, POLICY_READ_CHILD,
		    &c->arena, &k->written, &k->unread);
	} else if (k->ask.has_policy) {
		(void)!plan_policy_asked(k->ask.policy, POLICY_READ_CHILD,
		    &c->arena, &k->written, &k->unread);
	}
	if (k->unread.code != FAULT_NONE &&
	    k->unread.code != FAULT_POLICY_INVALID) {
		*f = k->unread;
		return -1;
	}
	return 0;
}
