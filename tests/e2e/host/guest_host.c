/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: rpc digest */
/*
 * The host's side of one guest, for tests of the guest alone: a VMM, the
 * keeper's end of the port and a small gateway, in one process. It reads a
 * script on stdin, one act a line, and prints what the guest says.
 *
 *   guest_host VMLINUX INITRAMFS IMAGE DISK|- MEMORY TSC_KHZ
 *
 *   rehearse                    one rehearsal; must come first
 *   launch [KEY=VALUE...] -- ARGV...   uid, tmpfs, memory, pids, no_main, dir
 *   exec ID [tty|timeout=MS|in=TEXT|open|dir=D]... -- ARGV...
 *   input ID TEXT | end ID | signal ID N | size ID COLS ROWS | cancel ID
 *   put ID PATH NAME FILE | get ID PATH | get ID PATH > FILE
 *   wait ID | wait exit | wait stopped | wait ready | wait session
 *   break                       drop the tunnel, let it come back
 *   hold N                      acknowledge no log for N lines of script
 *   stop GRACE | quit | sleep MS
 */
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
	WORDS = 300,
	LINE = 65536,
	ARENA = 8 << 20
};

struct stream {
	char id[64];
	char kind; /* 'x' exec, 'p' put, 'g' get */
	struct rpc_call *call;
	bool is_done;
	bool keeps_open; /* exec: input stays open */
	char input[4096];
	char file[256]; /* put: from; get: to */
	char name[128];
	int fd;
	bool ended_input;
	uint64_t out_bytes;
	struct buf said[2]; /* first bytes of out and err */
	int64_t began_us;
};

static struct buf log_said[2]; /* of the main process */

static struct host {
	struct loop *loop;
	int port;
	pid_t vmm;
	struct rpc_link *link;
	struct rpc_stream *tunnel;
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
	bool no_ack;
	bool is_lost;
	int64_t launch_us;
	int64_t launch_vmm_us;
	char *launch[WORDS];
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
	static char gateway[64];
	static char sandbox[64];
	static char door[64];

	host.token_n++;
	(void)text_fmt(gateway, sizeof(gateway), "gateway-%u", host.token_n);
	(void)text_fmt(sandbox, sizeof(sandbox), "sandbox-%u", host.token_n);
	(void)text_fmt(door, sizeof(door), "door-%u", host.token_n);
	t->gateway = gateway;
	t->sandbox = sandbox;
	t->door = door;
	t->expires_ms = clock_wall_ms() + 3600000;
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
	fill_tokens(&b->tokens);
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
		if (option(w, "pids"))
			b->pids_max = (uint32_t)number(option(w, "pids"));
		if (option(w, "memory"))
			b->memory_max = number(option(w, "memory"));
	}
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
	static char none[] = "";
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
	d.kind.entry.path = none;
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

		printf("entry %s kind=%d mode=%o size=%llu link=%s path=%s\n",
		    s->id, (int)e->kind, e->mode, (unsigned long long)e->size,
		    e->link, e->path);
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
		fprintf(stderr, "# %s: %lld us, %llu bytes out\n", s->id,
		    (long long)(clock_mono_us() - s->began_us),
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
	rpc_consume(c, m.len);
	if (WIRE_DECODE(nacre_session_v1_AttachUp, &u, m, &a, &f) != 0)
		die(&f, "stream of the guest");
	if (u.which_kind == nacre_session_v1_AttachUp_attach_id_tag) {
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

static void
gateway_open(void *owner, struct rpc_link *l, struct rpc_call *c,
    const struct rpc_request *r)
{
	struct fault f = { 0 };

	(void)owner;
	(void)l;
	if (host.launched_once &&
	    !span_starts(r->authorization, "Bearer gateway-"))
		printf("no token on a call\n");
	if (span_is(r->path, "/nacre.session.v1.Session/Session")) {
		host.session = c;
		rpc_call_accept(c, &session_events, NULL);
	} else if (span_is(r->path, "/nacre.session.v1.Session/Attach")) {
		rpc_call_accept(c, &attach_events, NULL);
	} else {
		(void)fault_set(&f, FAULT_UNIMPLEMENTED, "not here");
		rpc_finish(c, &f, span_of(NULL, 0));
	}
}

/* --- the tunnel */
static size_t
inner_write(void *owner, struct span b)
{
	(void)owner;
	return host.tunnel ? rpc_stream_write(host.tunnel, b) : 0;
}

static void
inner_feed(void)
{
	size_t n;

	if (!host.inner || host.tunnel_in.len == 0)
		return;
	n = rpc_link_feed(host.inner, buf_span(&host.tunnel_in));
	buf_eat(&host.tunnel_in, n);
	if (host.tunnel && n)
		rpc_stream_consume(host.tunnel, n);
}

static void
inner_resume(void *owner)
{
	(void)owner;
	inner_feed();
}

static void
inner_close(void *owner)
{
	(void)owner;
	if (host.tunnel)
		rpc_stream_reset(host.tunnel, H2_CANCEL);
}

static void
inner_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	(void)l;
	(void)owner;
	(void)f;
	host.inner = NULL;
}

static void
tunnel_bytes(struct rpc_stream *s, void *owner, struct span b)
{
	struct fault f = { 0 };

	(void)owner;
	(void)s;
	if (buf_add(&host.tunnel_in, b.ptr, b.len, &f) != 0)
		die(&f, "tunnel");
	inner_feed();
}

static void
tunnel_eof(struct rpc_stream *s, void *owner)
{
	(void)s;
	(void)owner;
	if (host.inner)
		rpc_link_eof(host.inner);
}

static void
tunnel_writable(struct rpc_stream *s, void *owner)
{
	(void)s;
	(void)owner;
	if (host.inner)
		rpc_link_writable(host.inner);
}

static void
tunnel_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)s;
	(void)owner;
	(void)error;
	host.tunnel = NULL;
	if (host.inner)
		rpc_link_eof(host.inner);
}

static void
tunnel_accept(struct rpc_stream *s)
{
	static const struct rpc_stream_events events = {
		.bytes = tunnel_bytes,
		.eof = tunnel_eof,
		.writable = tunnel_writable,
		.closed = tunnel_closed,
	};
	static const struct rpc_link_events link_events = { .down =
								inner_down };
	static const struct rpc_server gateway = { .open = gateway_open };
	const struct rpc_bytes bytes = { .write = inner_write,
		.resume = inner_resume,
		.close = inner_close };
	struct rpc_link_options o = { .server = true,
		.handlers = &gateway,
		.events = &link_events };
	uint8_t random[TLS_ENTROPY];
	struct fault f = { 0 };

	rpc_stream_accept(s, &events, NULL);
	host.tunnel = s;
	buf_init(&host.tunnel_in, LIMIT_UNREAD);
	if (rpc_stream_write(s, span_of(host.key.pin, TLS_PIN)) != TLS_PIN)
		die(NULL, "pin");
	random_bytes(random, sizeof(random));
	o.tls = tls_server_new(&host.key, random, &f);
	host.inner =
	    o.tls ? rpc_link_open_bytes(host.loop, &bytes, &o, &f) : NULL;
	if (!host.inner)
		die(&f, "tunnel");
}

static void
clock_closed(struct rpc_stream *s, void *owner, uint32_t error)
{
	(void)s;
	(void)owner;
	(void)error;
}

static void
port_connect(void *owner, struct rpc_link *l, struct rpc_stream *s,
    struct span authority, const struct h2_header *h, size_t n)
{
	static const struct rpc_stream_events clock_events = {
		.closed = clock_closed
	};
	uint8_t now[8];
	uint64_t ns = (uint64_t)clock_wall_ns();

	(void)owner;
	(void)l;
	(void)h;
	(void)n;
	if (span_is(authority, "gateway.nacre:443")) {
		tunnel_accept(s);
		return;
	}
	rpc_stream_accept(s, &clock_events, NULL);
	for (size_t i = 0; i < sizeof(now); i++)
		now[i] = (uint8_t)(ns >> (56 - 8 * i));
	(void)rpc_stream_write(s, span_of(now, sizeof(now)));
}

static void
port_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	(void)l;
	(void)owner;
	printf("port down\n");
	fprintf(stderr, "# port: %s\n", f->text);
	host.link = NULL;
	host.is_lost = true;
}

static void
port_open(void)
{
	static const struct rpc_server keeper = { .connect = port_connect };
	static const struct rpc_link_events events = { .down = port_down };
	struct rpc_link_options o = { .server = true,
		.handlers = &keeper,
		.events = &events };
	struct fault f = { 0 };

	host.link = rpc_link_open_fd(host.loop, host.port, &o, &f);
	if (!host.link)
		die(&f, "port");
}

/* --- wake frames and the VMM */
static void
read_woke(struct wire_woke *w)
{
	uint8_t frame[WIRE_WOKE_SIZE];
	struct fault f = { 0 };

	if (fd_read_all(host.port, frame, sizeof(frame), &f) != 0 ||
	    wire_woke_decode(frame, w, &f) != 0)
		die(&f, "woke frame");
	printf("woke op=%d stage=%u value=%u tsc=%d\n", (int)w->op, w->stage,
	    w->value, w->tsc);
}

static void
send_wake(enum wire_wake_op op)
{
	struct wire_wake w = { .op = op, .time_ns = clock_wall_ns() };
	uint8_t frame[WIRE_WAKE_SIZE];
	struct fault f = { 0 };

	random_bytes(w.seed, sizeof(w.seed));
	wire_wake_encode(&w, frame);
	if (fd_write_all(host.port, frame, sizeof(frame), &f) != 0)
		die(&f, "wake frame");
}

static void
start_vmm(char **argv)
{
	static char append[400];
	static char drive[2][600];
	static char chardev[64];
	int pair[2];
	char *args[64];
	size_t n = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		die(NULL, "socketpair");
	(void)fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	(void)text_fmt(append, sizeof(append),
	    "console=ttyS0 reboot=t panic=-1 quiet tsc=reliable "
	    "tsc_early_khz=%s %s",
	    argv[6], getenv("GUEST_APPEND") ? getenv("GUEST_APPEND") : "");
	(void)text_fmt(chardev, sizeof(chardev), "socket,id=c0,fd=%d", pair[1]);
	(void)text_fmt(drive[0], sizeof(drive[0]),
	    "if=none,id=d0,file=%s,format=raw,readonly=on", argv[3]);
	(void)text_fmt(drive[1], sizeof(drive[1]),
	    "if=none,id=d1,file=%s,format=raw", argv[4]);
	const char *fixed[] = { "qemu-system-x86_64", "-M",
		"microvm,rtc=on,acpi=off,pit=on,pic=on,isa-serial=on", "-accel",
		"tcg,tb-size=128", "-cpu", "max", "-m", argv[5], "-smp", "1",
		"-no-reboot", "-nodefaults", "-no-user-config", "-display",
		"none", "-serial", "stdio", "-kernel", argv[1], "-initrd",
		argv[2], "-append", append, "-global",
		"virtio-mmio.force-legacy=false", "-drive", drive[0], "-device",
		"virtio-blk-device,drive=d0", "-device",
		"virtio-serial-device,max_ports=2", "-chardev", chardev,
		"-device", "virtserialport,chardev=c0,name=nacre", "-device",
		"virtio-rng-device" };
	for (size_t i = 0; i < NELEM(fixed); i++)
		args[n++] = (char *)(uintptr_t)fixed[i];
	if (strcmp(argv[4], "-") != 0) {
		args[n++] = (char *)(uintptr_t) "-drive";
		args[n++] = drive[1];
		args[n++] = (char *)(uintptr_t) "-device";
		args[n++] = (char *)(uintptr_t) "virtio-blk-device,drive=d1";
	}
	args[n] = NULL;
	host.vmm = fork();
	if (host.vmm == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(null, 0);
		(void)dup2(2, 1);
		(void)execvp(args[0], args);
		_exit(127);
	}
	(void)close(pair[1]);
	host.port = pair[0];
}

/* --- the script */
static struct stream *
new_stream(char kind, const char *id)
{
	for (size_t i = 0; i < STREAMS; i++) {
		struct stream *s = &host.streams[i];

		if (s->kind && !s->is_done)
			continue;
		*s = (struct stream){ .kind = kind, .fd = -1 };
		(void)text_copy(s->id, sizeof(s->id), span_str(id));
		s->began_us = clock_mono_us();
		return s;
	}
	die(NULL, "too many streams");
	return NULL;
}

static void
do_exec(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	nacre_session_v1_Exec *e = &d.kind.open.kind.exec;
	struct stream *s = new_stream('x', w[1]);

	for (size_t i = 2; i < n && strcmp(w[i], "--") != 0; i++) {
		if (option(w[i], "timeout"))
			e->timeout_ms = number(option(w[i], "timeout"));
		if (option(w[i], "in"))
			(void)text_fmt(s->input, sizeof(s->input), "%s\n",
			    option(w[i], "in"));
		if (strcmp(w[i], "open") == 0)
			s->keeps_open = true;
	}
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_exec_tag;
	e->has_command = true;
	fill_command(&e->command, w + 2, n - 2);
	(void)send_down(&d);
}

static void
do_put(char **w)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct stream *s = new_stream('p', w[1]);

	(void)text_copy(s->file, sizeof(s->file), span_str(w[4]));
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_put_tag;
	d.kind.open.kind.put.path = w[2];
	d.kind.open.kind.put.name = w[3];
	(void)send_down(&d);
}

static void
do_get(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct stream *s = new_stream('g', w[1]);

	if (n > 4)
		s->fd =
		    open(w[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_get_tag;
	d.kind.open.kind.get.path = w[2];
	(void)send_down(&d);
}

static bool
has_come(const char *what)
{
	struct stream *s;

	if (strcmp(what, "exit") == 0)
		return host.has_exited;
	if (strcmp(what, "ready") == 0)
		return host.is_ready;
	if (strcmp(what, "stopped") == 0)
		return host.is_stopped;
	if (strcmp(what, "lost") == 0)
		return host.is_lost;
	if (strcmp(what, "session") == 0)
		return host.session != NULL;
	s = find(what);
	return !s || s->is_done;
}

static void
do_wait(const char *what)
{
	int64_t end = clock_mono_ms() + 60000;

	while (!has_come(what) && clock_mono_ms() < end) {
		if (host.is_lost && strcmp(what, "lost") != 0) {
			printf("gone while waiting for %s\n", what);
			return;
		}
		tick(100);
	}
	if (!has_come(what))
		printf("timeout waiting for %s, %llu bytes\n", what,
		    find(what) ? (unsigned long long)find(what)->out_bytes : 0);
}

static void
do_control(char **w)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct stream *s = find(w[1]);

	for (int i = 0; s && !s->call && !s->is_done && i < 200; i++)
		tick(50);
	if (!s || !s->call) {
		printf("no stream %s\n", w[1]);
		return;
	}
	if (strcmp(w[0], "input") == 0) {
		char text[4096];

		(void)text_fmt(text, sizeof(text), "%s\n", w[2]);
		send_text(s, text);
	} else if (strcmp(w[0], "end") == 0) {
		send_end(s);
	} else if (strcmp(w[0], "cancel") == 0) {
		struct fault f = { 0 };

		(void)fault_set(&f, FAULT_CANCELLED, "gone");
		rpc_finish(s->call, &f, span_of(NULL, 0));
	} else if (strcmp(w[0], "signal") == 0) {
		d.which_kind = nacre_session_v1_AttachDown_signal_tag;
		d.kind.signal = (int32_t)number(w[2]);
		(void)send_attach(s, &d);
	} else if (strcmp(w[0], "size") == 0) {
		d.which_kind = nacre_session_v1_AttachDown_size_tag;
		d.kind.size.cols = (uint32_t)number(w[2]);
		d.kind.size.rows = (uint32_t)number(w[3]);
		(void)send_attach(s, &d);
	}
}

static void
do_launch(char **w, size_t n)
{
	struct fault f = { 0 };

	for (size_t i = 1; i < n; i++) {
		host.launch[i - 1] = must_dup(w[i]);
		host.launch_n = i;
	}
	host.launch_us = clock_mono_us();
	host.launch_vmm_us = vmm_us();
	send_wake(WIRE_WAKE_LAUNCH);
	if (fd_nonblock(host.port, &f) != 0)
		die(&f, "port");
	port_open();
}

static bool
act(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct fault lost = { .code = FAULT_LOST };
	struct wire_woke woke;
	int64_t end;

	if (strcmp(w[0], "rehearse") == 0) {
		int64_t cpu_us = vmm_us();

		end = clock_mono_us();
		send_wake(WIRE_WAKE_REHEARSE);
		read_woke(&woke);
		fprintf(stderr, "# rehearsal %lld us, %lld us of the VMM\n",
		    (long long)(clock_mono_us() - end),
		    (long long)(vmm_us() - cpu_us));
	} else if (strcmp(w[0], "launch") == 0) {
		do_launch(w, n);
	} else if (strcmp(w[0], "exec") == 0) {
		do_exec(w, n);
	} else if (strcmp(w[0], "put") == 0 && n == 5) {
		do_put(w);
	} else if (strcmp(w[0], "get") == 0) {
		do_get(w, n);
	} else if (strcmp(w[0], "wait") == 0) {
		do_wait(w[1]);
	} else if (strcmp(w[0], "hold") == 0) {
		host.no_ack = strcmp(w[1], "on") == 0;
	} else if (strcmp(w[0], "break") == 0) {
		if (host.inner)
			rpc_link_drop(host.inner, &lost);
		host.session = NULL;
	} else if (strcmp(w[0], "stop") == 0) {
		d.which_kind = nacre_session_v1_Down_stop_tag;
		d.kind.stop.grace_ms = (uint32_t)number(w[1]);
		(void)send_down(&d);
	} else if (strcmp(w[0], "sleep") == 0) {
		end = clock_mono_ms() + (int64_t)number(w[1]);
		while (clock_mono_ms() < end)
			tick((int)(end - clock_mono_ms()));
	} else if (strcmp(w[0], "say") == 0) {
		printf("== %s\n", n > 1 ? w[1] : "");
	} else if (strcmp(w[0], "quit") == 0) {
		return false;
	} else {
		do_control(w);
	}
	return true;
}

/* Blanks part words; '...' keeps them together. */
static size_t
split(char *line, char **w)
{
	size_t n = 0;

	while (*line && n < WORDS) {
		while (*line == ' ' || *line == '\n')
			line++;
		if (!*line)
			break;
		if (*line == '\'') {
			w[n++] = ++line;
			while (*line && *line != '\'')
				line++;
		} else {
			w[n++] = line;
			while (*line && *line != ' ' && *line != '\n')
				line++;
		}
		if (*line)
			*line++ = '\0';
	}
	return n;
}

int
main(int argc, char **argv)
{
	static char line[LINE];
	uint8_t random[TLS_ENTROPY];
	struct wire_woke woke;
	struct fault f = { 0 };
	char *words[WORDS];
	size_t n;

	if (argc != 7)
		die(NULL, "wants VMLINUX INITRAMFS IMAGE DISK MEMORY TSC");
	(void)signal(SIGPIPE, SIG_IGN);
	host.loop = loop_new(&f);
	random_bytes(random, sizeof(random));
	if (!host.loop ||
	    tls_key_make(&host.key, random, "gateway.nacre", &f) != 0)
		die(&f, "start");
	start_vmm(argv);
	read_woke(&woke);
	while (fgets(line, sizeof(line), stdin)) {
		n = split(line, words);
		words[n] = NULL;
		if (n > 0 && words[0][0] != '#' && !act(words, n))
			break;
	}
	print_kept("log", "out", &log_said[0]);
	print_kept("log", "err", &log_said[1]);
	fflush(stdout);
	(void)kill(host.vmm, SIGKILL);
	(void)waitpid(host.vmm, NULL, 0);
	return 0;
}
