/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Make the sandbox process: our own file under its second name, PID 1 of
 * fresh namespaces, with four descriptors and nothing else. Its TLS key is
 * made here for this one launch and handed over through the start pipe, so
 * the pin needs no trust in what the sandbox says.
 */
#include <linux/sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "confine/confine.h"
#include "supervisor/inner.h"

enum {
	FIRST = 3,
	COUNT = 4
};

struct ends {
	int link[2];
	int pass[2];
	int start[2];
	int cgroup;
};

static void
ends_close(struct ends *e)
{
	for (size_t i = 0; i < 2; i++) {
		fd_close(&e->link[i]);
		fd_close(&e->pass[i]);
		fd_close(&e->start[i]);
	}
	fd_close(&e->cgroup);
}

static int
ends_open(struct ends *e, struct fault *f)
{
	*e = (struct ends){ { -1, -1 }, { -1, -1 }, { -1, -1 }, -1 };
	e->cgroup =
	    open("/sys/fs/cgroup/agent", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (e->cgroup < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, e->link) != 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, e->pass) != 0 ||
	    pipe2(e->start, O_CLOEXEC) != 0) {
		(void)fault_sys(f, "cannot make the sandbox's descriptors");
		ends_close(e);
		return -1;
	}
	return 0;
}

/* After the clone: system calls only. */
static _Noreturn void
become_sandbox(const struct ends *e)
{
	static char name[] = "/sandbox";
	static char link[] = "3";
	static char pass[] = "4";
	static char start[] = "5";
	static char cgroup[] = "6";
	static char *const argv[] = { name, link, pass, start, cgroup, NULL };
	static char *const env[] = { NULL };
	int from[COUNT] = { e->link[1], e->pass[1], e->start[0], e->cgroup };
	int high[COUNT];

	for (int i = 0; i < COUNT; i++) {
		high[i] = fcntl(from[i], F_DUPFD, 64);
		if (high[i] < 0)
			_exit(1);
	}
	for (int i = 0; i < COUNT; i++)
		if (dup2(high[i], FIRST + i) < 0)
			_exit(2);
	(void)syscall(SYS_close_range, FIRST + COUNT, ~0U, 0);
	(void)execve(name, argv, env);
	_exit(3);
}

static int
send_start(int fd, const struct tls_key *k, struct fault *f)
{
	static const char *const spaces[] = { "/proc/self/ns/pid",
		"/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/ipc",
		"/proc/self/ns/uts" };
	static char root[] = DISKS_ROOT;
	nacre_sandbox_v1_Start s = nacre_sandbox_v1_Start_init_zero;
	uint64_t outside[NELEM(spaces)];
	struct arena a;
	int r;

	for (size_t i = 0; i < NELEM(spaces); i++) {
		struct stat st;

		if (stat(spaces[i], &st) != 0)
			return fault_sys(f, "cannot look at '%s'", spaces[i]);
		outside[i] = st.st_ino;
	}
	arena_init(&a, 16384);
	s.secret = wire_bytes(&a, span_of(k->secret, sizeof(k->secret)));
	s.point = wire_bytes(&a, span_of(k->point, sizeof(k->point)));
	s.pin = wire_bytes(&a, span_of(k->pin, sizeof(k->pin)));
	s.cert = wire_bytes(&a, span_of(k->cert, k->cert_len));
	s.outside = outside;
	s.outside_count = NELEM(outside);
	s.root = root;
	r = box_start_write(fd, nacre_sandbox_v1_Start_fields, &s, f);
	if (s.secret)
		secret_wipe(s.secret->bytes, s.secret->size);
	arena_release(&a);
	return r;
}

int
box_spawn(struct box *b, int *link, uint8_t pin[TLS_PIN], struct fault *f)
{
	uint8_t random[TLS_ENTROPY];
	struct tls_key key;
	struct ends e;
	pid_t pid;
	int r;

	if (ends_open(&e, f) != 0)
		return -1;
	pid = confine_clone(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET |
		CLONE_NEWIPC | CLONE_NEWUTS,
	    -1, NULL);
	if (pid == 0)
		become_sandbox(&e);
	if (pid < 0) {
		(void)fault_sys(f, "cannot make the sandbox process");
		ends_close(&e);
		return -1;
	}
	b->pid = pid;
	random_bytes(random, sizeof(random));
	r = tls_key_make(&key, random, "sandbox.nacre", f);
	if (r == 0)
		r = send_start(e.start[1], &key, f);
	if (r == 0) {
		for (size_t i = 0; i < TLS_PIN; i++)
			pin[i] = key.pin[i];
		*link = fd_take(&e.link[0]);
		b->pass = fd_take(&e.pass[0]);
		b->start = fd_take(&e.start[1]);
	}
	tls_key_wipe(&key);
	secret_wipe(random, sizeof(random));
	ends_close(&e);
	return r;
}
