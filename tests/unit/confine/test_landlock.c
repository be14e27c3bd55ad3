/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths in a jail. Where the kernel has no Landlock, the same children show
 * that the jail still stands and says so.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "child.h"
#include "confine/confine.h"

enum {
	NO_JAIL = 99
};

struct world {
	char dir[64];
	struct confine_program *jail;
	bool is_guarded;
	char in[96];  /* file in the readable folder */
	char out[96]; /* file outside of it */
	char store[96];
};

static struct fault fault;

static int
start(void **state)
{
	static struct world w;
	struct confine_path paths[] = {
		{ w.in, CONFINE_READ },
		{ w.store, CONFINE_READ | CONFINE_WRITE | CONFINE_MAKE },
		{ "/nonexistent", CONFINE_READ | CONFINE_OPTIONAL },
	};

	*state = &w;
	(void)snprintf(w.dir, sizeof(w.dir), "/tmp/nacre-confine-XXXXXX");
	if (!mkdtemp(w.dir))
		return -1;
	(void)snprintf(w.in, sizeof(w.in), "%s/in", w.dir);
	(void)snprintf(w.out, sizeof(w.out), "%s/out", w.dir);
	(void)snprintf(w.store, sizeof(w.store), "%s/store", w.dir);
	if (file_write_atomic(AT_FDCWD, w.in, SPAN_LIT("in"), 0600, &fault) ||
	    file_write_atomic(AT_FDCWD, w.out, SPAN_LIT("out"), 0600, &fault) ||
	    dir_make(w.store, 0700, &fault) != 0)
		return -1;
	w.jail = confine_importer(paths, NELEM(paths), &fault);
	if (!w.jail)
		return -1;
	w.is_guarded = confine_program_abi(w.jail) > 0;
	return 0;
}

static int
end(void **state)
{
	struct world *w = *state;
	char made[128];

	confine_program_free(w->jail);
	(void)snprintf(made, sizeof(made), "%s/made", w->store);
	(void)unlink(made);
	(void)unlink(w->in);
	(void)unlink(w->out);
	(void)rmdir(w->store);
	return rmdir(w->dir);
}

/* 0, the errno of the open, or NO_JAIL. */
static int
open_inside(const struct world *w, const char *path, int flags)
{
	const char *step;

	if (confine_apply(w->jail, &step) != 0)
		return NO_JAIL;
	return open(path, flags | O_CLOEXEC, 0600) < 0 ? errno : 0;
}

static int
read_inside(void *arg)
{
	const struct world *w = arg;

	return open_inside(w, w->in, O_RDONLY);
}

static int
write_inside(void *arg)
{
	const struct world *w = arg;

	return open_inside(w, w->in, O_WRONLY);
}

static int
read_outside(void *arg)
{
	const struct world *w = arg;

	return open_inside(w, w->out, O_RDONLY);
}

static int
make_in_store(void *arg)
{
	const struct world *w = arg;
	char made[128];

	(void)snprintf(made, sizeof(made), "%s/made", w->store);
	return open_inside(w, made, O_RDWR | O_CREAT | O_EXCL);
}

static void
only_what_is_listed_opens(void **state)
{
	struct world *w = *state;
	int refused = w->is_guarded ? EACCES : 0;

	assert_int_equal(in_child(read_inside, w), 0);
	assert_int_equal(in_child(write_inside, w), refused);
	assert_int_equal(in_child(read_outside, w), refused);
	assert_int_equal(in_child(make_in_store, w), 0);
}

static void
the_level_in_force_is_told(void **state)
{
	struct world *w = *state;
	int abi = confine_landlock_abi();

	assert_true(abi >= 0);
	assert_true(confine_program_abi(w->jail) <= abi);
	assert_int_equal(confine_program_abi(w->jail) > 0, abi > 0);
}

static void
a_path_that_is_not_there_is_a_fault(void **state)
{
	const struct confine_path paths[] = { { "/nonexistent",
	    CONFINE_READ } };

	(void)state;
	assert_null(confine_vmm(paths, NELEM(paths), &fault));
	assert_int_equal(fault.code, FAULT_SYSTEM);
	assert_int_equal(fault.sys, ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_is_listed_opens,
		    start, end),
		cmocka_unit_test_setup_teardown(the_level_in_force_is_told,
		    start, end),
		cmocka_unit_test(a_path_that_is_not_there_is_a_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
