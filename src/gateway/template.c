/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of templates. One that could not be made is tried again when
 * somebody wants it, but not within the same ten seconds; while it is in use
 * also when nobody does, later each time. So is one that only boots cold,
 * which serves meanwhile. One whose clones do not start is dropped.
 */
#include <stdlib.h>
#include <string.h>

#include "gateway/fleet.h"
#include "gateway/settle.h"
#include "gateway/state.h"
#include "gateway/template.h"
#include "gateway/vm.h"

enum {
	AGAIN_MS = 10000, /* one that is not there */
	AGAIN_MOST_MS = 600000,
	COLD_MS = 600000, /* one that boots cold */
	COLD_MOST_MS = 4 * 3600000,
	DUD_MS = 600, /* the next clone after one that was none */
	DUD_MOST_MS = 300000,
	DUDS = 6, /* so many in a row: something has changed */
};

struct template
{
	struct gateway *g;
	struct machine_shape shape;
	struct machine_template made;
	bool is_made;
	bool is_wanted; /* a job is to start */
	struct machine_job job;
	struct fault fault; /* of the last try, while it is not there */
	unsigned failures;  /* tries in a row that gave none, or a cold one */
	int64_t failed_ms;
	unsigned duds; /* clones in a row that ended before they parked */
	int64_t dud_ms;
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
failed(struct template *t)
{
	t->failures++;
	t->failed_ms = clock_mono_ms();
}

/* One that has come to be without KVM; NULL: none. */
static const struct template *
without_kvm(const struct gateway *g)
{
	const struct template *t = g->templates;

	while (t != NULL &&
	    (!t->is_made || t->made.why_cold[0] != '\0' ||
		t->made.shape.accel != MACHINE_TCG))
		t = t->next;
	return t;
}

static void
take(struct template *t, const struct machine_template *made)
{
	const struct template *other = without_kvm(t->g);

	machine_template_release(&t->made);
	t->made = *made;
	/* Its job was not told why. */
	if (other != NULL && made->shape.accel == MACHINE_TCG)
		(void)text_copy(t->made.accel_reason,
		    sizeof(t->made.accel_reason),
		    span_str(other->made.accel_reason));
	t->is_made = true;
	t->dud_ms = 0;
	if (made->why_cold[0] != '\0')
		failed(t);
	else
		t->failures = 0;
	log_info("template of %u MiB and %u cpus: %s, %s, %lld ms",
	    t->shape.memory_mib, t->shape.vcpus,
	    machine_accel_name(made->shape.accel),
	    made->why_cold[0] != '\0' ? made->why_cold
		: made->built         ? "built"
				      : "found",
	    (long long)made->took_ms);
}

static void
on_done(struct machine_job *j,
    struct machine_template *made, /* cppcheck-suppress constParameter */
    const struct fault *f)
{
	struct template *t = CONTAINER_OF(j, struct template, job);

	if (made != NULL) {
		take(t, made);
	} else {
		t->fault = *f;
		failed(t);
		log_warn(f, "no template of %u MiB and %u cpus",
		    t->shape.memory_mib, t->shape.vcpus);
	}
	start_next(t->g);
	settle_all(t->g);
	fleet_changed(t->g);
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
	/* To try it may take seconds: not with each size. */
	if (s.accel == MACHINE_AUTO && without_kvm(t->g) != NULL)
		s.accel = MACHINE_TCG;
	t->job.done = on_done;
	t->is_wanted = false;
	fault_clear(&t->fault);
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
		if (!t->is_wanted)
			continue;
		if (start(t, &t->fault) == 0)
			return;
		failed(t);
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
		t->is_wanted = true;
		machine_template_init(&t->made);
		t->next = g->templates;
		g->templates = t;
	} else if (t->fault.code != FAULT_NONE) {
		if (clock_mono_ms() - t->failed_ms < AGAIN_MS) {
			*f = t->fault;
			return -1;
		}
		fault_clear(&t->fault);
		t->is_wanted = true;
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

/* When it is to be made again though nobody asks; 0: it need not be. */
static int64_t
due_ms(const struct template *t)
{
	if (t->failures == 0 || t->is_wanted || machine_job_runs(&t->job))
		return 0;
	return t->failed_ms +
	    (t->is_made ? pace_later(COLD_MS, t->failures, COLD_MOST_MS)
			: pace_later(AGAIN_MS, t->failures, AGAIN_MOST_MS));
}

int64_t
template_tend(struct gateway *g)
{
	int64_t now_ms = clock_mono_ms();
	int64_t least_ms = 0;

	for (struct template *t = g->templates; t != NULL; t = t->next) {
		int64_t due = due_ms(t);

		if (due > 0 && due <= now_ms)
			t->is_wanted = is_in_use(g, &t->shape);
	}
	start_next(g);
	/* One that could not even be begun is due again. */
	for (struct template *t = g->templates; t != NULL; t = t->next) {
		int64_t due = due_ms(t);
		int64_t wait_ms = template_pause_ms(g, &t->shape);

		if (due > now_ms && (wait_ms == 0 || due - now_ms < wait_ms))
			wait_ms = due - now_ms;
		if (wait_ms > 0 && (least_ms == 0 || wait_ms < least_ms))
			least_ms = wait_ms;
	}
	return least_ms;
}

void
template_dud(struct gateway *g, const struct machine_shape *s)
{
	struct template *t = find(g, s);
	struct fleet_paths p;

	if (t == NULL || !t->is_made)
		return;
	t->dud_ms = clock_mono_ms();
	if (++t->duds % DUDS != 0)
		return;
	log_error("clones of the template of %u MiB and %u cpus do not start: "
		  "it is made anew",
	    s->memory_mib, s->vcpus);
	fleet_paths(g, &p);
	machine_template_forget(p.cache, t->made.key);
	machine_template_release(&t->made);
	t->is_made = false;
	t->is_wanted = true;
	start_next(g);
}

void
template_pause(struct gateway *g, const struct machine_shape *s)
{
	struct template *t = find(g, s);

	if (t != NULL)
		t->dud_ms = clock_mono_ms();
}

void
template_parked(struct gateway *g, const struct machine_shape *s)
{
	struct template *t = find(g, s);

	if (t != NULL)
		t->duds = 0;
}

int64_t
template_pause_ms(const struct gateway *g, const struct machine_shape *s)
{
	const struct template *t = find(g, s);
	int64_t left_ms;

	if (t == NULL || !t->is_made || t->dud_ms == 0)
		return 0;
	left_ms = t->dud_ms + pace_later(DUD_MS, t->duds, DUD_MOST_MS) -
	    clock_mono_ms();
	return left_ms > 0 ? left_ms : 0;
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
