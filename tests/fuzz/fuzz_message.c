/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: wire */
/*
 * A stranger's message, of the kind the first byte chooses, and the frames
 * around it. What decodes must encode; that form is stable: it decodes to
 * what encodes the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "proto/nacre_keeper.pb.h"
#include "proto/nacre_sandbox.pb.h"
#include "proto/nacre_session.pb.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

#define KIND(type)            \
 {                            \
  type##_fields, sizeof(type) \
 }

enum {
	ARENA = 1 << 20,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	const struct pb_msgdesc_s *fields;
	size_t size;
} kinds[] = {
	KIND(openshell_v1_CreateSandboxRequest),
	KIND(openshell_v1_ExecSandboxInput),
	KIND(openshell_v1_ExecSandboxEvent),
	KIND(openshell_v1_SandboxStreamEvent),
	KIND(openshell_v1_ListSandboxesResponse),
	KIND(openshell_v1_GetSandboxLogsResponse),
	KIND(openshell_v1_GetGatewayInfoResponse),
	KIND(openshell_sandbox_v1_SandboxPolicy),
	KIND(nacre_session_v1_Up),
	KIND(nacre_session_v1_Down),
	KIND(nacre_session_v1_AttachUp),
	KIND(nacre_session_v1_AttachDown),
	KIND(nacre_sandbox_v1_Start),
	KIND(nacre_sandbox_v1_FileReply),
	KIND(nacre_sandbox_v1_ExecRequest),
	KIND(nacre_keeper_v1_StatusReply),
	KIND(nacre_keeper_v1_AssignRequest),
	KIND(nacre_v1_SandboxDetails),
	KIND(nacre_v1_FileChunk),
	KIND(nacre_v1_ListAuditReply),
};

static void
message(size_t kind, struct span bytes)
{
	void *m = must_alloc(kinds[kind].size);
	struct fault f = { 0 };
	struct arena a;
	struct arena b;
	struct buf first;
	struct buf second;

	arena_init(&a, ARENA);
	arena_init(&b, 4 * ARENA);
	buf_init(&first, 2 * LIMIT_MESSAGE);
	buf_init(&second, 2 * LIMIT_MESSAGE);
	if (wire_decode(kinds[kind].fields, m, bytes, &a, &f) == 0) {
		if (wire_encode(kinds[kind].fields, m, &first, &f) != 0)
			abort();
		if (wire_decode(kinds[kind].fields, m, buf_span(&first), &b,
			&f) != 0 ||
		    wire_encode(kinds[kind].fields, m, &second, &f) != 0 ||
		    !span_equal(buf_span(&first), buf_span(&second)))
			abort();
	} else if (f.code != FAULT_INVALID && f.code != FAULT_LIMIT) {
		abort();
	}
	buf_release(&first);
	buf_release(&second);
	arena_release(&a);
	arena_release(&b);
	free(m);
}

static void
frames(struct span in)
{
	struct fault f = { 0 };
	struct span m;
	size_t used;

	while (wire_frame_next(in, 4096, &m, &used, &f) == 1) {
		if (m.len > 4096 || used > in.len)
			abort();
		in = span_from(in, used);
	}
}

static void
wakes(struct span in)
{
	uint8_t again[WIRE_WAKE_SIZE];
	struct wire_wake wake;
	struct wire_woke woke;
	struct fault f = { 0 };

	if (in.len >= WIRE_WAKE_SIZE &&
	    wire_wake_decode(in.ptr, &wake, &f) == 0) {
		wire_wake_encode(&wake, again);
		if (memcmp(again, in.ptr, WIRE_WAKE_SIZE) != 0)
			abort();
	}
	if (in.len >= WIRE_WOKE_SIZE &&
	    wire_woke_decode(in.ptr, &woke, &f) == 0) {
		wire_woke_encode(&woke, again);
		if (memcmp(again, in.ptr, WIRE_WOKE_SIZE) != 0)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in;

	if (size < 1)
		return 0;
	in = span_from(span_of(data, size), 1);
	if (data[0] < 254)
		message(data[0] % NELEM(kinds), in);
	else if (data[0] == 254)
		frames(in);
	else
		wakes(in);
	return 0;
}
