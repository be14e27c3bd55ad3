/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's socket: accepts, and says who calls. Identity is what the
 * kernel says of the peer (SO_PEERCRED), nothing that is sent; a token that is
 * sent makes it less, never more. A process below a keeper is never a user: a
 * VMM that broke out of its jail would have the user's own uid.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/bearer.h"
#include "gateway/call.h"
#include "gateway/first.h"
#include "gateway/mcp.h"
#include "gateway/vm.h"

#ifndef SO_PEERPIDFD
# define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif

enum {
	ANCESTORS = 64,
	PAUSE_MS = 1000,
	BATCH = 16,                  /* connections accepted a tick */
	STREAMS = GATEWAY_CALLS / 4, /* of one connection */
	UNREAD = 16 << 20,           /* bytes of it, twice */
};

struct client {
	struct gateway *g;
	struct crowd_seat seat;
	struct first first;
	struct rpc_link *link; /* once it has begun to speak HTTP/2 */
	struct caller caller;
	struct mcp_who who;         /* the same, for its requests of MCP */
	struct mcp_streams streams; /* those over HTTP/2 */
	struct client *next;
	struct client *prev;
};

/* The parent of a process as the kernel has it now; 0 when it has none. */
static pid_t
parent_of(pid_t pid)
{
	char text[512]; /* PPid stands in the first 200 bytes */
	uint64_t parent = 0;
	struct span s;
	ssize_t n;
	with_fd fd = -1;

	if (!text_fmt(text, sizeof(text), "/proc/%d/status", (int)pid))
		return 0;
	fd = open(text, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	s = span_of(text, n > 0 ? (size_t)n : 0);
	while (s.len > 0 && !span_starts(s, "PPid:\t"))
		s = span_from(s, span_find(s, '\n') + 1);
	s = span_from(s, strlen("PPid:\t"));
	if (!num_parse(span_of(s.ptr, span_find(s, '\n')), INT32_MAX, &parent))
		parent = 0;
	return (pid_t)parent;
}

static bool
is_below_keeper(const struct gateway *g, pid_t pid)
{
	for (int i = 0; i < ANCESTORS && pid > 1; i++) {
		if (vm_is_keeper(g, pid))
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* Hold the peer's process while its ancestors are read, where the kernel can:
 * else its number might be another's by then. */
static int
hold_peer(int fd)
{
	int pidfd = -1;
	socklen_t n = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n) < 0)
		return -1;
	return pidfd;
}

static void
read_program(struct caller *c)
{
	char path[64];
	ssize_t n;

	if (!text_fmt(path, sizeof(path), "/proc/%d/exe", (int)c->pid))
		return;
	n = readlink(path, c->program, sizeof(c->program) - 1);
	c->program[n > 0 ? n : 0] = '\0';
}

/* who stays 0 when the peer is nobody we serve. */
static void
identify(struct gateway *g, int fd, struct caller *c)
{
	struct ucred cred = { 0 };
	socklen_t n = sizeof(cred);
	with_fd pidfd = hold_peer(fd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0)
		return;
	c->uid = cred.uid;
	c->pid = cred.pid;
	(void)text_fmt(c->text, sizeof(c->text), "uid:%u", (unsigned)cred.uid);
	read_program(c);
	if ((cred.uid == geteuid() || cred.uid == 0) && cred.pid > 0 &&
	    !is_below_keeper(g, cred.pid)) {
		c->who = CALL_USER | CALL_ADMIN;
		c->may_grant = true;
	} else {
		log_info("refused a peer: uid %u, pid %d", (unsigned)cred.uid,
		    (int)cred.pid);
	}
	(void)pidfd;
}

/* A token may only take away: a guest's, on this socket, speaks for nobody
 * here, whoever brought it, and no other is good for gRPC. */
static void
take_token(const struct gateway *g, struct span authorization, struct caller *c)
{
	struct span secret = span_from(authorization, strlen("Bearer "));
	char id[LIMIT_ID + 1];

	c->who = 0;
	if (!span_starts(authorization, "Bearer ") ||
	    !bearer_is_launch(g, secret, id))
		return;
	c->who = CALL_LAUNCH;
	(void)text_fmt(c->text, sizeof(c->text), "sandbox:%s", id);
}

/* It stays from its first request on, if it is one of those we serve. */
static void
keep(struct client *client)
{
	if (client->caller.who != 0)
		crowd_rank(&client->seat, CROWD_BUSY);
}

static void
on_open(void *owner, struct rpc_link *link, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct client *client = rpc_link_owner(link);
	struct caller caller = client->caller;

	keep(client);
	if (r->authorization.len > 0)
		take_token(owner, r->authorization, &caller);
	call_open(owner, c, r->path, &caller);
}

static void
on_request(void *owner, struct rpc_link *link, struct rpc_stream *s,
    const struct h2_header *headers, size_t n)
{
	struct client *client = rpc_link_owner(link);

	(void)owner;
	keep(client);
	mcp_stream_open(&client->streams, s, headers, n);
}

static void
forget(struct client *client)
{
	struct gateway *g = client->g;

	if (client->prev != NULL)
		client->prev->next = client->next;
	else
		g->clients = client->next;
	if (client->next != NULL)
		client->next->prev = client->prev;
	crowd_leave(&client->seat);
	loop_bury(g->loop, client, free);
}

static void
on_down(struct rpc_link *link, void *owner, const struct fault *f)
{
	(void)link;
	(void)f;
	forget(owner);
}

/* Another takes its place. */
static void
unseat(struct crowd_seat *s)
{
	struct client *client = CONTAINER_OF(s, struct client, seat);

	crowd_leave(s);
	if (client->link != NULL) {
		rpc_link_drop(client->link, NULL);
		return;
	}
	first_drop(&client->first);
	forget(client);
}

static const struct rpc_link_events link_events = {
	.down = on_down,
};

/* --- HTTP/2 carries gRPC and MCP, HTTP/1.1 MCP alone */

static void
speak_http2(struct client *client, int fd)
{
	static struct rpc_server handlers = {
		.open = on_open,
		.request = on_request,
	};
	const struct rpc_link_options o = {
		.server = true,
		.handlers = &handlers,
		.events = &link_events,
		.owner = client,
		.unread_max = UNREAD,
		.streams_max = STREAMS,
		.takes_turns = true,
	};
	struct fault f = { 0 };

	handlers.owner = client->g;
	client->link = rpc_link_open_fd(client->g->loop, fd, &o, &f);
	if (client->link != NULL)
		return;
	log_warn(&f, "cannot serve a client");
	forget(client);
}

static void
speak_http1(struct client *client, int fd)
{
	if (client->caller.who == 0 ||
	    !crowd_make_room(&client->g->mcp->at_socket))
		fd_close(&fd);
	else
		mcp_conn_start(client->g, fd, &client->who);
	forget(client);
}

static void
on_first(struct first *f, enum first_words words, int fd)
{
	struct client *client = CONTAINER_OF(f, struct client, first);

	if (words == FIRST_HTTP2)
		speak_http2(client, fd);
	else if (words == FIRST_HTTP1)
		speak_http1(client, fd);
	else
		forget(client);
}

static void
serve(struct gateway *g, int fd)
{
	struct client *client = must_alloc(sizeof(*client));
	struct mcp_who *who = &client->who;

	client->g = g;
	identify(g, fd, &client->caller);
	who->side = MCP_HOST;
	who->auth = MCP_KNOWN;
	who->caller = client->caller;
	(void)text_copy(who->principal, sizeof(who->principal),
	    span_str(client->caller.text));
	client->streams.g = g;
	client->streams.who = who;
	client->next = g->clients;
	if (g->clients != NULL)
		g->clients->prev = client;
	g->clients = client;
	client->seat.close = unseat;
	crowd_join(&g->crowd, &client->seat);
	client->first.tell = on_first;
	first_begin(&client->first, g->loop, fd);
}

static void
pause_listening(struct gateway *g)
{
	loop_rewatch(&g->listener, 0);
	loop_timer_set(g->loop, &g->listen_again, PAUSE_MS);
}

static void
on_again(struct timer *t)
{
	struct gateway *g = CONTAINER_OF(t, struct gateway, listen_again);

	loop_rewatch(&g->listener, LOOP_IN);
}

static void
on_ready(struct watch *w, unsigned events)
{
	struct gateway *g = CONTAINER_OF(w, struct gateway, listener);

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		int fd;

		if (!crowd_has_room(&g->crowd)) {
			pause_listening(g);
			return;
		}
		fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			(void)crowd_make_room(&g->crowd); /* it can */
			serve(g, fd);
			continue;
		}
		/* Out of descriptors: the connection stays in the queue. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
			pause_listening(g);
		return;
	}
}

int
server_open(struct gateway *g, struct fault *f)
{
	int fd = -1;

	if (rpc_listen_unix(g->socket, &fd, f) < 0)
		return -1;
	if (fd_nonblock(fd, f) < 0) {
		fd_close(&fd);
		return -1;
	}
	g->crowd.max = GATEWAY_CLIENTS;
	g->listener.ready = on_ready;
	g->listen_again.fire = on_again;
	return loop_watch(g->loop, &g->listener, fd, LOOP_IN, f);
}

void
server_close(struct gateway *g)
{
	int fd = g->listener.fd;

	loop_timer_clear(&g->listen_again);
	if (loop_is_watched(&g->listener))
		loop_unwatch(&g->listener);
	fd_close(&fd);
	(void)unlink(g->socket);
}
