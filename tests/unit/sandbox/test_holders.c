/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a socket: by real processes that have it in every odd way. */
#include <sys/socket.h>

#include <dirent.h>
#include <pthread.h>
#include <sched.h>

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

/* A child of this very program, and a socket that both were born with. */
static struct {
	pid_t pid;
	int s[2];
	int out[2]; /* of the child: it is as it should be */
	int in[2];  /* it waits for its end */
} child;

static void
child_waits(void)
{
	char c;

	(void)!write(child.out[1], "x", 1);
	(void)!read(child.in[0], &c, 1);
	_exit(0);
}

static void
child_begin(void (*body)(void))
{
	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, child.s), 0);
	assert_int_equal(pipe2(child.out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(child.in, O_CLOEXEC), 0);
	child.pid = fork();
	if (child.pid == 0) {
		(void)close(child.in[1]);
		body();
		child_waits();
	}
	(void)close(child.out[1]);
	await(child.out[0]);
}

static void
child_end(void)
{
	(void)close(child.in[0]);
	(void)close(child.in[1]);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	(void)close(child.s[0]);
	(void)close(child.s[1]);
}

static void
child_is_found(void)
{
	look_for(child.s[0]);
	assert_int_equal(found_n, 1);
	assert_true(holds(child.pid, self));
	forget();
}

static void
nothing(void)
{
}

/* A child that has not come to its exec has what its parent had open. */
static void
a_child_before_its_exec_does_not_count(void **state)
{
	struct lookups all = lookups;
	struct fault f = { 0 };

	(void)state;
	child_begin(nothing);
	child_is_found();
	assert_int_equal(lookups_skip_own(&lookups, &f), 0);
	look_for(child.s[0]);
	assert_int_equal(found_n, 0);
	lookups.own_device = all.own_device;
	lookups.own_inode = all.own_inode;
	child_end();
}

static int hidden;

/* A thread with descriptors of its own: they are in no process's folder. */
static void *
hide(void *out)
{
	hidden = dup(child.s[0]);
	if (unshare(CLONE_FILES) != 0 || hidden < 0)
		_exit(1);
	(void)!write(*(int *)out, "x", 1);
	(void)pause();
	return NULL;
}

static void
hide_in_a_thread(void)
{
	int ends[2];
	pthread_t t;
	char c;

	if (pipe(ends) != 0 || pthread_create(&t, NULL, hide, &ends[1]) != 0 ||
	    read(ends[0], &c, 1) != 1)
		_exit(1);
	(void)close(child.s[0]);
	(void)close(hidden);
}

static void
a_thread_with_descriptors_of_its_own_is_found(void **state)
{
	(void)state;
	child_begin(hide_in_a_thread);
	child_is_found();
	child_end();
}

/* More than one read of the folder tells. */
static void
hold_behind_many(void)
{
	for (int i = 0; i < 200; i++)
		(void)!dup(child.in[0]);
	(void)!dup(child.s[0]);
	(void)close(child.s[0]);
}

static void
the_last_of_many_descriptors_is_found(void **state)
{
	(void)state;
	child_begin(hold_behind_many);
	child_is_found();
	child_end();
}

static void *
outlive(void *first)
{
	void *none;

	/* It has ended for the kernel then, and has no files. */
	if (pthread_join(*(pthread_t *)first, &none) != 0)
		_exit(1);
	child_waits();
	return NULL;
}

static void
end_the_first_thread(void)
{
	static pthread_t first;
	pthread_t t;

	first = pthread_self();
	if (pthread_create(&t, NULL, outlive, &first) != 0)
		_exit(1);
	pthread_exit(NULL);
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
	struct evidence e;
	struct fault f = { 0 };

	(void)state;
	child_begin(end_the_first_thread);
	child_is_found();
	assert_int_equal(evidence_take(&eyes, other_thread(child.pid), &e, &f),
	    0);
	assert_int_equal(e.pid, child.pid);
	assert_string_equal(e.program.path, self);
	evidence_release(&e);
	child_end();
}

static void *
rest(void *none)
{
	(void)pause();
	return none;
}

/* Threads share what is open, and each of them shows all of it. */
static void
hold_in_many_threads(void)
{
	pthread_attr_t small;
	pthread_t t;

	for (int i = 0; i < 900; i++)
		(void)!dup(child.in[0]);
	if (pthread_attr_init(&small) != 0 ||
	    pthread_attr_setstacksize(&small, 1 << 16) != 0)
		_exit(1);
	for (int i = 0; i < EVIDENCE_STEPS / 900 + 1; i++)
		if (pthread_create(&t, &small, rest, NULL) != 0)
			_exit(1);
	(void)close(child.s[0]);
	(void)close(child.s[1]);
}

static void
a_lookup_ends_where_there_are_too_many(void **state)
{
	struct fault f = { 0 };
	struct stat st;

	(void)state;
	child_begin(hold_in_many_threads);
	assert_int_equal(fstat(child.s[0], &st), 0);
	is_done = false;
	assert_non_null(lookup_start(&lookups, st.st_ino, looked_up, NULL, &f));
	while (!is_done)
		tick();
	assert_true(found_cut);
	forget();
	child_end();
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
		cmocka_unit_test(a_lookup_ends_where_there_are_too_many),
		cmocka_unit_test(lookups_are_counted),
	};
	int status = copies_main(argc, argv);

	if (status >= 0)
		return status;
	return cmocka_run_group_tests(tests, setup, teardown);
}
