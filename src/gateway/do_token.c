/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of users: made, listed, revoked. A secret is told once, to the one
 * who asked, and is nowhere in the record. */
#include <string.h>

#include "gateway/bearer.h"
#include "gateway/do.h"
#include "gateway/refusal.h"
#include "gateway/refuse.h"
#include "proto/nacre_v1.pb.h"

static bool
is_given(const char *s)
{
	return s != NULL && *s != '\0';
}

static char *
text(struct call *c, const char *s)
{
	return arena_str(&c->arena, span_str(s));
}

static int
split_scopes(struct call *c, const char *scopes, nacre_v1_Token *t,
    struct fault *f)
{
	struct span rest = span_str(scopes);

	t->scopes = arena_get(&c->arena, 16 * sizeof(*t->scopes));
	while (t->scopes != NULL && rest.len > 0 && t->scopes_count < 16) {
		size_t n = span_find(rest, ' ');

		t->scopes[t->scopes_count] =
		    arena_str(&c->arena, span_of(rest.ptr, n));
		if (t->scopes[t->scopes_count] == NULL)
			return fault_set(f, FAULT_LIMIT, "it is too long");
		t->scopes_count++;
		rest = span_from(rest, n + 1);
	}
	return 0;
}

static int
describe(struct call *c, const struct store_token *row, nacre_v1_Token *t,
    struct fault *f)
{
	t->id = text(c, row->id);
	t->name = text(c, row->name);
	t->user = text(c, row->user);
	t->created_ms = row->created_ms;
	t->expires_ms = row->expires_ms;
	return split_scopes(c, row->scopes, t, f);
}

static int
take_scopes(const nacre_v1_CreateTokenRequest *ask, struct store_token *row,
    struct fault *f)
{
	if (ask->scopes_count == 0)
		return text_copy(row->scopes, sizeof(row->scopes),
			   SPAN_LIT(BEARER_SCOPES))
		    ? 0
		    : -1;
	for (pb_size_t i = 0; i < ask->scopes_count; i++) {
		size_t n = strlen(row->scopes);

		if (!bearer_is_scope(ask->scopes[i]))
			return fault_field(f, "scopes",
			    "'%.40s' is none of " BEARER_SCOPES " grant:write",
			    ask->scopes[i]);
		if (scope_has(row->scopes, ask->scopes[i]))
			continue;
		if (!text_fmt(row->scopes + n, sizeof(row->scopes) - n, "%s%s",
			n > 0 ? " " : "", ask->scopes[i]))
			return fault_field(f, "scopes", "too many of them");
	}
	return 0;
}

static int
take_name(const char *name, struct store_token *row, struct fault *f)
{
	if (!is_given(name)) /* a random one, from its id */
		return text_fmt(row->name, sizeof(row->name), "token-%.8s",
			   row->id)
		    ? 0
		    : -1;
	if (!name_valid(span_str(name), STORE_TOKEN_NAME))
		return fault_field(f, "name",
		    "a name has 1 to %d of a-z, 0-9 and '-'", STORE_TOKEN_NAME);
	return text_copy(row->name, sizeof(row->name), span_str(name)) ? 0 : -1;
}

static int
refuse_name(struct call *c, const char *name, struct fault *f)
{
	if (f->code != FAULT_EXISTS)
		return -1;
	if (refusal_of(c) != NULL)
		refusal_of(c)->name = text(c, name);
	return fault_prefix(f, "token '%s'", name);
}

/* How many are left; one that opens nothing any more holds no place and no
 * name. */
static int
drop_expired(struct call *c, int64_t now_ms, size_t *left, struct fault *f)
{
	struct store_token *all;
	size_t n;

	if (store_token_list(c->g->store, &c->arena, &all, &n, f) < 0)
		return -1;
	*left = n;
	for (size_t i = 0; i < n; i++) {
		if (all[i].expires_ms == 0 || all[i].expires_ms > now_ms)
			continue;
		if (store_token_remove(c->g->store, all[i].id, f) < 0)
			return -1;
		--*left;
	}
	return 0;
}

int
do_token_create(struct call *c, struct fault *f)
{
	const nacre_v1_CreateTokenRequest *ask = c->ask;
	nacre_v1_CreateTokenReply r = nacre_v1_CreateTokenReply_init_zero;
	struct store_token row = { .created_ms = clock_wall_ms() };
	struct grant_wish wish = { 0 };
	char secret[BEARER_SECRET];
	size_t n;
	int rc;

	uuid_make(row.id);
	(void)text_copy(row.user, sizeof(row.user), span_str(c->caller.text));
	if (take_name(ask->name, &row, f) < 0 ||
	    take_scopes(ask, &row, f) < 0 ||
	    (is_given(ask->expires) &&
		grant_wish_expires(&wish, span_str(ask->expires),
		    row.created_ms, f) < 0) ||
	    drop_expired(c, row.created_ms, &n, f) < 0)
		return -1;
	row.expires_ms = wish.expires_ms;
	if (n >= STORE_TOKENS) {
		c->hint = "revoke one with 'nacre token revoke'";
		return refuse_full(c, "tokens", n, STORE_TOKENS, f);
	}
	bearer_make(secret, row.digest);
	r.has_token = true;
	r.secret = text(c, secret);
	secret_wipe(secret, sizeof(secret));
	if (store_token_insert(c->g->store, &row, f) < 0)
		return refuse_name(c, row.name, f);
	call_note(c, "%s: %s", row.name, row.scopes);
	rc = describe(c, &row, &r.token, f);
	return rc < 0 ? -1 : CALL_REPLY(c, nacre_v1_CreateTokenReply, &r, f);
}

static bool
is_own(const struct call *c, const struct store_token *row)
{
	return (c->caller.who & CALL_ADMIN) ||
	    strcmp(row->user, c->caller.text) == 0;
}

int
do_token_list(struct call *c, struct fault *f)
{
	nacre_v1_ListTokensReply r = nacre_v1_ListTokensReply_init_zero;
	struct store_token *all;
	size_t n;

	if (store_token_list(c->g->store, &c->arena, &all, &n, f) < 0)
		return -1;
	r.tokens = arena_get(&c->arena, (n + 1) * sizeof(*r.tokens));
	if (r.tokens == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	for (size_t i = 0; i < n; i++) {
		if (!is_own(c, &all[i]))
			continue;
		if (describe(c, &all[i], &r.tokens[r.tokens_count], f) < 0)
			return -1;
		r.tokens_count++;
	}
	return CALL_REPLY(c, nacre_v1_ListTokensReply, &r, f);
}

int
do_token_revoke(struct call *c, struct fault *f)
{
	const nacre_v1_RevokeTokenRequest *ask = c->ask;
	nacre_v1_RevokeTokenReply r = nacre_v1_RevokeTokenReply_init_zero;
	const struct store_token *found = NULL;
	struct store_token *all;
	size_t n;

	if (!is_given(ask->name))
		return fault_field(f, "name", "the token's name is missing");
	if (store_token_list(c->g->store, &c->arena, &all, &n, f) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (is_own(c, &all[i]) &&
		    (strcmp(all[i].name, ask->name) == 0 ||
			strcmp(all[i].id, ask->name) == 0))
			found = &all[i];
	if (found == NULL) {
		c->hint = "'nacre token list' shows them";
		return fault_set(f, FAULT_NOT_FOUND, "no token '%.40s'",
		    ask->name);
	}
	if (store_token_remove(c->g->store, found->id, f) < 0)
		return -1;
	call_note(c, "%s", found->name);
	r.has_token = true;
	if (describe(c, found, &r.token, f) < 0)
		return -1;
	return CALL_REPLY(c, nacre_v1_RevokeTokenReply, &r, f);
}
