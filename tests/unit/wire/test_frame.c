/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC frames and wake frames: round trips, refusals, every cut. */
#include <string.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "wire/wire.h"

static void
a_frame_is_found_whole_or_not_at_all(void **state)
{
	uint8_t bytes[WIRE_FRAME_HEAD + 300];
	struct span m = { 0 };
	struct fault f = { 0 };
	size_t used = 0;

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	wire_frame_head(bytes, 300);
	for (size_t n = 0; n < sizeof(bytes); n++)
		assert_int_equal(
		    wire_frame_next(span_of(bytes, n), 300, &m, &used, &f), 0);
	assert_int_equal(
	    wire_frame_next(span_of(bytes, sizeof(bytes)), 300, &m, &used, &f),
	    1);
	assert_int_equal(m.len, 300);
	assert_int_equal(used, sizeof(bytes));
}

static void
a_large_or_compressed_frame_is_refused_by_its_head(void **state)
{
	uint8_t head[WIRE_FRAME_HEAD];
	struct span m;
	struct fault f = { 0 };
	size_t used;

	(void)state;
	wire_frame_head(head, LIMIT_MESSAGE + 1);
	assert_int_equal(wire_frame_next(span_of(head, sizeof(head)),
			     LIMIT_MESSAGE, &m, &used, &f),
	    -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	wire_frame_head(head, 1);
	head[0] = 1;
	assert_int_equal(wire_frame_next(span_of(head, sizeof(head)),
			     LIMIT_MESSAGE, &m, &used, &f),
	    -1);
	assert_int_equal(f.code, FAULT_UNIMPLEMENTED);
}

static void
wake_frames_come_back_as_they_went(void **state)
{
	struct wire_wake in = { WIRE_WAKE_LAUNCH, -5, { 1, 2, 3 } };
	struct wire_wake out;
	struct wire_woke said = { WIRE_WOKE_FAILED, 7, 13, true };
	struct wire_woke heard;
	uint8_t wake[WIRE_WAKE_SIZE];
	uint8_t woke[WIRE_WOKE_SIZE];
	struct fault f = { 0 };

	(void)state;
	wire_wake_encode(&in, wake);
	assert_int_equal(wire_wake_decode(wake, &out, &f), 0);
	assert_int_equal(out.op, in.op);
	assert_int_equal(out.time_ns, in.time_ns);
	assert_memory_equal(out.seed, in.seed, WIRE_SEED);
	wire_woke_encode(&said, woke);
	assert_int_equal(wire_woke_decode(woke, &heard, &f), 0);
	assert_int_equal(heard.op, said.op);
	assert_int_equal(heard.stage, 7);
	assert_int_equal(heard.value, 13);
	assert_true(heard.tsc);
}

/* All but time, seed, stage and value is fixed: any other change is seen. */
static void
changed_wake_frames_are_refused(void **state)
{
	struct wire_wake w = { .op = WIRE_WAKE_REHEARSE };
	struct wire_woke o = { .op = WIRE_WOKE_READY };
	uint8_t wake[WIRE_WAKE_SIZE];
	uint8_t woke[WIRE_WOKE_SIZE];
	struct fault f = { 0 };

	(void)state;
	for (size_t i = 0; i < WIRE_WAKE_SIZE; i++) {
		wire_wake_encode(&w, wake);
		wake[i] ^= 0x80;
		assert_int_equal(wire_wake_decode(wake, &w, &f),
		    i >= 16 && i < 88 ? 0 : -1);
		w = (struct wire_wake){ .op = WIRE_WAKE_REHEARSE };
	}
	for (size_t i = 0; i < WIRE_WOKE_SIZE; i++) {
		wire_woke_encode(&o, woke);
		woke[i] ^= 0x80;
		assert_int_equal(wire_woke_decode(woke, &o, &f),
		    i >= 12 && i < 20 ? 0 : -1);
		o = (struct wire_woke){ .op = WIRE_WOKE_READY };
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_is_found_whole_or_not_at_all),
		cmocka_unit_test(
		    a_large_or_compressed_frame_is_refused_by_its_head),
		cmocka_unit_test(wake_frames_come_back_as_they_went),
		cmocka_unit_test(changed_wake_frames_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
