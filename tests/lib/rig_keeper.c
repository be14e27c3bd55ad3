/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in place of nacre-keeper, in the process that the gateway made for
 * it: the socket, which must be that process's own, and the end, which is when
 * the test says so. Everything else it hands to the test.
 */
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "machine/machine.h"
#include "rig.h"

enum {
	DESCRIPTORS = 1024,
	KEEPER_ARGS = 64,
};

/* As the exec would have: whoever waits for it goes on. */
static void
close_on_exec(void)
{
	for (int fd = STDERR_FILENO + 1; fd < DESCRIPTORS; fd++)
		if (fcntl(fd, F_GETFD) == FD_CLOEXEC)
			(void)close(fd);
}

/* The test says by files beside the state folder what there is of machines:
 * "clones" (templates can be made), "duds" (a clone's keeper ends at once),
 * "ends" (its machine does, and it says so), "none" (no template, not even a
 * cold one). And it reads "jobs". */
static bool
is_said(const char *dir, const char *name)
{
	char path[2 * RIG_PATH];

	return text_fmt(path, sizeof(path), "%s/../../%s", dir, name) &&
	    access(path, F_OK) == 0;
}

static void
note(const char *dir, const char *line)
{
	char path[2 * RIG_PATH];
	struct fault f = { 0 };
	int fd;

	(void)text_fmt(path, sizeof(path), "%s/../../jobs", dir);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	if (fd < 0 || fd_write_all(fd, line, strlen(line), &f) != 0)
		_exit(1);
	(void)close(fd);
}

static int
connect_hall(const char *dir)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0 ||
	    !text_fmt(to.sun_path, sizeof(to.sun_path), "%s/../../hall", dir) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		_exit(1);
	return fd;
}

static void
hold(const struct machine_args *a)
{
	char path[RIG_PATH + LIMIT_ID + 32];
	char text[LIMIT_ID + 32];
	struct fault f = { 0 };
	int fds[2] = { a->link_fd, -1 };
	bool parks = !a->cold && !a->no_park;
	bool ends = !a->cold && is_said(a->dir, "ends");
	int hall;
	char end;

	if (!a->cold) {
		note(a->dir, "clone\n");
		if (is_said(a->dir, "duds"))
			_exit(0);
	}
	hall = connect_hall(a->dir);
	if (!text_fmt(path, sizeof(path), "%s/%s.sock", a->dir, a->id) ||
	    !text_fmt(text, sizeof(text), "%s %d %d %d\n", a->id, (int)getpid(),
		parks, ends) ||
	    rpc_listen_unix(path, &fds[1], &f) != 0 ||
	    fd_nonblock(fds[1], &f) != 0 ||
	    fd_send(hall, text, strlen(text), fds, 2, &f) != 0)
		_exit(1);
	(void)close(fds[0]);
	(void)close(fds[1]);
	close_on_exec();
	while (read(hall, &end, 1) > 0)
		continue;
	(void)unlink(path);
	_exit(0);
}

static int
some_file(void)
{
	int fd = memfd_create("nothing", MFD_CLOEXEC);

	if (fd < 0 || write(fd, "x", 1) != 1)
		_exit(1);
	return fd;
}

static void
make_template(const struct machine_args *a)
{
	struct machine_template t;
	struct fault f = { 0 };
	char line[64];

	(void)text_fmt(line, sizeof(line), "template %s\n",
	    machine_accel_name(a->shape.accel));
	note(a->paths.cache, line);
	if (is_said(a->paths.cache, "none"))
		_exit(1);
	machine_template_init(&t);
	t.shape = a->shape;
	t.shape.accel = MACHINE_TCG;
	t.tsc_khz = 1000000;
	t.kernel_fd = some_file();
	t.initramfs_fd = some_file();
	if (is_said(a->paths.cache, "clones")) {
		t.memory_fd = some_file();
		t.state_fd = some_file();
	} else {
		(void)text_copy(t.why_cold, sizeof(t.why_cold),
		    SPAN_LIT("a stand-in has no template"));
	}
	_exit(machine_template_send(&t, a->answer_fd, &f) == 0 ? 0 : 1);
}

void
rig_keeper_main(char *const argv[])
{
	char *list[KEEPER_ARGS];
	struct machine_args a;
	struct fault f = { 0 };
	int argc = 0;

	for (; argc < KEEPER_ARGS && argv[argc] != NULL; argc++)
		list[argc] = argv[argc];
	if (argc < 2 || machine_args_parse(argc - 2, list + 2, &a, &f) != 0)
		_exit(2);
	(void)signal(SIGPIPE, SIG_IGN);
	if (strcmp(argv[1], "template") == 0)
		make_template(&a);
	hold(&a);
}
