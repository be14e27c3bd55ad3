/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a broker in one process, its agents in children. */
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "agents.h"
#include "unit.h"

#define TOKEN "Bearer token"
#define CALL  "/nacre.sandbox.v1.Sandbox/"

struct agents agents;

void
agents_tick(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(agents.loop, 1000, &f), 0);
}

/* --- the supervisor's side */
static int
take_fd(uint64_t tag)
{
	uint8_t head[8];
	size_t got = 0;
	size_t n = 1;
	struct fault f = { 0 };
	uint64_t its = 0;
	int fd = -1;

	assert_int_equal(
	    fd_receive(agents.pass, head, sizeof(head), &got, &fd, &n, &f), 0);
	assert_int_equal(got, sizeof(head));
	assert_int_equal(n, 1);
	for (size_t i = 0; i < sizeof(head); i++)
		its = its << 8 | head[i];
	assert_int_equal(its, tag);
	return fd;
}

static void
accepted(struct rpc_call *c, void *owner, struct span m)
{
	struct arrival *a = &agents.arrivals[agents.arrivals_n];
	struct fault f = { 0 };

	(void)owner;
	rpc_consume(c, m.len);
	assert_true(agents.arrivals_n < NELEM(agents.arrivals));
	arena_init(&a->arena, SANDBOX_ARENA);
	a->m =
	    (nacre_sandbox_v1_Connection)nacre_sandbox_v1_Connection_init_zero;
	assert_int_equal(
	    WIRE_DECODE(nacre_sandbox_v1_Connection, &a->m, m, &a->arena, &f),
	    0);
	a->fd = take_fd(a->m.tag);
	assert_string_equal(a->m.address, BROKER_DOOR_TEXT);
	assert_int_equal(a->m.port, BROKER_DOOR_PORT);
	agents.arrivals_n++;
	if (agents.answers) {
		assert_int_equal(write(a->fd, "hello", 5), 5);
		fd_close(&a->fd);
	}
}

static void
accept_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)detail;
	agents.asked--;
	if (f->code == FAULT_NONE && agents.answers)
		agents_ask_accept();
}

static void
held(struct rpc_call *c, void *owner, struct span m)
{
	struct fault f = { 0 };

	(void)owner;
	rpc_consume(c, m.len);
	agents.holders = (nacre_sandbox_v1_HoldersReply)
	    nacre_sandbox_v1_HoldersReply_init_zero;
	assert_int_equal(WIRE_DECODE(nacre_sandbox_v1_HoldersReply,
			     &agents.holders, m, &agents.holders_arena, &f),
	    0);
	agents.has_holders = true;
}

static void
closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
}

static void
ask(const char *method, const struct pb_msgdesc_s *fields, const void *m,
    const struct rpc_call_events *on)
{
	struct fault f = { 0 };
	struct rpc_call *c;
	struct buf b;

	buf_init(&b, 1024);
	assert_int_equal(wire_encode(fields, m, &b, &f), 0);
	c = rpc_call(agents.link, method, span_str(TOKEN), -1, on, NULL, &f);
	assert_non_null(c);
	assert_int_equal(rpc_call_unary(c, buf_span(&b), &f), 0);
	buf_release(&b);
}

void
agents_ask_accept(void)
{
	static const struct rpc_call_events on = { .message = accepted,
		.closed = accept_closed };
	nacre_sandbox_v1_Empty e = nacre_sandbox_v1_Empty_init_zero;

	agents.asked++;
	ask(CALL "Accept", nacre_sandbox_v1_Empty_fields, &e, &on);
}

void
agents_ask_holders(uint64_t socket)
{
	static const struct rpc_call_events on = { .message = held,
		.closed = closed };
	nacre_sandbox_v1_HoldersRequest q = { .socket = socket };

	arena_release(&agents.holders_arena);
	agents.has_holders = false;
	ask(CALL "Holders", nacre_sandbox_v1_HoldersRequest_fields, &q, &on);
	while (!agents.has_holders)
		agents_tick();
}

void
agents_forget(void)
{
	for (size_t i = 0; i < agents.arrivals_n; i++) {
		fd_close(&agents.arrivals[i].fd);
		arena_release(&agents.arrivals[i].arena);
	}
	agents.arrivals_n = 0;
}

int
agents_setup(void **state)
{
	struct rpc_link_options o = { 0 };
	uint8_t random[TLS_ENTROPY] = { 1 };
	struct fault f = { 0 };
	int ends[2];
	int passes[2];
	ssize_t n;

	(void)state;
	/* Nobody else's port 80; nothing but lo, as in a guest. */
	assert_int_equal(unshare(CLONE_NEWNET), 0);
	assert_int_equal(confine_lo_up(), 0);
	n = readlink("/proc/self/exe", agents.self, sizeof(agents.self) - 1);
	assert_true(n > 0);
	agents.self[n] = '\0';
	agents.sandbox = must_alloc(sizeof(*agents.sandbox));
	agents.loop = loop_new(&f);
	assert_non_null(agents.loop);
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	assert_int_equal(socketpair(AF_UNIX,
			     SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			     passes),
	    0);
	agents.sandbox->loop = agents.loop;
	agents.sandbox->link_fd = ends[1];
	agents.sandbox->pass = passes[1];
	agents.pass = passes[0];
	agents.sandbox->cgroup = -1;
	agents.sandbox->start.fd = -1;
	agents.sandbox->state = SANDBOX_READY;
	agents.sandbox->has_grant = true;
	agents.sandbox->broker.eyes.upper = -1;
	agents.sandbox->broker.eyes.image = -1;
	digest_of(SPAN_LIT("token"), agents.sandbox->token);
	buf_init(&agents.sandbox->confirm_reply, LIMIT_MESSAGE);
	arena_init(&agents.holders_arena, SANDBOX_ARENA);
	assert_int_equal(tls_key_make(&agents.sandbox->key, random, "s", &f),
	    0);
	assert_int_equal(sandbox_serve(agents.sandbox, &f), 0);
	o.tls = tls_client_new("s", agents.sandbox->key.pin, random, &f);
	assert_non_null(o.tls);
	agents.link = rpc_link_open_fd(agents.loop, ends[0], &o, &f);
	assert_non_null(agents.link);
	if (broker_open(&agents.sandbox->broker, agents.sandbox, &f) != 0)
		fail_msg("%s", f.text);
	agents.answers = true;
	for (int i = 0; i < 8; i++)
		agents_ask_accept();
	return 0;
}

int
agents_teardown(void **state)
{
	struct fault f = { 0 };

	(void)state;
	(void)fault_set(&f, FAULT_LOST, "end of the test");
	agents.answers = false;
	rpc_link_drop(agents.link, &f);
	while (agents.sandbox->link || agents.asked > 0)
		agents_tick();
	assert_int_equal(loop_tick(agents.loop, 1, &f), 0);
	broker_close(&agents.sandbox->broker);
	loop_free(agents.loop);
	agents_forget();
	arena_release(&agents.holders_arena);
	buf_release(&agents.sandbox->confirm_reply);
	(void)close(agents.sandbox->pass);
	(void)close(agents.pass);
	free(agents.sandbox);
	return 0;
}

/* --- children */
static bool child_ended;
static int child_status;

static void
exited(struct child *c, int status)
{
	(void)c;
	child_ended = true;
	child_status = status;
}

pid_t
agents_begin(void (*body)(void))
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		(void)alarm(120);
		body();
		_exit(0);
	}
	return pid;
}

void
agents_await(pid_t pid)
{
	struct child c = { .exited = exited };
	struct fault f = { 0 };

	child_ended = false;
	assert_int_equal(loop_child(agents.loop, &c, pid, &f), 0);
	while (!child_ended)
		agents_tick();
	if (!WIFEXITED(child_status) || WEXITSTATUS(child_status) != 0)
		fail_msg("the child ended with %x: line %d", child_status,
		    WEXITSTATUS(child_status));
}

void
agents_run(void (*body)(void))
{
	agents_forget();
	agents_await(agents_begin(body));
}

struct sockaddr_in
at_v4(const char *address, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(port) };

	(void)inet_pton(AF_INET, address, &a.sin_addr);
	return a;
}

struct sockaddr_in6
at_v6(const char *address, uint16_t port)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };

	(void)inet_pton(AF_INET6, address, &a.sin6_addr);
	return a;
}

int
tcp_socket(int flags)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
}

int
try_connect(int domain, int type, const void *to, socklen_t n)
{
	with_fd s = socket(domain, type | SOCK_CLOEXEC, 0);

	if (s < 0)
		return errno;
	return connect(s, to, n) == 0 ? 0 : errno;
}

/* --- the door */
void
hear_hello(int s)
{
	char text[8] = "";
	struct sockaddr_in name = { 0 };
	socklen_t n = sizeof(name);
	ssize_t got = 0;
	ssize_t r;

	WANT(getpeername(s, (void *)&name, &n) == 0);
	WANT(name.sin_addr.s_addr == htonl(BROKER_DOOR) &&
	    name.sin_port == htons(80));
	do {
		struct pollfd p = { .fd = s, .events = POLLIN };

		WANT(poll(&p, 1, -1) == 1);
		r = read(s, text + got, sizeof(text) - (size_t)got);
		WANT(r >= 0);
		got += r;
	} while (r > 0);
	WANT(got == 5 && memcmp(text, "hello", 5) == 0);
}

void
knock(void)
{
	struct sockaddr_in to = at_v4(BROKER_DOOR_TEXT, 80);
	with_fd s = tcp_socket(0);

	WANT(connect(s, (void *)&to, sizeof(to)) == 0);
	WANT(connect(s, (void *)&to, sizeof(to)) < 0 && errno == EISCONN);
	hear_hello(s);
}
