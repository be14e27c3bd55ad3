/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates: a guest booted once, stopped where its supervisor waits, saved
 * and sealed; every later guest of the same shape is a copy-on-write clone of
 * it. Runs in a process of its own (nacre-keeper template), so it may wait.
 *
 * The key is the digest of all that the saved state depends on. Nothing that
 * belongs to one sandbox is in it.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	KVM_MS = 5000, /* an ordinary kernel boots in far less */
	STOP_MS = 2000,
	TICK_MS = 1000,
};

void
machine_template_init(struct machine_template *t)
{
	memset(t, 0, sizeof(*t));
	t->memory_fd = t->state_fd = -1;
	t->kernel_fd = t->initramfs_fd = -1;
	t->scrap_image_fd = t->scrap_disk_fd = -1;
}

void
machine_template_release(struct machine_template *t)
{
	fd_close(&t->memory_fd);
	fd_close(&t->state_fd);
	fd_close(&t->kernel_fd);
	fd_close(&t->initramfs_fd);
	fd_close(&t->scrap_image_fd);
	fd_close(&t->scrap_disk_fd);
}

static void
make_key(struct machine_template *t)
{
	char numbers[128];
	uint8_t sum[DIGEST_SIZE];
	struct digest d;

	(void)text_fmt(numbers, sizeof(numbers),
	    "nacre template 1\n%s\n%u\n%u\n%u\n",
	    machine_accel_name(t->shape.accel), t->shape.memory_mib,
	    t->shape.vcpus, t->tsc_khz);
	digest_init(&d);
	digest_update(&d, span_str(numbers));
	digest_update(&d, span_str(t->kernel_digest));
	digest_update(&d, span_str(t->initramfs_digest));
	digest_update(&d, span_str(t->vmm_digest));
	digest_update(&d, span_str(t->vmm_version));
	qemu_line_digest(&d, t->shape.accel);
	digest_final(&d, sum);
	hex_format(sum, sizeof(sum), t->key);
}

/* One boot: from start to the saved state, or why not. */
struct boot {
	struct machine *machine;
	struct machine_op op;
	enum machine_phase phase;
	bool saved;
	bool failed;
	struct fault why;
};

static void
saved(struct machine_op *op, const struct fault *f)
{
	struct boot *b = CONTAINER_OF(op, struct boot, op);

	if (f->code == FAULT_NONE) {
		b->saved = true;
		return;
	}
	b->failed = true;
	b->why = *f;
}

static void
phase(struct machine *m, void *owner, enum machine_phase p,
    const struct fault *why)
{
	struct boot *b = owner;

	(void)m;
	b->phase = p;
	if (p != MACHINE_ENDED || b->saved)
		return;
	b->failed = true;
	if (b->why.code == FAULT_NONE)
		b->why = *why;
	if (b->why.code == FAULT_NONE)
		(void)fault_set(&b->why, FAULT_START_FAILED,
		    "the guest ended while it was to be saved");
}

static void
port(struct machine *m, void *owner, int fd)
{
	(void)m;
	(void)owner;
	fd_close(&fd);
}

static void
resumed(struct machine *m, void *owner)
{
	(void)m;
	(void)owner;
}

/* Drive the loop until the phase, or the save, or the end. */
static int
until(struct loop *l, struct boot *b, enum machine_phase p, bool save,
    struct fault *f)
{
	while (!b->failed && (save ? !b->saved : b->phase < p))
		if (loop_tick(l, TICK_MS, f) != 0)
			return -1;
	if (!b->failed)
		return 0;
	*f = b->why;
	return -1;
}

static int
boot_and_save(struct loop *l, struct boot *b, int state, struct fault *f)
{
	if (machine_start(b->machine, f) != 0 ||
	    until(l, b, MACHINE_WAITING, false, f) != 0)
		return -1;
	if (!machine_clock_is_tsc(b->machine))
		return fault_set(f, FAULT_START_FAILED,
		    "the guest's clock source is not tsc");
	if (machine_save(b->machine, state, &b->op, f) != 0 ||
	    until(l, b, MACHINE_ENDED, true, f) != 0)
		return fault_prefix(f, "cannot save the guest");
	machine_stop(b->machine, STOP_MS);
	return until(l, b, MACHINE_ENDED, false, f);
}

static int
build(struct machine_template *t, struct loop *l, int64_t deadline_ms,
    struct fault *f)
{
	static const struct machine_events events = { phase, port, resumed };
	struct boot b = { .op.done = saved };
	struct machine_config c = { .shape = t->shape,
		.vmm = t->vmm_path,
		.vmm_version = t->vmm_version,
		.tsc_khz = t->tsc_khz,
		.cold = true,
		.share = true,
		.kernel_fd = t->kernel_fd,
		.initramfs_fd = t->initramfs_fd,
		.state_fd = -1,
		.image_fd = -1,
		.disk_fd = -1,
		.deadline_ms = deadline_ms };
	with_fd memory =
	    memfd_new("nacre-template", (uint64_t)t->shape.memory_mib << 20, f);
	with_fd state = -1;
	int r;

	if (memory < 0)
		return -1;
	state = memfd_new("nacre-state", 0, f);
	c.memory_fd = memory;
	b.machine = state < 0 ? NULL : machine_new(l, &c, &events, &b, f);
	if (!b.machine)
		return -1;
	r = boot_and_save(l, &b, state, f);
	machine_free(b.machine);
	if (r != 0 || memfd_seal(memory, f) != 0 || memfd_seal(state, f) != 0)
		return -1;
	t->memory_fd = fd_take(&memory);
	t->state_fd = fd_take(&state);
	t->built = true;
	return 0;
}

/* From the disk, or booted and then written there. */
static int
load_or_build(const struct machine_paths *p, struct machine_template *t,
    struct loop *l, int64_t deadline_ms, struct fault *f)
{
	struct fault damaged = { 0 };

	make_key(t);
	if (template_load(p->cache, t, &damaged) == 0)
		return 0;
	if (damaged.code != FAULT_NOT_FOUND) {
		log_warn(&damaged, "template %.16s is made anew", t->key);
		machine_template_forget(p->cache, t->key);
	}
	if (build(t, l, deadline_ms, f) != 0)
		return -1;
	fault_clear(&damaged);
	if (template_store(p->cache, t, &damaged) != 0)
		log_warn(&damaged, "template %.16s stays in memory", t->key);
	template_drop_old(p->cache);
	return 0;
}

static void
say_why(struct machine_template *t, const struct fault *why)
{
	(void)text_copy(t->accel_reason, sizeof(t->accel_reason),
	    span_str(why->text));
}

/* Under KVM, where it is not known that it does not boot there. */
static int
try_kvm(const struct machine_paths *p, const struct vmm_facts *v,
    enum machine_accel known, struct machine_template *t, struct loop *l,
    struct fault *why)
{
	t->shape.accel = MACHINE_KVM;
	if (load_or_build(p, t, l, known == MACHINE_KVM ? 0 : KVM_MS, why)) {
		(void)fault_prefix(why, "a guest does not boot under KVM");
		say_why(t, why);
		/* Where it once did, it is asked again at the next start. */
		if (known != MACHINE_KVM)
			facts_accel_remember(p->cache, v, MACHINE_AUTO,
			    t->accel_reason);
		return -1;
	}
	t->accel_reason[0] = '\0';
	if (known != MACHINE_KVM)
		facts_accel_remember(p->cache, v, MACHINE_KVM, "");
	return 0;
}

/* The VMM ended or the guest was not what it must be: neither too slow, nor
 * something that the host was short of. */
static bool
is_lasting(const struct fault *why)
{
	return why->code == FAULT_LOST || why->code == FAULT_START_FAILED;
}

/*
 * AUTO: KVM when a template boots under it. That it does not is remembered
 * only where one does under TCG; what may pass is asked again each time.
 */
static int
choose(const struct machine_paths *p, const struct vmm_facts *v,
    struct machine_template *t, struct loop *l, struct fault *f)
{
	enum machine_accel known = MACHINE_AUTO;
	struct fault why = { 0 };

	(void)facts_accel(p->cache, v, &known, t->accel_reason,
	    sizeof(t->accel_reason));
	if (facts_kvm(p, &why) == 0 && known != MACHINE_TCG &&
	    try_kvm(p, v, known, t, l, &why) == 0)
		return 0;
	if (why.code != FAULT_NONE)
		say_why(t, &why);
	t->shape.accel = MACHINE_TCG;
	if (load_or_build(p, t, l, 0, f) != 0)
		return -1;
	if (known != MACHINE_KVM && is_lasting(&why))
		facts_accel_remember(p->cache, v, MACHINE_TCG, t->accel_reason);
	return 0;
}

static int
learn(const struct machine_paths *p, struct machine_template *t,
    struct vmm_facts *v, struct fault *f)
{
	char folder[512];

	if (!text_fmt(folder, sizeof(folder), "%s/templates", p->cache))
		return fault_set(f, FAULT_INVALID,
		    "the cache path is too long");
	if (dir_make(p->cache, 0700, f) != 0 || dir_make(folder, 0700, f) != 0)
		return -1;
	if (facts_vmm(p->cache, p->vmm, v, f) != 0 ||
	    facts_tsc_khz(p->cache, &t->tsc_khz, f) != 0)
		return -1;
	(void)text_copy(t->vmm_path, sizeof(t->vmm_path), span_str(v->path));
	(void)text_copy(t->vmm_digest, MACHINE_KEY, span_str(v->digest));
	(void)text_copy(t->vmm_version, sizeof(t->vmm_version),
	    span_str(v->version));
	t->kernel_fd =
	    memfd_of_file(p->kernel, "nacre-kernel", t->kernel_digest, f);
	if (t->kernel_fd < 0)
		return -1;
	t->initramfs_fd = memfd_of_file(p->initramfs, "nacre-initramfs",
	    t->initramfs_digest, f);
	return t->initramfs_fd < 0 ? -1 : 0;
}

int
machine_template_make(const struct machine_paths *p,
    const struct machine_shape *s, struct machine_template *out,
    struct fault *f)
{
	int64_t start_ms = clock_mono_ms();
	struct vmm_facts v;
	struct fault why = { 0 };
	struct loop *l;
	int r;

	machine_template_init(out);
	out->shape = *s;
	if (machine_shape_check(s, f) != 0 || learn(p, out, &v, f) != 0 ||
	    scrap_open(p->cache, p->guest, &out->scrap_image_fd,
		&out->scrap_disk_fd, f) != 0 ||
	    machine_disk_blank(p->cache, MACHINE_DISK_BYTES, f) != 0) {
		machine_template_release(out);
		return -1;
	}
	l = loop_new(f);
	if (!l) {
		machine_template_release(out);
		return -1;
	}
	r = s->accel == MACHINE_AUTO ? choose(p, &v, out, l, &why)
				     : load_or_build(p, out, l, 0, &why);
	loop_free(l);
	if (r != 0)
		(void)text_copy(out->why_cold, sizeof(out->why_cold),
		    span_str(why.text));
	out->took_ms = clock_mono_ms() - start_ms;
	return 0;
}
