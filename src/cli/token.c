/* SPDX-License-Identifier: Apache-2.0 */
/* nacre token: create, list, revoke. A token is shown once, when it is made. */
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"

enum {
	SCOPES = 240,
};

static void
join(const nacre_v1_Token *t, char *out, size_t size)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < t->scopes_count; i++) {
		(void)text_fmt(out + n, size - n, "%s%s", i > 0 ? " " : "",
		    t->scopes[i]);
		n = strlen(out);
	}
}

static void
expiry(const nacre_v1_Token *t, char out[32])
{
	if (t->expires_ms > 0)
		time_format(t->expires_ms, out);
	else
		(void)text_copy(out, 32, SPAN_LIT("never"));
}

static void
token_write(struct json_out *o, const nacre_v1_Token *t, const char *secret)
{
	const struct cli_text_member texts[] = {
		{ "id", t->id },
		{ "name", t->name },
		{ "user", t->user },
	};
	const struct cli_number_member numbers[] = {
		{ "created_ms", t->created_ms },
		{ "expires_ms", t->expires_ms },
	};

	json_out_object(o);
	cli_json_texts(o, texts, NELEM(texts));
	json_out_key(o, "scopes");
	json_out_array(o);
	for (size_t i = 0; i < t->scopes_count; i++)
		json_out_text(o, t->scopes[i]);
	json_out_end(o);
	cli_json_numbers(o, numbers, NELEM(numbers));
	if (secret != NULL) {
		json_out_key(o, "token");
		json_out_text(o, secret);
	}
	json_out_end(o);
}

static int
print_created(const struct cli *c, const nacre_v1_CreateTokenReply *r,
    struct fault *f)
{
	char scopes[SCOPES];
	char until[32];
	struct json_out o;
	struct buf b;

	if (c->json) {
		buf_init(&b, CLI_OUTPUT);
		json_out_init(&o, &b);
		token_write(&o, &r->token, r->secret);
		return cli_json_print(&b, &o, f);
	}
	join(&r->token, scopes, sizeof(scopes));
	expiry(&r->token, until);
	(void)fprintf(stderr,
	    "token '%s', scopes: %s; expires: %s; it is not "
	    "shown again\n",
	    cli_text(r->token.name), scopes, until);
	(void)puts(cli_text(r->secret));
	return 0;
}

/* Each option once a scope, as they are asked for. */
static int
take_scopes(struct cli *c, const struct cli_list *from,
    nacre_v1_CreateTokenRequest *ask, struct fault *f)
{
	ask->scopes = arena_get(&c->arena, (from->n + 1) * sizeof(char *));
	for (size_t i = 0; ask->scopes != NULL && i < from->n; i++)
		ask->scopes[ask->scopes_count++] =
		    arena_str(&c->arena, span_str(from->items[i]));
	return ask->scopes != NULL ? 0 : fault_set(f, FAULT_LIMIT, "too much");
}

int
cmd_token_create(struct cli *c, char **argv)
{
	nacre_v1_CreateTokenRequest ask = nacre_v1_CreateTokenRequest_init_zero;
	nacre_v1_CreateTokenReply a = nacre_v1_CreateTokenReply_init_zero;
	const char *expires = NULL;
	struct cli_list scopes = { 0 };
	const struct cli_option options[] = {
		{ "--scope", CLI_TEXTS, &scopes, 0 },
		{ "--expires", CLI_TEXT, &expires, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    (w.n != 0 && cli_want(&w, 1, "token create [NAME]", &f) != 0) ||
	    take_scopes(c, &scopes, &ask, &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	if (w.n == 1)
		ask.name = arena_str(&c->arena, span_str(w.word[0]));
	if (expires != NULL)
		ask.expires = arena_str(&c->arena, span_str(expires));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/CreateToken",
	    nacre_v1_CreateTokenRequest, &ask, nacre_v1_CreateTokenReply, &a,
	    &f);
	if (rc == 0)
		rc = print_created(c, &a, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

static int
print_tokens(struct cli *c, const nacre_v1_ListTokensReply *r, struct fault *f)
{
	static const char *const heads[] = { "NAME", "USER", "SCOPES",
		"EXPIRES" };
	struct cli_table t;
	struct json_out o;
	struct buf b;

	if (c->json) {
		buf_init(&b, CLI_OUTPUT);
		json_out_init(&o, &b);
		json_out_array(&o);
		for (size_t i = 0; i < r->tokens_count; i++)
			token_write(&o, &r->tokens[i], NULL);
		json_out_end(&o);
		return cli_json_print(&b, &o, f);
	}
	cli_table_init(&t, heads, NELEM(heads));
	for (size_t i = 0; i < r->tokens_count; i++) {
		char scopes[SCOPES];
		char until[32];
		const char *cells[] = { cli_text(r->tokens[i].name),
			cli_text(r->tokens[i].user), scopes, until };

		join(&r->tokens[i], scopes, sizeof(scopes));
		expiry(&r->tokens[i], until);
		cli_table_row(c, &t, cells);
	}
	cli_table_print(&t);
	return 0;
}

int
cmd_token_list(struct cli *c, char **argv)
{
	const nacre_v1_ListTokensRequest ask =
	    nacre_v1_ListTokensRequest_init_zero;
	nacre_v1_ListTokensReply a = nacre_v1_ListTokensReply_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "token list", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/ListTokens",
	    nacre_v1_ListTokensRequest, &ask, nacre_v1_ListTokensReply, &a, &f);
	if (rc == 0)
		rc = print_tokens(c, &a, &f);
	client_close(&cl);
	return rc == 0 ? 0 : client_fail(&cl, &f);
}

int
cmd_token_revoke(struct cli *c, char **argv)
{
	nacre_v1_RevokeTokenRequest ask = nacre_v1_RevokeTokenRequest_init_zero;
	nacre_v1_RevokeTokenReply a = nacre_v1_RevokeTokenReply_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "token revoke NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.name = arena_str(&c->arena, span_str(w.word[0]));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/RevokeToken",
	    nacre_v1_RevokeTokenRequest, &ask, nacre_v1_RevokeTokenReply, &a,
	    &f);
	client_close(&cl);
	if (rc != 0)
		return client_fail(&cl, &f);
	if (!c->json)
		(void)printf("token '%s' revoked\n", cli_text(a.token.name));
	return 0;
}
