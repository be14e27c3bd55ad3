/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker against real programs, in children of this process: what they
 * are refused, what works as it always did, who is told to have knocked at the
 * door, and what those gain who change their minds meanwhile.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../../lib/agents.h"
#include "../../lib/unit.h"
static void
nowhere(void)
{
	struct sockaddr_in to;
	struct sockaddr_in6 to6;
	with_fd u = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static const struct {
		const char *address;
		uint16_t port;
	} rows[] = { { "192.0.2.1", 443 }, { "255.255.255.255", 1 },
		{ "10.0.0.1", 80 }, { "128.0.0.1", 80 },
		{ BROKER_DOOR_TEXT, 443 }, { BROKER_DOOR_TEXT, 0 } };

	for (size_t i = 0; i < NELEM(rows); i++) {
		to = at_v4(rows[i].address, rows[i].port);
		WANT(try_connect(AF_INET, SOCK_STREAM, &to, sizeof(to)) ==
		    EACCES);
		WANT(try_connect(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, &to,
			 sizeof(to)) == EACCES);
		WANT(try_connect(AF_INET, SOCK_DGRAM, &to, sizeof(to)) ==
		    EACCES);
		WANT(sendto(u, "x", 1, 0, (void *)&to, sizeof(to)) < 0 &&
		    errno == EACCES);
	}
	/* No stream to the door but a stream. */
	to = at_v4(BROKER_DOOR_TEXT, 80);
	WANT(try_connect(AF_INET, SOCK_DGRAM, &to, sizeof(to)) == EACCES);
	WANT(sendto(u, "x", 1, 0, (void *)&to, sizeof(to)) < 0 &&
	    errno == EACCES);
	to6 = at_v6("2001:db8::1", 443);
	WANT(try_connect(AF_INET6, SOCK_STREAM, &to6, sizeof(to6)) == EACCES);
	to6 = at_v6("::ffff:192.0.2.1", 443);
	WANT(try_connect(AF_INET6, SOCK_STREAM, &to6, sizeof(to6)) == EACCES);
	to6 = at_v6("::7f00:1", 443);
	WANT(try_connect(AF_INET6, SOCK_STREAM, &to6, sizeof(to6)) == EACCES);
}

static void
another_address_is_refused(void **state)
{
	(void)state;
	agents_run(nowhere);
	assert_int_equal(agents.arrivals_n, 0);
}

/* What is no address gets from the kernel what it always gets. */
static void
nonsense(void)
{
	struct sockaddr_in to = at_v4("192.0.2.1", 443);
	with_fd s = tcp_socket(0);

	WANT(connect(s, (void *)&to, 3) < 0 && errno == EINVAL);
	WANT(connect(s, (void *)&to, 0) < 0 && errno == EINVAL);
	WANT(connect(s, (void *)&to, ~0U) < 0 && errno == EINVAL);
	WANT(connect(s, (void *)(uintptr_t)16, sizeof(to)) < 0 &&
	    errno == EFAULT);
	to = at_v4("127.0.0.1", 9);
	WANT(connect(-1, (void *)&to, sizeof(to)) < 0 && errno == EBADF);
	WANT(connect(0, (void *)&to, sizeof(to)) < 0 && errno == ENOTSOCK);
	to = at_v4(BROKER_DOOR_TEXT, 80);
	WANT(connect(-1, (void *)&to, sizeof(to)) < 0 && errno == EBADF);
	WANT(connect(0, (void *)&to, sizeof(to)) < 0 && errno == EACCES);
}

static void
nonsense_is_answered_by_the_kernel(void **state)
{
	(void)state;
	agents_run(nonsense);
}

static void
talk_v4(const char *address)
{
	struct sockaddr_in at = at_v4("0.0.0.0", 0);
	socklen_t n = sizeof(at);
	with_fd l = tcp_socket(0);
	with_fd s = tcp_socket(0);
	with_fd end = -1;
	char c = 0;

	WANT(bind(l, (void *)&at, n) == 0 && listen(l, 1) == 0);
	WANT(getsockname(l, (void *)&at, &n) == 0);
	(void)inet_pton(AF_INET, address, &at.sin_addr);
	WANT(connect(s, (void *)&at, n) == 0);
	end = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	WANT(write(s, "x", 1) == 1 && read(end, &c, 1) == 1 && c == 'x');
}

static void
loopback(void)
{
	struct sockaddr_in6 at6 = at_v6("::1", 0);
	struct sockaddr_in at = at_v4("127.0.0.1", 0);
	struct sockaddr_un local = { .sun_family = AF_UNIX, .sun_path = "\0b" };
	socklen_t n = sizeof(at6);
	with_fd l6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	with_fd u = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	with_fd u2 = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	with_fd lu = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	with_fd link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct sockaddr route = { .sa_family = AF_NETLINK };
	char c = 0;

	talk_v4("127.0.0.1");
	talk_v4("127.1.2.3");
	talk_v4("0.0.0.0");
	WANT(bind(l6, (void *)&at6, n) == 0 && listen(l6, 1) == 0);
	WANT(getsockname(l6, (void *)&at6, &n) == 0);
	WANT(try_connect(AF_INET6, SOCK_STREAM, &at6, sizeof(at6)) == 0);
	n = sizeof(at);
	WANT(bind(u, (void *)&at, n) == 0);
	WANT(getsockname(u, (void *)&at, &n) == 0);
	WANT(sendto(u2, "x", 1, 0, (void *)&at, n) == 1);
	WANT(read(u, &c, 1) == 1 && c == 'x');
	WANT(connect(u2, (void *)&at, n) == 0);
	WANT(send(u2, "y", 1, 0) == 1);
	WANT(read(u, &c, 1) == 1 && c == 'y');
	WANT(connect(u2, &none, sizeof(none)) == 0);
	WANT(bind(lu, (void *)&local, 4) == 0 && listen(lu, 1) == 0);
	WANT(try_connect(AF_UNIX, SOCK_STREAM, &local, 4) == 0);
	WANT(connect(link, &route, 12) == 0 || errno == EINVAL);
	at = at_v4("127.0.0.1", 9);
	WANT(
	    try_connect(AF_INET, SOCK_STREAM, &at, sizeof(at)) == ECONNREFUSED);
}

static void
what_the_agent_has_of_its_own_works_natively(void **state)
{
	(void)state;
	agents_run(loopback);
	assert_int_equal(agents.arrivals_n, 0);
}

/* --- the door */
static void
the_door_knows_who_knocks(void **state)
{
	const nacre_sandbox_v1_Caller *c;
	uint8_t want[DIGEST_SIZE];
	struct fault f = { 0 };
	struct buf b;
	pid_t pid;

	(void)state;
	agents_forget();
	pid = agents_begin(knock);
	agents_await(pid);
	assert_int_equal(agents.arrivals_n, 1);
	c = &agents.arrivals[0].m.caller;
	assert_int_equal(c->pid, pid);
	assert_true(c->start_ticks > 0);
	assert_string_equal(c->program.path, agents.self);
	assert_int_equal(c->program.state, PROGRAM_FILE);
	assert_false(c->program.image);
	assert_int_equal(c->ancestors_count, 0);
	assert_true(agents.arrivals[0].m.socket > 0);
	buf_init(&b, 256 << 20);
	assert_int_equal(file_read(AT_FDCWD, agents.self, &b, &f), 0);
	digest_of(buf_span(&b), want);
	buf_release(&b);
	assert_non_null(c->program.sha256);
	assert_int_equal(c->program.sha256->size, DIGEST_SIZE);
	assert_memory_equal(c->program.sha256->bytes, want, DIGEST_SIZE);
}

static void
knock_in_other_ways(void)
{
	struct sockaddr_in6 to6 = at_v6("::ffff:" BROKER_DOOR_TEXT, 80);
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	struct sockaddr_in from = at_v4("127.0.0.9", 5000);
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	with_fd s6 = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	with_fd s = tcp_socket(0);
	char c;

	/* As IPv6. */
	WANT(connect(s6, (void *)&to6, sizeof(to6)) == 0);
	WANT(read(s6, &c, 1) == 1 && c == 'h');
	/* From an address of one's own, and once more with the same socket. */
	WANT(bind(s, (void *)&from, sizeof(from)) == 0);
	WANT(connect(s, (void *)&to, sizeof(to)) == 0);
	hear_hello(s);
	WANT(connect(s, &none, sizeof(none)) == 0);
	WANT(connect(s, (void *)&to, sizeof(to)) == 0);
	hear_hello(s);
}

static void
a_socket_may_be_bound_or_used_again(void **state)
{
	(void)state;
	agents_run(knock_in_other_ways);
	assert_int_equal(agents.arrivals_n, 3);
}

static void
knock_unblocked(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	with_fd s = tcp_socket(SOCK_NONBLOCK);
	with_fd twin = dup(s);
	with_fd ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event e = { .events = EPOLLOUT | EPOLLET };
	int error = -1;
	socklen_t n = sizeof(error);

	WANT(epoll_ctl(ep, EPOLL_CTL_ADD, s, &e) == 0);
	/* A socket that is not connected is hung up; that edge is taken. */
	WANT(epoll_wait(ep, &e, 1, 0) == 1);
	WANT(connect(s, (void *)&to, sizeof(to)) == 0 || errno == EINPROGRESS);
	WANT(epoll_wait(ep, &e, 1, -1) == 1);
	WANT(e.events == EPOLLOUT);
	WANT(getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &n) == 0);
	WANT(error == 0);
	hear_hello(twin);
}

static void
an_epoll_from_before_sees_the_connection(void **state)
{
	(void)state;
	agents_run(knock_unblocked);
	assert_int_equal(agents.arrivals_n, 1);
}

enum {
	MANY = 200
};

static void
knock_often(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	struct rlimit files = { 1024, 1024 };
	int s[MANY];

	(void)setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < MANY; i++) {
		s[i] = tcp_socket(SOCK_NONBLOCK);
		WANT(s[i] >= 0);
		while (connect(s[i], (void *)&to, sizeof(to)) != 0 &&
		    errno == EAGAIN)
			(void)sched_yield();
	}
	for (int i = 0; i < MANY; i++)
		hear_hello(s[i]);
}

static void
two_hundred_at_once_are_all_answered(void **state)
{
	(void)state;
	agents_run(knock_often);
	assert_int_equal(agents.arrivals_n, MANY);
}

static void
fill_the_table(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);

	for (int i = 0; i < BROKER_JOINS; i++) {
		int s = tcp_socket(SOCK_NONBLOCK);

		WANT(connect(s, (void *)&to, sizeof(to)) == 0 ||
		    errno == EINPROGRESS);
	}
	WANT(try_connect(AF_INET, SOCK_STREAM, &to, sizeof(to)) == EAGAIN);
	/* Everything else goes on. */
	to = at_v4("192.0.2.1", 80);
	WANT(try_connect(AF_INET, SOCK_STREAM, &to, sizeof(to)) == EACCES);
}

static void
past_the_cap_a_connect_is_told_to_come_again(void **state)
{
	(void)state;
	/* Nobody asks: the calls that wait are used up first. */
	agents.answers = false;
	agents_forget();
	while (agents.asked > 0) {
		pid_t pid = fork();

		if (pid == 0) {
			struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
			with_fd s = tcp_socket(0);

			_exit(connect(s, (void *)&to, sizeof(to)));
		}
		agents_await(pid);
		agents_tick();
	}
	agents_run(fill_the_table);
	agents.answers = true;
	for (int i = 0; i < 8; i++)
		agents_ask_accept();
	while (agents.arrivals_n < BROKER_JOINS)
		agents_tick();
	/* They knocked and left: their ends are closed, and nothing is left. */
	agents_run(knock);
	for (size_t i = 0; i < BROKER_JOINS; i++)
		assert_null(agents.sandbox->broker.joins[i]);
	for (size_t i = 0; i < BROKER_DOORWAYS; i++)
		assert_int_equal(agents.sandbox->broker.doorways[i].fd, -1);
}

/* As a child has one that was made meanwhile and did not come to its exec. */
static void
a_copy_of_a_doorway_is_in_nobodys_way(void **state)
{
	const struct doorway *d = agents.sandbox->broker.doorways;
	with_fd copy = -1;
	pid_t pid;

	(void)state;
	agents_forget();
	pid = agents_begin(knock);
	while (copy < 0) {
		agents_tick();
		if (d->fd >= 0)
			copy = fcntl(d->fd, F_DUPFD_CLOEXEC, 3);
	}
	agents_await(pid);
	assert_int_equal(d->fd, -1);
	agents_run(knock);
}

/* --- those who die, and those who cheat */
static void
a_process_may_die_while_it_waits(void **state)
{
	struct pollfd p = { .fd = agents.sandbox->broker.listener,
		.events = POLLIN };
	pid_t pid;

	(void)state;
	agents_forget();
	pid = agents_begin(knock);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	broker_turn(&agents.sandbox->broker);
	for (size_t i = 0; i < BROKER_JOINS; i++)
		assert_null(agents.sandbox->broker.joins[i]);
	/* A signal that does not kill it changes nothing. */
	pid = agents_begin(knock);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(kill(pid, SIGCONT), 0);
	agents_await(pid);
	assert_int_equal(agents.arrivals_n, 1);
}

static struct sockaddr_in moving;
static volatile bool is_over;

static void *
rewrite(void *arg)
{
	static const char *const places[] = { BROKER_DOOR_TEXT, "127.0.0.1",
		"192.0.2.1", BROKER_DOOR_TEXT };

	(void)arg;
	for (unsigned i = 0; !is_over; i++) {
		struct sockaddr_in a = at_v4(places[i % NELEM(places)], 80);

		*(volatile in_addr_t *)&moving.sin_addr.s_addr =
		    a.sin_addr.s_addr;
	}
	return NULL;
}

static void
cheat_with_addresses(void)
{
	unsigned joined = 0;
	unsigned refused = 0;
	pthread_t t;

	moving = at_v4(BROKER_DOOR_TEXT, 80);
	WANT(pthread_create(&t, NULL, rewrite, NULL) == 0);
	for (int i = 0; i < 4000 && (joined < 20 || refused < 20); i++) {
		with_fd s = tcp_socket(0);
		char c;

		if (connect(s, (void *)&moving, sizeof(moving)) == 0) {
			/* Joined, or closed: it never hangs. */
			if (read(s, &c, 1) == 1)
				joined++;
			continue;
		}
		refused++;
		WANT(errno == EACCES || errno == ECONNREFUSED ||
		    errno == ENETUNREACH || errno == EAGAIN ||
		    errno == ECONNRESET);
	}
	is_over = true;
	(void)pthread_join(t, NULL);
	WANT(joined > 0 && refused > 0);
}

static int shuffled;
static atomic_bool rests;   /* nobody is to shuffle, */
static atomic_bool at_rest; /* and nobody does */

static void
put_fresh(void)
{
	int s = tcp_socket(0);

	(void)dup2(s, shuffled);
	(void)close(s);
}

static void *
shuffle(void *arg)
{
	(void)arg;
	while (!is_over) {
		at_rest = rests;
		if (at_rest)
			(void)sched_yield();
		else
			put_fresh();
	}
	return NULL;
}

/* Another socket in the place of the one that was named, each second time: all
 * that fail are kept until their time is over, and there is room for them. */
static void
cheat_with_sockets(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	unsigned joined = 0;
	pthread_t t;

	shuffled = tcp_socket(0);
	WANT(pthread_create(&t, NULL, shuffle, NULL) == 0);
	for (int i = 0; i < BROKER_JOINS - 16; i++) {
		struct timeval most = { .tv_sec = 20 };
		char c;

		at_rest = false;
		rests = i % 2 == 0;
		while (rests && !at_rest)
			(void)sched_yield();
		if (rests)
			put_fresh();
		if (connect(shuffled, (void *)&to, sizeof(to)) != 0) {
			WANT(!rests);
			continue;
		}
		/* It may be another one again by now. */
		(void)setsockopt(shuffled, SOL_SOCKET, SO_RCVTIMEO, &most,
		    sizeof(most));
		if (recv(shuffled, &c, 1, 0) == 1)
			joined++;
		else
			WANT(!rests);
	}
	is_over = true;
	(void)pthread_join(t, NULL);
	WANT(joined >= BROKER_JOINS / 2 - 8);
}

static void
all_came_from(pid_t pid)
{
	for (size_t i = 0; i < agents.arrivals_n; i++) {
		assert_int_equal(agents.arrivals[i].m.caller.pid, pid);
		assert_string_equal(agents.arrivals[i].m.caller.program.path,
		    agents.self);
	}
}

static void
a_changed_address_or_socket_is_never_joined_for_another(void **state)
{
	pid_t pid;

	(void)state;
	agents_forget();
	pid = agents_begin(cheat_with_addresses);
	agents_await(pid);
	assert_true(agents.arrivals_n > 0);
	all_came_from(pid);
	agents_forget();
	pid = agents_begin(cheat_with_sockets);
	agents_await(pid);
	all_came_from(pid);
	agents_run(knock);
	assert_int_equal(agents.arrivals_n, 1);
}

/* --- agents.holders */
static int to_heir[2];

static void
knock_and_share(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	int s = socket(AF_INET, SOCK_STREAM, 0); /* survives an exec */
	pid_t pid;
	char c;

	WANT(connect(s, (void *)&to, sizeof(to)) == 0);
	pid = fork();
	if (pid == 0) {
		(void)dup2(to_heir[0], 0);
		(void)execl("/usr/bin/cat", "cat", NULL);
		_exit(1);
	}
	WANT(read(s, &c, 1) ==
	    0); /* agents.holders are agents.asked for meanwhile */
	(void)close(to_heir[1]);
	(void)waitpid(pid, NULL, 0);
}

static bool
is_program(pid_t pid, const char *path)
{
	for (size_t i = 0; i < agents.holders.holders_count; i++)
		if (strcmp(agents.holders.holders[i].program.path, path) == 0 &&
		    (pid == 0 || agents.holders.holders[i].pid == pid))
			return true;
	return false;
}

static void
another_program_with_the_socket_is_told(void **state)
{
	pid_t pid;
	uint64_t socket;

	(void)state;
	agents_forget();
	agents.answers = false;
	assert_int_equal(pipe2(to_heir, O_CLOEXEC), 0);
	pid = agents_begin(knock_and_share);
	(void)close(to_heir[0]);
	while (agents.arrivals_n == 0)
		agents_tick();
	socket = agents.arrivals[0].m.socket;
	do /* until it has become another program */
		agents_ask_holders(socket);
	while (!is_program(0, "/usr/bin/cat"));
	/* The one that knocked is of our own executable, and not counted. */
	assert_int_equal(agents.holders.holders_count, 1);
	assert_false(agents.holders.cut);
	assert_false(is_program(pid, agents.self));
	(void)close(to_heir[1]);
	fd_close(&agents.arrivals[0].fd);
	agents_await(pid);
	agents_ask_holders(socket);
	assert_int_equal(agents.holders.holders_count, 0);
	agents.answers = true;
	agents_ask_accept();
}

/* --- many questions on one stream */
enum {
	QUESTIONS = EVIDENCE_LOOKUPS + 8
};
static struct {
	unsigned times[QUESTIONS]; /* answered */
	unsigned cut;
	bool has_closed;
	enum fault_code code;
} stream;

static void
answer_came(struct rpc_call *c, void *owner, struct span m)
{
	nacre_sandbox_v1_HoldersReply r =
	    nacre_sandbox_v1_HoldersReply_init_zero;
	struct fault f = { 0 };
	struct arena a;

	(void)owner;
	rpc_consume(c, m.len);
	arena_init(&a, SANDBOX_ARENA);
	assert_int_equal(
	    WIRE_DECODE(nacre_sandbox_v1_HoldersReply, &r, m, &a, &f), 0);
	assert_in_range(r.socket, 1, QUESTIONS);
	assert_int_equal(r.holders_count, 0);
	stream.times[r.socket - 1]++;
	stream.cut += r.cut;
	arena_release(&a);
}

static void
stream_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)detail;
	stream.has_closed = true;
	stream.code = f->code;
}

static void
ask_on(struct rpc_call *c, uint64_t socket)
{
	nacre_sandbox_v1_HoldersRequest q = { .socket = socket };
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 64);
	assert_int_equal(
	    WIRE_ENCODE(nacre_sandbox_v1_HoldersRequest, &q, &b, &f), 0);
	assert_int_equal(rpc_send(c, buf_span(&b), &f), 0);
	buf_release(&b);
}

static unsigned
answered(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < QUESTIONS; i++) {
		assert_true(stream.times[i] <= 1);
		n += stream.times[i];
	}
	return n;
}

/* One answer each, behind the end of the questions too; what is over the cap
 * of lookups at once was not seen, and says so. */
static void
one_stream_tells_the_holders_of_many(void **state)
{
	static const struct rpc_call_events on = { .message = answer_came,
		.closed = stream_closed };
	struct fault f = { 0 };
	struct rpc_call *c;

	(void)state;
	c = rpc_call(agents.link, "/nacre.sandbox.v1.Sandbox/Holders",
	    SPAN_LIT("Bearer token"), -1, &on, NULL, &f);
	assert_non_null(c);
	ask_on(c, 1);
	while (answered() < 1)
		agents_tick();
	assert_false(stream.has_closed);
	assert_int_equal(stream.cut, 0);
	for (uint64_t i = 2; i <= QUESTIONS; i++)
		ask_on(c, i);
	rpc_half_close(c);
	while (!stream.has_closed)
		agents_tick();
	assert_int_equal(stream.code, FAULT_NONE);
	assert_int_equal(answered(), QUESTIONS);
	assert_int_equal(stream.cut, QUESTIONS - 1 - EVIDENCE_LOOKUPS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_stream_tells_the_holders_of_many),
		cmocka_unit_test(another_address_is_refused),
		cmocka_unit_test(nonsense_is_answered_by_the_kernel),
		cmocka_unit_test(what_the_agent_has_of_its_own_works_natively),
		cmocka_unit_test(the_door_knows_who_knocks),
		cmocka_unit_test(a_socket_may_be_bound_or_used_again),
		cmocka_unit_test(an_epoll_from_before_sees_the_connection),
		cmocka_unit_test(two_hundred_at_once_are_all_answered),
		cmocka_unit_test(past_the_cap_a_connect_is_told_to_come_again),
		cmocka_unit_test(a_copy_of_a_doorway_is_in_nobodys_way),
		cmocka_unit_test(a_process_may_die_while_it_waits),
		cmocka_unit_test(
		    a_changed_address_or_socket_is_never_joined_for_another),
		cmocka_unit_test(another_program_with_the_socket_is_told),
	};

	return cmocka_run_group_tests(tests, agents_setup, agents_teardown);
}
