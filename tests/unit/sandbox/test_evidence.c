/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence about real processes: copies of this very program, run from files
 * that are whole, deleted, hidden behind another name or never had one; who
 * their ancestors are.
 */
#include <sys/mman.h>
#include <sys/prctl.h>

#include <sched.h>
#include <signal.h>

#include "copies.h"

static struct hasher hasher;
static uint8_t self_digest[DIGEST_SIZE];

static void
digest_file(const char *path, uint8_t out[DIGEST_SIZE])
{
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 256 << 20);
	assert_int_equal(file_read(AT_FDCWD, path, &b, &f), 0);
	digest_of(buf_span(&b), out);
	buf_release(&b);
}

static int
setup(void **state)
{
	(void)state;
	copies_open();
	hasher_init(&hasher, loop);
	digest_file(self, self_digest);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	hasher_release(&hasher);
	copies_close();
	return 0;
}

static void
hashed(struct hash_job *j)
{
	(void)j;
	is_done = true;
}

static struct evidence
take_at_once(pid_t pid)
{
	struct fault f = { 0 };
	struct evidence e;

	if (evidence_take(&eyes, pid, &e, &f) != 0)
		fail_msg("%s", f.text);
	assert_int_equal(e.pid, pid);
	assert_true(e.start_ticks > 0);
	return e;
}

/* As the broker does. */
static struct evidence
take(pid_t pid)
{
	struct evidence e = take_at_once(pid);

	while (!e.is_settled) {
		evidence_release(&e);
		e = take_at_once(pid);
	}
	return e;
}

static void
hash(struct evidence *e)
{
	struct hash_job j = { .of = e, .done = hashed };

	is_done = hasher_add(&hasher, &j);
	while (!is_done)
		tick();
	assert_int_equal(e->file, -1);
}

static void
a_program_is_named_and_hashed(void **state)
{
	char path[128];
	struct copy c;
	struct evidence e;

	(void)state;
	copy_self("plain", path);
	c = run(path, -1);
	e = take(c.pid);
	assert_string_equal(e.program.path, path);
	assert_int_equal(e.program.state, PROGRAM_FILE);
	assert_false(e.program.in_image);
	hash(&e);
	assert_int_equal(e.program.state, PROGRAM_FILE);
	assert_true(e.program.has_digest);
	assert_memory_equal(e.program.digest, self_digest, DIGEST_SIZE);
	/* Its parent is this process, and not an ancestor any more. */
	assert_int_equal(e.ancestors_n, 0);
	assert_false(e.is_cut);
	evidence_release(&e);
	stop(&c);
	assert_int_equal(unlink(path), 0);
}

/* From the look at what ran until its bytes are hashed, also when it ended. */
static void
nobody_writes_to_it_until_it_is_hashed(void **state)
{
	char path[128];
	struct copy c;
	struct evidence e;
	struct hash_job j = { .of = &e, .done = hashed };
	int fd;

	(void)state;
	copy_self("written", path);
	c = run(path, -1);
	e = take(c.pid);
	/* What runs cannot be written to. */
	assert_int_equal(open(path, O_WRONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, ETXTBSY);
	stop(&c);
	assert_int_equal(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1);
	assert_int_equal(errno, EWOULDBLOCK);
	evidence_release(&e);
	c = run(path, -1);
	e = take(c.pid);
	stop(&c);
	assert_false(hasher_add(&hasher, &j));
	is_done = false;
	while (!is_done)
		tick();
	assert_int_equal(e.program.state, PROGRAM_FILE);
	assert_memory_equal(e.program.digest, self_digest, DIGEST_SIZE);
	evidence_release(&e);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
}

/* Who waits to write gets its turn, and there is no digest. */
static void
what_somebody_waits_to_write_to_has_changed(void **state)
{
	char path[128];
	struct copy c;
	struct evidence e;
	pid_t writer;
	int status;

	(void)state;
	copy_self("awaited", path);
	c = run(path, -1);
	e = take(c.pid);
	stop(&c);
	writer = fork();
	if (writer == 0)
		_exit(open(path, O_WRONLY | O_CLOEXEC) < 0);
	while (fcntl(e.file, F_GETLEASE) == F_RDLCK)
		(void)sched_yield();
	hash(&e);
	assert_int_equal(e.program.state, PROGRAM_CHANGED);
	assert_false(e.program.has_digest);
	evidence_release(&e);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	assert_int_equal(unlink(path), 0);
}

static void
what_changes_while_it_is_hashed_has_changed(void **state)
{
	char path[128];
	struct copy c;
	struct evidence e;
	struct hash_job j = { .of = &e, .done = hashed };

	(void)state;
	copy_self("changed", path);
	c = run(path, -1);
	e = take(c.pid);
	stop(&c);
	assert_false(hasher_add(&hasher, &j));
	tick();
	assert_int_equal(chmod(path, 0700), 0);
	is_done = false;
	while (!is_done)
		tick();
	assert_int_equal(e.program.state, PROGRAM_CHANGED);
	assert_false(e.program.has_digest);
	evidence_release(&e);
	assert_int_equal(unlink(path), 0);
}

/* Its time of change does not tell yet what is written to it in the same tick:
 * the broker looks again. */
static void
what_changed_in_this_tick_is_not_hashed(void **state)
{
	char path[128];
	struct copy c;
	struct evidence e;

	(void)state;
	copy_of(CAT, "cat", path);
	c = run(path, -1);
	do { /* a tick may pass between the two */
		assert_int_equal(chmod(path, 0755), 0);
		e = take_at_once(c.pid);
		assert_int_equal(e.file >= 0, e.is_settled);
		evidence_let_go(&e);
		if (e.is_settled)
			evidence_release(&e);
	} while (e.is_settled);
	hash(&e);
	assert_int_equal(e.program.state, PROGRAM_CHANGED);
	assert_false(e.program.has_digest);
	evidence_release(&e);
	stop(&c);
	assert_int_equal(unlink(path), 0);
}

static void
a_file_is_hashed_once(void **state)
{
	struct copy c = run(CAT, -1);
	struct evidence e = take(c.pid);
	uint64_t uses = hasher.uses;
	struct hash_job j = { .done = hashed };
	uint8_t want[DIGEST_SIZE];

	(void)state;
	digest_file(CAT, want);
	hash(&e);
	assert_memory_equal(e.program.digest, want, DIGEST_SIZE);
	evidence_release(&e);
	assert_true(hasher.uses > uses);
	e = take(c.pid);
	j.of = &e;
	assert_true(hasher_add(&hasher, &j));
	assert_true(e.program.has_digest);
	assert_memory_equal(e.program.digest, want, DIGEST_SIZE);
	evidence_release(&e);
	stop(&c);
}

static void
jobs_wait_for_each_other_and_may_leave(void **state)
{
	struct evidence e[3];
	struct hash_job j[3];
	struct copy c[3];
	char path[3][128];

	(void)state;
	for (size_t i = 0; i < NELEM(c); i++) {
		static const char *const names[] = { "a", "b", "c" };

		copy_self(names[i], path[i]);
		c[i] = run(path[i], -1);
		e[i] = take(c[i].pid);
		j[i] = (struct hash_job){ .of = &e[i], .done = hashed };
		assert_false(hasher_add(&hasher, &j[i]));
	}
	tick();
	hasher_drop(&hasher, &j[0]);
	hasher_drop(&hasher, &j[1]);
	is_done = false;
	while (!is_done)
		tick();
	assert_true(e[2].program.has_digest);
	assert_memory_equal(e[2].program.digest, self_digest, DIGEST_SIZE);
	assert_false(e[0].program.has_digest);
	for (size_t i = 0; i < NELEM(c); i++) {
		evidence_release(&e[i]);
		stop(&c[i]);
		assert_int_equal(unlink(path[i]), 0);
	}
}

static void
programs_without_a_name_say_so(void **state)
{
	char path[128];
	char other[128];
	struct fault f = { 0 };
	struct evidence e;
	struct copy c;
	struct buf b;
	int fd;

	(void)state;
	copy_self("gone", path);
	c = run(path, -1);
	assert_int_equal(unlink(path), 0);
	e = take(c.pid);
	assert_int_equal(e.program.state, PROGRAM_DELETED);
	assert_string_equal(e.program.path, path);
	assert_int_equal(e.file, -1);
	evidence_release(&e);
	/* Another file of that name does not help it. */
	copy_self("gone", path);
	e = take(c.pid);
	assert_int_equal(e.program.state, PROGRAM_DELETED);
	evidence_release(&e);
	stop(&c);
	/* A name that only looks deleted is a name. */
	(void)text_fmt(other, sizeof(other), "%s (deleted)", path);
	assert_int_equal(rename(path, other), 0);
	c = run(other, -1);
	e = take(c.pid);
	assert_int_equal(e.program.state, PROGRAM_FILE);
	assert_string_equal(e.program.path, other);
	evidence_release(&e);
	stop(&c);
	assert_int_equal(unlink(other), 0);
	buf_init(&b, 256 << 20);
	assert_int_equal(file_read(AT_FDCWD, self, &b, &f), 0);
	fd = memfd_create("/usr/bin/python3", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, buf_ptr(&b), b.len, &f), 0);
	buf_release(&b);
	c = run("/usr/bin/python3", fd);
	(void)close(fd);
	e = take(c.pid);
	assert_int_equal(e.program.state, PROGRAM_MEMFD);
	assert_string_equal(e.program.path, "/memfd:/usr/bin/python3");
	evidence_release(&e);
	stop(&c);
}

static void
a_process_that_ended_leaves_no_evidence(void **state)
{
	struct copy c = run(self, -1);
	struct fault f = { 0 };
	struct evidence e;

	(void)state;
	assert_int_equal(kill(c.pid, SIGKILL), 0);
	(void)close(c.to);
	assert_int_equal(waitpid(c.pid, NULL, 0), c.pid);
	assert_int_equal(evidence_take(&eyes, c.pid, &e, &f), -1);
	evidence_release(&e);
}

/* Fork until there are `deep` of us; the last one says so and waits. */
static void
go_down(int deep, int out, int in)
{
	char c = 'x';
	pid_t pid;

	while (deep-- > 1) {
		pid = fork();
		if (pid != 0) {
			(void)waitpid(pid, NULL, 0);
			_exit(0);
		}
	}
	(void)prctl(PR_SET_NAME, "a) 1 (b");
	pid = getpid();
	(void)!write(out, &pid, sizeof(pid));
	(void)!read(in, &c, 1);
	_exit(0);
}

static struct evidence
take_at(int deep, const char *want_path)
{
	int in[2];
	int out[2];
	pid_t first;
	pid_t last = 0;
	struct evidence e;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	first = fork();
	assert_true(first >= 0);
	if (first == 0) {
		(void)close(in[1]);
		go_down(deep, out[1], in[0]);
	}
	assert_int_equal(read(out[0], &last, sizeof(last)), sizeof(last));
	e = take(last);
	assert_string_equal(e.program.path, want_path);
	(void)close(in[1]);
	(void)close(in[0]);
	(void)close(out[0]);
	(void)close(out[1]);
	assert_int_equal(waitpid(first, NULL, 0), first);
	return e;
}

static void
ancestors_are_named_nearest_first_and_64_at_most(void **state)
{
	struct evidence e = take_at(4, self);

	(void)state;
	assert_int_equal(e.ancestors_n, 3);
	assert_false(e.is_cut);
	for (size_t i = 0; i < e.ancestors_n; i++)
		assert_string_equal(e.ancestors[i].path, self);
	assert_true(e.ancestors[0].pid > e.ancestors[1].pid);
	evidence_release(&e);
	e = take_at(65, self);
	assert_int_equal(e.ancestors_n, EVIDENCE_ANCESTORS);
	assert_false(e.is_cut);
	evidence_release(&e);
	e = take_at(67, self);
	assert_int_equal(e.ancestors_n, EVIDENCE_ANCESTORS);
	assert_true(e.is_cut);
	evidence_release(&e);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_named_and_hashed),
		cmocka_unit_test(nobody_writes_to_it_until_it_is_hashed),
		cmocka_unit_test(what_somebody_waits_to_write_to_has_changed),
		cmocka_unit_test(what_changes_while_it_is_hashed_has_changed),
		cmocka_unit_test(what_changed_in_this_tick_is_not_hashed),
		cmocka_unit_test(a_file_is_hashed_once),
		cmocka_unit_test(jobs_wait_for_each_other_and_may_leave),
		cmocka_unit_test(programs_without_a_name_say_so),
		cmocka_unit_test(a_process_that_ended_leaves_no_evidence),
		cmocka_unit_test(
		    ancestors_are_named_nearest_first_and_64_at_most),
	};
	int status = copies_main(argc, argv);

	if (status >= 0)
		return status;
	return cmocka_run_group_tests(tests, setup, teardown);
}
