/* SPDX-License-Identifier: Apache-2.0 */
/* Options and words of a command line. */
#include "../../lib/unit.h"
#include "cli/inner.h"

struct parsed {
	struct cli cli;
	const char *name;
	uint64_t cpus;
	struct cli_list env;
	bool tty;
	struct cli_words words;
	struct fault fault;
	int rc;
};

/* The words of one command line, writable as those of main() are. */
static char pool[16][32];

static void
parse(struct parsed *p, const char *const *words)
{
	static char *argv[NELEM(pool) + 1];
	const struct cli_option options[] = {
		{ "--name", CLI_TEXT, &p->name, 0 },
		{ "--cpus", CLI_NUMBER, &p->cpus, 8 },
		{ "--env", CLI_TEXTS, &p->env, 0 },
		{ "-t", CLI_FLAG, &p->tty, 0 },
	};
	int argc = 0;

	memset(p, 0, sizeof(*p));
	memset(argv, 0, sizeof(argv));
	p->cli.state = "/state";
	for (; words[argc]; argc++) {
		assert_true(text_copy(pool[argc], sizeof(pool[argc]),
		    span_str(words[argc])));
		argv[argc] = pool[argc];
	}
	p->rc = cli_parse(&p->cli, argv, options, NELEM(options), &p->words,
	    &p->fault);
}

#define ARGS(...) ((const char *[]){ "verb", __VA_ARGS__, NULL })

static void
options_and_words_come_in_any_order(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p,
	    ARGS("one", "--name", "x", "two", "--env=A=1", "-t", "--env", "B=2",
		"--cpus=3"));
	assert_int_equal(p.rc, 0);
	assert_string_equal(p.name, "x");
	assert_int_equal(p.cpus, 3);
	assert_true(p.tty);
	assert_int_equal(p.env.n, 2);
	assert_string_equal(p.env.items[0], "A=1");
	assert_string_equal(p.env.items[1], "B=2");
	assert_int_equal(p.words.n, 2);
	assert_string_equal(p.words.word[1], "two");
	assert_null(p.words.command);
	assert_string_equal(p.cli.socket, "/state/gateway.sock");
}

static void
what_follows_two_dashes_is_the_command(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, ARGS("a", "--", "ls", "--name", "-t"));
	assert_int_equal(p.rc, 0);
	assert_int_equal(p.words.command_n, 3);
	assert_string_equal(p.words.command[1], "--name");
	assert_null(p.name);
	assert_false(p.tty);
}

static void
what_is_wrong_is_named(void **state)
{
	static const struct {
		const char *words[4];
		const char *field;
	} rows[] = {
		{ { "verb", "--nope" }, "--nope" },
		{ { "verb", "--name" }, "--name" },
		{ { "verb", "--cpus", "9" }, "--cpus" },
		{ { "verb", "--cpus", "-1" }, "--cpus" },
		{ { "verb", "--cpus=" }, "--cpus" },
		{ { "verb", "-t=1" }, "-t=1" },
		{ { "verb", "-o", "xml" }, "-o" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct parsed p;

		parse(&p, rows[i].words);
		assert_int_equal(p.rc, -1);
		assert_int_equal(p.fault.code, FAULT_INVALID);
		assert_string_equal(p.fault.field, rows[i].field);
	}
}

static void
global_options_are_taken_everywhere(void **state)
{
	struct parsed p;

	(void)state;
	parse(&p, ARGS("-o", "json", "--state", "/other", "--quiet"));
	assert_int_equal(p.rc, 0);
	assert_true(p.cli.json);
	assert_true(p.cli.quiet);
	assert_string_equal(p.cli.socket, "/other/gateway.sock");
}

static void
units_are_readable(void **state)
{
	char out[32];

	(void)state;
	cli_bytes(980, out);
	assert_string_equal(out, "980 B");
	cli_bytes(1536, out);
	assert_string_equal(out, "1.5 KiB");
	cli_bytes(UINT64_C(300) << 20, out);
	assert_string_equal(out, "300 MiB");
	cli_micros(12345, out);
	assert_string_equal(out, "12.3 ms");
	cli_micros(1234567, out);
	assert_string_equal(out, "1.23 s");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_words_come_in_any_order),
		cmocka_unit_test(what_follows_two_dashes_is_the_command),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(global_options_are_taken_everywhere),
		cmocka_unit_test(units_are_readable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
