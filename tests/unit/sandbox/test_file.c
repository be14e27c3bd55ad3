/* SPDX-License-Identifier: Apache-2.0 */
/* Acts on files below a root: nothing leads out of it. */

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "sandbox/inner.h"

#define VERB(word) nacre_sandbox_v1_FileVerb_FILE_##word

static char folder[] = "/tmp/nacre-file.XXXXXX";
static int root = -1;
static int outside = -1; /* its parent's folder beside it */
static struct arena arena;
static struct arena asked; /* of what is asked */
static nacre_sandbox_v1_FileReply reply;
static int fd = -1;

static int
act(nacre_sandbox_v1_FileVerb verb, const char *path)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;

	arena_release(&arena);
	memset(&reply, 0, sizeof(reply));
	fd_close(&fd);
	q.verb = verb;
	q.path = wire_bytes(&arena, span_str(path));
	q.mode = 0640;
	q.link = wire_bytes(&arena, SPAN_LIT("target"));
	q.mtime_ms = 1577934245123;
	return file_act(root, &q, &reply, &fd, &arena);
}

static void
write_file(const char *path, const char *text)
{
	struct fault f = { 0 };
	with_fd file = openat(root, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(file >= 0);
	assert_int_equal(fd_write_all(file, text, strlen(text), &f), 0);
}

static void
says(const char *text)
{
	char got[64];
	ssize_t n = read(fd, got, sizeof(got));

	assert_int_equal(n, strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static int
setup(void **state)
{
	char path[64];

	(void)state;
	arena_init(&arena, SANDBOX_ARENA);
	arena_init(&asked, 1 << 20);
	if (!mkdtemp(folder))
		return -1;
	outside = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)mkdirat(outside, "root", 0755);
	root = openat(outside, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)text_fmt(path, sizeof(path), "%s/secret", folder);
	write_file("../secret", "secret");
	write_file("plain", "plain");
	(void)mkdirat(root, "d", 0755);
	write_file("d/inner", "inner");
	(void)symlinkat("/../../secret", root, "up");
	(void)symlinkat(path, root, "absolute");
	(void)symlinkat("d/inner", root, "in");
	(void)symlinkat("/d", root, "folder");
	(void)symlinkat("loop", root, "loop");
	(void)mkfifoat(root, "pipe", 0644);
	return 0;
}

static int
teardown(void **state)
{
	char line[128];

	(void)state;
	fd_close(&fd);
	fd_close(&root);
	fd_close(&outside);
	arena_release(&arena);
	/* The folder is small and ours. */
	(void)text_fmt(line, sizeof(line), "%s", folder);
	if (fork() == 0) {
		(void)execlp("rm", "rm", "-rf", line, (char *)NULL);
		_exit(1);
	}
	return 0;
}

static void
plain_files_open(void **state)
{
	(void)state;
	assert_int_equal(act(VERB(OPEN), "/plain"), 0);
	says("plain");
	assert_int_equal(reply.node.size, 5);
	assert_int_equal(act(VERB(OPEN), "/in"), 0);
	says("inner");
	assert_int_equal(act(VERB(OPEN), "/folder/inner"), 0);
	says("inner");
	assert_int_equal(act(VERB(OPEN), "/d/../plain"), 0);
	says("plain");
}

static void
no_path_leads_out(void **state)
{
	static const char *const paths[] = { "/../secret", "/../../secret",
		"/up", "/absolute", "/d/../../secret", "/nosuch" };

	(void)state;
	for (size_t i = 0; i < NELEM(paths); i++)
		assert_int_equal(act(VERB(OPEN), paths[i]), ENOENT);
	assert_int_equal(act(VERB(OPEN), "/loop"), ELOOP);
	assert_int_equal(act(VERB(OPEN), "plain"), EINVAL);
	assert_int_equal(act(VERB(OPEN), ""), EINVAL);
}

static void
only_plain_files_are_handed_over(void **state)
{
	(void)state;
	assert_int_equal(act(VERB(OPEN), "/d"), EISDIR);
	assert_int_equal(act(VERB(OPEN), "/pipe"), EOPNOTSUPP);
	assert_int_equal(act(VERB(CREATE), "/pipe"), ENXIO);
	assert_int_equal(act(VERB(CREATE), "/d"), EISDIR);
	assert_int_equal(fd, -1);
}

static void
creation_follows_no_last_link(void **state)
{
	static const char *const names[] = { "/up", "/absolute", "/in",
		"/loop" };

	(void)state;
	for (size_t i = 0; i < NELEM(names); i++)
		assert_int_equal(act(VERB(CREATE), names[i]), ELOOP);
	assert_int_equal(act(VERB(CREATE), "/new"), 0);
	assert_true(fd >= 0);
	assert_int_equal(reply.node.mode & 07777, 0640);
	assert_int_equal(act(VERB(CREATE), "/folder/new"), 0);
	assert_int_equal(faccessat(root, "d/new", F_OK, 0), 0);
	assert_int_equal(act(VERB(CREATE), "/nosuch/new"), ENOENT);
	assert_int_equal(act(VERB(CREATE), "/"), EINVAL);
	assert_int_equal(act(VERB(CREATE), "/d/.."), EINVAL);
}

static void
folders_and_links_are_made(void **state)
{
	char target[16];

	(void)state;
	assert_int_equal(act(VERB(FOLDER), "/made"), 0);
	assert_int_equal(act(VERB(FOLDER), "/made"), 0);
	assert_int_equal(act(VERB(FOLDER), "/plain"), ENOTDIR);
	assert_int_equal(act(VERB(FOLDER), "/folder"), ENOTDIR);
	assert_int_equal(act(VERB(LINK), "/made/link"), 0);
	assert_int_equal(act(VERB(LINK), "/made/link"), 0);
	assert_int_equal(readlinkat(root, "made/link", target, 16), 6);
	write_file("made/plain", "x");
	assert_int_equal(act(VERB(LINK), "/made/plain"), 0);
	assert_int_equal(readlinkat(root, "made/plain", target, 16), 6);
	assert_int_equal(act(VERB(LINK), "/d"), EEXIST);
	assert_int_equal(act(VERB(LINK), "/pipe"), EEXIST);
}

static void
finish_sets_mode_and_time_of_the_name(void **state)
{
	struct stat st;

	(void)state;
	write_file("late", "x");
	assert_int_equal(act(VERB(FINISH), "/late"), 0);
	assert_int_equal(fstatat(root, "late", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(st.st_mtim.tv_sec, 1577934245);
	assert_int_equal(act(VERB(FINISH), "/absolute"), 0);
	assert_int_equal(fstatat(outside, "secret", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
}

static void
a_list_names_what_is_there(void **state)
{
	bool has_link = false;

	(void)state;
	assert_int_equal(act(VERB(LIST), "/"), 0);
	for (size_t i = 0; i < reply.nodes_count; i++)
		if (span_is(wire_span(reply.nodes[i].name), "up")) {
			has_link = true;
			assert_true(S_ISLNK(reply.nodes[i].mode));
			assert_true(span_is(wire_span(reply.nodes[i].link),
			    "/../../secret"));
		}
	assert_true(has_link);
	assert_false(reply.more);
	assert_int_equal(act(VERB(LIST), "/plain"), ENOTDIR);
	assert_int_equal(act(VERB(LIST), "/.."), 0);
	for (size_t i = 0; i < reply.nodes_count; i++)
		assert_false(span_is(wire_span(reply.nodes[i].name), "secret"));
}

static void
a_long_list_comes_in_parts(void **state)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	static char path[] = "/many";
	unsigned seen = 0;

	(void)state;
	(void)mkdirat(root, "many", 0755);
	for (int i = 0; i < 600; i++) {
		char name[32];

		(void)text_fmt(name, sizeof(name), "many/%d", i);
		write_file(name, "");
	}
	q.verb = VERB(LIST);
	q.path = wire_bytes(&asked, span_str(path));
	do {
		arena_release(&arena);
		memset(&reply, 0, sizeof(reply));
		assert_int_equal(file_act(root, &q, &reply, &fd, &arena), 0);
		seen += (unsigned)reply.nodes_count;
		q.cursor = reply.cursor;
	} while (reply.more);
	assert_int_equal(seen, 600);
}

/* One that is removed between two parts makes no other come twice. */
static void
a_list_goes_on_where_it_was(void **state)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	static char path[] = "/shrinks";
	bool seen[600] = { false };

	(void)state;
	(void)mkdirat(root, "shrinks", 0755);
	for (size_t i = 0; i < NELEM(seen); i++) {
		char name[32];

		(void)text_fmt(name, sizeof(name), "shrinks/%zu", i);
		write_file(name, "");
	}
	q.verb = VERB(LIST);
	q.path = wire_bytes(&asked, span_str(path));
	do {
		arena_release(&arena);
		memset(&reply, 0, sizeof(reply));
		assert_int_equal(file_act(root, &q, &reply, &fd, &arena), 0);
		for (size_t i = 0; i < reply.nodes_count; i++) {
			char name[32];
			uint64_t n;

			assert_true(num_parse(wire_span(reply.nodes[i].name),
			    NELEM(seen) - 1, &n));
			assert_false(seen[n]);
			seen[n] = true;
			(void)text_fmt(name, sizeof(name), "shrinks/%u",
			    (unsigned)n);
			assert_int_equal(unlinkat(root, name, 0), 0);
		}
		q.cursor = reply.cursor;
	} while (reply.more);
	for (size_t i = 0; i < NELEM(seen); i++)
		assert_true(seen[i]);
}

static void
long_links_make_short_parts(void **state)
{
	nacre_sandbox_v1_FileRequest q = nacre_sandbox_v1_FileRequest_init_zero;
	static char path[] = "/links";
	static char target[4000];
	unsigned seen = 0;
	struct fault f = { 0 };
	struct buf b;

	(void)state;
	memset(target, 'x', sizeof(target) - 1);
	(void)mkdirat(root, "links", 0755);
	for (int i = 0; i < 300; i++) {
		char name[32];

		(void)text_fmt(name, sizeof(name), "links/%d", i);
		assert_int_equal(symlinkat(target, root, name), 0);
	}
	buf_init(&b, LIMIT_MESSAGE);
	q.verb = VERB(LIST);
	q.path = wire_bytes(&asked, span_str(path));
	do {
		arena_release(&arena);
		memset(&reply, 0, sizeof(reply));
		assert_int_equal(file_act(root, &q, &reply, &fd, &arena), 0);
		buf_clear(&b);
		assert_int_equal(
		    WIRE_ENCODE(nacre_sandbox_v1_FileReply, &reply, &b, &f), 0);
		assert_true(b.len < LIMIT_MESSAGE * 2 / 3);
		seen += (unsigned)reply.nodes_count;
		q.cursor = reply.cursor;
	} while (reply.more);
	assert_int_equal(seen, 300);
	buf_release(&b);
}

static void
the_kernels_own_files_are_refused(void **state)
{
	int kept = root;

	(void)state;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(act(VERB(OPEN), "/proc/self/environ"), EOPNOTSUPP);
	assert_int_equal(act(VERB(STAT), "/proc/version"), EOPNOTSUPP);
	assert_int_equal(act(VERB(LIST), "/proc"), EOPNOTSUPP);
	assert_int_equal(act(VERB(LIST), "/sys"), EOPNOTSUPP);
	assert_int_equal(act(VERB(OPEN), "/proc/self/root/etc/passwd"), ELOOP);
	assert_int_equal(act(VERB(OPEN), "/dev/null"), EOPNOTSUPP);
	fd_close(&root);
	root = kept;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_files_open),
		cmocka_unit_test(no_path_leads_out),
		cmocka_unit_test(only_plain_files_are_handed_over),
		cmocka_unit_test(creation_follows_no_last_link),
		cmocka_unit_test(folders_and_links_are_made),
		cmocka_unit_test(finish_sets_mode_and_time_of_the_name),
		cmocka_unit_test(a_list_names_what_is_there),
		cmocka_unit_test(a_long_list_comes_in_parts),
		cmocka_unit_test(a_list_goes_on_where_it_was),
		cmocka_unit_test(long_links_make_short_parts),
		cmocka_unit_test(the_kernels_own_files_are_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
