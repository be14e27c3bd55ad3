/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rpc against python3-grpcio (peer.py), both ways, over a unix socket: plain
 * and, with our certificate as its root, over TLS.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/rpc_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "rpc/rpc.h"
#include "tls/tls.h"

#define PYTHON  "/usr/bin/python3"
#define SCRIPT  "tests/unit/rpc/peer.py"
#define PATH(m) "/nacre.test.Peer/" m

static const struct span none = { NULL, 0 };
static uint8_t bulk[LIMIT_MESSAGE];

struct stage {
	struct loop *loop;
	struct rpc_peer peer;
	struct child child;
	char dir[32];
	char path[64];
	char address[80];
	char pem[64];
	struct tls_key key;
	bool has_exited;
	int status;
	int in; /* of the script, -1 */
	int out;
};

static void
on_exit_of_child(struct child *c, int status)
{
	struct stage *g = CONTAINER_OF(c, struct stage, child);

	g->has_exited = true;
	g->status = status;
}

static bool
has_grpcio(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		execl(PYTHON, PYTHON, "-c", "import grpc", (char *)NULL);
		_exit(127);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static void
open_stage(struct stage *g)
{
	struct fault f = { 0 };

	memset(g, 0, sizeof(*g));
	g->in = -1;
	g->out = -1;
	(void)text_copy(g->dir, sizeof(g->dir),
	    SPAN_LIT("/tmp/nacre-peer-XXXXXX"));
	assert_non_null(mkdtemp(g->dir));
	(void)text_fmt(g->path, sizeof(g->path), "%s/s", g->dir);
	(void)text_fmt(g->pem, sizeof(g->pem), "%s/pem", g->dir);
	(void)text_fmt(g->address, sizeof(g->address), "unix:%s", g->path);
	g->loop = loop_new(&f);
	assert_non_null(g->loop);
	rpc_peer_init(&g->peer, g->loop);
}

static void
close_stage(struct stage *g)
{
	struct fault f = { 0 };

	for (int i = 0; i < 10; i++)
		(void)!loop_tick(g->loop, 10, &f);
	rpc_peer_close(&g->peer);
	loop_free(g->loop);
	fd_close(&g->in);
	fd_close(&g->out);
	(void)unlink(g->path);
	(void)unlink(g->pem);
	(void)rmdir(g->dir);
}

static void
run(struct stage *g, const char *role, const char *certificate)
{
	struct fault f = { 0 };
	int in[2];
	int out[2];
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(in[0], 0);
		if (strcmp(role, "server") == 0)
			(void)dup2(out[1], 1);
		else
			(void)dup2(2, 1);
		execl(PYTHON, PYTHON, SCRIPT, role, g->address, certificate,
		    (char *)NULL);
		_exit(127);
	}
	fd_close(&in[0]);
	fd_close(&out[1]);
	g->in = in[1];
	g->out = out[0];
	g->child.exited = on_exit_of_child;
	assert_int_equal(loop_child(g->loop, &g->child, pid, &f), 0);
}

static void
until_exit(struct stage *g)
{
	struct fault f = { 0 };

	while (!g->has_exited)
		assert_int_equal(loop_tick(g->loop, 1000, &f), 0);
	assert_true(WIFEXITED(g->status));
	assert_int_equal(WEXITSTATUS(g->status), 0);
}

static void
grpcio_calls_us(void **state)
{
	struct stage g;
	struct fault f = { 0 };
	int fd;

	(void)state;
	if (!has_grpcio()) {
		print_message("python3-grpcio is not installed\n");
		skip();
	}
	open_stage(&g);
	assert_int_equal(rpc_listen_unix(g.path, &fd, &f), 0);
	rpc_peer_listen(&g.peer, fd);
	run(&g, "client", NULL);
	until_exit(&g);
	close_stage(&g);
	assert_int_equal(g.peer.opened, g.peer.closed);
}

static void
write_pem(struct stage *g)
{
	char text[1024];
	char body[800];
	size_t n = base64url_format(span_of(g->key.cert, g->key.cert_len), body,
	    sizeof(body));
	struct fault f = { 0 };
	int fd = open(g->pem, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	size_t at = 0;

	assert_true(fd >= 0 && n > 0);
	for (size_t i = 0; i < n; i++)
		body[i] = body[i] == '-' ? '+' : body[i] == '_' ? '/' : body[i];
	(void)text_copy(text, sizeof(text),
	    SPAN_LIT("-----BEGIN CERTIFICATE-----\n"));
	at = strlen(text);
	for (size_t i = 0; i < n; i++) {
		text[at++] = body[i];
		if (i % 64 == 63)
			text[at++] = '\n';
	}
	for (; n % 4 != 0; n++)
		text[at++] = '=';
	(void)text_copy(text + at, sizeof(text) - at,
	    SPAN_LIT("\n-----END CERTIFICATE-----\n"));
	assert_int_equal(fd_write_all(fd, text, strlen(text), &f), 0);
	fd_close(&fd);
}

/* One TLS end a link: a listener of its own. */
static void
on_tls_listener(struct watch *w, unsigned events)
{
	struct rpc_peer *p = CONTAINER_OF(w, struct rpc_peer, watch);
	struct rpc_link_options o = p->options;
	uint8_t entropy[TLS_ENTROPY];
	struct fault f = { 0 };
	int fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	random_bytes(entropy, sizeof(entropy));
	o.tls = tls_server_new(p->key, entropy, &f);
	if (fd >= 0)
		assert_non_null(rpc_link_open_fd(p->loop, fd, &o, &f));
}

static void
grpcio_calls_us_over_tls(void **state)
{
	struct stage g;
	struct fault f = { 0 };
	uint8_t random[TLS_ENTROPY];
	int fd;

	(void)state;
	if (!has_grpcio())
		skip();
	open_stage(&g);
	random_bytes(random, sizeof(random));
	assert_int_equal(tls_key_make(&g.key, random, "gateway.nacre", &f), 0);
	write_pem(&g);
	g.peer.key = &g.key;
	assert_int_equal(rpc_listen_unix(g.path, &fd, &f), 0);
	rpc_peer_listen(&g.peer, fd);
	g.peer.watch.ready = on_tls_listener;
	run(&g, "client", g.pem);
	until_exit(&g);
	close_stage(&g);
	assert_int_equal(g.peer.opened, g.peer.closed);
}

struct answer {
	size_t messages;
	size_t bytes;
	unsigned closed;
	struct fault f;
	size_t detail;
};

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct answer *a = owner;

	a->messages++;
	a->bytes += m.len;
	rpc_consume(c, m.len);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct answer *a = owner;

	(void)c;
	a->closed++;
	a->f = *f;
	a->detail = detail.len;
}

static const struct rpc_call_events call_events = {
	.message = on_message,
	.closed = on_closed,
};

static struct answer
ask(struct stage *g, struct rpc_link *l, const char *path, struct span m,
    int64_t timeout_ms)
{
	struct answer a = { 0 };
	struct fault f = { 0 };
	struct rpc_call *c =
	    rpc_call(l, path, none, timeout_ms, &call_events, &a, &f);

	assert_non_null(c);
	assert_int_equal(rpc_call_unary(c, m, &f), 0);
	while (!a.closed)
		assert_int_equal(loop_tick(g->loop, 1000, &f), 0);
	return a;
}

static void
chat(struct stage *g, struct rpc_link *l)
{
	struct answer a = { 0 };
	struct fault f = { 0 };
	struct rpc_call *c =
	    rpc_call(l, PATH("Chat"), none, 60000, &call_events, &a, &f);
	size_t sent = 0;

	assert_non_null(c);
	while (!a.closed) {
		while (sent < 200 && rpc_send(c, span_of(bulk, 20000), &f) == 0)
			if (++sent == 200)
				rpc_half_close(c);
		assert_int_equal(loop_tick(g->loop, 1000, &f), 0);
	}
	assert_int_equal(a.f.code, FAULT_NONE);
	assert_int_equal(a.bytes, 200 * 20000);
}

static void
we_call_grpcio(void **state)
{
	struct rpc_link_options o = { .ping_ms = 1000 };
	struct stage g;
	struct fault f = { 0 };
	struct rpc_link *l;
	struct answer a;
	char ready[8];
	int fd;

	(void)state;
	if (!has_grpcio())
		skip();
	open_stage(&g);
	run(&g, "server", NULL);
	assert_int_equal(fd_read_all(g.out, ready, 6, &f), 0);
	assert_int_equal(rpc_connect_unix(g.path, &fd, &f), 0);
	l = rpc_link_open_fd(g.loop, fd, &o, &f);
	assert_non_null(l);
	a = ask(&g, l, PATH("Echo"), SPAN_LIT("hello"), 20000);
	assert_int_equal(a.f.code, FAULT_NONE);
	assert_int_equal(a.bytes, 5);
	a = ask(&g, l, PATH("Echo"), span_of(bulk, sizeof(bulk)), 20000);
	assert_int_equal(a.bytes, sizeof(bulk));
	a = ask(&g, l, PATH("Refuse"), none, 20000);
	assert_int_equal(a.f.code, FAULT_INVALID);
	assert_string_equal(a.f.text, "not 100% right: \xc3\xa9\n");
	assert_int_equal(a.detail, 2);
	a = ask(&g, l, PATH("None"), none, 20000);
	assert_int_equal(a.f.code, FAULT_UNIMPLEMENTED);
	a = ask(&g, l, PATH("Count"), SPAN_LIT("2000 3000"), 60000);
	assert_int_equal(a.f.code, FAULT_NONE);
	assert_int_equal(a.messages, 2000);
	a = ask(&g, l, PATH("Count"), SPAN_LIT("1 1048577"), 60000);
	assert_int_equal(a.f.code, FAULT_LIMIT);
	a = ask(&g, l, PATH("Sleep"), none, 200);
	assert_int_equal(a.f.code, FAULT_TIMEOUT);
	chat(&g, l);
	rpc_link_drop(l, NULL);
	fd_close(&g.in);
	until_exit(&g);
	close_stage(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grpcio_calls_us),
		cmocka_unit_test(grpcio_calls_us_over_tls),
		cmocka_unit_test(we_call_grpcio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
