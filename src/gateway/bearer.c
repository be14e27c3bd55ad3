/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens made and looked up; bearer.h has the contracts. */
#include <string.h>

#include "digest/digest.h"
#include "gateway/bearer.h"
#include "gateway/mcp.h"
#include "gateway/steady.h"

enum {
	BYTES = 32,
};

#define PREFIX "nacre_"

bool
bearer_is_scope(const char *scope)
{
	return scope[0] != '\0' && strchr(scope, ' ') == NULL &&
	    scope_has(BEARER_SCOPES " grant:write", scope);
}

void
bearer_make(char secret[BEARER_SECRET], uint8_t digest[STORE_HASH])
{
	uint8_t bytes[BYTES];
	size_t n = strlen(PREFIX);

	random_bytes(bytes, sizeof(bytes));
	memcpy(secret, PREFIX, n);
	n += base64url_format(span_of(bytes, sizeof(bytes)), secret + n,
	    BEARER_SECRET - n - 1);
	secret[n] = '\0';
	secret_wipe(bytes, sizeof(bytes));
	digest_of(span_str(secret), digest);
}

bool
bearer_is_launch(const struct gateway *g, struct span secret,
    char sandbox_id[LIMIT_ID + 1])
{
	struct identity_expect expect = {
		.point = g->token_key.point,
		.domain = g->config.trust_domain,
		.now_s = steady_now_s(g),
	};

	for (int i = 0; i < IDENTITY_AUDIENCES; i++) {
		struct identity_claims c;
		struct fault f = { 0 };

		expect.audience = (enum identity_audience)i;
		if (identity_verify(&expect, secret, &c, &f) < 0)
			continue;
		(void)text_copy(sandbox_id, LIMIT_ID + 1,
		    span_str(c.sandbox_id));
		return true;
	}
	return false;
}

static void
name_token(char *out, size_t size, const char *which)
{
	static const char kind[] = "token:";

	(void)text_copy(out, size, span_str(kind));
	(void)text_copy(out + sizeof(kind) - 1, size - (sizeof(kind) - 1),
	    span_str(which));
}

static void
be(struct mcp_who *who, const struct store_token *t)
{
	struct caller *c = &who->caller;
	uint64_t uid = 0;

	if (!span_starts(span_str(t->user), "uid:") ||
	    !num_parse(span_from(span_str(t->user), 4), UINT32_MAX, &uid))
		return;
	c->who = CALL_USER;
	c->uid = (uid_t)uid;
	c->may_grant = scope_has(t->scopes, "grant:write");
	(void)text_copy(c->text, sizeof(c->text), span_str(t->user));
	name_token(c->program, sizeof(c->program), t->name);
	(void)text_copy(who->scopes, sizeof(who->scopes), span_str(t->scopes));
	c->scopes = who->scopes;
	name_token(who->principal, sizeof(who->principal), t->id);
	who->auth = MCP_KNOWN;
}

void
bearer_find(struct gateway *g, const struct mcp_head *h, struct mcp_who *who)
{
	struct store_token t = { 0 };
	struct fault f = { 0 };
	struct span secret;
	bool found = false;

	memset(who, 0, sizeof(*who));
	who->side = MCP_HOST;
	who->auth = MCP_NO_TOKEN;
	if (!mcp_bearer(h, &secret))
		return;
	who->auth = MCP_BAD_TOKEN;
	/* What the time of a search tells of a hash is no help to guess from. */
	digest_of(secret, t.digest);
	if (store_token_get(g->store, &t, &found, &f) < 0)
		log_warn(&f, "cannot look a token up");
	if (found && (t.expires_ms == 0 || clock_wall_ms() < t.expires_ms))
		be(who, &t);
}
