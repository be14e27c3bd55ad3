/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second evaluator: does this policy permit this very act? Written from
 * POLICY.md 2 and apart from everything else here and in policy/: patterns are
 * matched by their text, backwards, one row of the table
 *
 *	m[i][j]   pattern from byte i on matches text from byte j on
 *
 * for each part of the pattern, without steps, sets or automata. It shares
 * the types of the policy only. Work is bounded by fuel.
 */
#include <string.h>

#include "prover/inner.h"

#define CALL "tools/call"

enum {
	LINKS_MOST = 40,
};

/* --- patterns */

struct table {
	struct span text;
	uint8_t sep; /* 0: none */
	bool *row;
};

static void
row_byte(struct table *t, uint8_t c)
{
	for (size_t j = 0; j < t->text.len; j++)
		t->row[j] = t->text.ptr[j] == c && t->row[j + 1];
	t->row[t->text.len] = false;
}

/* "*", or "**" at the end, which crosses. */
static void
row_star(struct table *t, bool crosses)
{
	for (size_t j = t->text.len; j-- > 0;)
		if (crosses || !t->sep || t->text.ptr[j] != t->sep)
			t->row[j] = t->row[j] || t->row[j + 1];
}

/* "**" and its separator: components, or (not in hosts) none. */
static void
row_components(struct table *t)
{
	bool after = t->row[t->text.len];
	bool any = false;

	if (t->sep == '.')
		t->row[t->text.len] = false;
	for (size_t j = t->text.len; j-- > 0;) {
		bool here = t->row[j];

		any = any || (t->text.ptr[j] == t->sep && after);
		after = here;
		t->row[j] = any || (here && t->sep == '/');
	}
}

/* A whole "**" ends before byte i of the pattern. */
static bool
is_double(struct span p, size_t i, uint8_t sep)
{
	return sep && i >= 2 && p.ptr[i - 1] == '*' && p.ptr[i - 2] == '*' &&
	    (i == 2 || p.ptr[i - 3] == sep);
}

static bool
match(struct replay *r, struct span pattern, struct span text, uint8_t sep)
{
	struct table t = { .text = text, .sep = sep, .row = r->row };
	uint64_t work = (uint64_t)(pattern.len + 1) * (text.len + 1);

	if (text.len >= REPLAY_ROW || work + 8 > r->fuel) {
		r->fuel = 0;
		return false;
	}
	r->fuel -= 8;
	/* Most do not even begin alike. */
	for (size_t i = 0; i < pattern.len && pattern.ptr[i] != '*'; i++)
		if (i == text.len || text.ptr[i] != pattern.ptr[i])
			return false;
	r->fuel -= work;
	memset(t.row, 0, text.len * sizeof(*t.row));
	t.row[text.len] = true;
	for (size_t i = pattern.len; i > 0;) {
		bool at_end = i == pattern.len;

		if (pattern.ptr[i - 1] == sep &&
		    is_double(pattern, i - 1, sep)) {
			row_components(&t);
			i -= 3;
		} else if (at_end && is_double(pattern, i, sep)) {
			row_star(&t, true);
			i -= 2;
		} else if (pattern.ptr[i - 1] == '*') {
			row_star(&t, false);
			i--;
		} else {
			row_byte(&t, pattern.ptr[--i]);
		}
	}
	return t.row[0];
}

static bool
match_any(struct replay *r, const struct policy_globs *globs, struct span text)
{
	for (size_t i = 0; i < globs->n; i++)
		if (match(r, globs->glob[i].text, text, 0))
			return true;
	return false;
}

/* --- links of the image */

/* '/' comes before all other bytes. */
static int
compare(struct span a, const char *b, size_t n)
{
	for (size_t i = 0; i < a.len && i < n; i++) {
		int x = a.ptr[i] == '/' ? -1 : a.ptr[i];
		int y = b[i] == '/' ? -1 : (uint8_t)b[i];

		if (x != y)
			return x - y;
	}
	return (a.len > n) - (a.len < n);
}

static const struct prover_link *
link_find(const struct prover_image *image, const char *path, size_t n)
{
	size_t low = 0;
	size_t high = image ? image->links_n : 0;

	while (low < high) {
		const struct prover_link *l =
		    &image->links[low + (high - low) / 2];
		int c = compare(l->path, path, n);

		if (c == 0)
			return l;
		if (c < 0)
			low = (size_t)(l - image->links) + 1;
		else
			high = (size_t)(l - image->links);
	}
	return NULL;
}

/* Where path leads; out holds LIMIT_PATH bytes. */
static bool
walk(const struct prover_image *image, const char *path, int links, char *out)
{
	char next[LIMIT_PATH];
	size_t n = 0;

	for (size_t len; *(path += strspn(path, "/")); path += len) {
		size_t folder = n;
		const struct prover_link *l;

		len = strcspn(path, "/");
		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (n > 0 && out[n - 1] != '/')
				n--;
			n -= n > 0;
			continue;
		}
		if (n + len + 2 > sizeof(next))
			return false;
		if (len == 1 && *path == '.')
			continue;
		out[n++] = '/';
		memcpy(out + n, path, len);
		n += len;
		l = link_find(image, out, n);
		if (!l)
			continue;
		if (span_starts(l->target, "/"))
			folder = 0;
		return links < LINKS_MOST &&
		    text_fmt(next, sizeof(next), "%.*s/%.*s%s", (int)folder,
			out, (int)l->target.len, (const char *)l->target.ptr,
			path + len) &&
		    walk(image, next, links + 1, out);
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return true;
}

static bool
resolve(const struct prover_image *image, struct span path, char *out)
{
	char text[LIMIT_PATH];

	return text_copy(text, sizeof(text), path) && walk(image, text, 0, out);
}

/* --- endpoints */

static bool
is_at(struct replay *r, const struct policy_endpoint *e,
    const struct prover_witness *w)
{
	bool port = false;

	for (size_t i = 0; i < e->ports.n; i++)
		port = port ||
		    (w->port >= e->ports.range[i].first &&
			w->port <= e->ports.range[i].last);
	if (!port)
		return false;
	switch (e->host.kind) {
	case POLICY_HOST_NONE:
		return true;
	case POLICY_HOST_NAME:
	case POLICY_HOST_ADDRESS:
		return span_equal(e->host.glob.text, w->host);
	case POLICY_HOST_GLOB:
		return match(r, e->host.glob.text, w->host, '.');
	}
	return false;
}

static bool
has_program(struct replay *r, const struct policy_entry *entry,
    struct span program)
{
	for (size_t i = 0; i < entry->programs_n; i++) {
		struct span text = entry->programs[i].glob.text;
		char to[LIMIT_PATH];

		if (match(r, text, program, '/'))
			return true;
		if (r->image && span_find(text, '*') == text.len &&
		    resolve(r->image, text, to) && span_is(program, to))
			return true;
	}
	return false;
}

static bool
has_address(const struct policy_endpoint *e, struct policy_address a)
{
	for (size_t i = 0; i < e->addresses.n; i++) {
		const struct policy_range *g = &e->addresses.range[i];
		bool low = a.high > g->first.high ||
		    (a.high == g->first.high && a.low >= g->first.low);
		bool high = a.high < g->last.high ||
		    (a.high == g->last.high && a.low <= g->last.low);

		if (low && high)
			return true;
	}
	return false;
}

/* The HTTP method as which a rest or websocket endpoint sees the act. */
static struct span
as_http(const struct prover_witness *w)
{
	if (w->act == POLICY_ACT_HTTP)
		return w->method;
	if (w->act == POLICY_ACT_UPGRADE || w->act == POLICY_ACT_FRAME ||
	    w->act == POLICY_ACT_STREAM)
		return SPAN_LIT("GET");
	return SPAN_LIT("POST");
}

static bool
has_kind(enum policy_kind kind, enum policy_act act)
{
	static const unsigned carried[] = {
		[POLICY_OPAQUE] = ~0u,
		[POLICY_REST] = ~(1u << POLICY_ACT_OPAQUE),
		[POLICY_WEBSOCKET] =
		    1u << POLICY_ACT_UPGRADE | 1u << POLICY_ACT_FRAME,
		[POLICY_JSON_RPC] = 1u << POLICY_ACT_RPC,
		[POLICY_MCP] = 1u << POLICY_ACT_MCP | 1u << POLICY_ACT_STREAM |
		    1u << POLICY_ACT_ANSWER,
	};

	return carried[kind] >> act & 1;
}

/* --- rules */

static bool
query_holds(struct replay *r, const struct policy_query *q,
    const struct prover_witness *w, bool deny)
{
	size_t present = 0;
	size_t matching = 0;

	for (size_t i = 0; i < w->query_n; i++) {
		if (!span_equal(w->query[i].key, q->key))
			continue;
		present++;
		matching += match_any(r, &q->values, w->query[i].value);
	}
	return deny ? matching > 0 : present > 0 && matching == present;
}

static bool
http_holds(struct replay *r, const struct policy_rule *rule,
    const struct prover_witness *w, struct span method, bool deny)
{
	bool named = rule->method.len == 0 ||
	    span_equal(rule->method, method) ||
	    (span_is(rule->method, "GET") && span_is(method, "HEAD"));

	if (!named || !match(r, rule->path.text, w->path, '/'))
		return false;
	for (size_t i = 0; i < rule->query_n; i++)
		if (!query_holds(r, &rule->query[i], w, deny))
			return false;
	return true;
}

static bool
rpc_holds(struct replay *r, const struct policy_rule *rule,
    const struct prover_witness *w, bool mcp)
{
	bool call = span_is(w->method, CALL);

	if (!match(r, rule->rpc.text, w->method, 0))
		return false;
	if (!mcp || rule->tools == POLICY_TOOLS_ANY)
		return true;
	if (rule->tools == POLICY_TOOLS_NONE)
		return !call;
	return call && match_any(r, &rule->tool, w->tool);
}

static bool
some_http(struct replay *r, const struct policy_rules *rules,
    const struct prover_witness *w, struct span method, bool deny)
{
	for (size_t i = 0; i < rules->n; i++)
		if (http_holds(r, &rules->rule[i], w, method, deny))
			return true;
	return false;
}

static bool
some_rule(struct replay *r, const struct policy_endpoint *e,
    const struct prover_witness *w, bool deny)
{
	const struct policy_rules *rules = deny ? &e->denies : &e->allows;
	bool upgrade;
	bool text;

	switch (e->kind) {
	case POLICY_OPAQUE:
		return !deny;
	case POLICY_REST:
		return some_http(r, rules, w, as_http(w), deny);
	case POLICY_WEBSOCKET:
		upgrade = some_http(r, rules, w, SPAN_LIT("GET"), deny);
		if (w->act == POLICY_ACT_UPGRADE)
			return upgrade;
		text = some_http(r, rules, w, SPAN_LIT("WEBSOCKET_TEXT"), deny);
		return deny ? upgrade || text : upgrade && text;
	case POLICY_JSON_RPC:
	case POLICY_MCP:
		break;
	}
	if (e->kind == POLICY_MCP && w->act != POLICY_ACT_MCP)
		return !deny; /* the stream and answers go with any rule */
	for (size_t i = 0; i < rules->n; i++)
		if (rpc_holds(r, &rules->rule[i], w, e->kind == POLICY_MCP))
			return true;
	return false;
}

/* What no rule of the endpoint can let pass. */
static bool
unparsed(const struct policy_endpoint *e, const struct prover_witness *w)
{
	if (e->kind == POLICY_OPAQUE)
		return false;
	for (size_t i = 0; i + 3 <= w->path.len && !e->encoded_slash; i++)
		if (memcmp(w->path.ptr + i, "%2F", 3) == 0)
			return true;
	if (!e->strict_tools || w->act != POLICY_ACT_MCP ||
	    !span_is(w->method, CALL))
		return false;
	for (size_t i = 0; i < w->tool.len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz_.-0123456789"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
			w->tool.ptr[i]) ||
		    w->tool.ptr[i] == 0)
			return true;
	return w->tool.len == 0 || w->tool.len > 128;
}

/* --- uses */

/* The longest body that gets through. */
static uint64_t
longest_body(const struct policy_capabilities *c)
{
	return c->max_body ? c->max_body : UINT64_MAX;
}

static bool
signs_alike(const struct policy_capabilities *a,
    const struct policy_capabilities *b)
{
	return span_equal(a->signing_region, b->signing_region) &&
	    span_equal(a->signing_service, b->signing_service) &&
	    a->signing == b->signing;
}

static bool
lends(const struct policy_capabilities *have, const struct prover_witness *w)
{
	const struct policy_capabilities *want = w->use_of;
	bool flag[] = { [POLICY_USE_NONE] = true,
		[POLICY_USE_WEBSOCKET_REWRITE] = have->websocket_rewrite,
		[POLICY_USE_BODY_REWRITE] = have->body_rewrite,
		[POLICY_USE_UNINSPECTED] = have->uninspected };

	if (w->use < NELEM(flag))
		return flag[w->use];
	if (w->use == POLICY_USE_BODY)
		return longest_body(want) <= longest_body(have);
	return w->use == POLICY_USE_SIGNING
	    ? signs_alike(want, have)
	    : span_equal(want->provider, have->provider);
}

enum policy_reason
replay_endpoint(struct replay *r, const struct policy_entry *entry,
    const struct policy_endpoint *e, const struct prover_witness *w)
{
	if (!is_at(r, e, w))
		return POLICY_NO_ENDPOINT;
	if (!has_program(r, entry, w->program))
		return POLICY_NO_PROGRAM;
	if (!has_address(e, w->address))
		return POLICY_NO_ADDRESS;
	if (!has_kind(e->kind, w->act))
		return POLICY_NO_KIND;
	if (unparsed(e, w) ||
	    (e->kind != POLICY_OPAQUE && !match(r, e->path.text, w->path, '/')))
		return POLICY_NO_RULE;
	if (!e->audit && !some_rule(r, e, w, false))
		return POLICY_NO_RULE;
	return lends(&e->capabilities, w) ? POLICY_PASSES
					  : POLICY_NO_CAPABILITY;
}

bool
replay_network(struct replay *r, const struct prover_witness *w)
{
	bool allowed = false;

	for (size_t i = 0; i < r->p->entries_n; i++)
		for (size_t k = 0; k < r->p->entries[i].endpoints_n; k++) {
			const struct policy_entry *entry = &r->p->entries[i];
			const struct policy_endpoint *e = &entry->endpoints[k];

			allowed = allowed ||
			    replay_endpoint(r, entry, e, w) == POLICY_PASSES;
			if (!e->audit && e->denies.n > 0 &&
			    has_kind(e->kind, w->act) && is_at(r, e, w) &&
			    match(r, e->path.text, w->path, '/') &&
			    some_rule(r, e, w, true))
				return false;
		}
	return allowed;
}

/* --- files */

static bool
is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	if (n == 1)
		return true;
	return strncmp(path, folder, n) == 0 &&
	    (path[n] == '/' || path[n] == '\0');
}

static bool
some_above(struct replay *r, const struct policy_files *files, const char *path)
{
	for (size_t i = 0; i < files->n; i++) {
		char folder[LIMIT_PATH];

		if (resolve(r->image, files->file[i].path, folder) &&
		    is_below(path, folder))
			return true;
	}
	return false;
}

bool
replay_file(struct replay *r, struct span file, bool write)
{
	char path[LIMIT_PATH];
	char folder[LIMIT_PATH];
	struct span workdir = r->image ? r->image->workdir : span_of(NULL, 0);

	if (file.len == 0) /* the workdir, and nobody knows where that is */
		return r->p->include_workdir;
	if (!resolve(r->image, file, path))
		return false;
	for (size_t i = 0; i < POLICY_BASELINE; i++)
		if ((!write || policy_baseline[i].write) &&
		    resolve(r->image, span_str(policy_baseline[i].path),
			folder) &&
		    is_below(path, folder))
			return true;
	if (some_above(r, &r->p->read_write, path) ||
	    (!write && some_above(r, &r->p->read_only, path)))
		return true;
	return r->p->include_workdir && workdir.len > 0 &&
	    resolve(r->image, workdir, folder) && is_below(path, folder);
}
