/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started: helpers, template jobs, keepers' arguments. */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

static char folder[] = "/tmp/nacre-unit.XXXXXX";
static char script[64];

static int
start(void **state)
{
	(void)state;
	(void)memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
	if (!mkdtemp(folder))
		return -1;
	return text_fmt(script, sizeof(script), "%s/keeper", folder) ? 0 : -1;
}

static int
end(void **state)
{
	(void)state;
	(void)unlink(script);
	return rmdir(folder);
}

static void
write_script(const char *body)
{
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	(void)fprintf(f, "#!/bin/sh\n%s\n", body);
	(void)fclose(f);
	assert_int_equal(chmod(script, 0700), 0);
}

static int
run(const char *body, int64_t timeout_ms, struct buf *out, struct fault *f)
{
	char *argv[] = { script, NULL };

	write_script(body);
	*f = (struct fault){ 0 };
	return machine_run(argv, -1, out, timeout_ms, f);
}

static void
test_run(void **state)
{
	struct buf out;
	struct fault f;
	char missing[] = "/nonexistent/program";
	char *argv[] = { missing, NULL };

	(void)state;
	buf_init(&out, 4096);
	assert_int_equal(
	    run("echo said; env; ls /proc/self/fd | wc -l", 10000, &out, &f),
	    0);
	assert_int_equal(buf_add(&out, "", 1, &f), 0);
	/* Nothing of our environment, and no descriptor but three and ls's. */
	assert_null(strstr((char *)buf_ptr(&out), "HOME="));
	assert_non_null(strstr((char *)buf_ptr(&out), "said\n"));
	assert_non_null(strstr((char *)buf_ptr(&out), "\n4\n"));
	assert_int_equal(run("echo sorry >&2; exit 3", 10000, NULL, &f), -1);
	assert_non_null(strstr(f.text, "sorry"));
	assert_int_equal(run("kill -9 $$", 10000, NULL, &f), -1);
	assert_non_null(strstr(f.text, "signal 9"));
	assert_int_equal(run("exec cat /dev/zero", 10000, NULL, &f), -1);
	f = (struct fault){ 0 };
	assert_int_equal(machine_run(argv, -1, NULL, 1000, &f), -1);
	assert_int_equal(f.sys, 2);
	buf_release(&out);
}

static void
test_run_takes_too_long(void **state)
{
	struct fault f;

	(void)state;
	assert_int_equal(run("exec sleep 1000", 50, NULL, &f), -1);
	assert_int_equal(f.code, FAULT_TIMEOUT);
}

struct job {
	struct machine_job job;
	int done;
	struct fault f;
	bool has_template;
};

static void
job_done(struct machine_job *j, struct machine_template *t,
    const struct fault *f)
{
	struct job *mine = CONTAINER_OF(j, struct job, job);

	mine->done++;
	mine->f = *f;
	mine->has_template = t != NULL;
	if (t)
		machine_template_release(t);
}

static struct machine_paths
paths(void)
{
	return (struct machine_paths){ .keeper = script,
		.kernel = "/k",
		.initramfs = "/i",
		.guest = "/g",
		.cache = "/c" };
}

static void
job_run(struct job *j, const char *body)
{
	const struct machine_shape shape = { 128, 1, MACHINE_TCG };
	const struct machine_paths p = paths();
	struct fault f = { 0 };
	struct loop *l = loop_new(&f);

	write_script(body);
	*j = (struct job){ .job.done = job_done };
	assert_non_null(l);
	assert_int_equal(machine_template_get(l, &j->job, &p, &shape, &f), 0);
	assert_true(machine_job_runs(&j->job));
	while (!j->done)
		assert_int_equal(loop_tick(l, 1000, &f), 0);
	assert_false(machine_job_runs(&j->job));
	loop_free(l);
}

static void
test_jobs_that_fail(void **state)
{
	/* The answer's descriptor is the last argument. */
	static const char last[] = "for a; do :; done; ";
	static const struct {
		const char *body;
		const char *says;
	} rows[] = {
		{ "exit 0", "without a word" },
		{ "exit 1", "without a word" },
		{ "kill -9 $$", "without a word" },
		{ "printf 'no qemu' >&$a; exit 1", "no qemu" },
		{ "echo '{}' >&$a", "strange answer" },
		{ "echo garbage >&$a", "" },
		{ "yes >&$a & sleep 0.2; kill $!; exit 1", "" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct job j;
		char body[256];

		assert_true(
		    text_fmt(body, sizeof(body), "%s%s", last, rows[i].body));
		job_run(&j, body);
		assert_int_equal(j.done, 1);
		assert_false(j.has_template);
		assert_int_not_equal(j.f.code, FAULT_NONE);
		assert_non_null(strstr(j.f.text, rows[i].says));
	}
}

static void
test_job_is_cancelled(void **state)
{
	const struct machine_shape shape = { 128, 1, MACHINE_TCG };
	const struct machine_paths p = paths();
	struct job j = { .job.done = job_done };
	struct fault f = { 0 };
	struct loop *l = loop_new(&f);
	pid_t pid;

	(void)state;
	write_script("exec sleep 1000");
	assert_int_equal(machine_template_get(l, &j.job, &p, &shape, &f), 0);
	pid = j.job.child.pid;
	machine_job_cancel(&j.job);
	machine_job_cancel(&j.job);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(j.done, 0);
	loop_free(l);
}

/* A keeper gets what machine_args_parse() reads back. */
static void
test_keeper_arguments(void **state)
{
	struct machine_template t;
	struct machine_keeper k = { .program = script,
		.dir = "/run dir",
		.id = "box-1.2",
		.read_dir = "/images",
		.disk_dir = "/disks",
		.template = &t };
	struct machine_args a;
	struct fault f = { 0 };
	char text[4096];
	char *argv[64];
	int argc = 0;
	int link = -1;
	int status;
	pid_t pid;
	size_t got;

	(void)state;
	/* The script sends its arguments over the link it was given. */
	write_script("for a; do [ \"$p\" = --link-fd ] && l=$a; p=$a; done\n"
		     "printf '%s\\n' \"$@\" >&$l");
	machine_template_init(&t);
	t.shape = (struct machine_shape){ 256, 2, MACHINE_TCG };
	t.tsc_khz = 1234;
	(void)text_copy(t.key, sizeof(t.key), SPAN_LIT("abc"));
	(void)text_copy(t.vmm_path, sizeof(t.vmm_path), SPAN_LIT("/vmm"));
	(void)text_copy(t.vmm_version, sizeof(t.vmm_version), SPAN_LIT("7.2"));
	t.memory_fd = open("/dev/null", O_RDONLY);
	t.state_fd = open("/dev/null", O_RDONLY);
	assert_int_equal(machine_keeper_spawn(&k, &pid, &link, &f), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	got = (size_t)read(link, text, sizeof(text) - 1);
	text[got] = '\0';
	for (char *at = text; *at && argc < 64; at = strchr(at, '\n') + 1)
		argv[argc++] = at;
	for (int i = 0; i < argc; i++)
		*strchr(argv[i], '\n') = '\0';
	assert_string_equal(argv[0], "run");
	/* The link's number is the keeper's; here it stands for any. */
	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--link-fd") == 0)
			(void)snprintf(argv[i + 1], 3, "%d", link);
	assert_int_equal(machine_args_parse(argc - 1, argv + 1, &a, &f), 0);
	assert_string_equal(a.dir, "/run dir");
	assert_string_equal(a.id, "box-1.2");
	assert_string_equal(a.read_dir, "/images");
	assert_string_equal(a.disk_dir, "/disks");
	assert_string_equal(a.key, "abc");
	assert_string_equal(a.paths.vmm, "/vmm");
	assert_int_equal(a.shape.memory_mib, 256);
	assert_int_equal(a.shape.vcpus, 2);
	assert_int_equal(a.shape.accel, MACHINE_TCG);
	assert_int_equal(a.tsc_khz, 1234);
	assert_int_equal(a.memory_fd, t.memory_fd);
	assert_int_equal(a.state_fd, t.state_fd);
	assert_int_equal(a.kernel_fd, -1);
	assert_false(a.cold || a.no_park || a.json);
	machine_template_release(&t);
	(void)close(link);
}

static void
test_keepers_that_cannot_be(void **state)
{
	static const char *const ids[] = { "", ".", "..", "a/b", "a b", ".x",
		"0123456789012345678901234567890123456" };
	struct machine_template t;
	struct machine_keeper k = { .program = "/nonexistent",
		.dir = "/d",
		.id = "x",
		.template = &t };
	struct fault f = { 0 };
	pid_t pid;
	int link = -1;

	(void)state;
	machine_template_init(&t);
	assert_int_equal(machine_keeper_spawn(&k, &pid, &link, &f), -1);
	assert_int_equal(f.code, FAULT_NOT_READY);
	t.memory_fd = open("/dev/null", O_RDONLY);
	for (size_t i = 0; i < NELEM(ids); i++) {
		f = (struct fault){ 0 };
		k.id = ids[i];
		assert_int_equal(machine_keeper_spawn(&k, &pid, &link, &f), -1);
		assert_string_equal(f.field, "id");
	}
	f = (struct fault){ 0 };
	k.id = "x";
	assert_int_equal(machine_keeper_spawn(&k, &pid, &link, &f), -1);
	assert_int_equal(f.sys, 2);
	machine_template_release(&t);
}

static void
test_bad_arguments(void **state)
{
	static char words[][24] = { "--memory", "x", "--link-fd", "900",
		"--link-fd", "1", "--accelerator", "fast", "--dir", "--wat",
		"--memory", "-1" };
	static const struct {
		int from;
		int n;
		const char *field;
	} rows[] = { { 0, 2, "--memory" }, { 2, 2, "--link-fd" },
		{ 4, 2, "--link-fd" }, { 6, 2, "--accelerator" },
		{ 8, 1, "--dir" }, { 9, 1, "" }, { 10, 2, "--memory" } };
	struct machine_args a;

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		char *argv[] = { words[rows[i].from], words[rows[i].from + 1] };
		struct fault f = { 0 };

		assert_int_equal(machine_args_parse(rows[i].n, argv, &a, &f),
		    -1);
		assert_int_equal(f.code, FAULT_INVALID);
		assert_string_equal(f.field, rows[i].field);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_run, start, end),
		cmocka_unit_test_setup_teardown(test_run_takes_too_long, start,
		    end),
		cmocka_unit_test_setup_teardown(test_jobs_that_fail, start,
		    end),
		cmocka_unit_test_setup_teardown(test_job_is_cancelled, start,
		    end),
		cmocka_unit_test_setup_teardown(test_keeper_arguments, start,
		    end),
		cmocka_unit_test_setup_teardown(test_keepers_that_cannot_be,
		    start, end),
		cmocka_unit_test_setup_teardown(test_bad_arguments, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
