/* SPDX-License-Identifier: Apache-2.0 */
/* Calls between two links of ours: data, credit, statuses, endings. */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/rpc_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "rpc/rpc.h"
#include "tls/tls.h"

#define PATH(m) "/nacre.test.Peer/" m
#define MANY    64

static const struct span none = { NULL, 0 };
static uint8_t bulk[LIMIT_MESSAGE + 1];

struct side {
	struct loop *loop;
	struct rpc_peer peer;
	struct rpc_link *server;
	struct rpc_link *link;
	bool is_down;
	bool was_up;
	struct fault down;
};

struct watcher { /* a client call as a test sees it */
	struct rpc_call *call;
	size_t messages;
	size_t bytes;
	size_t last;
	unsigned writable;
	unsigned closed;
	bool holds; /* does not consume */
	size_t held;
	struct fault f;
	char text[64]; /* of the last message */
	uint8_t detail[64];
	size_t detail_len;
};

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct watcher *w = owner;

	assert_ptr_equal(c, w->call);
	assert_int_equal(w->closed, 0);
	w->messages++;
	w->bytes += m.len;
	w->last = m.len;
	(void)text_copy(w->text, sizeof(w->text), m);
	if (w->holds)
		w->held += m.len;
	else
		rpc_consume(c, m.len);
}

static void
on_writable(struct rpc_call *c, void *owner)
{
	struct watcher *w = owner;

	(void)c;
	w->writable++;
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct watcher *w = owner;

	(void)c;
	w->closed++;
	w->f = *f;
	w->detail_len = detail.len;
	assert_true(detail.len <= sizeof(w->detail));
	if (detail.len)
		memcpy(w->detail, detail.ptr, detail.len);
}

static const struct rpc_call_events events = {
	.message = on_message,
	.writable = on_writable,
	.closed = on_closed,
};

static void
on_up(struct rpc_link *l, void *owner)
{
	struct side *s = owner;

	(void)l;
	s->was_up = true;
}

static void
on_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct side *s = owner;

	(void)l;
	s->is_down = true;
	s->down = *f;
	s->link = NULL;
}

static const struct rpc_link_events link_events = { on_up, on_down };

static void
turn(struct side *s)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(s->loop, 20, &f), 0);
}

#define UNTIL(s, condition)                 \
 do {                                       \
  int64_t end_ms = clock_mono_ms() + 20000; \
  while (!(condition)) {                    \
   assert_true(clock_mono_ms() < end_ms);   \
   turn(s);                                 \
  }                                         \
 } while (0)

static void
open_capped(struct side *s, size_t unread_max)
{
	struct rpc_link_options o = { .events = &link_events, .owner = s };
	struct fault f = { 0 };
	int fd;

	memset(s, 0, sizeof(*s));
	s->loop = loop_new(&f);
	assert_non_null(s->loop);
	rpc_peer_init(&s->peer, s->loop);
	s->peer.options.unread_max = unread_max;
	s->server = rpc_peer_pair(&s->peer, &fd);
	s->link = rpc_link_open_fd(s->loop, fd, &o, &f);
	assert_non_null(s->link);
}

static void
open_side(struct side *s)
{
	open_capped(s, 0);
}

static void
close_side(struct side *s)
{
	if (s->link)
		rpc_link_drop(s->link, NULL);
	UNTIL(s, s->is_down);
	UNTIL(s, s->peer.closed == s->peer.opened);
	for (int i = 0; i < 3; i++)
		turn(s);
	rpc_peer_close(&s->peer);
	loop_free(s->loop);
}

static void
start(struct side *s, struct watcher *w, const char *path, int64_t timeout_ms)
{
	struct fault f = { 0 };

	w->call = rpc_call(s->link, path, none, timeout_ms, &events, w, &f);
	assert_non_null(w->call);
}

static void
a_call_is_answered(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Echo"), -1);
	assert_int_equal(rpc_call_unary(w.call, SPAN_LIT("hello"), &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_NONE);
	assert_string_equal(w.text, "hello");
	assert_true(s.was_up);
	turn(&s);
	assert_int_equal(s.peer.closed, 1);
	close_side(&s);
}

static void
an_empty_message_is_a_message(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Echo"), -1);
	assert_int_equal(rpc_call_unary(w.call, none, &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_NONE);
	assert_int_equal(w.messages, 1);
	close_side(&s);
}

static void
the_largest_message_passes_and_no_larger(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Echo"), -1);
	assert_int_equal(rpc_send(w.call, span_of(bulk, sizeof(bulk)), &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(
	    rpc_call_unary(w.call, span_of(bulk, LIMIT_MESSAGE), &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_NONE);
	assert_int_equal(w.last, LIMIT_MESSAGE);
	close_side(&s);
}

/* Every size near a boundary of window, step and frame arrives whole. */
static void
messages_of_every_awkward_size_arrive(void **state)
{
	static const size_t sizes[] = { 1, 16379, 16384, 32763, 32764, 65531,
		65532, 65536, 131072, 262139, 262144, 300000, 1000000 };
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Chat"), -1);
	for (size_t i = 0; i < NELEM(sizes); i++) {
		assert_int_equal(rpc_send(w.call, span_of(bulk, sizes[i]), &f),
		    0);
		UNTIL(&s, w.messages == i + 1);
		assert_int_equal(w.last, sizes[i]);
	}
	rpc_half_close(w.call);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_NONE);
	close_side(&s);
}

static void
a_stream_waits_for_a_slow_reader(void **state)
{
	struct side s;
	struct watcher w = { .holds = true };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Count"), -1);
	assert_int_equal(rpc_call_unary(w.call, SPAN_LIT("2000 1024"), &f), 0);
	for (int i = 0; i < 50; i++)
		turn(&s);
	assert_true(w.bytes <= LIMIT_WINDOW_STREAM);
	while (!w.closed) {
		rpc_consume(w.call, w.held);
		w.held = 0;
		turn(&s);
	}
	assert_int_equal(w.f.code, FAULT_NONE);
	assert_int_equal(w.messages, 2000);
	close_side(&s);
}

static void
a_full_queue_is_busy_and_then_writable(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };
	size_t sent = 0;

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Sink"), -1);
	while (rpc_send(w.call, span_of(bulk, 50000), &f) == 0)
		sent++;
	assert_int_equal(f.code, FAULT_BUSY);
	assert_int_equal(rpc_room(w.call), 0);
	assert_true(sent >= 5 && sent <= 6);
	UNTIL(&s, w.writable);
	assert_true(rpc_room(w.call) > 0);
	assert_int_equal(rpc_send(w.call, span_of(bulk, 50000), &f), 0);
	rpc_half_close(w.call);
	UNTIL(&s, w.closed);
	(void)text_fmt((char *)bulk, 32, "%zu", (sent + 1) * 50000);
	assert_string_equal(w.text, (char *)bulk);
	memset(bulk, 0, 32);
	close_side(&s);
}

static void
who_stops_at_the_room_left_is_told_too(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Sink"), -1);
	for (int round = 0; round < 3; round++) {
		w.writable = 0;
		while (rpc_room(w.call) > 60000)
			assert_int_equal(
			    rpc_send(w.call, span_of(bulk, 50000), &f), 0);
		UNTIL(&s, w.writable);
		assert_true(rpc_room(w.call) > 60000);
	}
	rpc_half_close(w.call);
	UNTIL(&s, w.closed);
	close_side(&s);
}

static void
stalled_calls_hold_up_no_other(void **state)
{
	static struct watcher w[MANY];
	struct side s;
	struct fault f = { 0 };
	size_t sent[MANY] = { 0 };
	size_t done = 0;

	(void)state;
	open_side(&s);
	memset(w, 0, sizeof(w));
	for (size_t i = 0; i < MANY; i++) {
		start(&s, &w[i], PATH("Sink"), -1);
		memcpy(bulk, i % 2 ? "going" : "stall", 5);
		while (rpc_send(w[i].call, span_of(bulk, 16000), &f) == 0)
			sent[i]++;
	}
	memcpy(bulk, "going", 5);
	while (done < MANY / 2) {
		done = 0;
		for (size_t i = 1; i < MANY; i += 2) {
			while (sent[i] < 100 &&
			    rpc_send(w[i].call, span_of(bulk, 16000), &f) == 0)
				sent[i]++;
			if (sent[i] == 100 && !w[i].closed)
				rpc_half_close(w[i].call);
			done += w[i].closed;
		}
		turn(&s);
	}
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(w[i].closed, i % 2);
		if (i % 2)
			assert_string_equal(w[i].text, "1600000");
	}
	memset(bulk, 0, 5);
	close_side(&s);
	for (size_t i = 0; i < MANY; i += 2)
		assert_int_equal(w[i].f.code, FAULT_LOST);
}

/* Each call may leave a message unread, together what the link may hold. */
static void
a_link_holds_no_more_unread_than_it_was_told(void **state)
{
	static struct watcher w[MANY];
	struct side s;
	struct fault f = { 0 };
	size_t refused = 0;

	(void)state;
	open_capped(&s, 2 << 20);
	memset(w, 0, sizeof(w));
	memcpy(bulk, "stall", 5);
	for (size_t i = 0; i < MANY; i++) {
		start(&s, &w[i], PATH("Sink"), -1);
		assert_int_equal(rpc_send(w[i].call, span_of(bulk, 200000), &f),
		    0);
	}
	UNTIL(&s, s.peer.stalled + s.peer.closed == MANY);
	for (int i = 0; i < 50; i++)
		turn(&s);
	for (size_t i = 0; i < MANY; i++) {
		refused += w[i].closed;
		assert_int_equal(w[i].f.code,
		    w[i].closed ? FAULT_LIMIT : FAULT_NONE);
	}
	assert_true(MANY - refused <= 2 * (2 << 20) / 200005);
	assert_true(refused > 0 && refused < MANY);
	memset(bulk, 0, 5);
	close_side(&s);
}

static void
unfinished_messages_are_capped_for_the_link(void **state)
{
	static struct watcher w[MANY];
	struct side s;
	struct fault f = { 0 };
	size_t refused = 0;
	size_t closed = 0;

	(void)state;
	open_capped(&s, 2 << 20);
	memset(w, 0, sizeof(w));
	for (size_t i = 0; i < MANY; i++) {
		start(&s, &w[i], PATH("Echo"), -1);
		assert_int_equal(
		    rpc_call_unary(w[i].call, span_of(bulk, LIMIT_MESSAGE), &f),
		    0);
	}
	while (closed < MANY) {
		turn(&s);
		closed = 0;
		for (size_t i = 0; i < MANY; i++)
			closed += w[i].closed;
	}
	for (size_t i = 0; i < MANY; i++)
		refused += w[i].f.code == FAULT_LIMIT;
	assert_true(refused > 0);
	assert_false(s.is_down);
	memset(&w[0], 0, sizeof(w[0]));
	start(&s, &w[0], PATH("Echo"), -1);
	assert_int_equal(
	    rpc_call_unary(w[0].call, span_of(bulk, LIMIT_MESSAGE), &f), 0);
	UNTIL(&s, w[0].closed);
	assert_int_equal(w[0].f.code, FAULT_NONE);
	close_side(&s);
}

static void
a_refusal_keeps_its_code_text_field_and_detail(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Refuse"), -1);
	assert_int_equal(rpc_call_unary(w.call, none, &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_INVALID);
	assert_string_equal(w.f.text, "not 100% right: \xc3\xa9\n");
	assert_string_equal(w.f.field, "name");
	assert_int_equal(w.detail_len, 11);
	assert_memory_equal(w.detail, "\x00\x01\xfe\xff detail", 11);
	close_side(&s);
}

static void
an_unknown_method_is_unimplemented(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, "/a.B/C", -1);
	assert_int_equal(rpc_call_unary(w.call, none, &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_UNIMPLEMENTED);
	close_side(&s);
}

static void
time_runs_out_on_both_sides(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Sleep"), 50);
	assert_int_equal(rpc_call_unary(w.call, none, &f), 0);
	UNTIL(&s, w.closed);
	assert_int_equal(w.f.code, FAULT_TIMEOUT);
	UNTIL(&s, s.peer.closed == 1);
	assert_int_equal(s.peer.cancelled, 1);
	close_side(&s);
}

static void
a_cancel_is_told_to_both_later(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Sleep"), -1);
	assert_int_equal(rpc_call_unary(w.call, none, &f), 0);
	UNTIL(&s, s.peer.opened == 1);
	rpc_cancel(w.call);
	assert_int_equal(w.closed, 0); /* never under the owner's feet */
	rpc_cancel(w.call);
	assert_int_equal(rpc_send(w.call, none, &f), -1);
	assert_int_equal(f.code, FAULT_LOST);
	UNTIL(&s, w.closed && s.peer.closed);
	assert_int_equal(w.closed, 1);
	assert_int_equal(w.f.code, FAULT_CANCELLED);
	assert_int_equal(s.peer.cancelled, 1);
	close_side(&s);
}

static void
a_lost_link_ends_its_calls_first(void **state)
{
	struct side s;
	struct watcher w[3] = { { 0 } };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	for (size_t i = 0; i < NELEM(w); i++)
		start(&s, &w[i], PATH("Sleep"), -1);
	UNTIL(&s, s.peer.opened == 3);
	rpc_link_drop(s.server, NULL);
	UNTIL(&s, s.is_down);
	for (size_t i = 0; i < NELEM(w); i++) {
		assert_int_equal(w[i].closed, 1);
		assert_int_equal(w[i].f.code, FAULT_LOST);
	}
	assert_int_equal(s.down.code, FAULT_LOST);
	assert_int_equal(s.peer.lost, 3);
	(void)f;
	close_side(&s);
}

static void
a_shutdown_lets_calls_end(void **state)
{
	struct side s;
	struct watcher w = { 0 };
	struct watcher late = { 0 };
	struct fault f = { 0 };

	(void)state;
	open_side(&s);
	start(&s, &w, PATH("Chat"), -1);
	UNTIL(&s, s.peer.opened == 1);
	rpc_link_shutdown(s.link);
	assert_null(
	    rpc_call(s.link, PATH("Echo"), none, -1, &events, &late, &f));
	assert_int_equal(rpc_send(w.call, SPAN_LIT("still"), &f), 0);
	rpc_half_close(w.call);
	UNTIL(&s, s.is_down);
	assert_int_equal(w.closed, 1);
	assert_int_equal(w.f.code, FAULT_NONE);
	assert_string_equal(w.text, "still");
	assert_int_equal(s.down.code, FAULT_NONE);
	close_side(&s);
}

static void
other_protocols_are_dropped(void **state)
{
	static const char *const hellos[] = { "GET / HTTP/1.1\r\n\r\n12345678",
		"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03 and so on, TLS" };
	struct side s;
	struct fault f = { 0 };
	char bytes[256];
	ssize_t n = 1;
	int fd;

	(void)state;
	open_side(&s);
	for (size_t i = 0; i < NELEM(hellos); i++) {
		(void)rpc_peer_pair(&s.peer, &fd);
		assert_int_equal(write(fd, hellos[i], 26), 26);
		for (int j = 0; j < 4; j++)
			turn(&s);
		do
			n = read(fd, bytes, sizeof(bytes));
		while (n > 0);
		assert_int_equal(n, 0);
		fd_close(&fd);
	}
	(void)f;
	close_side(&s);
}

static void
a_peer_that_answers_no_ping_is_lost(void **state)
{
	struct side s;
	struct rpc_link_options o = { .events = &link_events, .ping_ms = 30 };
	struct side mute = { 0 };
	struct fault f = { 0 };
	static const uint8_t settings[9] = { 0, 0, 0, 4 };
	int fds[2];

	(void)state;
	open_side(&s);
	mute.loop = s.loop;
	o.owner = &mute;
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	mute.link = rpc_link_open_fd(s.loop, fds[0], &o, &f);
	assert_non_null(mute.link);
	assert_int_equal(write(fds[1], settings, 9), 9);
	UNTIL(&s, mute.is_down);
	assert_true(mute.was_up);
	assert_int_equal(mute.down.code, FAULT_LOST);
	fd_close(&fds[1]);
	/* one that answers lives on */
	mute = (struct side){ .loop = s.loop };
	(void)rpc_peer_pair(&s.peer, &fds[0]);
	mute.link = rpc_link_open_fd(s.loop, fds[0], &o, &f);
	assert_non_null(mute.link);
	for (int64_t end = clock_mono_ms() + 300; clock_mono_ms() < end;)
		turn(&s);
	assert_false(mute.is_down);
	rpc_link_drop(mute.link, NULL);
	close_side(&s);
}

static void
the_peer_of_a_unix_link_is_known(void **state)
{
	struct side s;
	uid_t uid;
	gid_t gid;
	pid_t pid;

	(void)state;
	open_side(&s);
	assert_true(rpc_link_peer(s.server, &uid, &gid, &pid));
	assert_int_equal(uid, getuid());
	assert_int_equal(pid, getpid());
	close_side(&s);
}

static void
a_listener_replaces_the_dead_and_spares_the_living(void **state)
{
	char dir[] = "/tmp/nacre-rpc-XXXXXX";
	char path[64];
	struct fault f = { 0 };
	int fd = -1;
	int other = -1;
	int file;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)text_fmt(path, sizeof(path), "%s/s", dir);
	assert_int_equal(rpc_connect_unix(path, &other, &f), -1);
	assert_int_equal(rpc_listen_unix(path, &fd, &f), 0);
	assert_int_equal(rpc_listen_unix(path, &other, &f), -1);
	assert_int_equal(f.code, FAULT_EXISTS);
	assert_int_equal(rpc_connect_unix(path, &other, &f), 0);
	fd_close(&other);
	fd_close(&fd);
	assert_int_equal(rpc_listen_unix(path, &fd, &f), 0);
	fd_close(&fd);
	(void)unlink(path);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	fd_close(&file);
	fault_clear(&f);
	assert_int_equal(rpc_listen_unix(path, &fd, &f), -1);
	assert_int_equal(f.code, FAULT_EXISTS);
	(void)unlink(path);
	(void)rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_answered),
		cmocka_unit_test(an_empty_message_is_a_message),
		cmocka_unit_test(the_largest_message_passes_and_no_larger),
		cmocka_unit_test(messages_of_every_awkward_size_arrive),
		cmocka_unit_test(a_stream_waits_for_a_slow_reader),
		cmocka_unit_test(a_full_queue_is_busy_and_then_writable),
		cmocka_unit_test(who_stops_at_the_room_left_is_told_too),
		cmocka_unit_test(stalled_calls_hold_up_no_other),
		cmocka_unit_test(a_link_holds_no_more_unread_than_it_was_told),
		cmocka_unit_test(unfinished_messages_are_capped_for_the_link),
		cmocka_unit_test(
		    a_refusal_keeps_its_code_text_field_and_detail),
		cmocka_unit_test(an_unknown_method_is_unimplemented),
		cmocka_unit_test(time_runs_out_on_both_sides),
		cmocka_unit_test(a_cancel_is_told_to_both_later),
		cmocka_unit_test(a_lost_link_ends_its_calls_first),
		cmocka_unit_test(a_shutdown_lets_calls_end),
		cmocka_unit_test(other_protocols_are_dropped),
		cmocka_unit_test(a_peer_that_answers_no_ping_is_lost),
		cmocka_unit_test(the_peer_of_a_unix_link_is_known),
		cmocka_unit_test(
		    a_listener_replaces_the_dead_and_spares_the_living),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
