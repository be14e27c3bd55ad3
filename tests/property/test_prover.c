/* rooms: prover */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prover against brute force on small worlds, and its laws. A family is a
 * way to make policies and a list of all requests of a small world. A pool is
 * some policies of a family; every pair of a pool is proved, and
 *
 *	WITHIN    no request of the world is an excess
 *	EXCEEDS   its witness is one, says the policies' own evaluator, and no
 *	          request of the world that is one too is plainer
 *
 * NACRE_SEED gives other policies, NACRE_POOLS more of them.
 */
#include "../lib/short.h"
#include "../lib/unit.h"
#include "../lib/worlds.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

enum {
	POOL = 64,
	WORDS = REQUESTS / 64,
	TEXT = 1 << 16,
	LINES = 12,
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
static size_t pairs;
static size_t withins;
static size_t longest;

/* --- pools */

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
	struct text t = { out, 0, size };
	uint32_t n = 0;

	if (have > 2 && chance(4) > 0) {
		const char *line[LINES];
		char copy[4096];
		uint32_t drop = UINT32_MAX;

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

/* --- what is plain, said once more */

static int
order_of(size_t a, size_t b)
{
	return a < b ? -1 : a > b;
}

/* Acts in their order, tools/call before the other methods of MCP. */
static size_t
act_rank(const struct policy_request *r)
{
	bool call = span_is(r->method, "tools/call");

	return (size_t)r->act * 2 + (r->act == POLICY_ACT_MCP && !call);
}

static size_t
bytes_of(const struct policy_request *r)
{
	bool call =
	    r->act == POLICY_ACT_MCP && span_is(r->method, "tools/call");
	bool named =
	    r->act == POLICY_ACT_RPC || (r->act == POLICY_ACT_MCP && !call);
	struct span word = call ? r->tool : r->method;
	size_t n = r->host.len + r->path.len + r->programs[0].len;

	if (call || named)
		n += word.len ? word.len : 1 << 16;
	for (size_t i = 0; i < r->query_n; i++)
		n += r->query[i].key.len + r->query[i].value.len + 2;
	return n;
}

static size_t
method_rank(struct span s)
{
	static const char all[] =
	    " GET POST DELETE PUT PATCH HEAD OPTIONS TRACE"
	    " CONNECT X-PROBE";
	char word[32];
	const char *at;

	if (!text_fmt(word, sizeof(word), " %.*s", (int)s.len, s.ptr))
		return sizeof(all);
	at = strstr(all, word);
	return at ? (size_t)(at - all) : sizeof(all);
}

static uint64_t
address_rank(struct policy_address a)
{
	static const uint32_t first[] = { 0x01010101, 0x0a000001, 0xac100001,
		0xc0a80001, 0x64400001 };

	for (size_t i = 0; i < NELEM(first); i++)
		if (policy_address_compare(a, policy_address_v4(first[i])) == 0)
			return i;
	return a.high ? UINT64_MAX : a.low;
}

static int
text_order(struct span a, struct span b)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyz0123456789-_."
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ~/!$&'()*+,=:@%";
	int c = order_of(a.len, b.len);

	for (size_t i = 0; c == 0 && i < a.len; i++)
		c = order_of((size_t)(strchr(bytes, a.ptr[i]) - bytes),
		    (size_t)(strchr(bytes, b.ptr[i]) - bytes));
	return c;
}

/* a is plainer than b. Queries count by their bytes only. */
static bool
is_plainer(const struct policy_request *a, const struct policy_request *b)
{
	int c = order_of(act_rank(a), act_rank(b));

	if (c == 0)
		c = order_of(a->use, b->use);
	if (c == 0)
		c = order_of(bytes_of(a), bytes_of(b));
	if (c == 0 && a->act == POLICY_ACT_HTTP)
		c = order_of(method_rank(a->method), method_rank(b->method));
	if (c == 0)
		c = order_of(a->port, b->port);
	if (c == 0)
		c = order_of(address_rank(a->address),
		    address_rank(b->address));
	if (c == 0)
		c = text_order(a->host, b->host);
	if (c == 0)
		c = text_order(a->path, b->path);
	if (c == 0 && a->act != POLICY_ACT_HTTP)
		c = text_order(a->method, b->method);
	if (c == 0)
		c = text_order(a->tool, b->tool);
	return c == 0 ? text_order(a->programs[0], b->programs[0]) < 0 : c < 0;
}

static void
plainest_check(const struct member *child, const struct member *parent,
    const struct policy_request *witness, const struct prover_result *r)
{
	if (!r->shortest)
		show("a shorter one was not looked for", child->text,
		    parent->text, r);
	for (size_t i = 0; i < world.n; i++) {
		const struct policy_request *w = &world.request[i];

		if (child->passes[i / 64] & ~parent->passes[i / 64] &
			1ull << (i % 64) &&
		    is_plainer(w, witness)) {
			for (size_t q = 0; q < w->query_n; q++)
				print_message("%.*s=%.*s&",
				    (int)w->query[q].key.len,
				    w->query[q].key.ptr,
				    (int)w->query[q].value.len,
				    w->query[q].value.ptr);
			print_message("%.*s  %.*s %.*s%.*s tool %.*s\n",
			    (int)w->programs[0].len, w->programs[0].ptr,
			    (int)w->method.len, w->method.ptr, (int)w->host.len,
			    w->host.ptr, (int)w->path.len, w->path.ptr,
			    (int)w->tool.len, w->tool.ptr);
			show("a plainer request is an excess", child->text,
			    parent->text, r);
		}
	}
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
		plainest_check(child, parent, &ask, &r);
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

	worlds_seed(given ? strtoull(given, NULL, 10) : 20260829);
	world_init(&world, f);
	pairs = withins = longest = 0;
	arena_init(&policies, 256 << 20);
	arena_init(&proofs, PROVER_ARENA + 65536);
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
	world_release(&world);
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
