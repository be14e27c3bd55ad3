/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>

#include "short.h"
#include "worlds.h"

static struct world *world;
static uint64_t seed;

/* --- chance */

void
worlds_seed(uint64_t to)
{
	seed = to;
}

uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

void
add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->to + t->n, t->size - t->n, fmt, ap);
	va_end(ap);
	BUG_IF(!(n >= 0 && (size_t)n < t->size - t->n));
	t->n += (size_t)n;
}

/* --- worlds */

static struct span
text_span(const char *s)
{
	return arena_dup(&world->arena, span_str(s));
}

static const struct span *
program(const char *s)
{
	struct span *p = arena_get(&world->arena, sizeof(*p));

	*p = span_str(s);
	return p;
}

static struct policy_request *
request(void)
{
	static const char *const who[] = { "/a" };
	struct policy_request *r = &world->request[world->n++];

	BUG_IF(!(world->n < REQUESTS));
	*r = (struct policy_request){ .programs = program(who[0]),
		.programs_n = 1,
		.host = SPAN_LIT("h.x.y"),
		.port = 1,
		.address = policy_address_v4(0x01010101) };
	return r;
}

/* All canonical paths over a few letters. */
static size_t
all_paths(const char *letters, size_t longest_path, struct span *out,
    size_t most)
{
	char at[16] = "/";
	size_t base = strlen(letters);
	size_t n = 0;

	for (size_t len = 1; len <= longest_path; len++) {
		size_t count = 1;

		for (size_t i = 1; i < len; i++)
			count *= base;
		for (size_t k = 0; k < count; k++) {
			size_t left = k;
			bool ok = true;

			for (size_t i = 1; i < len; i++, left /= base)
				at[i] = letters[left % base];
			at[len] = '\0';
			for (size_t i = 1; i < len; i++)
				ok = ok && !(at[i] == '/' && at[i - 1] == '/');
			if (ok && n < most)
				out[n++] = text_span(at);
		}
	}
	return n;
}

/* --- family: methods and paths of one host */

static const char *const paths[] = { "/", "/a", "/b", "/a/b", "/*", "/a/*",
	"/*/b", "/**", "**", "/a/**", "/**/b", "/a/**/b", "/a*", "/*b", "/a*b",
	"/*/*", "/a/*/b", "/**/a/**", "**/b", "/b/**", "/*a*", "/ab/*" };
static const char *const methods[] = { "GET", "HEAD", "POST", "*", "*" };

static void
rest_world(void)
{
	static const char *const verbs[] = { "GET", "HEAD", "POST", "X" };
	struct span list[512];
	size_t n = all_paths("ab/", 7, list, 500);

	list[n++] = text_span("/a%2Fb");
	list[n++] = text_span("/b/%2F");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < NELEM(verbs); k++) {
			struct policy_request *r = request();

			r->act = POLICY_ACT_HTTP;
			r->method = span_str(verbs[k]);
			r->path = list[i];
		}
}

static void
add_rules(struct text *t, const char *before, uint32_t n)
{
	add(t, " %s[", before);
	for (uint32_t i = 0; i < n; i++)
		add(t, "%s%s %s", i ? "; " : "", PICK(methods), PICK(paths));
	add(t, "]");
}

static void
rest_line(struct text *t)
{
	add(t, "/a>h.x.y:1 R");
	if (chance(8) == 0)
		add(t, " path=%s", PICK(paths));
	if (chance(10) == 0)
		add(t, " enc");
	add_rules(t, "", 1 + chance(4));
	if (chance(2) == 0)
		add_rules(t, "!", 1 + chance(3));
}

/* --- family: programs, hosts, ports, addresses */

static const char *const programs[] = { "/a", "/b", "/*", "/**", "/a/*",
	"/a/**", "/**/a", "/a,/b", "/*,/*/**", "/a/a,/a/b", "/*/a" };
static const char *const hosts[] = { "x.y", "a.x.y", "b.x.y", "*.x.y", "**.x.y",
	"a*.x.y", "*b.x.y", "*.a.x.y", "*.*.x.y", "**.a.x.y", "a.*.x.y",
	"a*b.x.y", "-", "10.0.0.1", "1.1.1.1" };
static const char *const ports[] = { "1", "2", "1,2", "1,2,3", "3" };
static const char *const sets[] = { "public", "any", "10.0.0.0/8", "10.0.0.0/9",
	"10.128.0.0/9", "1.0.0.0/8", "1.0.0.0/8,10.0.0.0/8", "fd10::/16" };

static size_t
all_hosts(struct span *out)
{
	static const char *const labels[] = { "a", "b", "ab", "ba", "c", "aa" };
	char text[64];
	size_t n = 0;

	out[n++] = text_span("x.y");
	out[n++] = text_span("z");
	out[n++] = text_span("10.0.0.1");
	out[n++] = text_span("1.1.1.1");
	for (size_t i = 0; i < NELEM(labels); i++) {
		BUG_IF(!(text_fmt(text, sizeof(text), "%s.x.y", labels[i])));
		out[n++] = text_span(text);
		for (size_t k = 0; k < NELEM(labels); k++) {
			BUG_IF(!(text_fmt(text, sizeof(text), "%s.%s.x.y",
			    labels[i], labels[k])));
			out[n++] = text_span(text);
		}
	}
	out[n++] = text_span("a.b.c.x.y");
	return n;
}

static void
place_world(void)
{
	static const char *const who[] = { "/a", "/b", "/a/a", "/a/b", "/c/a",
		"/a/c/a", "/c" };
	static const uint32_t v4[] = { 0x01010101, 0x02020202, 0x0a000001,
		0x0ac80001 };
	struct span name[64];
	size_t n = all_hosts(name);

	for (size_t i = 0; i < n * NELEM(who) * NELEM(v4) * 3; i++) {
		struct policy_request *r;
		struct policy_address is;
		struct policy_address at =
		    policy_address_v4(v4[i / 3 % NELEM(v4)]);
		struct span host = name[i / 3 / NELEM(v4) % n];

		/* A host that is an address is dialled at it. */
		if (policy_address_parse(host, &is) &&
		    policy_address_compare(is, at) != 0)
			continue;
		r = request();
		r->programs = program(who[i / 3 / NELEM(v4) / n]);
		r->host = host;
		r->port = (uint16_t)(1 + i % 3);
		r->address = at;
		r->act = POLICY_ACT_OPAQUE;
	}
}

static void
place_line(struct text *t)
{
	const char *host = PICK(hosts);
	bool address = host[0] >= '0' && host[0] <= '9';

	add(t, "%s>%s:%s", PICK(programs), host, PICK(ports));
	if (host[0] == '-' || (!address && chance(3) == 0))
		add(t, " ips=%s", PICK(sets));
}

/* --- family: queries */

static const char *const values[] = { "a", "b", "*", "a*", "*b", "a|b", "c|a*",
	"ab", "*a*" };

static void
query_world(void)
{
	static const char *const value[] = { "a", "b", "ab", "c" };
	static const char *const verbs[] = { "GET", "POST" };

	for (uint32_t bits = 0; bits < 1 << 8; bits++)
		for (size_t k = 0; k < 4; k++) {
			struct policy_request *r = request();
			struct policy_pair *q =
			    arena_get(&world->arena, 8 * sizeof(*q));

			for (uint32_t i = 0; i < 8; i++)
				if (bits >> i & 1)
					q[r->query_n++] = (struct policy_pair){
						text_span(i < 4 ? "k" : "m"),
						text_span(value[i % 4])
					};
			r->act = POLICY_ACT_HTTP;
			r->query = q;
			r->path = text_span(k & 1 ? "/s" : "/t");
			r->method = span_str(verbs[k / 2]);
		}
}

static void
add_query(struct text *t)
{
	uint32_t which = chance(4);

	if (which == 3)
		return;
	add(t, " {");
	if (which != 1)
		add(t, "k=%s", PICK(values));
	if (which == 2)
		add(t, ",");
	if (which != 0)
		add(t, "m=%s", PICK(values));
	add(t, "}");
}

static void
query_line(struct text *t)
{
	static const char *const where[] = { "/s", "/t", "**" };

	add(t, "/a>h.x.y:1 R");
	for (uint32_t deny = 0; deny < 2; deny++) {
		uint32_t n = deny ? chance(4) : 1 + chance(4);

		add(t, n ? deny ? " ![" : " [" : "");
		for (uint32_t i = 0; i < n; i++) {
			add(t, "%s%s %s", i ? "; " : "",
			    chance(2) ? "GET" : "*", PICK(where));
			add_query(t);
		}
		add(t, n ? "]" : "");
	}
}

/* --- family: protocols */

static void
kind_world(void)
{
	static const char *const rpc[] = { "tools/call", "tools/list", "ping",
		"a", "ab" };
	static const char *const tool[] = { "a", "b", "ab", "a b", "" };
	static const char *const where[] = { "/a", "/b", "/c" };
	static const char *const verbs[] = { "GET", "POST", "X" };

	for (size_t i = 0; i < NELEM(where) * 8; i++) {
		enum policy_act act = (enum policy_act)(i % 8);
		bool named = act == POLICY_ACT_RPC || act == POLICY_ACT_MCP;
		size_t n = named             ? NELEM(rpc)
		    : act == POLICY_ACT_HTTP ? NELEM(verbs)
					     : 1;

		for (size_t k = 0; k < n; k++)
			for (size_t j = 0; j < (named && k == 0 ? 5 : 1); j++) {
				struct policy_request *r = request();

				r->act = act;
				r->path = span_str(act == POLICY_ACT_OPAQUE
					? ""
					: where[i / 8]);
				if (named)
					r->method = span_str(rpc[k]);
				if (act == POLICY_ACT_HTTP)
					r->method = span_str(verbs[k]);
				if (act == POLICY_ACT_MCP && k == 0)
					r->tool = span_str(tool[j]);
			}
	}
}

static void
add_list(struct text *t, const char *before, const char *const *list, size_t n,
    uint32_t count)
{
	add(t, " %s[", before);
	for (uint32_t i = 0; i < count; i++)
		add(t, "%s%s", i ? "; " : "", list[chance((uint32_t)n)]);
	add(t, "]");
}

static void
kind_line(struct text *t)
{
	static const char *const scopes[] = { "/a", "/b", "/*", "**", "/c" };
	static const char *const socket[] = { "GET /a", "GET **", "GET /b",
		"WEBSOCKET_TEXT /a", "WEBSOCKET_TEXT **", "* /a", "* **" };
	static const char *const rpc[] = { "ping", "a", "a*", "*", "tools/*" };
	static const char *const mcp[] = { "ping", "a*", "*", "tools/*",
		"tools/call", "tools/list" };
	static const char *const calls[] = { "tools/call tool=a",
		"tools/call tool=a*", "tools/call tool=a|b", "ping",
		"tools/call tool=b" };
	static const char *const rest[] = { "GET **", "POST **", "* /a", "* **",
		"GET /b", "POST /a" };
	uint32_t kind = chance(9);
	bool deny = chance(2) == 0;
	uint32_t n = 1 + chance(3);
	bool audit = chance(8) == 0;

	add(t, "/a>h.x.y:1");
	if (kind == 0)
		return; /* opaque */
	if (chance(2))
		add(t, " path=%s", PICK(scopes));
	if (kind <= 2) {
		add(t, audit ? " Ra" : " R");
		add_list(t, "", rest, NELEM(rest), n);
		if (deny)
			add_list(t, "!", rest, NELEM(rest), 1);
	} else if (kind <= 4) {
		add(t, audit ? " Wa" : " W");
		add_list(t, "", socket, NELEM(socket), n + 1);
		if (deny)
			add_list(t, "!", socket, NELEM(socket), 1);
	} else if (kind <= 5) {
		add(t, audit ? " Ja" : " J");
		add_list(t, "", rpc, NELEM(rpc), n);
		if (deny)
			add_list(t, "!", rpc, NELEM(rpc), 1);
	} else {
		const char *const *list = chance(2) ? mcp : calls;
		size_t most = list == mcp ? NELEM(mcp) : NELEM(calls);

		add(t, audit ? " Ma" : " M");
		if (chance(4) == 0)
			add(t, " all");
		if (list == mcp && chance(4) == 0)
			add(t, " loose");
		add_list(t, "", list, most, n);
		if (deny)
			add_list(t, "!", calls, NELEM(calls), 1);
	}
}

/* --- family: everything at once, and what endpoints may do */

static void
mixed_line(struct text *t)
{
	static const char *const can[] = { "", "", "", " ws", " body", " un",
		" bind=A", " bind=B", " sign=s3", " enc" };

	place_line(t);
	if (chance(4) == 0) {
		add(t, "%s", chance(3) ? "" : " un");
		return;
	}
	add(t, "%s R", PICK(can));
	if (chance(6) == 0)
		add(t, " path=%s", PICK(paths));
	add_rules(t, "", 1 + chance(2));
	if (chance(2) == 0)
		add_rules(t, "!", 1 + chance(2));
}

static void
mixed_world(void)
{
	static const char *const who[] = { "/a", "/b", "/a/b" };
	static const char *const name[] = { "x.y", "a.x.y", "c.x.y", "a.a.x.y",
		"b.c.x.y" };
	static const char *const verbs[] = { "GET", "POST" };
	static const char *const where[] = { "/", "/a", "/b", "/a/b", "/a/c/b",
		"/ab", "/c" };
	static const uint32_t v4[] = { 0x01010101, 0x0a000001 };
	static struct policy_capabilities a;

	a.provider = span_str("A");
	for (size_t i = 0; i < NELEM(who) * NELEM(name) * 2 * 2 * 7 * 2 * 3;
	     i++) {
		struct policy_request *r = request();
		size_t k = i;

		r->programs = program(who[k % NELEM(who)]);
		k /= NELEM(who);
		r->host = span_str(name[k % NELEM(name)]);
		k /= NELEM(name);
		r->address = policy_address_v4(v4[k % 2]);
		k /= 2;
		r->method = span_str(verbs[k % 2]);
		k /= 2;
		r->path = span_str(where[k % 7]);
		k /= 7;
		r->port = (uint16_t)(1 + k % 2);
		k /= 2;
		r->act = POLICY_ACT_HTTP;
		r->use = k == 0 ? POLICY_USE_NONE
		    : k == 1    ? POLICY_USE_BINDING
				: POLICY_USE_UNINSPECTED;
		r->use_of = k == 1 ? &a : NULL;
	}
}

const struct family families[FAMILIES] = {
	{ "rest", rest_world, rest_line, 3, 8 },
	{ "place", place_world, place_line, 6, 6 },
	{ "query", query_world, query_line, 2, 6 },
	{ "kind", kind_world, kind_line, 3, 6 },
	{ "mixed", mixed_world, mixed_line, 5, 8 },
};

void
world_init(struct world *w, const struct family *of)
{
	w->n = 0;
	arena_init(&w->arena, 16 << 20);
	world = w;
	of->world();
}

void
world_release(struct world *w)
{
	arena_release(&w->arena);
}
