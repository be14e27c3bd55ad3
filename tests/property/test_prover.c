/* rooms: prover */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prover against brute force on small worlds, and its laws. A family is a
 * way to make policies and a list of all requests of a small world. A pool is
 * some policies of a family; every pair of a pool is proved, and
 *
 *	WITHIN    no request of the world is an excess
 *	EXCEEDS   its witness is one, says the policies' own evaluator
 *
 * NACRE_SEED gives other policies, NACRE_POOLS more of them.
 */
#include "../lib/short.h"
#include "../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

enum {
	POOL = 64,
	REQUESTS = 1 << 14,
	WORDS = REQUESTS / 64,
	TEXT = 1 << 16,
	LINES = 12,
};

struct world {
	struct policy_request request[REQUESTS];
	size_t n;
	struct arena arena;
};

struct member {
	char text[4096]; /* in short hand */
	struct policy p;
	uint64_t passes[WORDS];
};

static struct world world;
static struct member pool[POOL];
static bool within[POOL][POOL];
static struct arena policies;
static struct arena proofs;
static struct yaml_errors errors;
static uint64_t seed;
static size_t pairs;
static size_t withins;
static size_t longest;

/* --- chance */

static uint32_t
chance(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 33) % n;
}

#define PICK(list) (list)[chance(NELEM(list))]

struct text {
	char *to;
	size_t n;
	size_t size;
};

static void add(struct text *t, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->to + t->n, t->size - t->n, fmt, ap);
	va_end(ap);
	assert_true(n >= 0 && (size_t)n < t->size - t->n);
	t->n += (size_t)n;
}

/* --- worlds */

static struct span
text_span(const char *s)
{
	return arena_dup(&world.arena, span_str(s));
}

static const struct span *
program(const char *s)
{
	struct span *p = arena_get(&world.arena, sizeof(*p));

	*p = span_str(s);
	return p;
}

static struct policy_request *
request(void)
{
	static const char *const who[] = { "/a" };
	struct policy_request *r = &world.request[world.n++];

	assert_true(world.n < REQUESTS);
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
		assert_true(text_fmt(text, sizeof(text), "%s.x.y", labels[i]));
		out[n++] = text_span(text);
		for (size_t k = 0; k < NELEM(labels); k++) {
			assert_true(text_fmt(text, sizeof(text), "%s.%s.x.y",
			    labels[i], labels[k]));
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
			    arena_get(&world.arena, 8 * sizeof(*q));

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

/* --- pools */

struct family {
	const char *name;
	void (*world)(void);
	void (*line)(struct text *t);
	uint32_t lines; /* of a policy, at most */
	uint32_t pools;
};

static const struct family families[] = {
	{ "rest", rest_world, rest_line, 3, 8 },
	{ "place", place_world, place_line, 6, 6 },
	{ "query", query_world, query_line, 2, 6 },
	{ "kind", kind_world, kind_line, 3, 6 },
	{ "mixed", mixed_world, mixed_line, 5, 8 },
};

static bool
read_policy(const char *text, struct policy *p)
{
	struct fault f = { 0 };
	struct buf yaml;
	bool ok;

	buf_init(&yaml, TEXT);
	if (short_policy(span_str(text), SPAN_LIT(""), &yaml, &f) != 0)
		fail_msg("%s: %s", text, f.text);
	ok = policy_parse(buf_span(&yaml), &policies, p, &errors, &f) == 0;
	buf_release(&yaml);
	return ok;
}

/* Another policy: new, or one of the pool with a line more, less or new. */
static void
make_text(const struct family *f, size_t have, char *out, size_t size)
{
	const char *line[LINES];
	char copy[4096] = "";
	struct text t = { out, 0, size };
	uint32_t n = 0;
	uint32_t drop = UINT32_MAX;

	if (have > 2 && chance(4) > 0) {
		memcpy(copy, pool[chance((uint32_t)have)].text, sizeof(copy));
		for (char *s = strtok(copy, "\n"); s && n < LINES;
		     s = strtok(NULL, "\n"))
			line[n++] = s;
		if (n > 1 && chance(2))
			drop = chance(n);
		for (uint32_t i = 0; i < n; i++)
			if (i != drop)
				add(&t, "%s\n", line[i]);
		if (n >= f->lines || (n > 1 && chance(3) == 0))
			return;
		n = 1;
	} else {
		n = 1 + chance(f->lines);
	}
	for (uint32_t i = 0; i < n; i++) {
		f->line(&t);
		add(&t, "\n");
	}
}

static void
pass_all(struct member *m)
{
	memset(m->passes, 0, sizeof(m->passes));
	for (size_t i = 0; i < world.n; i++)
		if (policy_decide(&m->p, &world.request[i]).allowed)
			m->passes[i / 64] |= 1ull << (i % 64);
}

static void
make_pool(const struct family *f)
{
	arena_release(&policies);
	for (size_t i = 0; i < POOL;) {
		make_text(f, i, pool[i].text, sizeof(pool[i].text));
		if (!read_policy(pool[i].text, &pool[i].p))
			continue; /* kinds that overlap, mostly */
		pass_all(&pool[i]);
		i++;
	}
}

/* --- judging */

static void
show(const char *what, const char *child, const char *parent,
    const struct prover_result *r)
{
	char text[4096];

	prover_result_format(r, text, sizeof(text));
	fail_msg("%s\nchild:\n%sparent:\n%s%s", what, child, parent, text);
}

static struct prover_result
prove(const struct policy *child, const struct policy *parent)
{
	struct prover_question q = { .child = child,
		.parent = parent,
		.paranoid = true };
	struct prover_result r;

	prover_prove(&q, &proofs, &r);
	arena_release(&proofs);
	if (r.steps > longest)
		longest = r.steps;
	return r;
}

/* As prove(), and its witness still there. */
static bool
is_within(const struct member *child, const struct member *parent)
{
	struct prover_question q = { .child = &child->p,
		.parent = &parent->p,
		.paranoid = true };
	struct prover_result r;
	const struct prover_witness *w = &r.witness;
	struct policy_request ask;

	prover_prove(&q, &proofs, &r);
	if (r.steps > longest)
		longest = r.steps;
	if (r.verdict == PROVER_WITHIN) {
		for (size_t i = 0; i < world.n / 64 + 1; i++)
			if (child->passes[i] & ~parent->passes[i])
				show("a request is an excess", child->text,
				    parent->text, &r);
	} else if (r.verdict == PROVER_EXCEEDS) {
		ask = (struct policy_request){ .programs = &w->program,
			.programs_n = 1,
			.host = w->host,
			.port = w->port,
			.address = w->address,
			.act = w->act,
			.method = w->method,
			.path = w->path,
			.query = w->query,
			.query_n = w->query_n,
			.tool = w->tool,
			.use = w->use,
			.use_of = w->use_of };
		if (!policy_decide(&child->p, &ask).allowed ||
		    policy_decide(&parent->p, &ask).allowed)
			show("the witness is no excess", child->text,
			    parent->text, &r);
	} else {
		show("not decided", child->text, parent->text, &r);
	}
	arena_release(&proofs);
	pairs++;
	withins += r.verdict == PROVER_WITHIN;
	return r.verdict == PROVER_WITHIN;
}

static void
check_matrix(void)
{
	for (size_t i = 0; i < POOL; i++)
		for (size_t k = 0; k < POOL; k++)
			within[i][k] = is_within(&pool[i], &pool[k]);
	for (size_t i = 0; i < POOL; i++)
		assert_true(within[i][i]);
	for (size_t i = 0; i < POOL; i++)
		for (size_t k = 0; k < POOL; k++)
			for (size_t j = 0; within[i][k] && j < POOL; j++)
				if (within[k][j] && !within[i][j])
					fail_msg("not transitive:\n%s\n%s\n%s",
					    pool[i].text, pool[k].text,
					    pool[j].text);
}

/* Lines the other way round, one twice; a line less; a deny more. */
static void
check_laws(size_t i)
{
	char copy[4096];
	char turned[8192] = "";
	char text[8192];
	const char *line[LINES];
	struct policy other;
	size_t n = 0;

	memcpy(copy, pool[i].text, sizeof(copy));
	for (char *s = strtok(copy, "\n"); s; s = strtok(NULL, "\n"))
		line[n++] = s;
	assert_true(text_fmt(turned, sizeof(turned), "%s\n", line[n - 1]));
	for (size_t k = n; k-- > 0;) {
		assert_true(
		    text_fmt(text, sizeof(text), "%s%s\n", turned, line[k]));
		memcpy(turned, text, sizeof(turned));
	}
	assert_true(read_policy(turned, &other));
	assert_int_equal(prove(&other, &pool[i].p).verdict, PROVER_WITHIN);
	assert_int_equal(prove(&pool[i].p, &other).verdict, PROVER_WITHIN);
	for (size_t k = 0; k < POOL; k++)
		assert_int_equal(prove(&other, &pool[k].p).verdict ==
			PROVER_WITHIN,
		    within[i][k]);
}

static void
check_narrowing(size_t i)
{
	static const char more[] = " ![* /a/**]\n";
	char *at = strstr(pool[i].text, " R [");
	char text[8192];
	struct policy other;

	if (!at || strstr(at, "!["))
		return;
	at = strchr(at, ']') + 1;
	assert_true(
	    text_fmt(text, sizeof(text), "%.*s%s%s", (int)(at - pool[i].text),
		pool[i].text, more, *at == '\n' ? at + 1 : at));
	if (read_policy(text, &other))
		assert_int_equal(prove(&other, &pool[i].p).verdict,
		    PROVER_WITHIN);
}

static void
run_family(const struct family *f)
{
	const char *more = getenv("NACRE_POOLS");
	const char *given = getenv("NACRE_SEED");
	uint32_t times = f->pools * (more ? (uint32_t)atoi(more) : 1);

	seed = given ? strtoull(given, NULL, 10) : 20260829;
	world.n = 0;
	pairs = withins = longest = 0;
	arena_init(&world.arena, 16 << 20);
	arena_init(&policies, 256 << 20);
	arena_init(&proofs, PROVER_ARENA + 65536);
	f->world();
	for (uint32_t i = 0; i < times; i++) {
		make_pool(f);
		check_matrix();
		for (size_t k = 0; k < POOL; k += 8)
			check_laws(k);
		for (size_t k = 0; k < POOL; k++)
			check_narrowing(k);
	}
	print_message("%s: %zu pairs, %zu within, %zu requests, at most %zu "
		      "steps\n",
	    f->name, pairs, withins, world.n, longest);
	assert_true(withins > pairs / 50);
	arena_release(&policies);
	arena_release(&world.arena);
}

static void
methods_and_paths_agree_with_brute_force(void **state)
{
	(void)state;
	run_family(&families[0]);
}

static void
places_agree_with_brute_force(void **state)
{
	(void)state;
	run_family(&families[1]);
}

static void
queries_agree_with_brute_force(void **state)
{
	(void)state;
	run_family(&families[2]);
}

static void
protocols_agree_with_brute_force(void **state)
{
	(void)state;
	run_family(&families[3]);
}

static void
all_at_once_agrees_with_brute_force(void **state)
{
	(void)state;
	run_family(&families[4]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_and_paths_agree_with_brute_force),
		cmocka_unit_test(places_agree_with_brute_force),
		cmocka_unit_test(queries_agree_with_brute_force),
		cmocka_unit_test(protocols_agree_with_brute_force),
		cmocka_unit_test(all_at_once_agrees_with_brute_force),
	};

	return cmocka_run_group_tests_name("prover", tests, NULL, NULL);
}
