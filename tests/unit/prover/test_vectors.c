/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors: pairs of policies with their verdict and, for an excess, what must
 * be in the witness. A record of tests/data/prover/NAME.txt:
 *
 *	ID VERDICT [FIELD=VALUE]...     values have no blanks; error=a_b is
 *	                                in the first error of an invalid one
 *	  p ENTRY                       of the parent, in short hand (short.h)
 *	  c ENTRY                       of the child
 *	  P YAML                        other sections of the parent, as they are
 *	  C YAML
 *	  p*N ENTRY, C*N YAML, ...      the line N times, @ its number
 *	  i link=/from,to  i workdir=/w  i uid=N:M  the image
 */
#include <fcntl.h>

#include "../../lib/short.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

enum {
	LINKS = 16,
	TEXT = 1 << 20,
};

struct vector {
	struct span head;
	struct buf entries[2]; /* child, parent */
	struct buf raw[2];
	struct prover_link links[LINKS];
	struct prover_image image;
	bool has_image;
	uint32_t ids[2]; /* of an unset user, group */
};

static struct arena arena;
static struct yaml_errors errors;
static unsigned count;

static int
setup(void **state)
{
	(void)state;
	arena_init(&arena, 64 << 20);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	arena_release(&arena);
	return 0;
}

static bool
identify(const void *arg, const char *user, const char *group, uint32_t *uid,
    uint32_t *gid)
{
	const struct vector *v = arg;
	uint64_t n;

	*uid = v->ids[0];
	*gid = v->ids[1];
	if (strcmp(user, "sandbox") == 0)
		*uid = 998;
	if (strcmp(group, "sandbox") == 0)
		*gid = 998;
	if (num_parse(span_str(user), UINT32_MAX, &n))
		*uid = (uint32_t)n;
	if (num_parse(span_str(group), UINT32_MAX, &n))
		*gid = (uint32_t)n;
	return true;
}

/* --- reading */

static struct span
word(struct span *s)
{
	size_t at = span_find(*s, ' ');
	struct span w = span_of(s->ptr, at);

	*s = span_from(*s, at + 1);
	while (s->len > 0 && s->ptr[0] == ' ')
		*s = span_from(*s, 1);
	return w;
}

static void
add_line(struct buf *b, struct span s)
{
	assert_int_equal(buf_fmt(b, "%.*s\n", (int)s.len, (const char *)s.ptr),
	    0);
}

static void read_line(struct vector *v, struct span s);

static void
read_image(struct vector *v, struct span s)
{
	v->has_image = true;
	if (span_starts(s, "workdir=")) {
		v->image.workdir = span_from(s, 8);
	} else if (span_starts(s, "link=")) {
		struct prover_link *l = &v->links[v->image.links_n++];

		s = span_from(s, 5);
		l->path = span_of(s.ptr, span_find(s, ','));
		l->target = span_from(s, l->path.len + 1);
	} else if (span_starts(s, "uid=")) {
		struct span id = span_from(s, 4);
		struct span first = span_of(id.ptr, span_find(id, ':'));
		uint64_t n[2];

		assert_true(num_parse(first, UINT32_MAX, &n[0]));
		assert_true(
		    num_parse(span_from(id, first.len + 1), UINT32_MAX, &n[1]));
		v->ids[0] = (uint32_t)n[0];
		v->ids[1] = (uint32_t)n[1];
	} else {
		assert_true(span_is(s, "known"));
	}
}

static void
read_lines(struct vector *v, struct span s)
{
	struct span kind = word(&s);
	uint64_t n;
	char line[512];
	char at[8];

	assert_true(num_parse(span_from(kind, 2), 4096, &n));
	for (uint64_t i = 0; i < n; i++) {
		size_t to = 2;

		(void)text_fmt(at, sizeof(at), "%u", (unsigned)i);
		line[0] = (char)kind.ptr[0];
		line[1] = ' ';
		for (size_t k = 0; k < s.len; k++) {
			struct span more = s.ptr[k] == '@'
			    ? span_str(at)
			    : span_of(s.ptr + k, 1);

			assert_true(to + more.len < sizeof(line));
			memcpy(line + to, more.ptr, more.len);
			to += more.len;
		}
		read_line(v, span_of(line, to));
	}
}

static void
read_line(struct vector *v, struct span s)
{
	struct span all = s;
	struct span kind = word(&s);

	if (kind.len > 2 && kind.ptr[1] == '*')
		read_lines(v, all);
	else if (span_is(kind, "c"))
		add_line(&v->entries[0], s);
	else if (span_is(kind, "p"))
		add_line(&v->entries[1], s);
	else if (span_is(kind, "C"))
		add_line(&v->raw[0], s);
	else if (span_is(kind, "P"))
		add_line(&v->raw[1], s);
	else if (span_is(kind, "i"))
		read_image(v, s);
	else
		fail_msg("a line begins with '%.*s'", (int)kind.len,
		    (const char *)kind.ptr);
}

/* --- judging */

static bool
policy_of(struct vector *v, size_t i, struct policy *p)
{
	unsigned flags = i == 0 ? POLICY_READ_CHILD : 0;
	struct fault f = { 0 };
	struct buf text;
	bool ok;

	buf_init(&text, TEXT);
	if (short_policy(buf_span(&v->entries[i]), buf_span(&v->raw[i]), &text,
		&f) != 0)
		fail_msg("%s", f.text);
	ok = policy_read_yaml(buf_span(&text), flags, &arena, p, &errors, &f) ==
	    0;
	if (getenv("NACRE_SHOW"))
		print_message("%.*s%s\n", (int)text.len,
		    (const char *)buf_ptr(&text), ok ? "" : f.text);
	buf_release(&text);
	return ok;
}

static void
prove(struct vector *v, struct prover_result *r)
{
	struct policy written;
	struct policy child;
	struct policy parent;
	struct prover_question q = { .child = &child,
		.parent = &parent,
		.image = v->has_image ? &v->image : NULL,
		.paranoid = true };
	struct fault f = { 0 };

	memset(r, 0, sizeof(*r));
	v->image.links = v->links;
	v->image.identify = identify;
	v->image.arg = v;
	if (!policy_of(v, 0, &written) || !policy_of(v, 1, &parent)) {
		r->verdict = PROVER_INVALID;
		return;
	}
	assert_int_equal(
	    policy_complete(&written, &parent, 0, &arena, &child, &f), 0);
	prover_prove(&q, &arena, r);
	for (size_t cap = 4096; r->steps < 20000 && cap < 256 << 10;
	     cap += cap / 8) {
		struct prover_result less;
		struct arena small;

		arena_init(&small, cap);
		prover_prove(&q, &small, &less);
		/* An excess that is not found is not decided. */
		if (less.verdict != PROVER_OUT_OF_BUDGET &&
		    (less.verdict != PROVER_UNSUPPORTED ||
			r->verdict != PROVER_EXCEEDS))
			assert_int_equal(less.verdict, r->verdict);
		arena_release(&small);
	}
}

static const char *
field(const struct prover_result *r, struct span name)
{
	static char text[8192];
	const struct prover_witness *w = &r->witness;
	const struct {
		const char *name;
		struct span value;
	} spans[] = { { "program", w->program }, { "host", w->host },
		{ "method", w->method }, { "path", w->path },
		{ "tool", w->tool }, { "file", w->file } };
	struct policy_address a = w->address;
	size_t n = 0;

	for (size_t i = 0; i < NELEM(spans); i++)
		if (span_is(name, spans[i].name)) {
			assert_true(
			    text_copy(text, sizeof(text), spans[i].value));
			return text;
		}
	text[0] = '\0';
	if (span_is(name, "port"))
		(void)text_fmt(text, sizeof(text), "%u", (unsigned)w->port);
	else if (span_is(name, "address"))
		policy_address_format(a, text);
	else if (span_is(name, "act"))
		return prover_act_name(w->act);
	else if (span_is(name, "section"))
		return prover_section_name(r->section);
	else if (span_is(name, "code"))
		return prover_code_name(r->code);
	else if (span_is(name, "write"))
		return w->write ? "yes" : "no";
	else if (span_is(name, "use"))
		(void)text_fmt(text, sizeof(text), "%d", (int)w->use);
	else if (span_is(name, "query"))
		for (size_t i = 0; i < w->query_n; i++) {
			(void)text_fmt(text + n, sizeof(text) - n,
			    "%s%.*s=%.*s", i ? "&" : "",
			    (int)w->query[i].key.len,
			    (const char *)w->query[i].key.ptr,
			    (int)w->query[i].value.len,
			    (const char *)w->query[i].value.ptr);
			n = strlen(text);
		}
	else
		fail_msg("no field '%.*s'", (int)name.len,
		    (const char *)name.ptr);
	return text;
}

/* "a_b" is said of it. */
static bool
is_said(struct span want)
{
	char text[256];

	assert_true(text_copy(text, sizeof(text), want));
	for (char *c = text; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	if (strstr(errors.list[0].text, text))
		return true;
	assert_true(text_copy(text, sizeof(text), want));
	return strstr(errors.list[0].text, text);
}

static void
judge(struct vector *v)
{
	struct prover_result r;
	char text[4096];
	struct span left = v->head;
	struct span id = word(&left);
	struct span verdict = word(&left);
	bool ok;

	prove(v, &r);
	ok = span_is(verdict, prover_verdict_name(r.verdict));
	while (ok && left.len > 0) {
		struct span want = word(&left);
		struct span name = span_of(want.ptr, span_find(want, '='));

		want = span_from(want, name.len + 1);
		ok = span_is(name, "error") ? is_said(want)
					    : span_is(want, field(&r, name));
	}
	prover_result_format(&r, text, sizeof(text));
	if (getenv("NACRE_SHOW"))
		print_message("%.*s\n%s\n", (int)id.len, (const char *)id.ptr,
		    text);
	if (!ok)
		fail_msg("%.*s:\n%s%s", (int)v->head.len,
		    (const char *)v->head.ptr, text,
		    r.verdict == PROVER_INVALID ? errors.list[0].text : "");
	count++;
}

static void
vector_init(struct vector *v, struct span head)
{
	memset(v, 0, sizeof(*v));
	v->head = head;
	for (size_t i = 0; i < 2; i++) {
		buf_init(&v->entries[i], TEXT);
		buf_init(&v->raw[i], TEXT);
	}
}

static void
vector_end(struct vector *v)
{
	const char *only = getenv("NACRE_ONLY");

	if (v->head.len > 0 && (!only || span_starts(v->head, only)))
		judge(v);
	for (size_t i = 0; i < 2; i++) {
		buf_release(&v->entries[i]);
		buf_release(&v->raw[i]);
	}
	arena_release(&arena);
}

static void
run_file(const char *name)
{
	char path[256];
	struct vector v;
	struct fault f = { 0 };
	struct buf text;
	struct span left;

	buf_init(&text, TEXT);
	assert_true(text_fmt(path, sizeof(path), TEST_DATA "/prover/%s", name));
	if (file_read(AT_FDCWD, path, &text, &f) != 0)
		fail_msg("%s", f.text);
	vector_init(&v, span_of(NULL, 0));
	for (left = buf_span(&text); left.len > 0;) {
		size_t at = span_find(left, '\n');
		struct span line = span_of(left.ptr, at);

		left = span_from(left, at + 1);
		if (line.len == 0 || line.ptr[0] == '#')
			continue;
		if (line.ptr[0] != ' ') {
			vector_end(&v);
			vector_init(&v, line);
			continue;
		}
		(void)word(&line);
		while (line.len > 0 && line.ptr[0] == ' ')
			line = span_from(line, 1);
		read_line(&v, line);
	}
	vector_end(&v);
	buf_release(&text);
}

static void
hosts_ports_programs_and_addresses(void **state)
{
	(void)state;
	run_file("hosts.txt");
}

static void
methods_paths_and_queries(void **state)
{
	(void)state;
	run_file("rest.txt");
}

static void
denies(void **state)
{
	(void)state;
	run_file("denies.txt");
}

static void
websocket_rpc_and_capabilities(void **state)
{
	(void)state;
	run_file("kinds.txt");
}

static void
files_process_and_landlock(void **state)
{
	(void)state;
	run_file("files.txt");
}

static void
traps(void **state)
{
	(void)state;
	run_file("traps.txt");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_ports_programs_and_addresses),
		cmocka_unit_test(methods_paths_and_queries),
		cmocka_unit_test(denies),
		cmocka_unit_test(websocket_rpc_and_capabilities),
		cmocka_unit_test(files_process_and_landlock),
		cmocka_unit_test(traps),
	};

	return cmocka_run_group_tests_name("prover", tests, setup, teardown);
}
