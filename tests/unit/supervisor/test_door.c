/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP at the door: what comes back on a connection that the sandbox has
 * handed over. The sandbox itself is gone here, so no holder can be seen.
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "supervisor/inner.h"

#define HOST "Host: openshell.local\r\n"
#define MCP  "POST /mcp HTTP/1.1\r\n" HOST
#define BUSY                                                              \
 "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n" \
 "Content-Length: 22\r\n"
#define NO_SESSION "\r\n{\"error\":\"no_session\"}"
#define LOST                                                    \
 "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\n" \
 "Content-Length: 21\r\n"
#define NOT_FOUND "\r\n{\"error\":\"not_found\"}"
#define CLOSE     "Connection: close\r\n"
#define KEEP      "Keep-Alive: timeout=60\r\n"
#define JSON      "Content-Type: application/json\r\n"
#define EXPECT    "Expect: 100-continue\r\n"
#define TOO_LARGE                                                       \
 "HTTP/1.1 413 Content Too Large\r\nContent-Type: application/json\r\n" \
 "Content-Length: 105\r\n" CLOSE                                        \
 "\r\n{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"                 \
 "\"message\":\"Payload Too Large: a body has at most 1048576 bytes\"}}"

static struct supervisor *sv;

struct client {
	int fd;
	char text[8192]; /* all that came */
	size_t len;
	bool has_ended;
};

static void
tick(int wait_ms)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(sv->loop, wait_ms, &f), 0);
}

static int
setup(void **state)
{
	struct fault f = { 0 };

	(void)state;
	sv = must_alloc(sizeof(*sv));
	sv->loop = loop_new(&f);
	assert_non_null(sv->loop);
	door_open(&sv->door, sv);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < DOOR_CONNECTIONS; i++)
		if (sv->door.conns[i])
			door_conn_close(sv->door.conns[i]);
	assert_int_equal(sv->door.live, 0);
	assert_int_equal(sv->door.bodies, 0);
	loop_timer_clear(&sv->door.crowded);
	tick(1);
	loop_free(sv->loop);
	free(sv);
	return 0;
}

static struct client
come(void)
{
	struct client c = { 0 };
	struct door_caller caller = { .program = "/bin/agent", .pid = 7 };
	int ends[2];

	arena_init(&caller.arena, SUPERVISOR_ARENA);
	assert_int_equal(socketpair(AF_UNIX,
			     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			     ends),
	    0);
	c.fd = ends[0];
	door_conn_start(&sv->door, ends[1], 1, &caller);
	return c;
}

static void
say(struct client *c, const char *text)
{
	assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL),
	    strlen(text));
}

static void
hear(struct client *c)
{
	ssize_t n;

	for (;;) {
		n = read(c->fd, c->text + c->len, sizeof(c->text) - 1 - c->len);
		if (n <= 0)
			break;
		c->len += (size_t)n;
	}
	c->text[c->len] = '\0';
	c->has_ended = n == 0 || errno == ECONNRESET;
}

/* Until that is all that came, and whether it is the end. */
static void
expect(struct client *c, const char *want, bool ends)
{
	for (int i = 0; i < 100; i++) {
		hear(c);
		if (c->len >= strlen(want) && (!ends || c->has_ended))
			break;
		tick(100);
	}
	assert_string_equal(c->text, want);
	assert_int_equal(c->has_ended, ends);
	c->len = 0;
}

static void
leave(struct client *c)
{
	unsigned live = sv->door.live;

	(void)close(c->fd);
	while (sv->door.live == live)
		tick(100);
}

static void
one_connection_asks_again_and_again(void **state)
{
	struct client c = come();

	(void)state;
	say(&c, MCP "Content-Length: 2\r\n\r\n{}");
	expect(&c, BUSY KEEP NO_SESSION, false);
	say(&c, "GET /other HTTP/1.1\r\n" HOST "\r\n");
	expect(&c, LOST KEEP NOT_FOUND, false);
	say(&c, "HEAD /other HTTP/1.1\r\n" HOST "\r\n");
	expect(&c, LOST KEEP "\r\n", false);
	say(&c, MCP "Transfer-Encoding: chunked\r\n\r\n2\r\n");
	tick(0);
	say(&c, "{}\r\n0\r\n\r\n");
	expect(&c, BUSY KEEP NO_SESSION, false);
	say(&c, "GET /mcp HTTP/1.1\r\n" HOST CLOSE "\r\n");
	expect(&c, BUSY CLOSE NO_SESSION, true);
	leave(&c);
}

static void
requests_in_one_piece_are_answered_in_order(void **state)
{
	struct client c = come();

	(void)state;
	say(&c,
	    "GET /a HTTP/1.1\r\n" HOST "\r\n" MCP
	    "Content-Length: 2\r\n\r\n{}GET /b HTTP/1.1\r\n" HOST "\r\n"
	    "GET /mcp HTTP/1.1\r\n" HOST CLOSE "\r\n"
	    "GET /never HTTP/1.1\r\n" HOST "\r\n");
	expect(&c,
	    LOST KEEP NOT_FOUND BUSY KEEP NO_SESSION LOST KEEP NOT_FOUND BUSY
		CLOSE NO_SESSION,
	    true);
	leave(&c);
}

static void
other_protocols_are_turned_away(void **state)
{
	struct client c = come();

	(void)state;
	say(&c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	expect(&c, "", true);
	(void)close(c.fd);
	c = come();
	say(&c, "\x16\x03\x01");
	expect(&c,
	    "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
	    "Content-Length: 23\r\n" CLOSE "\r\n{\"error\":\"bad_request\"}",
	    true);
	leave(&c);
	c = come();
	say(&c, MCP "Content-Type: application/grpc+proto\r\n\r\n");
	expect(&c,
	    "HTTP/1.1 415 Unsupported Media Type\r\n"
	    "Content-Type: application/json\r\nContent-Length: 20\r\n" KEEP
	    "\r\n"
	    "{\"error\":\"mcp_only\"}",
	    false);
	leave(&c);
}

/* The body is not read: the connection cannot go on. */
static void
an_early_answer_to_a_body_ends_the_connection(void **state)
{
	struct client c = come();

	(void)state;
	say(&c, "POST /other HTTP/1.1\r\n" HOST "Content-Length: 9\r\n\r\n{");
	expect(&c, LOST CLOSE NOT_FOUND, true);
	leave(&c);
	c = come();
	say(&c, MCP JSON "Content-Length: 1048577\r\n\r\n");
	expect(&c, TOO_LARGE, true);
	leave(&c);
	c = come();
	say(&c, MCP JSON "Transfer-Encoding: chunked\r\n\r\n100001\r\n");
	expect(&c, TOO_LARGE, true);
	leave(&c);
}

/* Nobody is asked for a body that is not wanted. */
static void
who_would_go_on_is_told_of_his_head_first(void **state)
{
	static const char *const heads[] = {
		"Content-Type: text/plain\r\n",
		JSON "Accept: text/html\r\n",
		JSON "Origin: http://evil.example.com\r\n",
	};
	static const char *const wanted[] = { "HTTP/1.1 415 ", "HTTP/1.1 406 ",
		"HTTP/1.1 403 " };

	(void)state;
	for (size_t i = 0; i < NELEM(heads); i++) {
		struct client c = come();

		say(&c, MCP EXPECT "Content-Length: 9\r\n");
		say(&c, heads[i]);
		say(&c, "\r\n");
		while (!c.has_ended) {
			tick(100);
			hear(&c);
		}
		assert_memory_equal(c.text, wanted[i], strlen(wanted[i]));
		leave(&c);
	}
}

static void
a_body_waits_for_its_turn(void **state)
{
	struct client c[DOOR_BODIES + 2];
	const char *go_on = "HTTP/1.1 100 Continue\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < NELEM(c); i++) {
		c[i] = come();
		say(&c[i], MCP JSON EXPECT "Content-Length: 2\r\n\r\n");
		tick(0);
	}
	for (size_t i = 0; i < DOOR_BODIES; i++)
		expect(&c[i], go_on, false);
	tick(0);
	hear(&c[DOOR_BODIES]);
	assert_int_equal(c[DOOR_BODIES].len, 0);
	/* One ends, one is lost: two more may send theirs. */
	say(&c[0], "{}");
	expect(&c[0], BUSY KEEP NO_SESSION, false);
	leave(&c[1]);
	for (size_t i = DOOR_BODIES; i < NELEM(c); i++) {
		expect(&c[i], go_on, false);
		say(&c[i], "{}");
		expect(&c[i], BUSY KEEP NO_SESSION, false);
	}
	for (size_t i = 0; i < NELEM(c); i++)
		if (i != 1)
			leave(&c[i]);
}

static void
the_last_place_is_not_kept(void **state)
{
	struct client c[DOOR_CONNECTIONS];

	(void)state;
	for (size_t i = 0; i < NELEM(c); i++)
		c[i] = come();
	assert_int_equal(sv->door.live, DOOR_CONNECTIONS);
	say(&c[3], "GET /a HTTP/1.1\r\n" HOST "\r\n");
	expect(&c[3], LOST CLOSE NOT_FOUND, true);
	leave(&c[3]);
	say(&c[4], "GET /a HTTP/1.1\r\n" HOST "\r\n");
	expect(&c[4], LOST KEEP NOT_FOUND, false);
	for (size_t i = 0; i < NELEM(c); i++)
		if (i != 3)
			leave(&c[i]);
}

static void
one_that_leaves_in_the_middle_leaves_nothing(void **state)
{
	static const char *const pieces[] = { "", "GET", "GET / HTTP/1.1\r\n",
		MCP "Content-Length: 2\r\n\r\n",
		MCP "Content-Length: 2\r\n\r\n{",
		MCP "Content-Length: 2\r\n\r\n{}" };

	(void)state;
	for (size_t i = 0; i < NELEM(pieces); i++) {
		struct client c = come();

		say(&c, pieces[i]);
		tick(0);
		leave(&c);
		assert_int_equal(sv->door.live, 0);
		assert_int_equal(sv->door.bodies, 0);
	}
}

/* Nothing of it: there is no room at all. */
static void
a_piece_that_cannot_begin_to_leave_has_its_time(void **state)
{
	static const char fill[4096];
	const struct h1_reply r = { .status = 200, .streams = true };
	struct client c = come();
	struct door_conn *conn = sv->door.conns[0];

	(void)state;
	conn->phase = DOOR_SERVING;
	door_reply(conn, &r);
	assert_false(conn->timer.armed);
	while (send(conn->fd, fill, sizeof(fill), MSG_NOSIGNAL) > 0)
		continue;
	door_piece(conn, SPAN_LIT("x"));
	assert_true(conn->timer.armed);
	(void)close(c.fd);
	door_conn_close(conn);
}

/* It leaves while its request is served, a byte of the next behind it. */
static void
one_that_leaves_is_seen_behind_what_it_sent(void **state)
{
	struct client c = come();

	(void)state;
	sv->door.conns[0]->phase = DOOR_SERVING;
	say(&c, "\r\n");
	tick(0);
	assert_true(sv->door.conns[0]->is_deaf);
	assert_int_equal(shutdown(c.fd, SHUT_WR), 0);
	tick(0);
	assert_int_equal(sv->door.live, 0);
	(void)close(c.fd);
}

static void
one_that_is_idle_holds_no_answer(void **state)
{
	static const char body[4 * DOOR_READ];
	const struct h1_reply r = { .status = 200,
		.type = "text/plain",
		.body = { (const uint8_t *)body, sizeof(body) } };
	struct client c = come();
	struct door_conn *conn = sv->door.conns[0];

	(void)state;
	conn->phase = DOOR_SERVING;
	conn->is_kept = true;
	door_reply(conn, &r);
	while (conn->phase == DOOR_SERVING) {
		hear(&c);
		c.len = 0;
		tick(100);
	}
	assert_true(door_conn_is_idle(conn));
	assert_null(conn->out.base);
	leave(&c);
}

/* Of what it sent, while its holders are still looked up. */
static void
one_that_has_left_holds_nothing(void **state)
{
	struct client c = come();
	struct door_conn *conn = sv->door.conns[0];

	(void)state;
	say(&c, MCP "Content-Length: 3\r\n\r\n{}");
	tick(0);
	assert_int_equal(h1_body(conn->reader).len, 2);
	conn->is_looked_up = true;
	door_conn_close(conn);
	assert_int_equal(h1_body(conn->reader).len, 0);
	assert_null(conn->in.base);
	assert_null(conn->out.base);
	tick(0);
	door_conn_looked(conn);
	(void)close(c.fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    one_connection_asks_again_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    requests_in_one_piece_are_answered_in_order, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(other_protocols_are_turned_away,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    an_early_answer_to_a_body_ends_the_connection, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    who_would_go_on_is_told_of_his_head_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_body_waits_for_its_turn,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_place_is_not_kept,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    one_that_leaves_is_seen_behind_what_it_sent, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    one_that_is_idle_holds_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_has_left_holds_nothing,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    a_piece_that_cannot_begin_to_leave_has_its_time, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    one_that_leaves_in_the_middle_leaves_nothing, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
