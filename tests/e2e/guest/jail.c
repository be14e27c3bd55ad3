/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries, as an agent, all that an agent must not do, and prints a line an
 * attempt: what was tried, what came of it. The calls are those of
 * confine/syscalls.def, so a row there is a line here. Each attempt is a
 * process of its own.
 *
 *   jail calls | families | capabilities | files FOLDER... | escapes
 */
#include "jail.h"

struct attempt {
	const char *name;
	const char *when;
	long call;
	struct {
		int arg;
		long first;
		long last;
	} set[2];
};

/* clang-format off */
#define ALWAYS              { -1, 0, 0 }
#define IS(arg, value)      { arg, (long)(value), (long)(value) }
#define HAS(arg, bits)      { arg, bits, bits }
#define NOT(arg, value)     { arg, (value) + 1, (value) + 1 }
#define EACH(arg, from, to) { arg, from, to }
#define ARGS(one, two)      one, two
#define CALL(name, error, when, why) { #name, #when, __NR_##name, { when } },
/* clang-format on */

static const struct attempt calls[] = {
#include "confine/syscalls.def"
};

struct one {
	const struct attempt *a;
	long value;
};

static long
try_call(const void *arg)
{
	const struct one *o = arg;
	long v[6] = { 0 };

	/* A second condition that is not given is all zero. */
	if (o->a->set[1].first != o->a->set[1].last || o->a->set[1].first != 0)
		v[o->a->set[1].arg] = o->a->set[1].first;
	if (o->a->set[0].arg >= 0)
		v[o->a->set[0].arg] = o->value;
	return syscall(o->a->call, v[0], v[1], v[2], v[3], v[4], v[5]);
}

static void
show_calls(void)
{
	for (size_t i = 0; i < NELEM(calls); i++)
		for (long v = calls[i].set[0].first; v <= calls[i].set[0].last;
		     v++) {
			struct one o = { &calls[i], v };
			char what[96];

			if (calls[i].set[0].first == calls[i].set[0].last)
				(void)snprintf(what, sizeof(what), "%s %s",
				    calls[i].name, calls[i].when);
			else
				(void)snprintf(what, sizeof(what), "%s %s %ld",
				    calls[i].name, calls[i].when, v);
			show("call", what, try_call, &o);
		}
}

/* --- other architectures */
static long
call_as_x32(const void *arg)
{
	(void)arg;
	return syscall(0x40000000 | SYS_getpid);
}

static long
call_as_i386(const void *arg)
{
	long r = 20; /* getpid of i386 */

	(void)arg;
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory");
	return r;
}

static void
show_architectures(void)
{
	show("call", "x32 getpid", call_as_x32, NULL);
	show("call", "i386 getpid", call_as_i386, NULL);
}

/* --- socket families */
struct kind {
	int family;
	int type;
	int protocol;
};

static long
try_socket(const void *arg)
{
	const struct kind *k = arg;

	return socket(k->family, k->type, k->protocol);
}

static void
show_families(void)
{
	static const struct {
		const char *name;
		int type;
	} types[] = { { "stream", SOCK_STREAM }, { "datagram", SOCK_DGRAM },
		{ "raw", SOCK_RAW } };
	char what[64];

	for (int f = 0; f <= 47; f++)
		for (size_t i = 0; i < NELEM(types); i++) {
			struct kind k = { f, types[i].type, 0 };

			(void)snprintf(what, sizeof(what), "socket %d %s", f,
			    types[i].name);
			show("family", what, try_socket, &k);
		}
	for (int p = 0; p <= 22; p++) {
		struct kind k = { AF_NETLINK, SOCK_RAW, p };

		(void)snprintf(what, sizeof(what), "netlink %d", p);
		show("family", what, try_socket, &k);
	}
}

/* --- capabilities */
static long
try_capset(const void *arg)
{
	const unsigned *cap = arg;
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct d[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	d[*cap / 32].permitted = 1U << *cap % 32;
	d[*cap / 32].effective = 1U << *cap % 32;
	return syscall(SYS_capset, &head, d);
}

static long
try_ambient(const void *arg)
{
	const unsigned *cap = arg;

	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, *cap, 0, 0);
}

static long
try_bounding(const void *arg)
{
	const unsigned *cap = arg;

	if (prctl(PR_CAPBSET_READ, *cap, 0, 0, 0) == 1)
		return 0;
	errno = ENOENT;
	return -1;
}

static void
show_capabilities(void)
{
	char what[64];

	for (unsigned c = 0; c <= CAP_LAST_CAP; c++) {
		(void)snprintf(what, sizeof(what), "%u capset", c);
		show("cap", what, try_capset, &c);
		(void)snprintf(what, sizeof(what), "%u ambient", c);
		show("cap", what, try_ambient, &c);
		(void)snprintf(what, sizeof(what), "%u bounding", c);
		show("cap", what, try_bounding, &c);
	}
}

int
main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "whoami") == 0) {
		/* Run as a set-user-id file. */
		return geteuid() == 0 ? 0 : 77;
	} else if (strcmp(argv[1], "calls") == 0) {
		show_calls();
		show_architectures();
	} else if (strcmp(argv[1], "families") == 0) {
		show_families();
	} else if (strcmp(argv[1], "capabilities") == 0) {
		show_capabilities();
	} else if (strcmp(argv[1], "files") == 0) {
		for (int i = 2; i < argc; i++)
			show_files(argv[i]);
	} else if (strcmp(argv[1], "escapes") == 0) {
		show_escapes();
	}
	return 0;
}
