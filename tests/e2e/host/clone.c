/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: machine */
/*
 * Clones for tests/bench/run, made without a gateway:
 *
 *   clone wait --cache DIR --kernel FILE --initramfs FILE --guest FILE
 *   clone raw  (likewise)
 *
 * wait: a clone that is neither rehearsed nor assigned. It says "pid N" (of
 * the VMM) and ends with its input. raw: the port itself, against the guest
 * raw.c. Each line of input, "up N" or "down N", moves N bytes out of or into
 * the guest and is answered with "us N".
 */
#include "port_vm.h"

enum {
	CHUNK = 32 << 10, /* of one write, as HTTP/2 frames are grouped */
	MOST = 1 << 30,
};

static void
say(const char *what, long long n)
{
	(void)printf("%s %lld\n", what, n);
	(void)fflush(stdout);
}

static void
up(struct vm *v, size_t n)
{
	static uint8_t bytes[1 << 16];
	char text[64];

	(void)snprintf(text, sizeof(text), "up %zu %d\n", n / CHUNK, CHUNK);
	put(v, text, strlen(text));
	while (n > 0)
		n -= get(v, bytes, n < sizeof(bytes) ? n : sizeof(bytes));
	if (strncmp(line(v), "sent ", 5) != 0)
		die("the guest lost count", NULL);
}

static void
down(struct vm *v, size_t n)
{
	static const uint8_t bytes[CHUNK];
	char text[64];

	(void)snprintf(text, sizeof(text), "drain %zu\n", n);
	put(v, text, strlen(text));
	for (; n > 0; n -= CHUNK)
		put(v, bytes, sizeof(bytes));
	if (strcmp(line(v), "drained") != 0)
		die("the guest lost count", NULL);
}

/* False: no such line. */
static bool
obey(struct vm *v, const char *text)
{
	int64_t start_us = clock_mono_us();
	size_t n = 0;

	if (sscanf(text, "%*[a-z] %zu", &n) != 1 || n == 0 || n > MOST ||
	    n % CHUNK != 0)
		return false;
	if (strncmp(text, "up ", 3) == 0)
		up(v, n);
	else if (strncmp(text, "down ", 5) == 0)
		down(v, n);
	else
		return false;
	say("us", clock_mono_us() - start_us);
	return true;
}

static void
serve_raw(struct vm *v, const struct machine_template *t)
{
	char text[64];

	start(v, t, false);
	if (strcmp(ask(v, "echo hello"), "hello") != 0)
		die("the guest does not answer", NULL);
	say("ready", 0);
	while (fgets(text, sizeof(text), stdin))
		if (!obey(v, text))
			die("what?", NULL);
}

static void
serve_waiting(struct vm *v, const struct machine_template *t)
{
	struct machine_stat s = { 0 };

	spawn(v, t, false);
	reach(v, MACHINE_WAITING);
	machine_times(v->machine, &s);
	say("pid", s.pid);
	while (getchar() != EOF)
		continue;
}

int
main(int argc, char **argv)
{
	struct machine_args a;
	struct machine_template t;
	struct fault f = { 0 };
	struct vm v;

	if (argc < 2 || machine_args_parse(argc - 2, argv + 2, &a, &f) != 0)
		die("arguments", &f);
	a.shape.accel = MACHINE_TCG;
	if (machine_template_make(&a.paths, &a.shape, &t, &f) != 0)
		die("template", &f);
	if (t.why_cold[0] != '\0')
		die(t.why_cold, NULL);
	if (strcmp(argv[1], "raw") == 0)
		serve_raw(&v, &t);
	else
		serve_waiting(&v, &t);
	end(&v);
	machine_template_release(&t);
	return 0;
}
