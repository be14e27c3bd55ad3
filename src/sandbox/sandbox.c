/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start of the sandbox: four descriptors by argument, then the start pipe
 * brings the key (the link opens) and the token (calls are served). The end
 * of the link is the end of this process, and with it of every process in
 * its namespaces.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"
#include "sandbox/sandbox.h"

enum {
	START_MAX = 8192
};

static int
take_bytes(const struct pb_bytes_array_s *from, void *to, size_t n,
    struct fault *f)
{
	struct span s = wire_span(from);

	if (s.len != n)
		return fault_field(f, "start", "has %zu bytes, not %zu", s.len,
		    n);
	memcpy(to, s.ptr, n);
	return 0;
}

static int
take_start(struct sandbox *sb, struct span m, struct arena *a, struct fault *f)
{
	nacre_sandbox_v1_Start s = nacre_sandbox_v1_Start_init_zero;
	struct span cert;

	if (WIRE_DECODE(nacre_sandbox_v1_Start, &s, m, a, f) != 0 ||
	    take_bytes(s.secret, sb->key.secret, 32, f) != 0 ||
	    take_bytes(s.point, sb->key.point, 65, f) != 0 ||
	    take_bytes(s.pin, sb->key.pin, TLS_PIN, f) != 0)
		return -1;
	cert = wire_span(s.cert);
	if (cert.len == 0 || cert.len > sizeof(sb->key.cert) ||
	    s.outside_count != NELEM(sb->outside) ||
	    !text_copy(sb->root, sizeof(sb->root), span_str(s.root)))
		return fault_field(f, "start", "is not understood");
	memcpy(sb->key.cert, cert.ptr, cert.len);
	sb->key.cert_len = cert.len;
	memcpy(sb->outside, s.outside, sizeof(sb->outside));
	sb->has_key = true;
	return sandbox_serve(sb, f);
}

static int
take_grant(struct sandbox *sb, struct span m, struct arena *a, struct fault *f)
{
	nacre_sandbox_v1_Grant g = nacre_sandbox_v1_Grant_init_zero;

	if (WIRE_DECODE(nacre_sandbox_v1_Grant, &g, m, a, f) != 0 ||
	    take_bytes(g.token_sha256, sb->token, DIGEST_SIZE, f) != 0)
		return -1;
	sb->has_grant = true;
	return 0;
}

/* The messages that are whole; -1 ends the process. */
static int
take_messages(struct sandbox *sb, struct fault *f)
{
	while (!sb->has_grant && sb->start_in.len >= 4) {
		const uint8_t *at = buf_ptr(&sb->start_in);
		size_t n = (size_t)at[0] << 24 | (size_t)at[1] << 16 |
		    (size_t)at[2] << 8 | at[3];
		struct arena a;
		int r;

		if (n > START_MAX - 4)
			return fault_set(f, FAULT_PROTOCOL,
			    "start is too long");
		if (sb->start_in.len < 4 + n)
			return 0;
		arena_init(&a, 4 * START_MAX);
		r = sb->has_key ? take_grant(sb, span_of(at + 4, n), &a, f)
				: take_start(sb, span_of(at + 4, n), &a, f);
		arena_release(&a);
		secret_wipe(buf_ptr(&sb->start_in), 4 + n);
		if (r != 0)
			return -1;
		buf_eat(&sb->start_in, 4 + n);
	}
	return 0;
}

void
sandbox_read_start(struct sandbox *sb)
{
	struct fault f = { 0 };
	uint8_t *to;
	ssize_t n;
	int fd = sb->start.fd;

	if (!loop_is_watched(&sb->start))
		return;
	to = buf_room(&sb->start_in, 1024);
	n = to ? read(fd, to, 1024) : 0;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_grew(&sb->start_in, (size_t)n);
	if (n <= 0 || take_messages(sb, &f) != 0) {
		log_warn(&f, "start pipe ended");
		loop_stop(sb->loop);
	}
	if (n > 0 && !sb->has_grant)
		return;
	loop_unwatch(&sb->start);
	fd_close(&fd);
	buf_release(&sb->start_in);
}

static void
start_ready(struct watch *w, unsigned events)
{
	(void)events;
	sandbox_read_start(CONTAINER_OF(w, struct sandbox, start));
}

static int
take_descriptors(struct sandbox *sb, int argc, char **argv, int *start,
    struct fault *f)
{
	int *const to[] = { &sb->link_fd, &sb->pass, start, &sb->cgroup };

	if (argc != 5)
		return fault_set(f, FAULT_INVALID, "wants four descriptors");
	for (size_t i = 0; i < NELEM(to); i++) {
		uint64_t n;

		*to[i] = -1;
		if (i == 1 && strcmp(argv[2], "-") == 0)
			continue;
		if (!num_parse(span_str(argv[i + 1]), 1023, &n))
			return fault_set(f, FAULT_INVALID,
			    "'%s' is no descriptor", argv[i + 1]);
		*to[i] = (int)n;
		if (fd_cloexec(*to[i], true, f) != 0)
			return -1;
	}
	return fd_nonblock(*start, f);
}

static int
start(struct sandbox *sb, int argc, char **argv, struct fault *f)
{
	static const struct rlimit no_core = { 0, 0 };
	/* The cgroup counts: per uid it would be a second, odd limit. */
	static const struct rlimit any = { RLIM_INFINITY, RLIM_INFINITY };
	/* Ours and what agents begin with; they may raise theirs. */
	static const struct rlimit files = { 1024, 1048576 };
	int fd = -1;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    setrlimit(RLIMIT_CORE, &no_core) != 0 ||
	    setrlimit(RLIMIT_NPROC, &any) != 0 ||
	    setrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return fault_sys(f, "cannot prepare the process");
	(void)umask(0);
	if (take_descriptors(sb, argc, argv, &fd, f) != 0)
		return -1;
	sb->loop = loop_new(f);
	if (!sb->loop || reap_open(sb, f) != 0)
		return -1;
	buf_init(&sb->start_in, START_MAX);
	buf_init(&sb->confirm_reply, LIMIT_MESSAGE);
	sb->start.ready = start_ready;
	return loop_watch(sb->loop, &sb->start, fd, LOOP_IN, f);
}

int
sandbox_main(int argc, char **argv)
{
	static struct sandbox sandbox;
	struct fault f = { 0 };

	log_start("sandbox", LOG_INFO);
	sandbox.start.fd = -1;
	sandbox.broker.eyes.upper = -1;
	sandbox.broker.eyes.image = -1;
	sandbox.image = -1;
	sandbox.keeps_memory = true;
	spare_init(&sandbox);
	if (start(&sandbox, argc, argv, &f) != 0 ||
	    loop_run(sandbox.loop, &f) != 0) {
		log_warn(&f, "cannot run");
		return 1;
	}
	return 0;
}
