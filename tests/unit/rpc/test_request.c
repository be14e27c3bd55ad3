/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are not gRPC on the link that serves gRPC: bodies, answers,
 * and every way to end one. The client is HTTP/2's engine, carried by hand.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <unistd.h>

#include "../../lib/rpc_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "http/http.h"
#include "rpc/rpc.h"

struct client {
	struct loop *loop;
	struct rpc_peer peer;
	int fd;
	struct h2 *h2;
	char status[4]; /* of the last head that is no 1xx */
	size_t got;
	char text[32];
	unsigned ends;
	unsigned closed;
	uint32_t error;
	bool holds; /* does not give bytes back */
};

static void
on_headers(void *owner, int32_t id, const struct h2_header *hs, size_t n,
    bool end)
{
	struct client *c = owner;

	(void)id;
	(void)end;
	(void)text_copy(c->status, sizeof(c->status),
	    h2_find(hs, n, ":status"));
}

static void
on_data(void *owner, int32_t id, struct span bytes)
{
	struct client *c = owner;

	c->got += bytes.len;
	(void)text_copy(c->text, sizeof(c->text), bytes);
	if (!c->holds)
		h2_consume(c->h2, id, bytes.len);
}

static void
on_end(void *owner, int32_t id)
{
	struct client *c = owner;

	(void)id;
	c->ends++;
}

static void
on_closed(void *owner, int32_t id, uint32_t error)
{
	struct client *c = owner;

	(void)id;
	c->closed++;
	c->error = error;
}

static const struct h2_events events = {
	.headers = on_headers,
	.data = on_data,
	.end = on_end,
	.closed = on_closed,
};

/* Both ends move a little. */
static void
turn(struct client *c)
{
	uint8_t bytes[16384];
	struct fault f = { 0 };
	struct span s;
	ssize_t n;

	while ((s = h2_output(c->h2)).len > 0) {
		n = send(c->fd, s.ptr, s.len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n <= 0)
			break;
		h2_output_sent(c->h2, (size_t)n);
	}
	assert_int_equal(loop_tick(c->loop, 0, &f), 0);
	while ((n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		assert_int_equal(
		    h2_receive(c->h2, span_of(bytes, (size_t)n), &f), 0);
}

#define UNTIL(c, condition)                 \
 do {                                       \
  int64_t end_ms = clock_mono_ms() + 20000; \
  while (!(condition)) {                    \
   assert_true(clock_mono_ms() < end_ms);   \
   turn(c);                                 \
  }                                         \
 } while (0)

static void
client_open(struct client *c, bool takes_requests)
{
	struct fault f = { 0 };

	memset(c, 0, sizeof(*c));
	c->loop = loop_new(&f);
	assert_non_null(c->loop);
	rpc_peer_init(&c->peer, c->loop);
	if (takes_requests)
		rpc_peer_take_requests(&c->peer);
	(void)rpc_peer_pair(&c->peer, &c->fd);
	c->h2 = h2_new(H2_CLIENT, &events, c, &f);
	assert_non_null(c->h2);
}

/* The link goes, and with it what was still under way. */
static void
client_close(struct client *c)
{
	struct fault f = { 0 };

	fd_close(&c->fd);
	for (int i = 0; i < 8 || c->peer.closed != c->peer.opened; i++) {
		assert_true(i < 1000);
		assert_int_equal(loop_tick(c->loop, 0, &f), 0);
	}
	h2_free(c->h2);
	loop_free(c->loop);
}

static bool is_pending;

static bool
pending(void *owner)
{
	(void)owner;
	return is_pending;
}

static void
commit(void *owner)
{
	(void)owner;
}

static int32_t
ask(struct client *c, const char *method, const char *path, const char *type,
    bool end)
{
	const struct h2_header hs[] = {
		{ SPAN_LIT(":method"), span_str(method) },
		{ SPAN_LIT(":scheme"), SPAN_LIT("http") },
		{ SPAN_LIT(":authority"), SPAN_LIT("localhost") },
		{ SPAN_LIT(":path"), span_str(path) },
		{ SPAN_LIT("content-type"), span_str(type) },
	};
	struct fault f = { 0 };
	int32_t id;

	assert_int_equal(h2_request(c->h2, hs, NELEM(hs), end, &id, &f), 0);
	return id;
}

static void
put(struct client *c, int32_t id, const char *text, bool end)
{
	struct fault f = { 0 };
	size_t n = strlen(text);

	assert_int_equal(h2_write(c->h2, id, span_str(text)), n);
	if (end)
		assert_int_equal(h2_end(c->h2, id, NULL, 0, &f), 0);
}

#define POST(c, path, end) ask(c, "POST", path, "application/json", end)

static void
a_body_comes_and_an_answer_goes(void **state)
{
	struct client c;
	int32_t id;

	(void)state;
	client_open(&c, true);
	id = POST(&c, "/count", false);
	put(&c, id, "hello", false);
	turn(&c);
	put(&c, id, ", world", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "200");
	assert_string_equal(c.text, "12");
	assert_int_equal(c.error, 0);
	assert_int_equal(c.peer.closed, 1);
	assert_int_equal(c.peer.error, 0);
	client_close(&c);
}

/* One who asks much is served a few a tick, unless they share a commit; what
 * is no request is taken as it comes. */
static void
many_requests_take_turns(void **state)
{
	static char body[30000];
	struct client c;
	int32_t id;

	(void)state;
	memset(body, 'x', sizeof(body) - 1);
	client_open(&c, true);
	fd_close(&c.fd);
	c.peer.options.takes_turns = true;
	(void)rpc_peer_pair(&c.peer, &c.fd);
	loop_on_commit(c.loop, pending, commit, NULL);
	for (int round = 0; round < 2; round++) {
		unsigned before = c.peer.closed;

		is_pending = round == 1;
		for (int i = 0; i < 20; i++) {
			id = POST(&c, "/count", false);
			put(&c, id, body + sizeof(body) - 200, true);
		}
		turn(&c);
		if (is_pending) {
			assert_int_equal(c.peer.closed - before, 20);
		} else {
			assert_in_range(c.peer.closed - before, 0, 6);
			turn(&c);
			assert_in_range(c.peer.closed - before, 1, 12);
		}
		UNTIL(&c, c.peer.closed - before == 20);
	}
	is_pending = false;
	id = POST(&c, "/count", false);
	put(&c, id, body, true);
	for (int i = 0; i < 4; i++)
		turn(&c);
	assert_string_equal(c.text, "29999");
	client_close(&c);
}

static void
an_answer_may_be_a_head_alone(void **state)
{
	struct client c;

	(void)state;
	client_open(&c, true);
	(void)ask(&c, "GET", "/other", "a", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "404");
	assert_int_equal(c.got, 0);
	assert_int_equal(c.error, 0);
	client_close(&c);
}

static void
an_answer_may_begin_before_the_body_ends(void **state)
{
	struct client c;
	int32_t id;

	(void)state;
	client_open(&c, true);
	id = POST(&c, "/echo", false);
	UNTIL(&c, c.status[0] != 0);
	put(&c, id, "one", false);
	UNTIL(&c, c.got == 3);
	assert_int_equal(c.closed, 0);
	put(&c, id, "two", true);
	UNTIL(&c, c.closed == 1);
	assert_int_equal(c.got, 6);
	client_close(&c);
}

static void
an_answer_does_not_wait_for_a_body_that_nobody_reads(void **state)
{
	struct client c;
	int32_t id;

	(void)state;
	client_open(&c, true);
	id = POST(&c, "/early", false);
	put(&c, id, "some of it", false);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "413");
	assert_int_equal(c.error, H2_NO_ERROR);
	/* The link goes on. */
	(void)POST(&c, "/count", true);
	UNTIL(&c, c.closed == 2);
	assert_string_equal(c.text, "0");
	client_close(&c);
}

static void
one_is_told_to_go_on(void **state)
{
	struct client c;
	int32_t id;

	(void)state;
	client_open(&c, true);
	id = POST(&c, "/go", false);
	put(&c, id, "1234", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "200");
	assert_string_equal(c.text, "4");
	client_close(&c);
}

static void
a_reset_of_any_kind_is_an_end(void **state)
{
	static const uint32_t errors[] = { H2_NO_ERROR, H2_CANCEL,
		H2_INTERNAL_ERROR };
	struct client c;

	(void)state;
	client_open(&c, true);
	for (unsigned i = 0; i < NELEM(errors); i++) {
		int32_t id = POST(&c, "/hold", true);

		UNTIL(&c, c.peer.opened == i + 1);
		assert_int_equal(c.peer.closed, i);
		h2_reset(c.h2, id, errors[i]);
		UNTIL(&c, c.peer.closed == i + 1);
		assert_int_equal(c.peer.error, errors[i]);
	}
	client_close(&c);
}

static void
the_end_of_the_link_is_the_end_of_all(void **state)
{
	struct client c;

	(void)state;
	client_open(&c, true);
	for (int i = 0; i < 10; i++)
		(void)POST(&c, i % 2 ? "/hold" : "/echo", i % 3 == 0);
	UNTIL(&c, c.peer.opened == 10);
	client_close(&c); /* waits until all are told */
}

static void
a_client_that_does_not_read_holds_only_its_own(void **state)
{
	static char text[32001];
	struct client c;
	int32_t id;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	client_open(&c, true);
	c.holds = true;
	id = POST(&c, "/echo", false);
	for (int i = 0; i < 6; i++)
		put(&c, id, text, i == 5);
	UNTIL(&c, c.got >= LIMIT_WINDOW_STREAM - 1);
	assert_int_equal(c.ends, 0);
	(void)POST(&c, "/count", true);
	UNTIL(&c, c.ends == 1);
	assert_int_equal(c.peer.closed, 1);
	h2_reset(c.h2, id, H2_CANCEL);
	UNTIL(&c, c.peer.closed == 2);
	client_close(&c);
}

static void
grpc_is_still_grpc(void **state)
{
	struct client c;

	(void)state;
	client_open(&c, true);
	(void)ask(&c, "POST", "/nacre.test.Peer/No", "application/grpc", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "200");
	assert_int_equal(c.peer.opened, 0);
	client_close(&c);
}

static void
without_grpc_all_are_requests(void **state)
{
	struct client c;

	(void)state;
	client_open(&c, true);
	c.peer.handlers.open = NULL;
	(void)ask(&c, "POST", "/a/b", "application/grpc", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "404");
	assert_int_equal(c.peer.opened, 1);
	client_close(&c);
}

static void
without_requests_they_are_405_or_415(void **state)
{
	struct client c;

	(void)state;
	client_open(&c, false);
	(void)ask(&c, "GET", "/count", "a", true);
	UNTIL(&c, c.closed == 1);
	assert_string_equal(c.status, "405");
	(void)POST(&c, "/count", true);
	UNTIL(&c, c.closed == 2);
	assert_string_equal(c.status, "415");
	client_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_comes_and_an_answer_goes),
		cmocka_unit_test(many_requests_take_turns),
		cmocka_unit_test(an_answer_may_be_a_head_alone),
		cmocka_unit_test(an_answer_may_begin_before_the_body_ends),
		cmocka_unit_test(
		    an_answer_does_not_wait_for_a_body_that_nobody_reads),
		cmocka_unit_test(one_is_told_to_go_on),
		cmocka_unit_test(a_reset_of_any_kind_is_an_end),
		cmocka_unit_test(the_end_of_the_link_is_the_end_of_all),
		cmocka_unit_test(
		    a_client_that_does_not_read_holds_only_its_own),
		cmocka_unit_test(grpc_is_still_grpc),
		cmocka_unit_test(without_grpc_all_are_requests),
		cmocka_unit_test(without_requests_they_are_405_or_415),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
