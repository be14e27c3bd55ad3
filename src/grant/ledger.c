/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A create that is sent twice. Two creates are the same when what they ask
 * for is: the digest is over parsed values, each with its tag and length, so
 * no two different ones have the same bytes under it.
 */
#include <string.h>

#include "grant/inner.h"

enum tag {
	TAG_NAME = 1,
	TAG_KIND,
	TAG_COMMAND,
	TAG_POLICY,
	TAG_VARIABLE,
	TAG_VALUE,
	TAG_PROVIDERS,
	TAG_PROVIDER,
	TAG_IDLE,
	TAG_FROM,
	TAG_INHERIT,
};

static void
add(struct digest *d, enum tag tag, struct span s)
{
	uint8_t head[9] = { (uint8_t)tag };

	for (size_t i = 0; i < 8; i++)
		head[1 + i] = (uint8_t)((uint64_t)s.len >> (8 * i));
	digest_update(d, span_of(head, sizeof(head)));
	digest_update(d, s);
}

static void
add_number(struct digest *d, enum tag tag, int64_t n)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((uint64_t)n >> (8 * i));
	add(d, tag, span_of(bytes, sizeof(bytes)));
}

static bool
is_less(struct span a, struct span b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.ptr, b.ptr, n) : 0;

	return order < 0 || (order == 0 && a.len < b.len);
}

/*
 * In the order of names, without memory: each time the least one above the
 * last. Lists are short and checked: no two variables have one name, and a
 * provider that is named twice counts once.
 */
static const struct grant_variable *
next_variable(const struct grant_create *c, const struct grant_variable *last)
{
	const struct grant_variable *best = NULL;

	for (size_t i = 0; i < c->environment_n; i++) {
		const struct grant_variable *v = &c->environment[i];

		if ((!last || is_less(last->name, v->name)) &&
		    (!best || is_less(v->name, best->name)))
			best = v;
	}
	return best;
}

static const struct span *
next_provider(const struct grant_create *c, const struct span *last)
{
	const struct span *best = NULL;

	for (size_t i = 0; i < c->providers_n; i++) {
		const struct span *s = &c->providers[i];

		if ((!last || is_less(*last, *s)) &&
		    (!best || is_less(*s, *best)))
			best = s;
	}
	return best;
}

static void
add_environment(struct digest *d, const struct grant_create *c)
{
	const struct grant_variable *v = NULL;

	while ((v = next_variable(c, v))) {
		add(d, TAG_VARIABLE, v->name);
		add(d, TAG_VALUE, v->value);
	}
}

static void
add_providers(struct digest *d, const struct grant_create *c)
{
	const struct span *s = NULL;

	add_number(d, TAG_PROVIDERS, c->has_providers);
	while ((s = next_provider(c, s)))
		add(d, TAG_PROVIDER, *s);
}

void
grant_create_digest(const struct grant_create *c, const uint8_t *policy_hash,
    uint8_t out[DIGEST_SIZE])
{
	struct digest d;

	BUG_IF(c->has_policy != (policy_hash != NULL));
	digest_init(&d);
	if (c->has_name)
		add(&d, TAG_NAME, c->name);
	add_number(&d, TAG_KIND, c->kind);
	for (size_t i = 0; i < c->command_n; i++)
		add(&d, TAG_COMMAND, c->command[i]);
	if (policy_hash)
		add(&d, TAG_POLICY, span_of(policy_hash, DIGEST_SIZE));
	add_environment(&d, c);
	add_providers(&d, c);
	if (c->kind == GRANT_TOOL)
		add_number(&d, TAG_IDLE, c->idle_seconds);
	if (c->has_from)
		add(&d, TAG_FROM, c->from);
	if (c->inherit)
		add_number(&d, TAG_INHERIT, c->inherit);
	digest_final(&d, out);
}

int
grant_may_repeat(const struct grant_first *first,
    const uint8_t digest[DIGEST_SIZE], bool *is_repeat, struct grant_refusal *r)
{
	*is_repeat = false;
	if (!first->is_found)
		return 0;
	if (memcmp(first->digest, digest, DIGEST_SIZE) != 0) {
		(void)grant_refuse(r, GRANT_INVALID_ARGUMENT,
		    "this request_id was used with other arguments");
		(void)text_fmt(r->field, sizeof(r->field), "request_id");
		return grant_hint(r,
		    "take a new request_id for a new child; repeat one only to "
		    "send the same call again");
	}
	if (!first->is_done) {
		(void)grant_refuse(r, GRANT_IN_PROGRESS,
		    "the first call with this request_id is not done");
		r->sandbox_id = first->child;
		return grant_hint(r,
		    "look at it with get_sandbox, or send the same call again");
	}
	*is_repeat = true;
	return 0;
}
