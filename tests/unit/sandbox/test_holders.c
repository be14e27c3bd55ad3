/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a socket: by real processes that have it in every odd way. */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "copies.h"

static struct lookups lookups;

static int
setup(void **state)
{
	(void)state;
	copies_open();
	lookups_init(&lookups, loop, &eyes);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	lookups_release(&lookups);
	copies_close();
	return 0;
}

static struct holder found[EVIDENCE_HOLDERS];
static size_t found_n;
static bool found_cut;

static void
looked_up(struct lookup *l)
{
	found_n = l->n;
	found_cut = l->is_cut;
	memcpy(found, l->holders, sizeof(found));
	for (size_t i = 0; i < l->n; i++)
		found[i].program.path = must_dup(l->holders[i].program.path);
	is_done = true;
}

static void
look_for(int socket)
{
	struct fault f = { 0 };
	struct stat st;

	assert_int_equal(fstat(socket, &st), 0);
	is_done = false;
	assert_non_null(lookup_start(&lookups, st.st_ino, looked_up, NULL, &f));
	while (!is_done)
		tick();
	assert_false(found_cut);
}

static void
forget(void)
{
	for (size_t i = 0; i < found_n; i++)
		free((char *)(uintptr_t)found[i].program.path);
	found_n = 0;
}

static bool
holds(pid_t pid, const char *path)
{
	for (size_t i = 0; i < found_n; i++)
		if (found[i].pid == pid &&
		    strcmp(found[i].program.path, path) == 0)
			return true;
	return false;
}

static void
all_holders_of_a_socket_are_found(void **state)
{
	char path[128];
	struct copy plain = run(self, -1);
	struct copy heir;
	int s[2];
	int kept;

	(void)state;
	copy_self("heir", path);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	    0);
	look_for(s[0]);
	assert_int_equal(found_n, 0); /* this process does not count */
	kept = dup(s[0]);             /* survives an exec */
	heir = run(path, -1);
	(void)close(kept);
	look_for(s[0]);
	assert_int_equal(found_n, 1);
	assert_true(holds(heir.pid, path));
	assert_false(holds(plain.pid, self));
	forget();
	stop(&heir);
	look_for(s[0]);
	assert_int_equal(found_n, 0);
	stop(&plain);
	(void)close(s[0]);
	(void)close(s[1]);
	assert_int_equal(unlink(path), 0);
}

/* A child that has not come to its exec has what its parent had open. */
static void
a_child_before_its_exec_does_not_count(void **state)
{
	struct lookups all = lookups;
	struct fault f = { 0 };
	int out[2];
	int in[2];
	int s[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	    0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		(void)close(in[1]);
		(void)!write(out[1], "x", 1);
		(void)!read(in[0], &c, 1);
		_exit(0);
	}
	await(out[0]);
	(void)close(out[1]);
	look_for(s[0]);
	assert_int_equal(found_n, 1);
	forget();
	assert_int_equal(lookups_skip_own(&lookups, &f), 0);
	look_for(s[0]);
	assert_int_equal(found_n, 0);
	lookups.own_device = all.own_device;
	lookups.own_inode = all.own_inode;
	(void)close(in[0]);
	(void)close(in[1]);
	(void)waitpid(pid, NULL, 0);
	(void)close(s[0]);
	(void)close(s[1]);
}

static int thread_socket;
static int thread_copy;

/* A thread with descriptors of its own: they are in no process's folder. */
static void *
hide(void *out)
{
	char c;

	thread_copy = dup(thread_socket);
	if (unshare(CLONE_FILES) != 0 || thread_copy < 0)
		_exit(1);
	(void)!write(*(int *)out, "x", 1);
	(void)!read(0, &c, 1);
	return NULL;
}

static void
a_thread_with_descriptors_of_its_own_is_found(void **state)
{
	int out[2];
	int in[2];
	int s[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	    0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		int ends[2];
		pthread_t t;
		char c;

		(void)dup2(in[0], 0);
		(void)close(in[1]);
		thread_socket = s[0];
		if (pipe(ends) != 0 ||
		    pthread_create(&t, NULL, hide, &ends[1]) != 0 ||
		    read(ends[0], &c, 1) != 1)
			_exit(1);
		(void)close(s[0]);
		(void)close(thread_copy);
		(void)!write(out[1], "x", 1);
		(void)!read(0, &c, 1);
		_exit(0);
	}
	await(out[0]);
	(void)close(out[1]);
	look_for(s[0]);
	assert_int_equal(found_n, 1);
	assert_true(holds(pid, self));
	forget();
	(void)close(in[1]);
	(void)close(in[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(s[0]);
	(void)close(s[1]);
}

/* Holds the socket behind more descriptors than one read of the folder tells. */
static void
the_last_of_many_descriptors_is_found(void **state)
{
	int out[2];
	int in[2];
	int s[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	    0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char c;

		(void)close(in[1]);
		for (int i = 0; i < 200; i++)
			(void)!dup(in[0]);
		(void)!dup(s[0]);
		(void)close(s[0]);
		(void)!write(out[1], "x", 1);
		(void)!read(in[0], &c, 1);
		_exit(0);
	}
	await(out[0]);
	(void)close(out[1]);
	look_for(s[0]);
	assert_int_equal(found_n, 1);
	assert_true(holds(pid, self));
	forget();
	(void)close(in[1]);
	(void)close(in[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(s[0]);
	(void)close(s[1]);
}

static void *
outlive(void *out)
{
	char state = 0;
	char path[64];
	char line[256];
	char c;

	/* Until the first thread is seen to have ended: it has no files then. */
	(void)text_fmt(path, sizeof(path), "/proc/%d/stat", (int)getpid());
	while (state != 'Z') {
		FILE *f = fopen(path, "re");
		const char *end;

		if (!f || !fgets(line, sizeof(line), f))
			_exit(1);
		(void)fclose(f);
		end = strrchr(line, ')');
		state = end ? end[2] : 0;
	}
	(void)!write(*(int *)out, "x", 1);
	(void)!read(0, &c, 1);
	_exit(0);
}

static pid_t
other_thread(pid_t pid)
{
	char path[64];
	const struct dirent *e;
	pid_t tid = 0;
	DIR *d;

	(void)text_fmt(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (atoi(e->d_name) != pid && atoi(e->d_name) != 0)
			tid = atoi(e->d_name);
	(void)closedir(d);
	return tid;
}

static void
a_process_whose_first_thread_ended_is_found(void **state)
{
	static int told;
	struct evidence about;
	struct fault f = { 0 };
	int out[2];
	int in[2];
	int s[2];
	pid_t pid;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s),
	    0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t t;

		(void)dup2(in[0], 0);
		(void)close(in[1]);
		told = out[1];
		if (pthread_create(&t, NULL, outlive, &told) != 0)
			_exit(1);
		(void)syscall(SYS_exit, 0); /* this thread's end alone */
	}
	await(out[0]);
	(void)close(out[1]);
	look_for(s[0]);
	assert_int_equal(found_n, 1);
	assert_true(holds(pid, self));
	forget();
	assert_int_equal(evidence_take(&eyes, other_thread(pid), &about, &f),
	    0);
	assert_int_equal(about.pid, pid);
	assert_string_equal(about.program.path, self);
	evidence_release(&about);
	(void)close(in[1]);
	(void)close(in[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(s[0]);
	(void)close(s[1]);
}

static void
lookups_are_counted(void **state)
{
	struct fault f = { 0 };

	(void)state;
	for (int i = 0; i < EVIDENCE_LOOKUPS; i++)
		assert_non_null(lookup_start(&lookups, 1, looked_up, NULL, &f));
	assert_null(lookup_start(&lookups, 1, looked_up, NULL, &f));
	assert_int_equal(f.code, FAULT_BUSY);
	while (lookups.n > 0)
		tick();
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_holders_of_a_socket_are_found),
		cmocka_unit_test(a_child_before_its_exec_does_not_count),
		cmocka_unit_test(a_thread_with_descriptors_of_its_own_is_found),
		cmocka_unit_test(the_last_of_many_descriptors_is_found),
		cmocka_unit_test(a_process_whose_first_thread_ended_is_found),
		cmocka_unit_test(lookups_are_counted),
	};
	int status = copies_main(argc, argv);

	if (status >= 0)
		return status;
	return cmocka_run_group_tests(tests, setup, teardown);
}
