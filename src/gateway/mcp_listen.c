/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The port on 127.0.0.1. Whoever is on this host can connect, so each request
 * brings a token. A port that was free once is asked for again, so that what a
 * client was told stays true.
 */
#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "gateway/mcp.h"

enum {
	PAUSE_MS = 1000,
	BATCH = 32,
	BACKLOG = 1024, /* of clients that come while a tick runs */
};

#define SETTING "mcp.port"

static uint16_t
last_port(struct gateway *g)
{
	struct fault ignored = { 0 };
	struct span value;
	struct arena a;
	uint64_t port = 0;

	arena_init(&a, 4096);
	if (store_setting_get(g->store, SETTING, &a, &value, &ignored) < 0 ||
	    !num_parse(value, 65535, &port))
		port = 0;
	arena_release(&a);
	return (uint16_t)port;
}

static void
keep_port(struct gateway *g)
{
	struct fault f = { 0 };
	char text[8];

	(void)text_fmt(text, sizeof(text), "%u", (unsigned)g->mcp->port);
	if (store_setting_put(g->store, SETTING, span_str(text), &f) < 0 ||
	    store_commit(g->store, &f) < 0)
		log_warn(&f, "cannot keep the port of MCP");
}

static int
bind_port(uint16_t port, uint16_t *got, struct fault *f)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(at);
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return fault_sys(f, "cannot make a socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	/* Its connections have it too. Answers leave whole; and the last words
	 * to one that is closed on while it still sends would be lost if they
	 * waited for an acknowledgement. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, BACKLOG) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0) {
		(void)fault_sys(f, "cannot listen on 127.0.0.1:%u",
		    (unsigned)port);
		fd_close(&fd);
		return -1;
	}
	*got = ntohs(at.sin_port);
	return fd;
}

static void
pause_listening(struct mcp *m, struct loop *l)
{
	loop_rewatch(&m->listener, 0);
	loop_timer_set(l, &m->listen_again, PAUSE_MS);
}

static void
on_again(struct timer *t)
{
	struct mcp *m = CONTAINER_OF(t, struct mcp, listen_again);

	loop_rewatch(&m->listener, LOOP_IN);
}

static void
on_ready(struct watch *w, unsigned events)
{
	struct mcp *m = CONTAINER_OF(w, struct mcp, listener);
	struct gateway *g = m->g;

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		int fd;

		if (!crowd_has_room(&m->at_port)) {
			pause_listening(m, g->loop);
			return;
		}
		fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			(void)crowd_make_room(&m->at_port); /* it can */
			mcp_link_start(g, fd);
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			pause_listening(m, g->loop);
		return;
	}
}

int
mcp_listen_open(struct gateway *g, struct fault *f)
{
	struct mcp *m = g->mcp;
	uint16_t wish = g->config.mcp_port;
	int fd;

	if (g->config.mcp_off || g->config.mcp_no_port)
		return 0;
	m->listener.ready = on_ready;
	m->listen_again.fire = on_again;
	fd = bind_port(wish != 0 ? wish : last_port(g), &m->port, f);
	if (fd < 0 && wish == 0) {
		log_warn(f, "the port of MCP changes");
		fault_clear(f);
		fd = bind_port(0, &m->port, f);
	}
	if (fd < 0)
		return -1;
	if (wish == 0)
		keep_port(g);
	log_info("MCP on http://127.0.0.1:%u/mcp", (unsigned)m->port);
	return loop_watch(g->loop, &m->listener, fd, LOOP_IN, f);
}

void
mcp_listen_close(struct gateway *g)
{
	struct mcp *m = g->mcp;
	int fd = m->listener.fd;

	loop_timer_clear(&m->listen_again);
	if (loop_is_watched(&m->listener))
		loop_unwatch(&m->listener);
	fd_close(&fd);
	m->port = 0;
}

uint16_t
mcp_listen_port(const struct gateway *g)
{
	return g->mcp != NULL ? g->mcp->port : 0;
}
