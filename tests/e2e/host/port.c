/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: machine */
/*
 * The channel without HTTP/2, against the guest raw.c, through the machine
 * room: small writes both ways in a clone, a host that stops reading, no disk.
 * TAP out.
 *
 *   port --cache DIR --kernel FILE --initramfs FILE --guest FILE
 */
#include "port_vm.h"

enum {
	SMALL = 16,
	WRITES = 100000,
	STALLED = 96 << 20,
	QUEUED = 40 << 20, /* the guest's queue: 1024 writes of 32 KiB */
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
