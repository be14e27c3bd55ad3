/* SPDX-License-Identifier: Apache-2.0 */
/* A copy into the sandbox, and the file that it has open. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "joined.h"

static void
begin(void)
{
	nacre_session_v1_Put q = nacre_session_v1_Put_init_zero;
	char path[] = "/tmp/a";
	struct fault f = { 0 };

	q.path = path;
	assert_int_equal(put_open(sv, "p", &q, &f), 0);
}

static void
answer_file(struct asked *a, uint64_t tag, int error)
{
	nacre_sandbox_v1_FileReply r = nacre_sandbox_v1_FileReply_init_zero;

	r.tag = tag;
	r.error = error;
	answer(a, nacre_sandbox_v1_FileReply_fields, &r);
}

static void
send_entry(void)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct fault f = { 0 };
	struct buf b;

	d.which_kind = nacre_session_v1_AttachDown_entry_tag;
	d.kind.entry.kind = nacre_session_v1_EntryKind_ENTRY_FILE;
	d.kind.entry.mode = 0644;
	buf_init(&b, LIMIT_MESSAGE);
	assert_int_equal(WIRE_ENCODE(nacre_session_v1_AttachDown, &d, &b, &f),
	    0);
	assert_int_equal(rpc_send(attached, buf_span(&b), &f), 0);
	buf_release(&b);
}

/* Is some descriptor of this process that file? */
static bool
is_open(const struct stat *file)
{
	DIR *d = opendir("/proc/self/fd");
	const struct dirent *e;
	bool is = false;

	assert_non_null(d);
	while ((e = readdir(d))) {
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
		    st.st_dev == file->st_dev && st.st_ino == file->st_ino)
			is = true;
	}
	(void)closedir(d);
	return is;
}

static void
its_end_closes_its_file(void **state)
{
	char name[] = "/tmp/nacre-put.XXXXXX";
	struct fault why = { .code = FAULT_NOT_READY };
	struct asked *last;
	struct stat st;
	int fd = mkostemp(name, O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0 && unlink(name) == 0 && fstat(fd, &st) == 0);
	begin();
	answer_file(expect_asked(1, "File"), 0, ENOENT);
	while (!attached)
		tick();
	send_entry();
	last = expect_asked(2, "File");
	pass(3, &fd, 1);
	fd_close(&fd);
	assert_false(is_open(&st));
	answer_file(last, 3, 0);
	while (!is_open(&st))
		tick();
	attach_copies_end(sv, &why);
	assert_false(is_open(&st));
	/* It is told, so that the gateway ends the call. */
	while (sv->files)
		tick();
	assert_null(sv->copies);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(its_end_closes_its_file, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
