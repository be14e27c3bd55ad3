/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One VM on a loop of its own whose port is read and written here, blocking:
 * what port.c and clone.c share. A failure ends the program.
 */
#ifndef TESTS_E2E_PORT_VM_H
#define TESTS_E2E_PORT_VM_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "machine/machine.h"

enum {
	LIMIT_MS = 180000,
};

struct vm {
	struct loop *loop;
	struct machine *machine;
	struct machine_op op;
	enum machine_phase phase;
	int port;
	char line[512];
};

static _Noreturn void
die(const char *what, const struct fault *f)
{
	printf("Bail out! %s: %s\n", what, f ? f->text : strerror(errno));
	exit(1);
}

static void
phase(struct machine *m, void *owner, enum machine_phase p,
    const struct fault *why)
{
	struct vm *v = owner;

	(void)m;
	v->phase = p;
	if (why->code != FAULT_NONE)
		printf("# ended: %s\n", why->text);
}

static void
port(struct machine *m, void *owner, int fd)
{
	struct vm *v = owner;

	(void)m;
	v->port = fd;
}

static void
resumed(struct machine *m, void *owner)
{
	(void)m;
	(void)owner;
}

static void
assigned(struct machine_op *op, const struct fault *f)
{
	(void)op;
	if (f->code != FAULT_NONE)
		die("assign", f);
}

/* Wait for the port; the machine's own loop turns meanwhile. */
static void
wait_for(struct vm *v, short events)
{
	struct pollfd p = { .fd = v->port, .events = events };
	int64_t end_ms = clock_mono_ms() + LIMIT_MS;
	struct fault f = { 0 };

	while (poll(&p, 1, 10) == 0) {
		if (loop_tick(v->loop, 0, &f) != 0)
			die("loop", &f);
		if (v->phase == MACHINE_ENDED || clock_mono_ms() > end_ms)
			die("the guest is silent", &f);
	}
}

static void
put(struct vm *v, const void *p, size_t n)
{
	const char *at = p;

	while (n > 0) {
		ssize_t k = write(v->port, at, n);

		if (k < 0 && errno != EAGAIN && errno != EINTR)
			die("write", NULL);
		if (k <= 0) {
			wait_for(v, POLLOUT);
			continue;
		}
		at += k;
		n -= (size_t)k;
	}
}

static size_t
get(struct vm *v, void *p, size_t n)
{
	for (;;) {
		ssize_t k = read(v->port, p, n);

		if (k > 0)
			return (size_t)k;
		if (k == 0 || (errno != EAGAIN && errno != EINTR))
			die("read", NULL);
		wait_for(v, POLLIN);
	}
}

static const char *
line(struct vm *v)
{
	size_t n = 0;
	char c = 0;

	while (c != '\n' && n + 1 < sizeof(v->line)) {
		(void)get(v, &c, 1);
		v->line[n++] = c;
	}
	v->line[n - 1] = '\0';
	return v->line;
}

static const char *
ask(struct vm *v, const char *text)
{
	put(v, text, strlen(text));
	put(v, "\n", 1);
	return line(v);
}

/* From the template, or booted; it is not assigned yet. */
static void
spawn(struct vm *v, const struct machine_template *t, bool cold)
{
	static const struct machine_events events = { phase, port, resumed };
	struct machine_config c = { .shape = t->shape,
		.vmm = t->vmm_path,
		.vmm_version = t->vmm_version,
		.tsc_khz = t->tsc_khz,
		.cold = cold,
		.kernel_fd = cold ? t->kernel_fd : -1,
		.initramfs_fd = cold ? t->initramfs_fd : -1,
		.memory_fd = cold ? -1 : t->memory_fd,
		.state_fd = cold ? -1 : t->state_fd,
		.image_fd = -1,
		.disk_fd = -1 };
	struct fault f = { 0 };

	memset(v, 0, sizeof(*v));
	v->port = -1;
	v->op.done = assigned;
	v->loop = loop_new(&f);
	v->machine = v->loop ? machine_new(v->loop, &c, &events, v, &f) : NULL;
	if (!v->machine || machine_start(v->machine, &f) != 0)
		die("start", &f);
}

/* Turn its loop until it is in that phase, or past it. */
static void
reach(struct vm *v, enum machine_phase want)
{
	struct fault f = { 0 };

	while (v->phase < want)
		if (loop_tick(v->loop, 1000, &f) != 0)
			die("loop", &f);
	if (v->phase == MACHINE_ENDED && want != MACHINE_ENDED)
		die("the machine ended early", NULL);
}

static void
start(struct vm *v, const struct machine_template *t, bool cold)
{
	struct fault f = { 0 };

	spawn(v, t, cold);
	if (machine_assign(v->machine, dup(t->scrap_image_fd), -1, &v->op,
		&f) != 0)
		die("assign", &f);
	reach(v, MACHINE_ASSIGNED);
	BUG_IF(v->port < 0);
}

static void
end(struct vm *v)
{
	machine_stop(v->machine, 2000);
	reach(v, MACHINE_ENDED);
	machine_free(v->machine);
	loop_free(v->loop);
	(void)close(v->port);
}

#endif
