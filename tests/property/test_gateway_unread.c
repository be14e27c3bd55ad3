/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that nobody takes: what those of a guest hold in the gateway has a
 * bound, past it they are refused by name, and none is held for ever.
 */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"
#include "json/json.h"
#include "proto/nacre_session.pb.h"
#include "wire/wire.h"

enum {
	AT_ONCE = 64, /* of one machine */
	BATCH = 50,
	MANY = 60, /* requests behind one another */
	MIB = 1 << 20,
	WRITE_MS = 30000,
	ARENA = 4 * MIB,
};

static struct rig r;

struct asked {
	struct rpc_call *call;
	bool holds; /* takes nothing */
	size_t held;
	uint32_t status;
	char session[64];
	size_t bytes; /* of the body */
	bool is_done;
	enum fault_code code;
};

static void
take(struct asked *a, const nacre_session_v1_DoorDown *d)
{
	const nacre_session_v1_DoorReply *q = &d->kind.reply;

	if (d->which_kind != nacre_session_v1_DoorDown_reply_tag) {
		a->bytes += wire_span(d->kind.piece).len;
		return;
	}
	a->status = q->status;
	a->bytes += wire_span(q->body).len;
	for (size_t i = 0; i < q->fields_count; i++)
		if (strcmp(q->fields[i].name, "Mcp-Session-Id") == 0)
			assert_true(text_copy(a->session, sizeof(a->session),
			    span_str(q->fields[i].value)));
}

static void
message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_DoorDown d = nacre_session_v1_DoorDown_init_zero;
	struct asked *a = owner;
	struct fault f = { 0 };
	struct arena arena;

	if (a->holds)
		a->held += m.len;
	else
		rpc_consume(c, m.len);
	arena_init(&arena, ARENA);
	if (WIRE_DECODE(nacre_session_v1_DoorDown, &d, m, &arena, &f) != 0)
		fail_msg("%s", f.text);
	take(a, &d);
	arena_release(&arena);
}

static void
closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct asked *a = owner;

	(void)c;
	(void)detail;
	a->call = NULL;
	a->is_done = true;
	a->code = f->code;
}

static void
ask(struct rig_guest *g, struct asked *a, const char *session, const char *body)
{
	static const struct rpc_call_events events = {
		.message = message,
		.closed = closed,
	};
	const char *const fields[RIG_FIELDS][2] = {
		{ "content-type", "application/json" },
		{ "accept", "application/json, text/event-stream" },
		{ session != NULL ? "mcp-session-id" : NULL, session },
	};

	a->call = rig_door_request(g, fields, RIG_PROGRAM, span_str(body),
	    &events, a);
}

/* A megabyte: 50 times what the tools are. */
static const char *
lists(void)
{
	static char text[BATCH * 64];
	size_t n = 0;

	for (int i = 0; i < BATCH; i++) {
		assert_true(text_fmt(text + n, sizeof(text) - n,
		    "%c{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}",
		    i > 0 ? ',' : '[', i));
		n += strlen(text + n);
	}
	assert_true(text_fmt(text + n, sizeof(text) - n, "]"));
	return text;
}

static void
initialize(struct rig_guest *g, struct asked *a)
{
	ask(g, a, NULL,
	    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\","
	    "\"params\":{\"protocolVersion\":\"2025-03-26\","
	    "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\","
	    "\"version\":\"1\"}}}");
	rig_until(&r, &a->is_done, "a session");
	assert_int_equal(a->status, 200);
}

static void
what_is_not_taken_is_bounded_and_then_dropped(void **state)
{
	static struct asked many[AT_ONCE - 1];
	struct asked first = { 0 };
	struct asked last = { 0 };
	struct rig_guest *g = rig_new_root(&r, "lead");
	size_t refused = 0;

	(void)state;
	initialize(g, &first);
	for (size_t i = 0; i < NELEM(many); i++) {
		many[i].holds = true;
		ask(g, &many[i], first.session, lists());
	}
	for (size_t i = 0; i < NELEM(many); i++)
		while (many[i].status == 0)
			rig_tick(&r);
	for (size_t i = 0; i < NELEM(many); i++)
		refused += many[i].status == 503;
	/* Those that wait are 8 MiB, of more than half of one each. */
	assert_in_range(refused, NELEM(many) - 16, NELEM(many) - 4);
	/* A small one goes through all the same, and all are let go in time. */
	ask(g, &last, first.session,
	    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
	rig_until(&r, &last.is_done, "an answer");
	assert_int_equal(last.status, 200);
	rig_pass(&r, WRITE_MS, 0);
	for (size_t i = 0; i < NELEM(many); i++)
		rig_until(&r, &many[i].is_done, "an end");
	memset(&last, 0, sizeof(last));
	ask(g, &last, first.session, lists());
	rig_until(&r, &last.is_done, "a large answer");
	assert_int_equal(last.status, 200);
	assert_true(last.bytes > MIB / 2);
}

#define META                                                              \
 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
 "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define BODY                                                                 \
 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META \
 "}}"
#define HEAD                                                              \
 "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"                              \
 "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n" \
 "Mcp-Method: tools/list\r\nContent-Length: %zu\r\n\r\n"

/* As many have come as go in. */
static void
until_full(int fd)
{
	int before = -1;
	int now = 0;

	while (now == 0 || now != before) {
		before = now;
		for (int i = 0; i < MANY; i++)
			rig_barrier(&r);
		assert_int_equal(ioctl(fd, FIONREAD, &now), 0);
	}
}

/* Each goes into the socket whole or not at all, so that one of them cannot
 * begin to. */
static void
an_answer_that_cannot_begin_to_leave_has_its_time(void **state)
{
	char text[1024];
	char path[RIG_PATH + 32];
	size_t len = strlen(BODY);
	size_t answers = 0;
	struct fault f = { 0 };
	int64_t end_ms = rig_real_ms() + 20000;
	ssize_t n;
	int fd;

	(void)state;
	assert_true(text_fmt(path, sizeof(path), "%s/gateway.sock", r.state));
	assert_int_equal(rpc_connect_unix(path, &fd, &f), 0);
	assert_true(text_fmt(text, sizeof(text), HEAD BODY, len));
	for (int i = 0; i < MANY; i++)
		assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
		    strlen(text));
	until_full(fd);
	rig_pass(&r, WRITE_MS, 0);
	for (;;) {
		char got[65536];

		n = recv(fd, got, sizeof(got), MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			break;
		if (n < 0 && rig_real_ms() > end_ms)
			fail_msg("it is still open");
		if (n < 0)
			rig_tick(&r);
		for (ssize_t i = 0; i + 8 < n; i++)
			answers += memcmp(got + i, "HTTP/1.1", 8) == 0;
	}
	assert_in_range(answers, 2, MANY - 1);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_taken_is_bounded_and_then_dropped),
		cmocka_unit_test(
		    an_answer_that_cannot_begin_to_leave_has_its_time),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
