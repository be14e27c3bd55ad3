/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash is blind to order and repetition: the same items, dealt in another
 * order and some of them twice, have the same text. And it is blind to nothing
 * else: one item more is another text.
 */
#include <string.h>

#include "../../lib/policy_check.h"
#include "../../lib/unit.h"
#include "policy/policy.h"

enum {
	ROUNDS = 300,
	MOST = 6, /* items of a list */
};

static const char *const programs[] = { "{path: /a}", "{path: /b/**}",
	"{path: '/c d'}", "{path: '**/e'}" };
static const char *const endpoints[] = {
	"{host: x.com, ports: [%s], protocol: rest, rules: [%s]}",
	"{host: '*.y.com', ports: [%s], protocol: rest, deny_rules: [%s], "
	"access: full}",
	"{allowed_ips: [10.0.0.0/8, any], ports: [%s], protocol: rest, path: "
	"/q/*, rules: [%s]}",
};
static const char *const allows[] = { "{allow: {method: GET}}",
	"{allow: {method: get, path: /v1/**}}",
	"{allow: {path: /x, query: {b: c, a: {any: [d, e]}}}}",
	"{allow: {query: {z: ''}}}" };
static const char *const denies[] = { "{method: PUT}", "{path: /admin/**}",
	"{path: /x, query: {a: 'q*'}}", "{method: GET, path: '**'}" };
static const char *const ports[] = { "80", "443", "444", "8080" };
static const char *const files[] = { "/usr", "/etc/", "/opt//x", "/srv" };

/* A choice of items, and a way to deal them. */
struct deal {
	uint64_t choice; /* of the items: the same in both deals */
	uint64_t order;
	bool shuffled;
};

static uint64_t
noise(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void
add(struct buf *b, const char *s)
{
	assert_int_equal(buf_fmt(b, "%s", s), 0);
}

/* At least one of four items, comma separated. */
static const char *
pick(struct deal *d, const char *const *items, char *out, size_t size)
{
	unsigned mask = (unsigned)(noise(&d->choice) % 15) + 1;
	unsigned list[2 * MOST];
	size_t n = 0;
	size_t used = 0;

	for (unsigned i = 0; i < 4; i++)
		if (mask >> i & 1)
			list[n++] = i;
	if (d->shuffled) {
		if (noise(&d->order) % 2)
			list[n++] = list[0];
		for (size_t i = n - 1; i > 0; i--) {
			size_t k = noise(&d->order) % (i + 1);
			unsigned keep = list[i];

			list[i] = list[k];
			list[k] = keep;
		}
	}
	out[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		assert_true(text_fmt(out + used, size - used, "%s%s",
		    i ? ", " : "", items[list[i]]));
		used = strlen(out);
	}
	return out;
}

static void
add_endpoint(struct deal *d, struct buf *b, const char *form)
{
	bool deny = strstr(form, "deny_rules") != NULL;
	char one[256];
	char two[1024];

	(void)pick(d, ports, one, sizeof(one));
	(void)pick(d, deny ? denies : allows, two, sizeof(two));
	while (*form) {
		if (strncmp(form, "[%s]", 4) == 0) {
			add(b, "[");
			add(b, strstr(form + 1, "[%s]") ? one : two);
			add(b, "]");
			form += 4;
		} else {
			assert_int_equal(buf_fmt(b, "%c", *form++), 0);
		}
	}
}

static void
add_entry(struct deal *d, struct buf *b, unsigned i)
{
	char list[512];
	struct deal parts[3];
	size_t from = d->shuffled ? noise(&d->order) % 3 : 0;

	assert_int_equal(buf_fmt(b, "r%u: {binaries: [%s], endpoints: [", i,
			     pick(d, programs, list, sizeof(list))),
	    0);
	for (size_t k = 0; k < 3; k++) {
		parts[k] = *d;
		parts[k].choice = noise(&d->choice);
		parts[k].order = noise(&d->order) | 1;
	}
	for (size_t k = 0; k < 3; k++) {
		size_t at = (from + k) % 3;
		struct deal again = parts[at];

		add(b, k ? ", " : "");
		add_endpoint(&parts[at], b, endpoints[at]);
		if (!d->shuffled)
			continue;
		add(b, ", ");
		add_endpoint(&again, b, endpoints[at]);
	}
	add(b, "]}, ");
}

static void
write_policy(struct deal d, struct buf *b, bool more)
{
	struct deal entry[3];
	char list[256];

	for (size_t i = 0; i < 3; i++) {
		entry[i] = d;
		entry[i].choice = noise(&d.choice);
		entry[i].order = noise(&d.order) | 1;
	}
	add(b, "{");
	if (!d.shuffled)
		add(b, "version: 1, ");
	assert_int_equal(buf_fmt(b,
			     "filesystem_policy: {read_only: [%s%s]}, "
			     "network_policies: {",
			     pick(&d, files, list, sizeof(list)),
			     more ? ", /more" : ""),
	    0);
	for (unsigned i = 0; i < 3; i++) {
		unsigned at = d.shuffled ? 2 - i : i;

		add_entry(&entry[at], b, at);
	}
	add(b, d.shuffled ? "}, version: 1}" : "}}");
}

static struct policy
dealt(struct arena *a, struct deal d, bool more)
{
	static struct yaml_errors errors;
	struct policy p = { 0 };
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 64 << 10);
	write_policy(d, &b, more);
	if (policy_parse(buf_span(&b), a, &p, &errors, &f) != 0)
		fail_msg("%.*s: %s", (int)b.len, (const char *)buf_ptr(&b),
		    f.text);
	buf_release(&b);
	return p;
}

static void
order_and_repetition_do_not_reach_the_hash(void **state)
{
	uint64_t seed = 88172645463325252;

	(void)state;
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct deal d = { .choice = noise(&seed), .order = 1 };
		struct deal e = { d.choice, noise(&seed), true };
		struct arena a;
		struct policy p;
		struct policy q;
		struct policy r;

		arena_init(&a, 4 << 20);
		p = dealt(&a, d, false);
		q = dealt(&a, e, false);
		r = dealt(&a, e, true);
		assert_string_equal(policy_format(&p), policy_format(&q));
		assert_memory_equal(p.hash, q.hash, POLICY_HASH);
		assert_memory_not_equal(p.hash, r.hash, POLICY_HASH);
		arena_release(&a);
	}
}

static void
a_value_written_twice_is_one(void **state)
{
	static const char head[] =
	    "{version: 1, network_policies: {a: "
	    "{binaries: [{path: /c}], endpoints: [{host: "
	    "x.y, port: 1, protocol: rest, rules: "
	    "[{allow: {path: /a, query: {k: ";
	static const char *const values[] = { "v", "{any: [v]}",
		"{any: [v, v]}", "{any: [v, v, v]}" };
	static struct yaml_errors errors;
	struct arena a;
	struct policy p[NELEM(values)];

	(void)state;
	arena_init(&a, 4 << 20);
	for (size_t i = 0; i < NELEM(values); i++) {
		struct fault f = { 0 };
		char text[512];

		assert_true(text_fmt(text, sizeof(text), "%s%s}}}]}]}}}", head,
		    values[i]));
		assert_int_equal(
		    policy_parse(span_str(text), &a, &p[i], &errors, &f), 0);
		assert_string_equal(policy_format(&p[i]), policy_format(&p[0]));
	}
	arena_release(&a);
}

/* A key of so many characters, of a name or of a query. */
static void
add_key(struct buf *b, const char *character, size_t n, const char *after)
{
	add(b, "\"");
	for (size_t i = 0; i < n; i++)
		add(b, character);
	add(b, "\"");
	add(b, after);
}

static void
check_keys(bool is_json, const char *character, size_t n)
{
	static struct yaml_errors errors;
	const char *mark = is_json ? "" : "? ";
	struct policy p = { 0 };
	struct fault f = { 0 };
	struct arena a;
	struct buf b;

	buf_init(&b, 64 << 10);
	arena_init(&a, 16 << 20);
	add(&b, "{\"version\": 1, \"network_policies\": {");
	add(&b, mark);
	add_key(&b, character, n,
	    " : {\"binaries\": [{\"path\": \"/c\"}], \"endpoints\": [{"
	    "\"host\": \"x.y\", \"port\": 1, \"protocol\": \"rest\", "
	    "\"rules\": [{\"allow\": {\"path\": \"/a\", \"query\": {");
	add(&b, mark);
	add_key(&b, character, n, " : \"v\"}}}]}]}}}");
	if ((is_json ? policy_read_json : policy_read_yaml)(buf_span(&b), 0, &a,
		&p, &errors, &f) != 0)
		fail_msg("%zu: %s", n, f.text);
	policy_check(&p, &a);
	arena_release(&a);
	buf_release(&b);
}

/* YAML has a limit for keys that do not say that they are some. */
static void
long_keys_read_back(void **state)
{
	static const size_t lengths[] = { 1, 160, 166, 167, 180, 990, 998, 999,
		1000, 1001, 1017, 1022, 1023, 1024, 1025, 1100, 1365 };

	(void)state;
	for (size_t i = 0; i < NELEM(lengths); i++)
		for (size_t is_json = 0; is_json < 2; is_json++) {
			check_keys(is_json, "k", lengths[i]);
			check_keys(is_json, "\xe4\xb8\xad", lengths[i]);
			check_keys(is_json, "k", 3 * lengths[i]);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_repetition_do_not_reach_the_hash),
		cmocka_unit_test(a_value_written_twice_is_one),
		cmocka_unit_test(long_keys_read_back),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
