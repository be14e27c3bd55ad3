/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parked clones and launches. A launch takes a parked clone if one of its
 * size waits; else it starts a machine from the template, waiting for the
 * template if that is being made; without a template it boots cold. Clones
 * are replaced when the launch that took one is over, so that they do not
 * compete with it for the processor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gateway/fleet.h"
#include "gateway/sandbox.h"
#include "gateway/settle.h"
#include "gateway/template.h"
#include "gateway/trash.h"
#include "gateway/vm.h"

enum {
	TEND_MS = 300,        /* from a change to a look at the clones */
	VM_OVERHEAD_MIB = 96, /* of a VMM, beside the guest's memory */
};

void
fleet_paths(const struct gateway *g, struct fleet_paths *p)
{
	const struct {
		char *out;
		const char *folder;
		const char *name;
	} all[] = {
		{ p->keeper, g->bin, "nacre-keeper" },
		{ p->kernel, g->guest, "vmlinux" },
		{ p->initramfs, g->guest, "initramfs.cpio" },
		{ p->guest, g->guest, "nacre-guest" },
		{ p->cache, g->state, "cache" },
		{ p->keepers, g->state, "keepers" },
		{ p->images, g->state, "images" },
		{ p->sandboxes, g->state, "sandboxes" },
	};

	/* main() has checked that the longest of them fits. */
	for (size_t i = 0; i < NELEM(all); i++)
		BUG_IF(!text_fmt(all[i].out, LIMIT_PATH, "%s/%s", all[i].folder,
		    all[i].name));
}

bool
sandbox_path(const struct gateway *g, const char *id, const char *name,
    char *out, size_t size)
{
	return text_fmt(out, size, "%s/sandboxes/%s%s%s", g->state, id,
	    *name != '\0' ? "/" : "", name);
}

static uint64_t
need_mib(const struct resources *r)
{
	return VM_OVERHEAD_MIB + r->memory_mib / 4;
}

int
fleet_check_memory(const struct gateway *g, const struct resources *r,
    struct fault *f)
{
	uint64_t free_mib = machine_host_memory() >> 20;
	uint64_t need = g->config.memory_reserve_mib + need_mib(r);

	if (free_mib == 0 || free_mib >= need)
		return 0;
	fault_set(f, FAULT_BUSY,
	    "host_memory: %llu MiB are free, %llu are needed",
	    (unsigned long long)free_mib, (unsigned long long)need);
	return -1;
}

static bool
is_parked(const struct vm *vm)
{
	return vm->end == VM_ALIVE && vm->known && !vm->adopted &&
	    vm->sandbox_id[0] == '\0' &&
	    vm->phase == nacre_keeper_v1_Phase_PHASE_PARKED;
}

static bool
is_spare(const struct vm *vm, const struct machine_shape *s)
{
	return vm->end == VM_ALIVE && vm->sandbox_id[0] == '\0' &&
	    vm->asked == 0 && vm->shape.memory_mib == s->memory_mib &&
	    vm->shape.vcpus == s->vcpus;
}

size_t
fleet_parked(struct gateway *g)
{
	size_t n = 0;

	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm))
		n += vm->sandbox_id[0] == '\0' && vm->asked == 0;
	return n;
}

static struct machine_shape
shape_of(const struct store_sandbox *row)
{
	return (struct machine_shape){
		.memory_mib = row->memory_mib,
		.vcpus = row->cpus,
	};
}

static void
give(struct vm *vm, struct store_sandbox *row)
{
	(void)text_copy(vm->sandbox_id, sizeof(vm->sandbox_id),
	    span_str(row->id));
	(void)text_copy(row->machine, sizeof(row->machine), span_str(vm->id));
	vm->accepted_us = clock_mono_us();
}

/* A parked one before one that is on its way. */
static struct vm *
find_spare(struct gateway *g, const struct machine_shape *s)
{
	struct vm *best = NULL;

	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (!is_spare(vm, s) || vm->cold)
			continue;
		if (is_parked(vm))
			return vm;
		best = vm;
	}
	return best;
}

void
fleet_reserve(struct gateway *g, struct store_sandbox *row)
{
	const struct machine_shape s = shape_of(row);
	struct vm *vm = find_spare(g, &s);

	if (vm == NULL)
		return;
	vm->from_parked = is_parked(vm);
	give(vm, row);
}

void
fleet_give_back(struct gateway *g, const char *id)
{
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (strcmp(vm->sandbox_id, id) != 0)
			continue;
		if (vm->assigned || vm->adopted)
			vm_end(vm, false);
		else
			vm->sandbox_id[0] = '\0';
	}
	fleet_changed(g);
}

static void
fail(struct gateway *g, const struct store_sandbox *row, const struct fault *f)
{
	const struct cause cause = {
		.reason = f->code == FAULT_BUSY ? "busy" : "start_failed",
		.detail = f->text,
	};

	log_warn(f, "cannot start sandbox '%s'", row->name);
	sandbox_event(g, row->id, EVENT_FAIL, &cause);
}

static int
make_files(const struct gateway *g, const char *id, char *disk, struct fault *f)
{
	struct fleet_paths paths;
	char folder[LIMIT_PATH];

	fleet_paths(g, &paths);
	if (!sandbox_path(g, id, "", folder, sizeof(folder)) ||
	    !sandbox_path(g, id, "disk.ext4", disk, LIMIT_PATH))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (dir_make(folder, 0700, f) < 0)
		return -1;
	if (access(disk, F_OK) == 0)
		return 0;
	return machine_disk_make(paths.cache, disk, MACHINE_DISK_BYTES, f);
}

static void
assign(struct gateway *g, const struct store_sandbox *row, struct vm *vm)
{
	char image[LIMIT_PATH];
	char disk[LIMIT_PATH];
	struct fault f = { 0 };

	crash_at("after_keeper");
	if (!text_fmt(image, sizeof(image), "%s/images/blobs/%s.sqfs", g->state,
		row->image_digest))
		fault_set(&f, FAULT_SYSTEM, "the path is too long");
	if (f.code == FAULT_NONE && make_files(g, row->id, disk, &f) == 0)
		vm_assign(vm, image, disk);
	if (f.code != FAULT_NONE) {
		fail(g, row, &f);
		vm_end(vm, false);
	}
}

void
fleet_continue(struct gateway *g, const struct store_sandbox *row,
    struct vm *vm)
{
	/* Adopted: it was assigned, or its keeper will say that it is. */
	if (vm->assigned || vm->end != VM_ALIVE || vm->asked > 0)
		return;
	assign(g, row, vm);
}

static int
start_machine(struct gateway *g, struct store_sandbox *row, bool cold,
    struct fault *f)
{
	const struct machine_shape s = shape_of(row);
	const struct machine_template *t = template_find(g, &s);
	struct vm *vm;

	BUG_IF(t == NULL);
	cold = cold || !g->config.templates || t->why_cold[0] != '\0';
	vm = vm_spawn(g, t, cold, true, f);
	if (vm == NULL)
		return -1;
	give(vm, row);
	if (store_sandbox_update(g->store, row, f) < 0) {
		vm_end(vm, false);
		return -1;
	}
	settle_later(g, row->id);
	return 0;
}

void
fleet_launch(struct gateway *g, struct store_sandbox *row)
{
	const struct machine_shape s = shape_of(row);
	struct fault f = { 0 };

	crash_at("after_row");
	if (g->stopping)
		return;
	if (template_find(g, &s) == NULL) {
		/* Settled again when the template is there, or cannot be. */
		if (template_want(g, &s, &f) < 0)
			fail(g, row, &f);
		return;
	}
	if (start_machine(g, row, false, &f) < 0)
		fail(g, row, &f);
}

bool
fleet_retry(struct gateway *g, struct store_sandbox *row, const struct vm *vm)
{
	const struct machine_shape s = shape_of(row);
	struct fault f = { 0 };

	if (vm->cold || !vm->has_failed || g->stopping ||
	    vm->reached >= nacre_keeper_v1_Phase_PHASE_CONNECTED ||
	    template_find(g, &s) == NULL)
		return false;
	if (start_machine(g, row, true, &f) == 0)
		return true;
	log_warn(&f, "cannot boot sandbox '%s' cold", row->name);
	return false;
}

/* ---- parked clones ---- */

/* A launch is under way: its clone is replaced when it is over. */
static bool
is_launching(struct gateway *g)
{
	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm)) {
		if (vm->sandbox_id[0] != '\0' && vm->end == VM_ALIVE &&
		    vm->timer.armed)
			return true;
	}
	return false;
}

static size_t
spares_of(struct gateway *g, const struct machine_shape *s)
{
	size_t n = 0;

	for (struct vm *vm = vm_first(g); vm != NULL; vm = vm_next(vm))
		n += is_spare(vm, s);
	return n;
}

static void
end_spares(struct gateway *g, const struct machine_shape *s, size_t n)
{
	for (struct vm *vm = vm_first(g); vm != NULL && n > 0;
	     vm = vm_next(vm)) {
		if (is_spare(vm, s)) {
			vm_end(vm, false);
			n--;
		}
	}
}

/* One of a template that ended before anything could be done with it. */
static bool
is_dud(const struct vm *vm)
{
	return vm->has_failed && !vm->cold && !vm->adopted &&
	    vm->reached < nacre_keeper_v1_Phase_PHASE_PARKED;
}

static void
tend_template(struct gateway *g, const struct machine_template *t,
    bool is_in_use)
{
	const struct resources r = {
		.cpus = t->shape.vcpus,
		.memory_mib = t->shape.memory_mib,
	};
	size_t have = spares_of(g, &t->shape);
	size_t want =
	    is_in_use && t->why_cold[0] == '\0' ? g->config.parked : 0;
	struct fault f = { 0 };

	/* Twice what one needs: parked clones are the first to go. */
	if (fleet_check_memory(g, &r, &f) < 0)
		want = 0;
	if (have > want) {
		end_spares(g, &t->shape, have - want);
		return;
	}
	/* The last slots are for those who ask. */
	if (have == want || is_launching(g) || vm_count(g) + 8 > LIMIT_VMS ||
	    template_pause_ms(g, &t->shape) > 0)
		return;
	fault_clear(&f);
	if (vm_spawn(g, t, false, false, &f) == NULL) {
		log_warn(&f, "cannot park a clone");
		template_pause(g, &t->shape);
		return;
	}
	if (have + 1 < want)
		fleet_changed(g);
}

static void
on_tend(struct timer *timer)
{
	struct gateway *g = CONTAINER_OF(timer, struct gateway, fleet_timer);
	int64_t wait_ms;

	if (g->stopping)
		return;
	template_each(g, tend_template);
	wait_ms = template_tend(g);
	if (wait_ms > 0 && !g->fleet_timer.armed)
		loop_timer_set(g->loop, &g->fleet_timer, wait_ms);
}

void
fleet_changed(struct gateway *g)
{
	if (!g->stopping)
		loop_timer_set(g->loop, &g->fleet_timer, TEND_MS);
}

void
fleet_phase(struct vm *vm)
{
	if (is_parked(vm))
		template_parked(vm->g, &vm->shape);
	fleet_changed(vm->g);
}

void
fleet_gone(struct vm *vm)
{
	if (is_dud(vm))
		template_dud(vm->g, &vm->shape);
	fleet_changed(vm->g);
}

/* ---- an earlier gateway's ---- */

void
fleet_adopted(struct gateway *g, struct vm *vm)
{
	struct store_sandbox row;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 4 << 20);
	if (vm->sandbox_id[0] != '\0' &&
	    store_sandbox_by_id(g->store, vm->sandbox_id, &a, &row, &f) == 0) {
		vm->shape = shape_of(&row);
		if (row.state == STATE_STARTING)
			vm_expect(vm);
		log_info("took over keeper %d of sandbox '%s'", (int)vm->pid,
		    row.name);
		settle_later(g, row.id);
	} else if (f.code == FAULT_NONE || f.code == FAULT_NOT_FOUND) {
		log_info("keeper %d belongs to nobody: it ends", (int)vm->pid);
		vm_end(vm, false);
	} else {
		settle_all(g);
	}
	arena_release(&a);
}

void
fleet_asked(struct gateway *g)
{
	if (--g->adopting == 0 && g->adopted != NULL)
		g->adopted(g);
}

/* One that may run, and cannot be reached for want of something: no start. */
static int
adopt_one(struct gateway *g, const char *file, struct fault *f)
{
	struct span s = span_str(file);
	char id[LIMIT_ID + 1];

	if (s.len != LIMIT_ID + 5 || !span_is(span_from(s, LIMIT_ID), ".sock"))
		return 0;
	(void)text_copy(id, sizeof(id), span_of(s.ptr, LIMIT_ID));
	if (vm_adopt(g, id, f) == 0)
		return 0;
	if (f->code == FAULT_SYSTEM && f->sys != ECONNREFUSED &&
	    f->sys != ENOENT && f->sys != ESRCH)
		return fault_prefix(f, "keeper %s", id);
	log_info("keeper %s is gone: %s", id, f->text);
	fault_clear(f);
	return 0;
}

typedef int (*each_file)(struct gateway *g, const char *name, struct fault *f);

static int
each_name(struct gateway *g, const char *path, each_file each, struct fault *f)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int rc = 0;

	if (dir == NULL)
		return fault_sys(f, "cannot open '%s'", path);
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (rc == 0 && (d = readdir(dir)) != NULL) {
		if (d->d_name[0] != '.')
			rc = each(g, d->d_name, f);
	}
	(void)closedir(dir);
	return rc;
}

/* A folder whose row was never committed, or is gone. */
static int
sweep_one(struct gateway *g, const char *name, struct fault *f)
{
	struct store_sandbox row;
	struct fault why = { 0 };
	struct arena a;

	(void)f;
	if (!identity_is_id(span_str(name)))
		return 0;
	arena_init(&a, 4 << 20);
	if (store_sandbox_by_id(g->store, name, &a, &row, &why) < 0 &&
	    why.code == FAULT_NOT_FOUND) {
		fault_clear(&why);
		log_info("removed the files of %s, which has no row", name);
		if (trash_put(g, name, &why) < 0)
			log_warn(&why, "cannot remove the files of %s", name);
	}
	arena_release(&a);
	return 0;
}

static int
make_folders(const struct fleet_paths *p, struct fault *f)
{
	const char *const all[] = { p->cache, p->keepers, p->sandboxes };

	for (size_t i = 0; i < NELEM(all); i++) {
		if (dir_make(all[i], 0700, f) < 0)
			return -1;
	}
	return 0;
}

int
fleet_open(struct gateway *g, struct fault *f)
{
	struct fleet_paths p;
	struct fault ignored = { 0 };
	struct resources r = { 0 };

	g->vms = must_alloc(LIMIT_VMS * sizeof(*g->vms));
	for (size_t i = 0; i < LIMIT_VMS; i++)
		g->vms[i].g = g;
	g->fleet_timer.fire = on_tend;
	fleet_paths(g, &p);
	if (make_folders(&p, f) < 0 || trash_open(g, f) < 0 ||
	    each_name(g, p.keepers, adopt_one, f) < 0 ||
	    each_name(g, p.sandboxes, sweep_one, f) < 0)
		return -1;
	if (g->config.prewarm && check_size(&r, f) == 0) {
		const struct machine_shape s = {
			.memory_mib = r.memory_mib,
			.vcpus = r.cpus,
		};

		/* A host that cannot run machines still serves the rest. */
		if (template_want(g, &s, &ignored) < 0)
			log_warn(&ignored, "cannot make the default template");
	}
	settle_all(g);
	return 0;
}

void
fleet_close(struct gateway *g)
{
	loop_timer_clear(&g->fleet_timer);
	template_close_all(g);
	trash_close(g);
	vm_forget_all(g);
}

const struct machine_template *
fleet_facts(const struct gateway *g)
{
	return template_any(g);
}
