/* SPDX-License-Identifier: Apache-2.0 */
/* Image configurations: what is taken over, what is refused, and round trip. */
#include <stdio.h>
#include <string.h>

#include "../../lib/unit.h"
#include "image/inner.h"

static const char full[] =
    "{\"architecture\":\"amd64\",\"os\":\"linux\",\"created\":\"2024\","
    "\"config\":{\"Env\":[\"A=b\",\"C=\"],\"Entrypoint\":[\"/e\",\"x y\"],"
    "\"Cmd\":null,\"User\":\"me:us\",\"WorkingDir\":\"/w\","
    "\"Labels\":{\"k\":\"v\",\"n\":7},\"Other\":[1]},\"rootfs\":{}}";

static void
what_an_image_says_is_kept(void **state)
{
	const struct json_value *root;
	struct image_config c;
	struct image_config again;
	struct json_out o;
	struct arena a;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	buf_init(&b, 1 << 16);
	assert_int_equal(image_config_parse(SPAN_LIT(full), &a, &c, &root, &f),
	    0);
	json_out_init(&o, &b);
	json_out_object(&o);
	image_config_write(&o, &c);
	json_out_end(&o);
	assert_int_equal(json_out_done(&o, &f), 0);
	assert_int_equal(json_parse(buf_span(&b), &a, &root, &f), 0);
	assert_int_equal(image_config_read(root, &a, &again, &f), 0);
	for (const struct image_config *i = &c; i;
	     i = i == &c ? &again : NULL) {
		assert_string_equal(i->env[0], "A=b");
		assert_string_equal(i->env[1], "C=");
		assert_null(i->env[2]);
		assert_string_equal(i->entrypoint[1], "x y");
		assert_null(i->cmd[0]);
		assert_string_equal(i->user, "me:us");
		assert_string_equal(i->workdir, "/w");
		assert_string_equal(i->created, "2024");
		assert_string_equal(i->labels[0], "k");
		assert_string_equal(i->labels[1], "v");
		assert_null(i->labels[2]);
	}
	buf_release(&b);
	arena_release(&a);
}

static const struct {
	const char *text;
	const char *says; /* NULL: taken */
} rows[] = {
	{ "{}", NULL },
	{ "{\"config\":null}", NULL },
	{ "{\"config\":{\"Cmd\":\"/bin/sh\"}}", NULL },
	{ "", "JSON ends early" },
	{ "{\"architecture\":\"arm64\",\"os\":\"linux\"}", "linux/arm64" },
	{ "{\"os\":\"windows\"}", "windows/" },
	{ "{\"config\":{\"Env\":[1]}}", "'Env' is not a list of texts" },
	{ "{\"config\":{\"Env\":{}}}", "'Env' is not a list of texts" },
	{ "{\"config\":{\"Cmd\":[\"a\\u0000b\"]}}", "'Cmd' is not a list" },
	{ "{\"config\":{\"User\":7}}", "'User' is not a text" },
	{ "{\"os\":[]}", "'os' is not a text" },
};

static void
what_is_no_configuration_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		const struct json_value *root;
		struct image_config c;
		struct fault f = { 0 };
		struct arena a;
		int r;

		arena_init(&a, 1 << 20);
		r = image_config_parse(span_str(rows[i].text), &a, &c, &root,
		    &f);
		if (!rows[i].says && r != 0)
			fail_msg("%s: %s", rows[i].text, f.text);
		if (rows[i].says && (r == 0 || !strstr(f.text, rows[i].says)))
			fail_msg("%s: %s", rows[i].text, f.text);
		arena_release(&a);
	}
}

static void
lists_are_capped(void **state)
{
	const struct json_value *root;
	struct image_config c;
	struct arena a;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	arena_init(&a, 1 << 20);
	buf_init(&b, 1 << 16);
	assert_int_equal(buf_fmt(&b, "{\"config\":{\"Env\":[\"a\""), 0);
	for (int i = 0; i < LIMIT_ENV; i++)
		assert_int_equal(buf_fmt(&b, ",\"a\""), 0);
	assert_int_equal(buf_fmt(&b, "]}}"), 0);
	assert_int_equal(image_config_parse(buf_span(&b), &a, &c, &root, &f),
	    -1);
	assert_string_equal(f.text, "'Env' has more than 128 items");
	buf_release(&b);
	arena_release(&a);
}

/* One text of n bytes in `form`, at its $. */
static void
check_size(const char *form, size_t n, const char *says)
{
	char *text = must_alloc(n + 1);
	const struct json_value *root;
	struct fault f = { 0 };
	struct image_config c;
	struct arena a;
	struct buf b;
	int r;

	memset(text, 'x', n);
	arena_init(&a, 4 << 20);
	buf_init(&b, 1 << 20);
	assert_int_equal(buf_add(&b, form, strcspn(form, "$"), &f), 0);
	assert_int_equal(buf_add(&b, text, n, &f), 0);
	form += strcspn(form, "$") + 1;
	assert_int_equal(buf_add(&b, form, strlen(form), &f), 0);
	r = image_config_parse(buf_span(&b), &a, &c, &root, &f);
	assert_int_equal(r, says ? -1 : 0);
	if (says) {
		assert_int_equal(f.code, FAULT_LIMIT);
		assert_string_equal(f.text, says);
	}
	buf_release(&b);
	arena_release(&a);
	free(text);
}

static void
texts_are_capped(void **state)
{
	static const struct {
		const char *form;
		size_t most;
		const char *says;
	} cases[] = {
		{ "{\"config\":{\"Cmd\":[\"$\"]}}", LIMIT_ARGS_BYTES - 1,
		    "'Entrypoint' and 'Cmd' are over 262144 bytes" },
		{ "{\"config\":{\"Cmd\":[\"$\"],\"Entrypoint\":[\"a\"]}}",
		    LIMIT_ARGS_BYTES - 3,
		    "'Entrypoint' and 'Cmd' are over 262144 bytes" },
		{ "{\"config\":{\"Env\":[\"$\"]}}", (256 << 10) - 1,
		    "'Env' is over 262144 bytes" },
		{ "{\"config\":{\"Labels\":{\"a\":\"$\"}}}", (256 << 10) - 3,
		    "'Labels' are over 262144 bytes" },
		{ "{\"config\":{\"User\":\"$\"}}", 255,
		    "'User' is over 255 bytes" },
		{ "{\"config\":{\"WorkingDir\":\"$\"}}", 4095,
		    "'WorkingDir' is over 4095 bytes" },
		{ "{\"created\":\"$\"}", 63, "'created' is over 63 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(cases); i++) {
		check_size(cases[i].form, cases[i].most, NULL);
		check_size(cases[i].form, cases[i].most + 1, cases[i].says);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_an_image_says_is_kept),
		cmocka_unit_test(what_is_no_configuration_is_refused),
		cmocka_unit_test(lists_are_capped),
		cmocka_unit_test(texts_are_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
