/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a sandbox. Layers of the environment, later ones win: ours,
 * the image's, the template's, the spec's. An image that wants root gets the
 * house's own user instead; a policy that asks for root is refused.
 */
#include <string.h>

#include "gateway/plan.h"
#include "wire/wire.h"

#define DEFAULT_PATH \
 "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

enum {
	ENTRIES = 512, /* of a whole environment */
};

struct list {
	char **items;
	size_t n;
};

/* Replace NAME=..., or append. */
static int
put(struct list *l, struct span name, struct span value, struct arena *a,
    struct fault *f)
{
	size_t at = 0;

	for (; at < l->n; at++) {
		struct span s = span_str(l->items[at]);

		if (s.len > name.len && s.ptr[name.len] == '=' &&
		    memcmp(s.ptr, name.ptr, name.len) == 0)
			break;
	}
	if (at == ENTRIES)
		return fault_field(f, "environment",
		    "over %d environment entries together", ENTRIES);
	l->items[at] = arena_fmt(a, "%.*s=%.*s", (int)name.len,
	    (const char *)name.ptr, (int)value.len, (const char *)value.ptr);
	if (l->items[at] == NULL)
		return fault_set(f, FAULT_LIMIT, "the environment is too big");
	if (at == l->n)
		l->n++;
	return 0;
}

static int
put_text(struct list *l, const char *name, const char *value, struct arena *a,
    struct fault *f)
{
	return put(l, span_str(name), span_str(value), a, f);
}

static int
put_pairs(struct list *l, const struct pair *pairs, size_t n, struct arena *a,
    struct fault *f)
{
	for (size_t i = 0; i < n; i++) {
		if (put(l, span_str(pairs[i].key), span_str(pairs[i].value), a,
			f) < 0)
			return -1;
	}
	return 0;
}

/* What would say what every program of the image is to load, and our names. */
static bool
is_ours(struct span name)
{
	return span_starts(name, "LD_") || span_starts(name, "OPENSHELL_") ||
	    span_starts(name, "NACRE_");
}

/* The image's own are not checked as a caller's are; odd ones are dropped. */
static int
put_image(struct list *l, const char *const *env, struct arena *a,
    struct fault *f)
{
	for (; env != NULL && *env != NULL; env++) {
		struct span s = span_str(*env);
		size_t eq = span_find(s, '=');

		if (eq == 0 || eq == s.len || s.len > LIMIT_ENV_VALUE ||
		    is_ours(span_of(s.ptr, eq)))
			continue;
		if (put(l, span_of(s.ptr, eq), span_from(s, eq + 1), a, f) < 0)
			return -1;
	}
	return 0;
}

static const struct pair *
pairs_of(const void *entries)
{
	/* nanopb's map entries are a key and a value, as struct pair is. */
	_Static_assert(sizeof(openshell_v1_SandboxSpec_EnvironmentEntry) ==
		sizeof(struct pair),
	    "one form of pairs");
	return entries;
}

static int
make_env(const openshell_v1_SandboxSpec *spec, const struct image_info *image,
    struct arena *a, nacre_store_v1_Plan *plan, struct fault *f)
{
	const openshell_v1_SandboxTemplate *t = &spec->template;
	struct list l = { .n = 0 };

	l.items = arena_get(a, (ENTRIES + 1) * sizeof(*l.items));
	if (l.items == NULL)
		return fault_set(f, FAULT_LIMIT, "the environment is too big");
	if (put_text(&l, "PATH", DEFAULT_PATH, a, f) < 0 ||
	    put_image(&l, image->config.env, a, f) < 0 ||
	    put_text(&l, "HOME", plan->home, a, f) < 0 ||
	    put_text(&l, "USER", plan->user, a, f) < 0 ||
	    put_text(&l, "LOGNAME", plan->user, a, f) < 0 ||
	    put_text(&l, "SHELL", "/bin/sh", a, f) < 0 ||
	    put_text(&l, "OPENSHELL_SANDBOX", "1", a, f) < 0 ||
	    put_pairs(&l, pairs_of(t->environment), t->environment_count, a,
		f) < 0 ||
	    put_pairs(&l, pairs_of(spec->environment), spec->environment_count,
		a, f) < 0)
		return -1;
	plan->env = l.items;
	plan->env_count = (pb_size_t)l.n;
	return 0;
}

/* The first of what is wrong is the message, where it is the field. */
static int
wrong(struct fault *f)
{
	if (f->code == FAULT_INVALID || f->code == FAULT_LIMIT)
		f->code = FAULT_POLICY_INVALID;
	if (f->field[0] == '\0')
		(void)text_copy(f->field, sizeof(f->field), span_str("policy"));
	return fault_prefix(f, "policy");
}

int
plan_policy(const struct _openshell_sandbox_v1_SandboxPolicy *m, unsigned flags,
    struct arena *a, struct policy *p, struct fault *f)
{
	struct yaml_errors *errors = arena_get(a, sizeof(*errors));
	openshell_sandbox_v1_SandboxPolicy none =
	    openshell_sandbox_v1_SandboxPolicy_init_zero;

	if (errors == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	none.version = 1;
	if (policy_read_message(m != NULL ? m : &none, flags, a, p, errors, f) <
	    0)
		return wrong(f);
	return 0;
}

int
plan_policy_text(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct fault *f)
{
	struct yaml_errors *errors = arena_get(a, sizeof(*errors));

	if (errors == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	if (policy_read_yaml(text, flags, a, p, errors, f) < 0)
		return wrong(f);
	return 0;
}

static bool
is_json(struct span text)
{
	while (text.len > 0 && strchr(" \t\r\n", text.ptr[0]) != NULL &&
	    text.ptr[0] != '\0')
		text = span_from(text, 1);
	return text.len > 0 && text.ptr[0] == '{';
}

int
plan_policy_asked(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct fault *f)
{
	struct yaml_errors *errors;

	if (!is_json(text))
		return plan_policy_text(text, flags, a, p, f);
	errors = arena_get(a, sizeof(*errors));
	if (errors == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	if (policy_read_json(text, flags, a, p, errors, f) < 0)
		return wrong(f);
	return 0;
}

int
plan_inherit(char *const *names, size_t n, unsigned *out, struct fault *f)
{
	static const struct {
		const char *name;
		unsigned bit;
	} sections[] = {
		{ "filesystem_policy", POLICY_FILESYSTEM },
		{ "landlock", POLICY_LANDLOCK },
		{ "process", POLICY_PROCESS },
		{ "network_policies", POLICY_NETWORK },
	};

	*out = 0;
	for (size_t i = 0; i < n; i++) {
		size_t s = 0;

		while (s < NELEM(sections) &&
		    strcmp(sections[s].name, names[i]) != 0)
			s++;
		if (s == NELEM(sections))
			return fault_field(f, "inherit",
			    "inherit names sections of a policy");
		*out |= sections[s].bit;
	}
	return 0;
}

int
plan_complete(const struct policy *child, const struct policy *parent,
    unsigned inherit, struct arena *a, struct policy *out, struct fault *f)
{
	if (policy_complete(child, parent, inherit, a, out, f) < 0)
		return wrong(f);
	return 0;
}

static int
resolve_user(const struct image_info *image, const struct policy *p,
    struct arena *a, nacre_store_v1_Plan *plan, struct fault *f)
{
	struct image_account who;

	if (image_run_as(image, p->user, p->group, &who, f) < 0)
		return -1;
	plan->uid = who.uid;
	plan->gid = who.gid;
	plan->user = arena_str(a, span_str(who.name));
	plan->home = arena_str(a, span_str(who.home));
	plan->workdir = arena_str(a, span_str(image_workdir(image, &who)));
	return 0;
}

/* Both live in the call's arena. */
static void
keep_image_env(const char *const *env, nacre_store_v1_Plan *plan)
{
	_Static_assert(sizeof(*env) == sizeof(*plan->image_env),
	    "one form of texts");
	memcpy(&plan->image_env, &env, sizeof(env));
	while (env != NULL && env[plan->image_env_count] != NULL)
		plan->image_env_count++;
}

int
plan_make(const openshell_v1_SandboxSpec *spec, const struct image_info *image,
    const struct policy *p, struct arena *a, nacre_store_v1_Plan *plan,
    struct fault *f)
{
	if (resolve_user(image, p, a, plan, f) < 0 ||
	    make_env(spec, image, a, plan, f) < 0)
		return -1;
	plan->tty = spec->tty;
	plan->argv = spec->command;
	plan->argv_count = spec->command_count;
	plan->policy = wire_bytes(a, p->text);
	plan->image_user = arena_str(a, span_str(image->config.user));
	keep_image_env(image->config.env, plan);
	if (plan->policy == NULL || plan->workdir == NULL)
		return fault_set(f, FAULT_LIMIT, "the policy is too big");
	return 0;
}

int
plan_env(const nacre_store_v1_Plan *plan, struct plan_env *e, struct arena *a,
    struct fault *f)
{
	struct list l = { .n = 0 };

	l.items = arena_get(a, (ENTRIES + 1) * sizeof(*l.items));
	if (l.items == NULL || plan->env_count > ENTRIES)
		return fault_set(f, FAULT_LIMIT, "the environment is too big");
	if (put_text(&l, "TERM", e->tty ? "xterm-256color" : "dumb", a, f) < 0)
		return -1;
	for (pb_size_t i = 0; i < plan->env_count; i++) {
		struct span s = span_str(plan->env[i]);
		size_t eq = span_find(s, '=');

		if (put(&l, span_of(s.ptr, eq), span_from(s, eq + 1), a, f) < 0)
			return -1;
	}
	if (put_pairs(&l, e->more, e->more_n, a, f) < 0)
		return -1;
	e->env = l.items;
	e->n = (pb_size_t)l.n;
	return 0;
}
