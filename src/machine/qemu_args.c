/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine as data (vm/qemu.def, vm/devices.def, vm/cmdline.def) made into
 * one argv. Placeholders stand for numbers only, so no text of a stranger can
 * reach the command line.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/inner.h"

enum when {
	ANY,
	TCG,
	KVM,
	BOOT,
	RESTORE,
	SHARED,
	PRIVATE,
	PLAIN,
};

struct row {
	enum when when;
	const char *text;
};

static const struct row args[] = {
#define ARG(when, text) { when, text },
#include "../../vm/qemu.def"
#undef ARG
};

static const struct row words[] = {
#define WORD(when, text) { when, text },
#include "../../vm/cmdline.def"
#undef WORD
};

static bool
applies(enum when when, const struct machine_config *c)
{
	bool memfd = c->memory_fd >= 0;

	switch (when) {
	case ANY:
		return true;
	case TCG:
		return c->shape.accel == MACHINE_TCG;
	case KVM:
		return c->shape.accel == MACHINE_KVM;
	case BOOT:
		return c->cold;
	case RESTORE:
		return !c->cold;
	case SHARED:
		return memfd && c->share;
	case PRIVATE:
		return memfd && !c->share;
	case PLAIN:
		return !memfd;
	}
	return false;
}

struct filler {
	const struct machine_config *config;
	const struct qemu_fds *fds;
	const char *cmdline;
};

/* The value of {name}, into b. */
static int
fill(const struct filler *l, struct span name, struct buf *b)
{
	const struct machine_config *c = l->config;
	const struct {
		const char *name;
		long value;
	} numbers[] = {
		{ "memory", (long)c->shape.memory_mib },
		{ "vcpus", (long)c->shape.vcpus },
		{ "tsc_khz", (long)c->tsc_khz },
		{ "memory_fd", c->memory_fd },
		{ "kernel_fd", c->kernel_fd },
		{ "initramfs_fd", c->initramfs_fd },
		{ "image_fd", c->image_fd },
		{ "disk_fd", c->disk_fd },
		{ "port_fd", l->fds->port },
		{ "qmp_fd", l->fds->qmp },
		{ "console_fd", l->fds->console },
	};

	if (span_is(name, "cmdline"))
		return buf_fmt(b, "%s", l->cmdline);
	for (size_t i = 0; i < NELEM(numbers); i++)
		if (span_is(name, numbers[i].name))
			return buf_fmt(b, "%ld", numbers[i].value);
	fault_bug(__FILE__, __LINE__, "unknown placeholder");
}

/* Append text with its placeholders filled. */
static int
expand(const struct filler *l, const char *text, struct buf *b, struct fault *f)
{
	struct span s = span_str(text);

	while (s.len > 0) {
		size_t open = span_find(s, '{');
		size_t close;

		if (buf_add(b, s.ptr, open, f) != 0)
			return -1;
		if (open == s.len)
			return 0;
		s = span_from(s, open + 1);
		close = span_find(s, '}');
		if (fill(l, span_of(s.ptr, close), b) != 0)
			return fault_set(f, FAULT_LIMIT,
			    "the VMM's command line is too long");
		s = span_from(s, close + 1);
	}
	return 0;
}

static int
make_cmdline(const struct filler *l, struct buf *b, struct fault *f)
{
	for (size_t i = 0; i < NELEM(words); i++) {
		if (!applies(words[i].when, l->config))
			continue;
		if ((b->len > 0 && buf_add(b, " ", 1, f) != 0) ||
		    expand(l, words[i].text, b, f) != 0)
			return -1;
	}
	return buf_add(b, "", 1, f);
}

static int
make_args(struct qemu_line *q, const struct filler *l, struct buf *b,
    struct fault *f)
{
	for (size_t i = 0; i < NELEM(args); i++) {
		if (!applies(args[i].when, l->config))
			continue;
		BUG_IF(q->argc + 1 >= QEMU_ARGS);
		buf_clear(b);
		if (expand(l, args[i].text, b, f) != 0)
			return -1;
		q->argv[q->argc] = arena_str(&q->arena, buf_span(b));
		if (!q->argv[q->argc++])
			return fault_set(f, FAULT_LIMIT,
			    "the VMM's command line is too long");
	}
	return 0;
}

int
qemu_line_make(struct qemu_line *q, const struct machine_config *c,
    const struct qemu_fds *fds, struct fault *f)
{
	struct filler l = { c, fds, NULL };
	struct buf cmdline;
	struct buf b;
	int r;

	memset(q, 0, sizeof(*q));
	arena_init(&q->arena, 32768);
	buf_init(&cmdline, 2048);
	buf_init(&b, 4096);
	q->argv[q->argc++] = arena_str(&q->arena, SPAN_LIT("nacre-vmm"));
	r = make_cmdline(&l, &cmdline, f);
	if (r == 0) {
		l.cmdline = (const char *)buf_ptr(&cmdline);
		r = make_args(q, &l, &b, f);
	}
	buf_release(&cmdline);
	buf_release(&b);
	return r;
}

void
qemu_line_release(struct qemu_line *q)
{
	arena_release(&q->arena);
}

static void
digest_row(struct digest *d, const struct row *r)
{
	digest_update(d, span_str(r->text));
	digest_update(d, SPAN_LIT("\n"));
}

void
qemu_line_digest(struct digest *d, enum machine_accel a)
{
	struct machine_config c = { .cold = true, .memory_fd = 0 };

	c.shape.accel = a;
	for (size_t i = 0; i < NELEM(args); i++)
		if (applies(args[i].when, &c))
			digest_row(d, &args[i]);
	for (size_t i = 0; i < NELEM(words); i++)
		if (applies(words[i].when, &c))
			digest_row(d, &words[i]);
}

bool
qemu_is_before(const char *version, unsigned major, unsigned minor)
{
	struct span s = span_str(version);
	struct span rest = span_from(s, span_find(s, '.') + 1);
	uint64_t a = 0;
	uint64_t b = 0;

	if (!num_parse(span_of(s.ptr, span_find(s, '.')), 1000, &a) ||
	    !num_parse(span_of(rest.ptr, span_find(rest, '.')), 1000, &b))
		return true;
	return a != major ? a < major : b < minor;
}
