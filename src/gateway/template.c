/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of templates. Each is asked for once; one that failed is tried
 * again when somebody wants it, but not within the same ten seconds.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/fleet.h"
#include "gateway/settle.h"
#include "gateway/state.h"
#include "gateway/template.h"
#include "gateway/vm.h"

enum {
	AGAIN_MS = 10000,
};

struct template
{
	struct gateway *g;
	struct machine_shape shape;
	struct machine_template made;
	bool is_made;
	struct machine_job job;
	struct fault fault; /* of the last try */
	int64_t failed_ms;
	struct template *next;
};

static bool
is_shape(const struct machine_shape *a, const struct machine_shape *b)
{
	return a->memory_mib == b->memory_mib && a->vcpus == b->vcpus;
}

static struct template *
find(const struct gateway *g, const struct machine_shape *s)
{
	struct template *t = g->templates;

	while (t != NULL && !is_shape(&t->shape, s))
		t = t->next;
	return t;
}

const struct machine_template *
template_find(const struct gateway *g, const struct machine_shape *s)
{
	const struct template *t = find(g, s);

	return t != NULL && t->is_made ? &t->made : NULL;
}

static void start_next(struct gateway *g);

static void
on_done(struct machine_job *j,
    struct machine_template *made, /* cppcheck-suppress constParameter */
    const struct fault *f)
{
	struct template *t = CONTAINER_OF(j, struct template, job);

	if (made != NULL) {
		t->made = *made;
		t->is_made = true;
		log_info("template of %u MiB and %u cpus: %s, %s, %lld ms",
		    t->shape.memory_mib, t->shape.vcpus,
		    machine_accel_name(t->made.shape.accel),
		    t->made.why_cold[0] != '\0' ? t->made.why_cold
			: t->made.built         ? "built"
						: "found",
		    (long long)t->made.took_ms);
	} else {
		t->fault = *f;
		t->failed_ms = clock_mono_ms();
		log_warn(f, "no template of %u MiB and %u cpus",
		    t->shape.memory_mib, t->shape.vcpus);
	}
	start_next(t->g);
	settle_all(t->g);
	fleet_changed(t->g);
}

static bool
is_waiting(const struct template *t)
{
	return !t->is_made && t->fault.code == FAULT_NONE &&
	    !machine_job_runs(&t->job);
}

static int
start(struct template *t, struct fault *f)
{
	struct fleet_paths p;
	struct machine_paths paths = { 0 };
	struct machine_shape s = t->shape;

	fleet_paths(t->g, &p);
	paths.keeper = p.keeper;
	paths.kernel = p.kernel;
	paths.initramfs = p.initramfs;
	paths.guest = p.guest;
	paths.cache = p.cache;
	if (!machine_accel_parse(span_str(t->g->config.accelerator), &s.accel))
		s.accel = MACHINE_AUTO;
	t->job.done = on_done;
	return machine_template_get(t->g->loop, &t->job, &paths, &s, f);
}

/* One job at a time: each boots a machine. */
static void
start_next(struct gateway *g)
{
	for (struct template *t = g->templates; t != NULL; t = t->next) {
		if (machine_job_runs(&t->job))
			return;
	}
	for (struct template *t = g->templates; t != NULL; t = t->next) {
		if (!is_waiting(t))
			continue;
		if (start(t, &t->fault) == 0)
			return;
		t->failed_ms = clock_mono_ms();
		log_warn(&t->fault, "cannot start to make a template");
	}
}

int
template_want(struct gateway *g, const struct machine_shape *s, struct fault *f)
{
	struct template *t = find(g, s);

	if (t == NULL) {
		t = must_alloc(sizeof(*t));
		t->g = g;
		t->shape = *s;
		machine_template_init(&t->made);
		t->next = g->templates;
		g->templates = t;
	} else if (t->fault.code != FAULT_NONE) {
		if (clock_mono_ms() - t->failed_ms < AGAIN_MS) {
			*f = t->fault;
			return -1;
		}
		fault_clear(&t->fault);
	}
	start_next(g);
	if (t->fault.code == FAULT_NONE)
		return 0;
	*f = t->fault;
	return -1;
}

struct use {
	const struct machine_shape *shape;
	bool found;
};

static int
look(void *owner, struct store_sandbox *row, struct fault *f)
{
	struct use *u = owner;

	(void)f;
	if (row->memory_mib == u->shape->memory_mib &&
	    row->cpus == u->shape->vcpus &&
	    (row->state == STATE_RESERVED || row->state == STATE_STARTING ||
		row->state == STATE_RUNNING || row->state == STATE_ENDED ||
		row->state == STATE_STOPPED))
		u->found = true;
	return 0;
}

static bool
is_in_use(struct gateway *g, const struct machine_shape *s)
{
	const struct store_page all = { 0 };
	struct resources r = { 0 };
	struct use u = { .shape = s };
	struct fault f = { 0 };

	if (g->config.prewarm && check_size(&r, &f) == 0 &&
	    r.memory_mib == s->memory_mib && r.cpus == s->vcpus)
		return true;
	if (store_sandbox_list(g->store, &all, look, &u, &f) < 0)
		log_warn(&f, "cannot list the sandboxes");
	return u.found;
}

void
template_each(struct gateway *g,
    void (*each)(struct gateway *g, const struct machine_template *t,
	bool is_in_use))
{
	for (struct template *t = g->templates; t != NULL; t = t->next) {
		if (t->is_made)
			each(g, &t->made, is_in_use(g, &t->shape));
	}
}

const struct machine_template *
template_any(const struct gateway *g)
{
	for (const struct template *t = g->templates; t != NULL; t = t->next) {
		if (t->is_made)
			return &t->made;
	}
	return NULL;
}

void
template_close_all(struct gateway *g)
{
	while (g->templates != NULL) {
		struct template *t = g->templates;

		g->templates = t->next;
		machine_job_cancel(&t->job);
		machine_template_release(&t->made);
		free(t);
	}
}
