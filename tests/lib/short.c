/* SPDX-License-Identifier: Apache-2.0 */
/* Short hand to YAML; see short.h. Trusting: what it does not know it fails. */
#include <string.h>

#include "short.h"

struct out {
	struct buf *b;
	bool full;
};

static void
put(struct out *o, const char *s)
{
	o->full = o->full || buf_fmt(o->b, "%s", s) != 0;
}

static void
put_quoted(struct out *o, struct span s)
{
	put(o, "\"");
	for (size_t i = 0; i < s.len; i++)
		o->full = o->full ||
		    buf_fmt(o->b, "%s%c", s.ptr[i] == '"' ? "\\" : "",
			s.ptr[i]) != 0;
	put(o, "\"");
}

static struct span
trimmed(struct span s)
{
	while (s.len > 0 && s.ptr[0] == ' ')
		s = span_from(s, 1);
	while (s.len > 0 && s.ptr[s.len - 1] == ' ')
		s.len--;
	return s;
}

/* What stands before c, taken off s with c. */
static struct span
cut(struct span *s, uint8_t c)
{
	size_t at = span_find(*s, c);
	struct span head = span_of(s->ptr, at);

	*s = span_from(*s, at + 1);
	return trimmed(head);
}

static void
put_list(struct out *o, struct span list, uint8_t between)
{
	bool more = false;

	put(o, "[");
	while (list.len > 0) {
		put(o, more ? ", " : "");
		put_quoted(o, cut(&list, between));
		more = true;
	}
	put(o, "]");
}

/* A glob, or a|b. */
static void
put_globs(struct out *o, struct span s)
{
	if (span_find(s, '|') == s.len) {
		put_quoted(o, s);
		return;
	}
	put(o, "{any: ");
	put_list(o, s, '|');
	put(o, "}");
}

static void
put_query(struct out *o, struct span s)
{
	bool more = false;

	put(o, ", query: {");
	while (s.len > 0) {
		struct span value = cut(&s, ',');
		struct span key = cut(&value, '=');

		put(o, more ? ", " : "");
		put_quoted(o, key);
		put(o, ": ");
		put_globs(o, value);
		more = true;
	}
	put(o, "}");
}

static void
put_rule(struct out *o, struct span rule, char kind)
{
	struct span query = span_from(rule, span_find(rule, '{') + 1);
	struct span head = span_of(rule.ptr, span_find(rule, '{'));
	struct span method = cut(&head, ' ');

	head = trimmed(head);
	put(o, "{x: 0");
	if (!span_is(method, "-")) {
		put(o, ", method: ");
		put_quoted(o, method);
	}
	if (kind == 'M' && span_starts(head, "tool=")) {
		put(o, ", tool: ");
		put_globs(o, span_from(head, 5));
	} else if (head.len > 0 && !span_is(head, "-")) {
		put(o, ", path: ");
		put_quoted(o, head);
	}
	if (query.len > 0)
		put_query(o, span_of(query.ptr, span_find(query, '}')));
	put(o, "}");
}

static void
put_rules(struct out *o, struct span list, char kind, bool deny)
{
	bool more = false;

	put(o, deny ? ", deny_rules: [" : ", rules: [");
	while (list.len > 0) {
		struct span rule = cut(&list, ';');

		put(o, more ? ", " : "");
		put(o, deny ? "" : "{allow: ");
		put_rule(o, rule, kind);
		put(o, deny ? "" : "}");
		more = true;
	}
	put(o, "]");
}

static const char *const protocols[][2] = { { "R", "rest" },
	{ "W", "websocket" }, { "J", "json-rpc" }, { "M", "mcp" } };
static const char *const plain[][2] = { { "tcp", ", protocol: tcp" },
	{ "skip", ", tls: skip" }, { "enc", ", allow_encoded_slash: true" },
	{ "ws", ", websocket_credential_rewrite: true" },
	{ "body", ", request_body_credential_rewrite: true" },
	{ "un", ", allow_uninspected_credentials: true" } };
static const char *const valued[][2] = { { "access=", ", access: " },
	{ "path=", ", path: " }, { "sign=", ", signing_service: " } };

static bool
put_protocol(struct out *o, struct span word, char *kind)
{
	for (size_t i = 0; i < NELEM(protocols); i++) {
		if (word.len == 0 || word.ptr[0] != protocols[i][0][0] ||
		    word.len > 2 || (word.len == 2 && word.ptr[1] != 'a'))
			continue;
		*kind = protocols[i][0][0];
		put(o, ", protocol: ");
		put(o, protocols[i][1]);
		put(o, word.len == 2 ? ", enforcement: audit" : "");
		return true;
	}
	return false;
}

static bool
put_word(struct out *o, struct span word)
{
	for (size_t i = 0; i < NELEM(plain); i++)
		if (span_is(word, plain[i][0])) {
			put(o, plain[i][1]);
			return true;
		}
	for (size_t i = 0; i < NELEM(valued); i++)
		if (span_starts(word, valued[i][0])) {
			put(o, valued[i][1]);
			put_quoted(o, span_from(word, strlen(valued[i][0])));
			put(o, i == 2 ? ", credential_signing: sigv4" : "");
			return true;
		}
	if (span_starts(word, "ips=")) {
		put(o, ", allowed_ips: ");
		put_list(o, span_from(word, 4), ',');
		return true;
	}
	if (span_starts(word, "bind=")) {
		put(o, ", credential_binding: {provider: ");
		put_quoted(o, span_from(word, 5));
		put(o, "}");
		return true;
	}
	return false;
}

/* Options of json-rpc and mcp are gathered in one map. */
struct options {
	bool all;
	bool loose;
	struct span max;
};

static void
put_options(struct out *o, const struct options *x, char kind)
{
	if (!x->all && !x->loose && x->max.len == 0)
		return;
	put(o, kind == 'M' ? ", mcp: {x: 0" : ", json_rpc: {x: 0");
	put(o, x->all ? ", allow_all_known_mcp_methods: true" : "");
	put(o, x->loose ? ", strict_tool_names: false" : "");
	if (x->max.len > 0) {
		put(o, ", max_body_bytes: ");
		o->full = o->full ||
		    buf_add(o->b, x->max.ptr, x->max.len,
			&(struct fault){ 0 }) != 0;
	}
	put(o, "}");
}

static bool
put_words(struct out *o, struct span words)
{
	struct options options = { false, false, { NULL, 0 } };
	char kind = 0;
	bool known = true;

	for (words = trimmed(words); words.len > 0 && known;
	     words = trimmed(words)) {
		bool deny = span_starts(words, "![");
		struct span word;

		if (deny || span_starts(words, "[")) {
			words = span_from(words, deny ? 2 : 1);
			put_rules(o, cut(&words, ']'), kind, deny);
			continue;
		}
		word = cut(&words, ' ');
		if (span_is(word, "all"))
			options.all = true;
		else if (span_is(word, "loose"))
			options.loose = true;
		else if (span_starts(word, "max="))
			options.max = span_from(word, 4);
		else
			known =
			    put_protocol(o, word, &kind) || put_word(o, word);
	}
	put_options(o, &options, kind);
	return known;
}

static struct span
alias(struct span s)
{
	static const char *const names[][2] = { { "c", "/usr/bin/curl" },
		{ "g", "/usr/bin/git" }, { "s", "/usr/bin/bash" },
		{ "n", "/usr/bin/node" }, { "H", "api.example.com" } };

	for (size_t i = 0; i < NELEM(names); i++)
		if (span_is(s, names[i][0]))
			return span_str(names[i][1]);
	return s;
}

/* {x: 0, ...} is how members are listed without knowing the first. */
static int
tidy(struct buf *b, size_t from, struct fault *f)
{
	static const char first[] = "x: 0, ";
	static const char alone[] = "x: 0";
	uint8_t *at = buf_ptr(b);
	size_t n = b->len;
	size_t to = from;

	for (size_t i = from; i < n;) {
		size_t skip = 0;

		if (at[i] == '{' && n - i > sizeof(first) &&
		    memcmp(at + i + 1, first, sizeof(first) - 1) == 0)
			skip = sizeof(first) - 1;
		else if (at[i] == '{' && n - i > sizeof(alone) &&
		    memcmp(at + i + 1, alone, sizeof(alone) - 1) == 0)
			skip = sizeof(alone) - 1;
		at[to++] = at[i];
		i += 1 + skip;
	}
	b->len = to;
	return b->len > 0 ? 0 : fault_set(f, FAULT_INVALID, "no text");
}

int
short_entry(struct span line, unsigned number, struct buf *out, struct fault *f)
{
	struct out o = { out, false };
	struct span words = line;
	struct span programs = cut(&words, '>');
	struct span place = cut(&words, ' ');
	size_t from = out->len;
	struct span host;
	bool more = false;
	bool known;

	/* A host that is an IPv6 address stands in brackets. */
	if (place.len > 0 && place.ptr[0] == '[') {
		host = span_of(place.ptr, span_find(place, ']') + 1);
		place = span_from(place, host.len + 1);
	} else {
		host = cut(&place, ':');
	}
	o.full = buf_fmt(out, "  e%u: {binaries: [", number) != 0;
	while (programs.len > 0) {
		put(&o, more ? ", {path: " : "{path: ");
		put_quoted(&o, alias(cut(&programs, ',')));
		put(&o, "}");
		more = true;
	}
	put(&o, "], endpoints: [{x: 0");
	if (!span_is(host, "-")) {
		put(&o, ", host: ");
		put_quoted(&o, alias(host));
	}
	put(&o, ", ports: [");
	for (more = false; place.len > 0; more = true) {
		struct span port = cut(&place, ',');

		o.full = o.full ||
		    buf_fmt(out, "%s%.*s", more ? ", " : "", (int)port.len,
			(const char *)port.ptr) != 0;
	}
	put(&o, more ? "]" : "443]");
	known = put_words(&o, words);
	put(&o, "}]}\n");
	if (!known)
		return fault_set(f, FAULT_INVALID, "word not known in '%.*s'",
		    (int)line.len, (const char *)line.ptr);
	return o.full ? fault_set(f, FAULT_LIMIT, "too long")
		      : tidy(out, from, f);
}

int
short_policy(struct span lines, struct span raw, struct buf *out,
    struct fault *f)
{
	unsigned n = 0;

	if (buf_fmt(out, "version: 1\n%.*s", (int)raw.len,
		(const char *)raw.ptr) != 0)
		return fault_set(f, FAULT_LIMIT, "too long");
	while (lines.len > 0) {
		struct span line = cut(&lines, '\n');

		if (line.len == 0)
			continue;
		if (n == 0 && buf_fmt(out, "network_policies:\n") != 0)
			return fault_set(f, FAULT_LIMIT, "too long");
		if (short_entry(line, n++, out, f) != 0)
			return -1;
	}
	if (n == 0 &&
	    !memmem(raw.ptr ? (const char *)raw.ptr : "", raw.len, "network",
		7) &&
	    buf_fmt(out, "network_policies: {}\n") != 0)
		return fault_set(f, FAULT_LIMIT, "too long");
	return 0;
}
