/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: round trips, and what a stranger's bytes get. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

#define ARENA (64 << 10)

static int
decode_create(struct span bytes, size_t cap, struct fault *f)
{
	openshell_v1_CreateSandboxRequest m;
	struct arena a;
	int rc;

	arena_init(&a, cap);
	memset(f, 0, sizeof(*f));
	rc = WIRE_DECODE(openshell_v1_CreateSandboxRequest, &m, bytes, &a, f);
	arena_release(&a);
	return rc;
}

static void
a_request_comes_back_as_it_went(void **state)
{
	openshell_v1_SandboxSpec_EnvironmentEntry env[] = {
		{ .key = (char[]){ "A" }, .value = (char[]){ "1" } },
		{ .key = (char[]){ "B" }, .value = (char[]){ "" } },
	};
	char *command[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" },
		(char[]){ "exit 3" } };
	openshell_v1_CreateSandboxRequest in = {
		.has_spec = true,
		.name = (char[]){ "box-1" },
	};
	openshell_v1_CreateSandboxRequest out;
	struct arena a;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	in.spec.environment = env;
	in.spec.environment_count = NELEM(env);
	in.spec.command = command;
	in.spec.command_count = NELEM(command);
	in.spec.tty = true;
	in.spec.has_template = true;
	in.spec.template.image = (char[]){ "debian" };
	in.spec.template.has_user_namespaces = true;
	buf_init(&b, LIMIT_MESSAGE);
	arena_init(&a, ARENA);
	assert_int_equal(
	    WIRE_ENCODE(openshell_v1_CreateSandboxRequest, &in, &b, &f), 0);
	assert_int_equal(WIRE_DECODE(openshell_v1_CreateSandboxRequest, &out,
			     buf_span(&b), &a, &f),
	    0);
	assert_string_equal(out.name, "box-1");
	assert_string_equal(out.spec.template.image, "debian");
	assert_true(out.spec.template.has_user_namespaces);
	assert_false(out.spec.template.user_namespaces);
	assert_int_equal(out.spec.environment_count, 2);
	assert_string_equal(out.spec.environment[1].key, "B");
	assert_int_equal(out.spec.command_count, 3);
	assert_string_equal(out.spec.command[2], "exit 3");
	assert_true(out.spec.tty);
	assert_null(out.workspace);
	assert_false(out.spec.has_policy);
	arena_release(&a);
	buf_release(&b);
}

static void
an_event_carries_bytes(void **state)
{
	uint8_t room[sizeof(pb_bytes_array_t) + 300];
	pb_bytes_array_t *data = (pb_bytes_array_t *)(void *)room;
	openshell_v1_ExecSandboxEvent in = {
		.which_payload = openshell_v1_ExecSandboxEvent_err_tag,
	};
	openshell_v1_ExecSandboxEvent out;
	struct arena a;
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	data->size = 300;
	memset(data->bytes, 0, 300);
	in.payload.err.data = data;
	buf_init(&b, LIMIT_MESSAGE);
	arena_init(&a, ARENA);
	assert_int_equal(
	    WIRE_ENCODE(openshell_v1_ExecSandboxEvent, &in, &b, &f), 0);
	assert_int_equal(WIRE_DECODE(openshell_v1_ExecSandboxEvent, &out,
			     buf_span(&b), &a, &f),
	    0);
	assert_int_equal(out.which_payload,
	    openshell_v1_ExecSandboxEvent_err_tag);
	assert_int_equal(out.payload.err.data->size, 300);
	arena_release(&a);
	buf_release(&b);
}

static void
no_bytes_are_an_empty_message(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(decode_create(span_of(NULL, 0), ARENA, &f), 0);
}

/* U+FFFF and U+FFFE are text, as in JSON and in any protobuf. */
static void
every_code_point_is_text(void **state)
{
	static const char *const names[] = { "\x7f", "\xc2\x80", "\xef\xbf\xbe",
		"\xef\xbf\xbf", "\xf4\x8f\xbf\xbf" };

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++) {
		openshell_v1_CreateSandboxRequest in = { 0 };
		openshell_v1_CreateSandboxRequest out;
		struct fault f = { 0 };
		struct arena a;
		struct buf b;

		in.name = (char *)(uintptr_t)names[i];
		buf_init(&b, LIMIT_MESSAGE);
		arena_init(&a, ARENA);
		assert_int_equal(
		    WIRE_ENCODE(openshell_v1_CreateSandboxRequest, &in, &b, &f),
		    0);
		assert_int_equal(WIRE_DECODE(openshell_v1_CreateSandboxRequest,
				     &out, buf_span(&b), &a, &f),
		    0);
		assert_string_equal(out.name, names[i]);
		arena_release(&a);
		buf_release(&b);
	}
}

static void
bad_bytes_are_invalid(void **state)
{
	const struct {
		struct span bytes;
		const char *what;
	} rows[] = {
		{ SPAN_LIT("\x12\x05"
			   "ab"),
		    "text that ends early" },
		{ SPAN_LIT("\x12\x02"
			   "ab\x07"),
		    "a group nobody knows" },
		{ SPAN_LIT("\x00\x00"), "field zero" },
		{ SPAN_LIT("\x12\x02\xff\xfe"), "text that is not UTF-8" },
		{ SPAN_LIT("\x12\x03"
			   "a\0b"),
		    "text with a NUL" },
		{ SPAN_LIT("\x0a\x06\x62\x04"
			   "a\0b\0"),
		    "a listed text with it" },
		{ SPAN_LIT("\x0a\xff\xff\xff\xff\x0f"), "a huge length" },
		{ SPAN_LIT("\x10\x01"), "a number where text belongs" },
	};
	struct fault f;

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		if (decode_create(rows[i].bytes, ARENA, &f) == 0)
			fail_msg("%s is taken", rows[i].what);
		assert_int_equal(f.code, FAULT_INVALID);
	}
}

static void
unknown_fields_are_skipped(void **state)
{
	struct fault f;

	(void)state;
	/* field 9999, varint */
	assert_int_equal(decode_create(SPAN_LIT("\xf8\xf0\x04\x01"), ARENA, &f),
	    0);
}

static void
the_arena_bounds_what_a_message_costs(void **state)
{
	static uint8_t bytes[200000];
	struct fault f;

	(void)state;
	/* 100000 empty labels: each is a key and a value */
	for (size_t i = 0; i < sizeof(bytes); i += 2) {
		bytes[i] = 0x1a;
		bytes[i + 1] = 0;
	}
	assert_int_equal(
	    decode_create(span_of(bytes, sizeof(bytes)), 1 << 20, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	/* twice their size suffices: 100000 * 16 bytes, doubled */
	assert_int_equal(
	    decode_create(span_of(bytes, sizeof(bytes)), 5 << 20, &f), 0);
}

static void
encoding_does_not_pass_the_buffer(void **state)
{
	char name[200];
	openshell_v1_GetSandboxRequest in = { .name = name };
	struct buf b;
	struct fault f = { 0 };

	(void)state;
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	buf_init(&b, 100);
	assert_int_equal(
	    WIRE_ENCODE(openshell_v1_GetSandboxRequest, &in, &b, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(b.len, 0);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_comes_back_as_it_went),
		cmocka_unit_test(an_event_carries_bytes),
		cmocka_unit_test(no_bytes_are_an_empty_message),
		cmocka_unit_test(every_code_point_is_text),
		cmocka_unit_test(bad_bytes_are_invalid),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(the_arena_bounds_what_a_message_costs),
		cmocka_unit_test(encoding_does_not_pass_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
