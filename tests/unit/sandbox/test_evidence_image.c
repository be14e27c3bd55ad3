/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which programs are the image's, on a union of an image and a writable layer
 * as a guest has it: what the agent has put there is not, however it moves
 * while one looks. Needs root, for mounts of its own.
 */
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/evidence.h"

#define PROGRAM "/usr/bin/sleep"

enum {
	LOOKS = 20000, /* each of them could find it elsewhere */
};

static struct eyes eyes;
static char base[64]; /* the layers; the union is mounted on base/root */
static char low[160];
static char up[160];
static char root[96];
static atomic_bool is_over;

static void
name(char out[256], const char *folder, const char *path)
{
	assert_true(text_fmt(out, 256, "%s/%s", folder, path));
}

static void
make_folder(const char *in, const char *path)
{
	char whole[256];

	name(whole, in, path);
	assert_int_equal(mkdir(whole, 0755), 0);
}

static void
copy_program(const char *in, const char *path)
{
	char whole[256];
	struct fault f = { 0 };
	struct buf b;
	int fd;

	name(whole, in, path);
	fd = open(whole, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	assert_true(fd >= 0);
	buf_init(&b, 64 << 20);
	assert_int_equal(file_read(AT_FDCWD, PROGRAM, &b, &f), 0);
	assert_int_equal(fd_write_all(fd, buf_ptr(&b), b.len, &f), 0);
	buf_release(&b);
	/* No writer may be left when it is run. */
	assert_int_equal(close(fd), 0);
}

/* base/LAYER, and in it the union's place by its whole path, as a layer of a
 * guest's root has it. */
static int
make_layer(const char *layer, char place[160])
{
	char at[128];
	int fd;

	make_folder(base, layer);
	assert_true(text_fmt(at, sizeof(at), "%s/%s", base, layer));
	fd = open(at, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	make_folder(at, "tmp");
	assert_true(text_fmt(place, 160, "%s%s", at, base));
	assert_int_equal(mkdir(place, 0755), 0);
	assert_true(text_fmt(place, 160, "%s%s/root", at, base));
	assert_int_equal(mkdir(place, 0755), 0);
	return fd;
}

static int
setup(void **state)
{
	char options[512];

	(void)state;
	(void)text_copy(base, sizeof(base),
	    SPAN_LIT("/tmp/nacre-layers.XXXXXX"));
	assert_non_null(mkdtemp(base));
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("layers", base, "tmpfs", 0, NULL), 0);
	eyes.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	eyes.image = make_layer("low", low);
	eyes.upper = make_layer("up", up);
	make_folder(base, "work");
	make_folder(base, "root");
	make_folder(low, "own");
	make_folder(low, "own/bin");
	copy_program(low, "tool");
	copy_program(low, "own/bin/tool");
	assert_true(text_fmt(root, sizeof(root), "%s/root", base));
	assert_true(text_fmt(options, sizeof(options),
	    "lowerdir=%s,upperdir=%s,workdir=%s/work,redirect_dir=off,"
	    "metacopy=off,index=off",
	    low, up, base));
	assert_int_equal(mount("root", root, "overlay", 0, options), 0);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	fd_close(&eyes.proc);
	fd_close(&eyes.upper);
	fd_close(&eyes.image);
	assert_int_equal(umount2(root, 0), 0);
	assert_int_equal(umount2(base, 0), 0);
	assert_int_equal(rmdir(base), 0);
	return 0;
}

static pid_t
run(const char *path)
{
	char whole[256];
	int ends[2];
	char c;
	pid_t pid;

	name(whole, root, path);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		static char long_time[] = "1000";
		char *argv[] = { whole, long_time, NULL };
		char *env[] = { NULL };

		(void)execve(whole, argv, env);
		(void)!write(ends[1], "x", 1);
		_exit(127);
	}
	(void)close(ends[1]);
	/* Its end is the exec. */
	assert_int_equal(read(ends[0], &c, 1), 0);
	(void)close(ends[0]);
	return pid;
}

static void
stop(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static struct program
look(pid_t pid)
{
	struct fault f = { 0 };
	struct program p;
	struct arena a;
	int file = -1;

	arena_init(&a, EVIDENCE_BYTES);
	assert_int_equal(evidence_program(&eyes, pid, &a, &p, &file, &f), 0);
	fd_close(&file);
	arena_release(&a);
	p.path = NULL;
	return p;
}

static void
what_nobody_has_touched_is_the_images(void **state)
{
	pid_t pid = run("tool");
	struct program p = look(pid);

	(void)state;
	assert_int_equal(p.state, PROGRAM_FILE);
	assert_true(p.in_image);
	stop(pid);
}

/* With the same bytes and the same time of writing. */
static void
what_was_copied_up_is_not(void **state)
{
	char whole[256];
	struct program p;
	pid_t pid;

	(void)state;
	name(whole, root, "tool");
	assert_int_equal(chmod(whole, 0700), 0);
	pid = run("tool");
	p = look(pid);
	assert_int_equal(p.state, PROGRAM_FILE);
	assert_false(p.in_image);
	stop(pid);
}

static void *
move_about(void *none)
{
	char here[256];
	char there[256];

	(void)none;
	name(here, root, "own/bin/tool");
	name(there, root, "own/bin/other");
	while (!is_over)
		if (rename(here, there) != 0 || rename(there, here) != 0)
			break;
	return NULL;
}

static void *
move_folder_about(void *none)
{
	char here[256];
	char there[256];

	(void)none;
	name(here, root, "own/bin");
	name(there, root, "own/other");
	while (!is_over)
		if (rename(here, there) != 0 || rename(there, here) != 0)
			break;
	return NULL;
}

static void
never_found_in_image(void *(*mover)(void *))
{
	pid_t pid = run("own/bin/tool");
	unsigned times = 0;
	pthread_t t;

	is_over = false;
	assert_int_equal(pthread_create(&t, NULL, mover, NULL), 0);
	for (unsigned i = 0; i < LOOKS; i++)
		times += look(pid).in_image;
	is_over = true;
	assert_int_equal(pthread_join(t, NULL), 0);
	stop(pid);
	assert_int_equal(times, 0);
}

/*
 * A folder of the agent's own hides the image's of that name: nothing that
 * moves in it, or with it, leaves a trace in the writable layer.
 */
static void
what_moves_while_one_looks_is_not(void **state)
{
	char whole[256];

	(void)state;
	name(whole, root, "own/bin/tool");
	assert_int_equal(unlink(whole), 0);
	name(whole, root, "own/bin");
	assert_int_equal(rmdir(whole), 0);
	name(whole, root, "own");
	assert_int_equal(rmdir(whole), 0);
	make_folder(root, "own");
	make_folder(root, "own/bin");
	copy_program(root, "own/bin/tool");
	never_found_in_image(move_about);
	never_found_in_image(move_folder_about);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_nobody_has_touched_is_the_images),
		cmocka_unit_test(what_was_copied_up_is_not),
		cmocka_unit_test(what_moves_while_one_looks_is_not),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
