/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: machine */
/*
 * The channel without HTTP/2, against the guest raw.c, through the machine
 * room: small writes both ways in a clone, a host that stops reading, no disk.
 * TAP out.
 *
 *   port --cache DIR --kernel FILE --initramfs FILE --guest FILE
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "machine/machine.h"

enum {
	SMALL = 16,
	WRITES = 100000,
	STALLED = 96 << 20,
	QUEUED = 40 << 20, /* the guest's queue: 1024 writes of 32 KiB */
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

static int tests;
static int failures;

static void
ok(bool good, const char *title)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++tests, title);
	(void)fflush(stdout);
	failures += !good;
}

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

/* n bytes, all of them c. */
static bool
take(struct vm *v, size_t n, uint8_t c)
{
	static uint8_t bytes[1 << 16];
	bool same = true;

	while (n > 0) {
		size_t k = get(v, bytes, n < sizeof(bytes) ? n : sizeof(bytes));

		for (size_t i = 0; i < k; i++)
			same &= bytes[i] == c;
		n -= k;
	}
	return same;
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

static void
start(struct vm *v, const struct machine_template *t, bool cold)
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
	if (!v->machine || machine_start(v->machine, &f) != 0 ||
	    machine_assign(v->machine, dup(t->scrap_image_fd), -1, &v->op,
		&f) != 0)
		die("start", &f);
	while (v->port < 0)
		if (loop_tick(v->loop, 1000, &f) != 0 ||
		    v->phase == MACHINE_ENDED)
			die("launch", &f);
}

static void
end(struct vm *v)
{
	struct fault f = { 0 };

	machine_stop(v->machine, 2000);
	while (v->phase != MACHINE_ENDED)
		if (loop_tick(v->loop, 1000, &f) != 0)
			die("stop", &f);
	machine_free(v->machine);
	loop_free(v->loop);
	(void)close(v->port);
}

static void
small_up(struct vm *v, const char *title)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "up %d %d\n", WRITES, SMALL);
	put(v, text, strlen(text));
	ok(take(v, (size_t)WRITES * SMALL, 'u') &&
		strcmp(line(v), "sent 1600000") == 0,
	    title);
}

static void
small_down(struct vm *v, const char *title)
{
	char text[64];
	uint8_t bytes[SMALL];

	memset(bytes, 1, sizeof(bytes));
	(void)snprintf(text, sizeof(text), "down %d\n", WRITES * SMALL);
	put(v, text, strlen(text));
	for (int i = 0; i < WRITES; i++)
		put(v, bytes, sizeof(bytes));
	ok(strcmp(line(v), "sum 1600000") == 0, title);
}

/* The guest sends 96 MiB while nobody reads; it waits, nothing is lost. */
static void
stalled_reader(struct vm *v)
{
	struct machine_stat before = { 0 };
	struct machine_stat after = { 0 };
	struct fault f = { 0 };
	char text[64];
	int64_t end_ms = clock_mono_ms() + 2000;

	machine_stat(v->machine, &before);
	(void)snprintf(text, sizeof(text), "up %d 32768\n", STALLED / 32768);
	put(v, text, strlen(text));
	while (clock_mono_ms() < end_ms)
		if (loop_tick(v->loop, 100, &f) != 0)
			die("loop", &f);
	machine_stat(v->machine, &after);
	printf("# private %llu (code %llu), then %llu (code %llu)\n",
	    (unsigned long long)before.private_bytes,
	    (unsigned long long)before.code_bytes,
	    (unsigned long long)after.private_bytes,
	    (unsigned long long)after.code_bytes);
	ok(after.private_bytes < before.private_bytes + QUEUED,
	    "a reader that stops does not make the VMM grow");
	ok(take(v, STALLED, 'u') && strncmp(line(v), "sent", 4) == 0,
	    "and loses nothing");
}

static void
disks(struct vm *v)
{
	ok(strncmp(ask(v, "look"), "vda=hsqs", 8) == 0,
	    "the image is there after the swap");
	ok(strncmp(ask(v, "write 0123456789abcdef0123456789abcdef"), "wrote",
	       5) == 0,
	    "without a disk an empty one is there");
}

int
main(int argc, char **argv)
{
	struct machine_args a;
	struct machine_template t;
	struct fault f = { 0 };
	struct vm v;

	if (machine_args_parse(argc - 1, argv + 1, &a, &f) != 0)
		die("arguments", &f);
	a.shape.accel = MACHINE_TCG;
	if (machine_template_make(&a.paths, &a.shape, &t, &f) != 0)
		die("template", &f);
	if (t.why_cold[0])
		printf("# %s\n", t.why_cold);
	ok(!t.why_cold[0], "a template is made");
	start(&v, &t, false);
	ok(strcmp(ask(&v, "echo hello"), "hello") == 0, "a clone answers");
	small_up(&v, "100000 small writes out of a clone");
	small_down(&v, "100000 small writes into a clone");
	stalled_reader(&v);
	small_up(&v, "100000 small writes after the stall");
	disks(&v);
	end(&v);
	start(&v, &t, true);
	ok(strcmp(ask(&v, "echo cold"), "cold") == 0, "a cold boot answers");
	small_up(&v, "100000 small writes out of it");
	small_down(&v, "100000 small writes into it");
	end(&v);
	machine_template_release(&t);
	printf("1..%d\n", tests);
	return failures ? 1 : 0;
}
