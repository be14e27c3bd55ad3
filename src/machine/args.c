/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of our own programs, written and read back here, so that both
 * ends are one page. "--name value", each at most once; descriptors are
 * numbers that exec kept.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	ARGS_BYTES = 64 << 10,
};

static void
add(struct args *a, struct span text)
{
	char *copy = arena_str(&a->arena, text);

	BUG_IF(!copy || a->n + 1 >= ARGS);
	a->argv[a->n++] = copy;
}

void
args_init(struct args *a, const char *program, const char *mode)
{
	memset(a, 0, sizeof(*a));
	arena_init(&a->arena, ARGS_BYTES);
	add(a, span_str(program));
	add(a, span_str(mode));
}

void
args_text(struct args *a, const char *name, const char *value)
{
	if (!value || !value[0])
		return;
	add(a, span_str(name));
	add(a, span_str(value));
}

void
args_number(struct args *a, const char *name, int64_t value)
{
	char text[32];

	if (value < 0)
		return;
	(void)text_fmt(text, sizeof(text), "%lld", (long long)value);
	args_text(a, name, text);
}

void
args_flag(struct args *a, const char *name, bool on)
{
	if (on)
		add(a, span_str(name));
}

void
args_release(struct args *a)
{
	arena_release(&a->arena);
}

enum kind {
	TEXT,
	NUMBER, /* int64_t */
	WORD,   /* unsigned */
	FD,     /* open, and ours from now on */
	ACCEL,
	FLAG,
};

struct option {
	const char *name;
	enum kind kind;
	size_t at;
};

#define AT(field) offsetof(struct machine_args, field)
static const struct option options[] = {
	{ "--cache", TEXT, AT(paths.cache) },
	{ "--kernel", TEXT, AT(paths.kernel) },
	{ "--initramfs", TEXT, AT(paths.initramfs) },
	{ "--guest", TEXT, AT(paths.guest) },
	{ "--vmm", TEXT, AT(paths.vmm) },
	{ "--accelerator", ACCEL, AT(shape.accel) },
	{ "--memory", WORD, AT(shape.memory_mib) },
	{ "--cpus", WORD, AT(shape.vcpus) },
	{ "--dir", TEXT, AT(dir) },
	{ "--id", TEXT, AT(id) },
	{ "--read-dir", TEXT, AT(read_dir) },
	{ "--disk-dir", TEXT, AT(disk_dir) },
	{ "--template", TEXT, AT(key) },
	{ "--vmm-digest", TEXT, AT(vmm_digest) },
	{ "--vmm-version", TEXT, AT(vmm_version) },
	{ "--tsc-khz", NUMBER, AT(tsc_khz) },
	{ "--link-fd", FD, AT(link_fd) },
	{ "--answer-fd", FD, AT(answer_fd) },
	{ "--memory-fd", FD, AT(memory_fd) },
	{ "--state-fd", FD, AT(state_fd) },
	{ "--kernel-fd", FD, AT(kernel_fd) },
	{ "--initramfs-fd", FD, AT(initramfs_fd) },
	{ "--scrap-image-fd", FD, AT(scrap_image_fd) },
	{ "--scrap-disk-fd", FD, AT(scrap_disk_fd) },
	{ "--cold", FLAG, AT(cold) },
	{ "--no-park", FLAG, AT(no_park) },
	{ "--json", FLAG, AT(json) },
};

static int
set_fd(const char *name, uint64_t n, int *place, struct fault *f)
{
	if (n <= STDERR_FILENO || fcntl((int)n, F_GETFD) < 0)
		return fault_field(f, name, "descriptor %d is not open",
		    (int)n);
	*place = (int)n;
	return fd_cloexec(*place, true, f);
}

static int
set(const struct option *o, const char *value, struct machine_args *out,
    struct fault *f)
{
	char *place = (char *)out + o->at;
	const bool yes = true;
	uint64_t n = 0;
	int64_t number;
	unsigned word;
	enum machine_accel accel;

	switch (o->kind) {
	case TEXT:
		memcpy(place, &value, sizeof(value));
		return 0;
	case FLAG:
		memcpy(place, &yes, sizeof(yes));
		return 0;
	case ACCEL:
		if (!machine_accel_parse(span_str(value), &accel))
			return fault_field(f, o->name,
			    "the accelerator is auto, tcg or kvm");
		memcpy(place, &accel, sizeof(accel));
		return 0;
	case NUMBER:
	case WORD:
	case FD:
		break;
	}
	if (!num_parse(span_str(value), INT32_MAX, &n))
		return fault_field(f, o->name, "%s is not a number", o->name);
	if (o->kind == FD)
		return set_fd(o->name, n, (int *)(void *)place, f);
	number = (int64_t)n;
	word = (unsigned)n;
	if (o->kind == WORD)
		memcpy(place, &word, sizeof(word));
	else
		memcpy(place, &number, sizeof(number));
	return 0;
}

static const struct option *
find(const char *name)
{
	for (size_t i = 0; i < NELEM(options); i++)
		if (strcmp(options[i].name, name) == 0)
			return &options[i];
	return NULL;
}

int
machine_args_parse(int argc, char **argv, struct machine_args *out,
    struct fault *f)
{
	memset(out, 0, sizeof(*out));
	out->shape.memory_mib = 128;
	out->shape.vcpus = 1;
	out->link_fd = out->answer_fd = -1;
	out->memory_fd = out->state_fd = -1;
	out->kernel_fd = out->initramfs_fd = -1;
	out->scrap_image_fd = out->scrap_disk_fd = -1;
	for (int i = 0; i < argc; i++) {
		const struct option *o = find(argv[i]);
		const char *value = NULL;

		if (!o)
			return fault_set(f, FAULT_INVALID,
			    "unknown argument '%s'", argv[i]);
		if (o->kind != FLAG && ++i == argc)
			return fault_field(f, o->name, "%s needs a value",
			    o->name);
		if (o->kind != FLAG)
			value = argv[i];
		if (set(o, value, out, f) != 0)
			return -1;
	}
	return 0;
}

static int
check_id(const char *id, struct fault *f)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t n = strlen(id);

	if (n == 0 || n > LIMIT_ID || id[0] == '.' || strspn(id, allowed) != n)
		return fault_field(f, "id", "'%s' is not a keeper's id", id);
	return 0;
}

static void
keeper_args(struct args *a, const struct machine_keeper *k, int link)
{
	const struct machine_template *t = k->template;

	args_init(a, "nacre-keeper", "run");
	args_text(a, "--dir", k->dir);
	args_text(a, "--id", k->id);
	args_text(a, "--read-dir", k->read_dir);
	args_text(a, "--disk-dir", k->disk_dir);
	args_text(a, "--template", t->key);
	args_text(a, "--vmm", t->vmm_path);
	args_text(a, "--vmm-digest", t->vmm_digest);
	args_text(a, "--vmm-version", t->vmm_version);
	args_text(a, "--accelerator", machine_accel_name(t->shape.accel));
	args_number(a, "--memory", t->shape.memory_mib);
	args_number(a, "--cpus", t->shape.vcpus);
	args_number(a, "--tsc-khz", t->tsc_khz);
	args_number(a, "--link-fd", link);
	args_number(a, "--memory-fd", k->cold ? -1 : t->memory_fd);
	args_number(a, "--state-fd", k->cold ? -1 : t->state_fd);
	args_number(a, "--kernel-fd", k->cold ? t->kernel_fd : -1);
	args_number(a, "--initramfs-fd", k->cold ? t->initramfs_fd : -1);
	args_number(a, "--scrap-image-fd", t->scrap_image_fd);
	args_number(a, "--scrap-disk-fd", t->scrap_disk_fd);
	args_flag(a, "--cold", k->cold);
	args_flag(a, "--no-park", k->no_park);
}

int
machine_keeper_spawn(const struct machine_keeper *k, pid_t *pid, int *link,
    struct fault *f)
{
	const struct machine_template *t = k->template;
	struct machine_exec x = { .path = k->program,
		.in = -1,
		.out = -1,
		.err = -1,
		.session = true };
	with_fd ours = -1;
	with_fd theirs = -1;
	struct args a;
	int keep[5] = { -1, -1, -1, -1, -1 };
	int ends[2];
	int r;

	if (check_id(k->id, f) != 0)
		return -1;
	if (!k->cold && t->memory_fd < 0)
		return fault_set(f, FAULT_NOT_READY, "there is no template: %s",
		    t->why_cold);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return fault_sys(f, "cannot make a socketpair");
	ours = ends[0];
	theirs = ends[1];
	keeper_args(&a, k, theirs);
	keep[0] = theirs;
	keep[1] = k->cold ? t->kernel_fd : t->memory_fd;
	keep[2] = k->cold ? t->initramfs_fd : t->state_fd;
	keep[3] = t->scrap_image_fd;
	keep[4] = t->scrap_disk_fd;
	x.keep = keep;
	x.keep_n = NELEM(keep);
	x.argv = a.argv;
	r = machine_exec(&x, pid, f);
	args_release(&a);
	if (r == 0)
		*link = fd_take(&ours);
	return r;
}
