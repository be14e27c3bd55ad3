/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of guest_host that speaks: the keeper's end of the port, the
 * tunnel, the session and its streams. One object, `host`, for one guest.
 */
#ifndef E2E_GUEST_GATEWAY_H
#define E2E_GUEST_GATEWAY_H

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "http/http.h"
#include "loop/loop.h"
#include "proto/nacre_session.pb.h"
#include "rpc/rpc.h"
#include "tls/tls.h"
#include "wire/wire.h"

enum {
	STREAMS = 80,
	WORDS = 1100,
	LINE = 65536,
	ARENA = 8 << 20
};

struct stream {
	char id[64];
	char kind; /* 'x' exec, 'p' put, 'g' get */
	struct rpc_call *call;
	bool is_done;
	bool keeps_open; /* exec: input stays open */
	bool stalls;     /* nothing is given back */
	size_t unread;
	char input[4096];
	char file[256]; /* put: from; get: to */
	char name[128];
	int fd;
	bool ended_input;
	uint64_t out_bytes;
	struct buf said[2]; /* first bytes of out and err */
	int64_t began_us;
	int64_t began_vmm_us;
};

static struct buf log_said[2]; /* of the main process */

static struct host {
	struct loop *loop;
	int port;
	pid_t vmm;
	struct rpc_link *link;
	struct rpc_stream *tunnel;
	struct rpc_stream *clock;
	struct buf tunnel_in;
	struct rpc_link *inner;
	struct rpc_call *session;
	struct tls_key key;
	struct stream streams[STREAMS];
	char token[64];
	unsigned token_n;
	uint64_t epoch;
	uint64_t log_end;
	bool launched_once;
	bool is_ready;
	bool has_exited;
	bool is_stopped;
	int64_t life_ms;    /* of tokens, 0: an hour */
	int64_t refresh_ms; /* of those that replace them */
	bool no_ack;
	bool refuses_refresh;
	bool refuses_session;
	bool refuses_tunnel;
	bool was_turned_away;
	bool has_refreshed;
	bool is_lost;
	int64_t launch_us;
	int64_t launch_vmm_us;
	char *launch[WORDS];
	char secret[64]; /* before every token */
	size_t launch_n;
	char launch_line[LINE];
} host;

static void
die(const struct fault *f, const char *what)
{
	fprintf(stderr, "guest_host: %s: %s\n", what, f ? f->text : "");
	if (host.vmm > 0)
		(void)kill(host.vmm, SIGKILL);
	exit(1);
}

static void
tick(int wait_ms)
{
	struct fault f = { 0 };

	fflush(stdout);
	if (loop_tick(host.loop, wait_ms, &f) != 0)
		die(&f, "loop");
}

static void
print_bytes(const char *tag, const char *id, struct span s)
{
	static char text[2 * LINE];

	text_escape(s, text, sizeof(text));
	printf("%s %s %s\n", tag, id, text);
}

static void
keep(struct buf *b, struct span s)
{
	struct fault f = { 0 };
	size_t left;

	if (b->max == 0)
		buf_init(b, 8192);
	left = buf_left(b);
	if (buf_add(b, s.ptr, s.len < left ? s.len : left, &f) != 0)
		abort();
}

static void
print_kept(const char *tag, const char *id, struct buf *b)
{
	if (b->len > 0 && b->len < b->max)
		print_bytes(tag, id, buf_span(b));
	buf_release(b);
}

static struct stream *
find(const char *id)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (host.streams[i].kind && strcmp(host.streams[i].id, id) == 0)
			return &host.streams[i];
	return NULL;
}

static int
send_message(struct rpc_call *c, const struct pb_msgdesc_s *fields,
    const void *m)
{
	struct fault f = { 0 };
	struct buf b;
	int r = -1;

	buf_init(&b, LIMIT_MESSAGE);
	if (wire_encode(fields, m, &b, &f) == 0)
		r = rpc_send(c, buf_span(&b), &f);
	if (r != 0 && f.code != FAULT_BUSY)
		fprintf(stderr, "guest_host: send: %s\n", f.text);
	buf_release(&b);
	return r;
}

static int
send_down(const nacre_session_v1_Down *d)
{
	if (!host.session)
		return -1;
	return send_message(host.session, nacre_session_v1_Down_fields, d);
}

static int
send_attach(struct stream *s, const nacre_session_v1_AttachDown *d)
{
	if (!s->call)
		return -1;
	return send_message(s->call, nacre_session_v1_AttachDown_fields, d);
}

static void
fill_tokens(nacre_session_v1_Tokens *t)
{
	static char gateway[128];
	static char sandbox[128];
	static char door[128];

	host.token_n++;
	(void)text_fmt(gateway, sizeof(gateway), "%sgateway-%u", host.secret,
	    host.token_n);
	(void)text_fmt(sandbox, sizeof(sandbox), "%ssandbox-%u", host.secret,
	    host.token_n);
	(void)text_fmt(door, sizeof(door), "%sdoor-%u", host.secret,
	    host.token_n);
	t->gateway = gateway;
	t->sandbox = sandbox;
	t->door = door;
	t->life_ms = host.life_ms ? host.life_ms : 3600000;
}

static const char *
option(const char *word, const char *key)
{
	size_t n = strlen(key);

	return strncmp(word, key, n) == 0 && word[n] == '=' ? word + n + 1
							    : NULL;
}

static uint64_t
number(const char *s)
{
	uint64_t n = 0;

	if (!num_parse(span_str(s), UINT64_MAX, &n))
		die(NULL, "not a number");
	return n;
}

static char env_path[] = "PATH=/usr/bin:/bin";
static char env_home[] = "HOME=/tmp";
static char env_lang[] = "LANG=C";
static char *agent_env[] = { env_path, env_home, env_lang };

static void
fill_command(nacre_session_v1_Command *c, char **words, size_t n)
{
	static char root[] = "/tmp";
	size_t i = 0;

	c->workdir = root;
	while (i < n && strcmp(words[i], "--") != 0) {
		const char *dir = option(words[i], "dir");

		if (dir)
			c->workdir = words[i] + 4;
		if (strcmp(words[i], "tty") == 0)
			c->tty = true;
		i++;
	}
	if (i < n)
		i++;
	c->argv = words + i;
	c->argv_count = (pb_size_t)(n - i);
	c->env = agent_env;
	c->env_count = 3;
}

/* ro=PATH, rw=PATH and, to write, the work folder. */
static void
fill_files(nacre_session_v1_Bundle *b)
{
	static nacre_session_v1_FileRule rules[16];

	b->files = rules;
	b->files_count = 0;
	if (b->agent.workdir)
		rules[b->files_count++] =
		    (nacre_session_v1_FileRule){ .path = b->agent.workdir,
			    .write = true };
	for (size_t i = 0; i < host.launch_n; i++) {
		char *w = host.launch[i];

		if (strcmp(w, "--") == 0)
			break;
		if (strcmp(w, "best_effort") == 0)
			b->best_effort = true;
		if (option(w, "ro"))
			rules[b->files_count++].path = w + 3;
		if (option(w, "rw"))
			rules[b->files_count++] =
			    (nacre_session_v1_FileRule){ .path = w + 3,
				    .write = true };
	}
}

static void
send_bundle(void)
{
	static char id[] = "0b6f3c1e-0000-4000-8000-000000000001";
	static char name[] = "test";
	static char user[] = "agent";
	static char home[] = "/tmp";
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	nacre_session_v1_Bundle *b = &d.kind.bundle;

	d.which_kind = nacre_session_v1_Down_bundle_tag;
	b->sandbox_id = id;
	b->name = name;
	b->epoch = 1;
	b->has_tokens = true;
	b->has_agent = true;
	fill_command(&b->agent, host.launch, host.launch_n);
	b->no_main = b->agent.argv_count == 0;
	b->time_ns = clock_wall_ns();
	b->uid = 1000;
	b->gid = 1000;
	b->user = user;
	b->home = home;
	b->pids_max = 128;
	for (size_t i = 0; i < host.launch_n; i++) {
		const char *w = host.launch[i];

		if (strcmp(w, "--") == 0)
			break;
		if (strcmp(w, "tmpfs") == 0)
			b->tmpfs = true;
		if (option(w, "uid"))
			b->uid = (uint32_t)number(option(w, "uid"));
		if (option(w, "gid"))
			b->gid = (uint32_t)number(option(w, "gid"));
		if (option(w, "secret"))
			(void)text_copy(host.secret, sizeof(host.secret),
			    span_str(option(w, "secret")));
		if (option(w, "pids"))
			b->pids_max = (uint32_t)number(option(w, "pids"));
		if (option(w, "life"))
			host.life_ms = (int64_t)number(option(w, "life"));
		if (option(w, "memory"))
			b->memory_max = number(option(w, "memory"));
	}
	fill_tokens(&b->tokens);
	fill_files(b);
	(void)send_down(&d);
}

static void
send_resume(uint64_t epoch)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;

	d.which_kind = nacre_session_v1_Down_resume_tag;
	d.kind.resume.epoch = epoch;
	d.kind.resume.log_offset = host.log_end;
	d.kind.resume.has_tokens = true;
	fill_tokens(&d.kind.resume.tokens);
	(void)send_down(&d);
}

static void
took_hello(const nacre_session_v1_Hello *h)
{
	printf("hello epoch=%llu digest=%s kernel=%s boot=%s running=%d\n",
	    (unsigned long long)h->epoch, h->supervisor_digest,
	    h->kernel_release, h->boot_id, h->running);
	if (h->epoch <= host.epoch)
		printf("bad epoch\n");
	host.epoch = h->epoch;
	if (!host.launched_once)
		send_bundle();
	else
		send_resume(h->epoch);
	host.launched_once = true;
}

static void
took_log(const nacre_session_v1_Log *l)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct span s = wire_span(l->data);

	if (l->offset != host.log_end)
		printf("log gap at %llu, not %llu\n",
		    (unsigned long long)l->offset,
		    (unsigned long long)host.log_end);
	host.log_end = l->offset + s.len;
	keep(&log_said[l->is_error], s);
	d.which_kind = nacre_session_v1_Down_log_ack_tag;
	d.kind.log_ack.offset = host.log_end;
	if (!host.no_ack)
		(void)send_down(&d);
}

/* What the VMM's threads have run, in us: no other load counts in it. */
static int64_t
vmm_us(void)
{
	char path[64];
	char line[64];
	int64_t sum = 0;
	const struct dirent *e;
	DIR *d;

	(void)text_fmt(path, sizeof(path), "/proc/%d/task", (int)host.vmm);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		FILE *in;

		(void)text_fmt(path, sizeof(path), "/proc/%d/task/%s/schedstat",
		    (int)host.vmm, e->d_name);
		in = fopen(path, "re");
		if (in && fgets(line, sizeof(line), in)) {
			struct span s = span_str(line);
			uint64_t ns = 0;

			s.len = span_find(s, ' ');
			(void)num_parse(s, INT64_MAX, &ns);
			sum += (int64_t)(ns / 1000);
		}
		if (in)
			(void)fclose(in);
	}
	if (d)
		(void)closedir(d);
	return sum;
}

static void
took_ready(const nacre_session_v1_Ready *r)
{
	printf("ready pid=%d probes=%u\n", r->main_pid,
	    (unsigned)r->probes_count);
	for (size_t i = 0; i < r->probes_count; i++)
		printf("probe %s %s %s\n", r->probes[i].name,
		    r->probes[i].passed ? "passed" : "failed",
		    r->probes[i].detail);
	fprintf(stderr,
	    "# guest: mounted %llu us, tls %llu us, started %llu us; host: "
	    "ready after %lld us, %lld us of the VMM\n",
	    (unsigned long long)r->mounted_us, (unsigned long long)r->tls_us,
	    (unsigned long long)r->started_us,
	    (long long)(clock_mono_us() - host.launch_us),
	    (long long)(vmm_us() - host.launch_vmm_us));
	host.is_ready = true;
}

static void
session_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_Up u = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };
	struct arena a;

	(void)owner;
	arena_init(&a, ARENA);
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_Up, &u, m, &a, &f) != 0)
		die(&f, "message of the guest");
	if (u.which_kind == nacre_session_v1_Up_hello_tag) {
		took_hello(&u.kind.hello);
	} else if (u.which_kind == nacre_session_v1_Up_ready_tag) {
		took_ready(&u.kind.ready);
	} else if (u.which_kind == nacre_session_v1_Up_log_tag) {
		took_log(&u.kind.log);
	} else if (u.which_kind == nacre_session_v1_Up_exit_tag) {
		printf("exit code=%d signal=%d reason=%s\n", u.kind.exit.code,
		    u.kind.exit.signal, u.kind.exit.reason);
		host.has_exited = true;
	} else if (u.which_kind == nacre_session_v1_Up_failed_tag) {
		printf("failed stage=%s code=%s reason=%s\n",
		    u.kind.failed.stage, u.kind.failed.code,
		    u.kind.failed.reason);
		host.is_ready = true;
	} else if (u.which_kind == nacre_session_v1_Up_opened_tag) {
		struct stream *s = find(u.kind.opened.attach_id);

		printf("refused %s code=%s text=%s\n", u.kind.opened.attach_id,
		    u.kind.opened.code, u.kind.opened.text);
		if (s)
			s->is_done = true;
	} else if (u.which_kind == nacre_session_v1_Up_stopped_tag) {
		printf("stopped\n");
		host.is_stopped = true;
	}
	arena_release(&a);
}

static void
session_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
	host.session = NULL;
}

/* --- attach */
static void
push_file(struct stream *s)
{
	static uint8_t bytes[LIMIT_CHUNK];
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct arena a;

	while (s->call && s->fd >= 0) {
		struct fault f = { 0 };
		ssize_t n;

		if (rpc_room(s->call) == 0) {
			/* what is refused orders the `writable` */
			if (rpc_send(s->call, span_of(NULL, 0), &f) == 0)
				die(NULL, "put");
			return;
		}
		n = read(s->fd, bytes, sizeof(bytes));

		memset(&d, 0, sizeof(d));
		if (n <= 0) {
			d.which_kind = nacre_session_v1_AttachDown_in_end_tag;
			d.kind.in_end = true;
			(void)send_attach(s, &d);
			fd_close(&s->fd);
			return;
		}
		arena_init(&a, 2 * LIMIT_CHUNK);
		d.which_kind = nacre_session_v1_AttachDown_in_tag;
		d.kind.in = wire_bytes(&a, span_of(bytes, (size_t)n));
		if (send_attach(s, &d) != 0)
			die(NULL, "put");
		arena_release(&a);
	}
}

static void
send_text(struct stream *s, const char *text)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct arena a;

	arena_init(&a, 2 * LINE);
	d.which_kind = nacre_session_v1_AttachDown_in_tag;
	d.kind.in = wire_bytes(&a, span_str(text));
	(void)send_attach(s, &d);
	arena_release(&a);
}

static void
send_end(struct stream *s)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;

	d.which_kind = nacre_session_v1_AttachDown_in_end_tag;
	d.kind.in_end = true;
	(void)send_attach(s, &d);
}

/* The guest has named its stream: feed it. */
static void
begin(struct stream *s)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct stat st;

	if (s->kind == 'x') {
		if (s->input[0])
			send_text(s, s->input);
		if (!s->keeps_open)
			send_end(s);
	}
	if (s->kind != 'p')
		return;
	s->fd = open(s->file, O_RDONLY | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) != 0)
		die(NULL, "cannot open the file to put");
	d.which_kind = nacre_session_v1_AttachDown_entry_tag;
	d.kind.entry.kind = nacre_session_v1_EntryKind_ENTRY_FILE;
	d.kind.entry.mode = st.st_mode & 07777;
	d.kind.entry.size = (uint64_t)st.st_size;
	d.kind.entry.mtime_ms = (int64_t)st.st_mtim.tv_sec * 1000;
	(void)send_attach(s, &d);
	push_file(s);
}

static void
took_out(struct stream *s, struct span b, bool is_error)
{
	struct fault f = { 0 };

	s->out_bytes += b.len;
	if (s->kind == 'g' && s->fd >= 0) {
		if (fd_write_all(s->fd, b.ptr, b.len, &f) != 0)
			die(&f, "get");
		return;
	}
	keep(&s->said[is_error], b);
}

static void
took_attach(struct stream *s, const nacre_session_v1_AttachUp *u)
{
	if (u->which_kind == nacre_session_v1_AttachUp_out_tag) {
		took_out(s, wire_span(u->kind.out), false);
	} else if (u->which_kind == nacre_session_v1_AttachUp_err_tag) {
		took_out(s, wire_span(u->kind.err), true);
	} else if (u->which_kind == nacre_session_v1_AttachUp_exit_tag) {
		print_kept("out", s->id, &s->said[0]);
		print_kept("err", s->id, &s->said[1]);
		printf("exited %s code=%d signal=%d reason=%s bytes=%llu\n",
		    s->id, u->kind.exit.code, u->kind.exit.signal,
		    u->kind.exit.reason, (unsigned long long)s->out_bytes);
		s->is_done = true;
	} else if (u->which_kind == nacre_session_v1_AttachUp_entry_tag) {
		const nacre_session_v1_Entry *e = &u->kind.entry;
		struct span link = wire_span(e->link);
		struct span path = wire_span(e->path);

		printf(
		    "entry %s kind=%d mode=%o size=%llu link=%.*s path=%.*s\n",
		    s->id, (int)e->kind, e->mode, (unsigned long long)e->size,
		    (int)link.len, (const char *)link.ptr, (int)path.len,
		    (const char *)path.ptr);
	} else if (u->which_kind == nacre_session_v1_AttachUp_done_tag) {
		print_kept("out", s->id, &s->said[0]);
		printf("done %s code=%s bytes=%llu entries=%llu text=%s\n",
		    s->id, u->kind.done.code,
		    (unsigned long long)u->kind.done.bytes,
		    (unsigned long long)u->kind.done.entries,
		    u->kind.done.text);
		s->is_done = true;
	}
	if (s->is_done)
		fprintf(stderr,
		    "# %s: %lld us, %lld us of the VMM, %llu bytes out\n",
		    s->id, (long long)(clock_mono_us() - s->began_us),
		    (long long)(vmm_us() - s->began_vmm_us),
		    (unsigned long long)s->out_bytes);
}

static struct stream *
stream_of(struct rpc_call *c)
{
	for (size_t i = 0; i < STREAMS; i++)
		if (host.streams[i].call == c)
			return &host.streams[i];
	return NULL;
}

static void
attach_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_AttachUp u = nacre_session_v1_AttachUp_init_zero;
	struct stream *s = stream_of(c);
	struct fault f = { 0 };
	struct arena a;

	(void)owner;
	arena_init(&a, ARENA);
	if (s && s->stalls)
		s->unread += m.len;
	else
		rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_AttachUp, &u, m, &a, &f) != 0)
		die(&f, "stream of the guest");
	if (u.which_kind == nacre_session_v1_AttachUp_attach_id_tag &&
	    u.kind.attach_id[0] == '\0') {
		/* The one ahead: this gateway asks by Down.open only. */
	} else if (u.which_kind == nacre_session_v1_AttachUp_attach_id_tag) {
		s = find(u.kind.attach_id);
		if (!s)
			die(NULL, "unknown stream");
		s->call = c;
		begin(s);
	} else if (s) {
		took_attach(s, &u);
	}
	arena_release(&a);
}

static void
attach_half_closed(struct rpc_call *c, void *owner)
{
	(void)owner;
	rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
attach_writable(struct rpc_call *c, void *owner)
{
	struct stream *s = stream_of(c);

	(void)owner;
	if (s && s->kind == 'p')
		push_file(s);
}

static void
attach_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct stream *s = stream_of(c);

	(void)owner;
	(void)detail;
	if (!s)
		return;
	if (!s->is_done)
		printf("lost %s %s\n", s->id, fault_reason(f->code));
	s->is_done = true;
	s->call = NULL;
}

static const struct rpc_call_events session_events = {
	.message = session_message,
	.closed = session_closed,
};
static const struct rpc_call_events attach_events = {
	.message = attach_message,
	.half_closed = attach_half_closed,
	.writable = attach_writable,
	.closed = attach_closed,
};

/* --- refresh */
static void
refresh_message(struct rpc_call *c, void *owner, struct span m)
{
	nacre_session_v1_Tokens t = nacre_session_v1_Tokens_init_zero;

	(void)owner;
	rpc_consume(c, m.len);
	host.life_ms = host.refresh_ms;
	fill_tokens(&t);
	printf("refreshed\n");
	host.has_refreshed = true;
	if (send_message(c, nacre_session_v1_Tokens_fields, &t) == 0)
		rpc_finish(c, NULL, span_of(NULL, 0));
}

static void
refresh_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	(void)c;
	(void)owner;
	(void)f;
	(void)detail;
}

static const struct rpc_call_events refresh_events = {
	.message = refresh_message,
	.closed = refresh_closed,
};

static void
gateway_open(void *owner, struct rpc_link *l, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct fault f = { 0 };
	char bearer[96];

	(void)owner;
	(void)l;
	(void)text_fmt(bearer, sizeof(bearer), "Bearer %sgateway-",
	    host.secret);
	if (host.launched_once && !span_starts(r->authorization, bearer))
		printf("no token on a call\n");
	if (host.refuses_session) {
		host.was_turned_away = true;
		(void)fault_set(&f, FAULT_UNAUTHENTICATED, "revoked");
		rpc_finish(c, &f, span_of(NULL, 0));
	} else if (span_is(r->path, "/nacre.session.v1.Session/Session")) {
		host.session = c;
		rpc_call_accept(c, &session_events, NULL);
	} else if (span_is(r->path, "/nacre.session.v1.Session/Attach")) {
		rpc_call_accept(c, &attach_events, NULL);
	} else if (host.refuses_refresh) {
		(void)fault_set(&f, FAULT_BUSY, "no refresh now");
		rpc_finish(c, &f, span_of(NULL, 0));
	} else if (span_is(r->path, "/nacre.session.v1.Session/Refresh")) {
		rpc_call_accept(c, &refresh_events, NULL);
	} else {
		(void)fault_set(&f, FAULT_UNIMPLEMENTED, "not here");
		rpc_finish(c, &f, span_of(NULL, 0));
	}
}

#endif
