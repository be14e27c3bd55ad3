/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a command, whatever it is. */
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/judge.h"
#include "gateway/note.h"

enum {
	NAMES = 128,
	REST = 1 << 10, /* hashes, and where it stands in its tree */
};

static const char *
text_of(struct call *c)
{
	return (const char *)buf_ptr(&c->detail);
}

static void
names_are_told(void **state)
{
	struct call c = { 0 };
	struct note n;

	(void)state;
	buf_init(&c.detail, AUDIT_DETAIL);
	note_init(&n);
	note_names(&c, &n);
	assert_int_equal(c.detail.len, 0);
	note_name(&n, SPAN_LIT("PATH"));
	note_name(&n, SPAN_LIT("LA\nNG"));
	note_names(&c, &n);
	assert_string_equal(text_of(&c), "; env PATH,LA\\x0aNG");
	buf_release(&c.detail);
}

static void
what_is_asked_leaves_room_for_what_is_found(void **state)
{
	struct call c = { 0 };
	struct note words;
	struct note names;
	char word[2 * AUDIT_ARGV];

	(void)state;
	memset(word, 'w', sizeof(word));
	buf_init(&c.detail, AUDIT_DETAIL);
	note_init(&words);
	note_init(&names);
	note_word(&words, span_of(word, sizeof(word)));
	for (int i = 0; i < NAMES; i++)
		note_name(&names, span_of(word, 70));
	call_note(&c, "agent %s", words.text);
	note_names(&c, &names);
	assert_true(buf_left(&c.detail) >= JUDGE_TEXT + REST);
	/* 15 of 64 bytes, with a comma before each but the first. */
	assert_non_null(strstr(text_of(&c), "w +113 more"));
	buf_release(&c.detail);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_told),
		cmocka_unit_test(what_is_asked_leaves_room_for_what_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
