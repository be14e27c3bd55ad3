/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Template mode: find a template or boot, save and seal one. The answer is
 * one JSON line: with its descriptors to --answer-fd, else alone to stdout.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "keeper/inner.h"

enum {
	LINE = 8192
};

static int
print(const struct machine_template *t, struct fault *f)
{
	struct buf b;
	int r;

	buf_init(&b, LINE);
	r = machine_template_format(t, &b, f);
	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, buf_ptr(&b), b.len, f);
	buf_release(&b);
	return r;
}

static int
work(const struct machine_args *a, struct fault *f)
{
	struct machine_template t;
	int r;

	if (!a->paths.cache || !a->paths.kernel || !a->paths.initramfs ||
	    !a->paths.guest)
		return fault_set(f, FAULT_INVALID,
		    "cache, kernel, initramfs and guest are needed");
	if (machine_template_make(&a->paths, &a->shape, &t, f) != 0)
		return -1;
	if (t.why_cold[0])
		log_error("no template: %s", t.why_cold);
	r = a->answer_fd >= 0 ? machine_template_send(&t, a->answer_fd, f)
			      : print(&t, f);
	machine_template_release(&t);
	return r;
}

int
keeper_template(const struct machine_args *a)
{
	struct fault f = { 0 };
	struct fault lost = { 0 };

	/* Of no use without who asked. */
	if (confine_harden() != 0 ||
	    (a->answer_fd >= 0 && confine_die_with_parent(getppid()) != 0)) {
		(void)fault_sys(&f, "cannot harden");
	} else if (work(a, &f) == 0) {
		return 0;
	}
	log_warn(&f, "cannot make a template");
	if (a->answer_fd >= 0 &&
	    fd_write_all(a->answer_fd, f.text, strlen(f.text), &lost) != 0)
		log_warn(&lost, "cannot say so");
	return f.code == FAULT_INVALID ? 2 : 1;
}
