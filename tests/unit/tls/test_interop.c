/* SPDX-License-Identifier: Apache-2.0 */
/* Against OpenSSL's s_client and s_server, over a unix socket. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "base/base.h"
#include "tls/tls.h"

enum {
	ARGS = 40,
	UPLOAD = 200000,
	DOWNLOAD = 1000000,
	PATIENCE_MS = 20000,
};

struct stage {
	char dir[64];
	struct tls_key key;
	struct tls *tls;
	int sock;
	size_t to_write; /* of the pattern */
	size_t written;
	size_t read;
	char head[16]; /* the first bytes read */
};

static const uint8_t entropy[TLS_ENTROPY] = { 5 };
static struct fault fault;

static uint8_t
pattern(size_t i)
{
	return (uint8_t)((i >> 8) * 31 + i);
}

static const char *
in(const struct stage *s, const char *name)
{
	static char paths[8][128];
	static unsigned used;
	char *path = paths[used++ % 8];

	(void)snprintf(path, 128, "%s/%s", s->dir, name);
	return path;
}

static void
write_file(const struct stage *s, const char *name, struct span bytes)
{
	assert_int_equal(
	    file_write_atomic(AT_FDCWD, in(s, name), bytes, 0600, &fault), 0);
}

/* Start openssl with these arguments, files in and out as stdin and stdout. */
static pid_t
openssl(const struct stage *s, const char *const *args)
{
	pid_t pid = fork();
	char *argv[ARGS] = { (char *)(uintptr_t) "openssl" };
	size_t n = 1;

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	for (; *args; args++)
		argv[n++] = (char *)(uintptr_t)*args;
	(void)dup2(open(in(s, "in"), O_RDONLY | O_CREAT, 0600), 0);
	(void)dup2(open(in(s, "out"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
	(void)dup2(open(in(s, "err"), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
	(void)execvp(argv[0], argv);
	_exit(127);
}

static int
finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static int
run(const struct stage *s, const char *const *args)
{
	return finish(openssl(s, args));
}

/* The key as SEC1 ECPrivateKey (RFC 5915) and the certificate, as files. */
static void
write_key(const struct stage *s)
{
	static const uint8_t head[] = { 0x30, 0x77, 0x02, 0x01, 0x01, 0x04,
		0x20 };
	static const uint8_t middle[] = { 0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86,
		0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0xa1, 0x44, 0x03, 0x42,
		0x00 };
	struct buf b;

	buf_init(&b, 256);
	assert_int_equal(buf_add(&b, head, sizeof(head), &fault), 0);
	assert_int_equal(buf_add(&b, s->key.secret, 32, &fault), 0);
	assert_int_equal(buf_add(&b, middle, sizeof(middle), &fault), 0);
	assert_int_equal(buf_add(&b, s->key.point, 65, &fault), 0);
	write_file(s, "key.der", buf_span(&b));
	write_file(s, "cert.der", span_of(s->key.cert, s->key.cert_len));
	buf_release(&b);
	assert_int_equal(
	    run(s,
		(const char *const[]){ "x509", "-inform", "DER", "-in",
		    in(s, "cert.der"), "-out", in(s, "cert.pem"), NULL }),
	    0);
}

static int
start(void **state)
{
	struct stage *s = must_alloc(sizeof(*s));

	*state = s;
	s->sock = -1;
	(void)snprintf(s->dir, sizeof(s->dir), "/tmp/nacre-tls-XXXXXX");
	if (!mkdtemp(s->dir) ||
	    tls_key_make(&s->key, entropy, "gateway.nacre", &fault) != 0)
		return -1;
	write_key(s);
	return 0;
}

static int
end(void **state)
{
	static const char *const names[] = { "key.der", "cert.der", "cert.pem",
		"in", "out", "err", "sock" };
	struct stage *s = *state;

	for (size_t i = 0; i < NELEM(names); i++)
		(void)unlink(in(s, names[i]));
	(void)rmdir(s->dir);
	tls_free(s->tls);
	fd_close(&s->sock);
	free(s);
	return 0;
}

static struct sockaddr_un
address(const struct stage *s)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	assert_true(
	    text_copy(a.sun_path, sizeof(a.sun_path), span_str(in(s, "sock"))));
	return a;
}

static void
push(struct stage *s)
{
	while (s->written < s->to_write) {
		uint8_t chunk[4096];
		size_t n = s->to_write - s->written;

		n = n < sizeof(chunk) ? n : sizeof(chunk);
		for (size_t i = 0; i < n; i++)
			chunk[i] = pattern(s->written + i);
		n = tls_write(s->tls, span_of(chunk, n));
		s->written += n;
		if (n == 0)
			return;
	}
	tls_flush(s->tls);
}

static void
pull(struct stage *s)
{
	struct span p;

	while ((p = tls_plain(s->tls)).len > 0) {
		for (size_t i = 0; i < p.len; i++)
			if (s->read + i < sizeof(s->head))
				s->head[s->read + i] = (char)p.ptr[i];
		s->read += p.len;
		tls_plain_used(s->tls, p.len);
	}
}

/*
 * One round of moving bytes over the socket. False when the peer is gone or
 * TLS has failed (then fault is set).
 */
static bool
turn(struct stage *s)
{
	struct pollfd p = { .fd = s->sock, .events = POLLIN };
	struct span wire = tls_wire(s->tls);
	uint8_t bytes[20000];
	size_t off = 0;
	ssize_t n;

	if (wire.len > 0)
		p.events |= POLLOUT;
	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	if (p.revents & POLLOUT) {
		n = send(s->sock, wire.ptr, wire.len, MSG_NOSIGNAL);
		if (n <= 0)
			return false;
		tls_wire_sent(s->tls, (size_t)n);
	}
	if (!(p.revents & POLLIN))
		return !(p.revents & (POLLHUP | POLLERR));
	n = recv(s->sock, bytes, sizeof(bytes), 0);
	while (n > 0 && off < (size_t)n) {
		size_t taken;

		if (tls_feed(s->tls, span_of(bytes + off, (size_t)n - off),
			&taken, &fault) != 0)
			return false;
		off += taken;
		pull(s);
		wire = tls_wire(s->tls);
		if (taken == 0 && wire.len > 0) {
			if (send(s->sock, wire.ptr, wire.len, MSG_NOSIGNAL) !=
			    (ssize_t)wire.len)
				return false;
			tls_wire_sent(s->tls, wire.len);
		}
	}
	return n > 0;
}

static pid_t
serve(struct stage *s, const char *const *extra)
{
	const char *args[ARGS] = { "s_client", "-unix", in(s, "sock"), "-quiet",
		"-verify_return_error", "-CAfile", in(s, "cert.pem"),
		"-verify_hostname", "gateway.nacre" };
	struct sockaddr_un a = address(s);
	int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 9;
	pid_t pid;

	for (; *extra; extra++)
		args[n++] = *extra;
	assert_int_equal(bind(door, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(door, 1), 0);
	pid = openssl(s, args);
	s->sock = accept4(door, NULL, NULL, SOCK_CLOEXEC);
	assert_true(s->sock >= 0);
	(void)close(door);
	s->tls = tls_server_new(&s->key, entropy, &fault);
	assert_non_null(s->tls);
	return pid;
}

/* Bulk both ways, then our close_notify; s_client must agree with all. */
static void
serve_bulk(struct stage *s, const char *const *extra)
{
	struct buf b;
	pid_t pid;

	buf_init(&b, DOWNLOAD);
	memset(buf_room(&b, UPLOAD), 'u', UPLOAD);
	buf_grew(&b, UPLOAD);
	write_file(s, "in", buf_span(&b));
	buf_clear(&b);
	pid = serve(s, extra);
	s->to_write = DOWNLOAD;
	while (s->read < UPLOAD || s->written < DOWNLOAD) {
		push(s);
		assert_true(turn(s));
	}
	tls_close(s->tls);
	while (tls_wire(s->tls).len > 0 && turn(s))
		continue;
	fd_close(&s->sock);
	assert_int_equal(finish(pid), 0);
	assert_int_equal(s->read, UPLOAD);
	assert_int_equal(file_read(AT_FDCWD, in(s, "out"), &b, &fault), 0);
	assert_int_equal(b.len, DOWNLOAD);
	for (size_t i = 0; i < DOWNLOAD; i++)
		assert_int_equal(buf_ptr(&b)[i], pattern(i));
	buf_release(&b);
}

static void
s_client_verifies_and_moves_bulk(void **state)
{
	serve_bulk(*state,
	    (const char *const[]){ "-tls1_2", "-alpn", "h2", NULL });
}

static void
s_client_may_know_only_p256_and_chacha(void **state)
{
	serve_bulk(*state,
	    (const char *const[]){ "-tls1_2", "-curves", "P-256", "-cipher",
		"ECDHE-ECDSA-CHACHA20-POLY1305", NULL });
}

/* What s_client -brief reports. */
static void
assert_reported(const struct stage *s, const char *what)
{
	struct buf b;

	buf_init(&b, 4096);
	assert_int_equal(file_read(AT_FDCWD, in(s, "err"), &b, &fault), 0);
	assert_int_equal(buf_add(&b, "", 1, &fault), 0);
	assert_non_null(strstr((const char *)buf_ptr(&b), what));
	buf_release(&b);
}

static void
x25519_is_taken_when_s_client_prefers_others(void **state)
{
	serve_bulk(*state,
	    (const char *const[]){ "-brief", "-curves", "P-384:P-256:X25519",
		"-cipher",
		"ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256",
		NULL });
	assert_reported(*state, "X25519");
	assert_reported(*state, "ECDHE-ECDSA-AES128-GCM-SHA256");
}

static void
refuse(struct stage *s, const char *const *extra)
{
	pid_t pid;

	write_file(s, "in", SPAN_LIT(""));
	pid = serve(s, extra);
	fault_clear(&fault);
	while (turn(s))
		continue;
	assert_false(tls_is_ready(s->tls));
	fd_close(&s->sock);
	assert_int_not_equal(finish(pid), 0);
}

static void
other_versions_are_refused(void **state)
{
	refuse(*state, (const char *const[]){ "-tls1_3", NULL });
}

static void
older_versions_are_refused(void **state)
{
	refuse(*state,
	    (const char *const[]){ "-tls1_1", "-cipher", "ALL:@SECLEVEL=0",
		NULL });
}

static void
other_protocols_are_refused(void **state)
{
	refuse(*state,
	    (const char *const[]){ "-tls1_2", "-alpn", "http/1.1", NULL });
}

static pid_t
dial(struct stage *s, const uint8_t pin[TLS_PIN])
{
	struct sockaddr_un a = address(s);
	struct stat st;
	pid_t pid = openssl(s,
	    (const char *const[]){ "s_server", "-unix", in(s, "sock"), "-cert",
		in(s, "cert.der"), "-certform", "DER", "-key", in(s, "key.der"),
		"-keyform", "DER", "-tls1_2", "-alpn", "h2", "-rev", "-naccept",
		"1", NULL });

	s->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < 1000 && stat(in(s, "sock"), &st) != 0; i++)
		(void)usleep(5000);
	for (int i = 0; i < 1000; i++) {
		if (connect(s->sock, (struct sockaddr *)&a, sizeof(a)) == 0)
			break;
		(void)usleep(5000);
	}
	s->tls = tls_client_new("gateway.nacre", pin, entropy, &fault);
	assert_non_null(s->tls);
	return pid;
}

static void
s_server_answers_us(void **state)
{
	struct stage *s = *state;
	pid_t pid = dial(s, s->key.pin);
	bool asked = false;

	while (s->read < 6) {
		if (!asked && tls_is_ready(s->tls)) {
			asked = tls_write(s->tls, SPAN_LIT("hello\n")) == 6;
			tls_flush(s->tls);
		}
		assert_true(turn(s));
	}
	assert_memory_equal(s->head, "olleh\n", 6);
	tls_close(s->tls);
	while (tls_wire(s->tls).len > 0 && turn(s))
		continue;
	fd_close(&s->sock);
	(void)kill(pid, SIGTERM);
	(void)finish(pid);
}

static void
s_server_with_another_key_is_refused(void **state)
{
	static const uint8_t pin[TLS_PIN] = { 1 };
	struct stage *s = *state;
	pid_t pid = dial(s, pin);

	fault_clear(&fault);
	while (turn(s))
		continue;
	assert_int_equal(fault.code, FAULT_UNAUTHENTICATED);
	(void)kill(pid, SIGTERM);
	(void)finish(pid);
}

/* The pin is what `openssl pkey -pubin -outform DER | sha256sum` says. */
static void
the_pin_is_the_digest_of_the_public_key(void **state)
{
	struct stage *s = *state;
	char hex[2 * TLS_PIN + 1];
	struct buf b;

	assert_int_equal(
	    run(s,
		(const char *const[]){ "x509", "-in", in(s, "cert.pem"),
		    "-noout", "-pubkey", NULL }),
	    0);
	assert_int_equal(rename(in(s, "out"), in(s, "in")), 0);
	assert_int_equal(run(s,
			     (const char *const[]){ "pkey", "-pubin",
				 "-outform", "DER", NULL }),
	    0);
	assert_int_equal(rename(in(s, "out"), in(s, "in")), 0);
	assert_int_equal(
	    run(s, (const char *const[]){ "dgst", "-sha256", "-r", NULL }), 0);
	buf_init(&b, 256);
	assert_int_equal(file_read(AT_FDCWD, in(s, "out"), &b, &fault), 0);
	hex_format(s->key.pin, sizeof(s->key.pin), hex);
	assert_true(span_starts(buf_span(&b), hex));
	buf_release(&b);
}

int
main(void)
{
#define CASE(t) cmocka_unit_test_setup_teardown(t, start, end)
	const struct CMUnitTest tests[] = {
		CASE(the_pin_is_the_digest_of_the_public_key),
		CASE(s_client_verifies_and_moves_bulk),
		CASE(s_client_may_know_only_p256_and_chacha),
		CASE(x25519_is_taken_when_s_client_prefers_others),
		CASE(other_versions_are_refused),
		CASE(older_versions_are_refused),
		CASE(other_protocols_are_refused),
		CASE(s_server_answers_us),
		CASE(s_server_with_another_key_is_refused),
	};
#undef CASE

	return cmocka_run_group_tests(tests, NULL, NULL);
}
