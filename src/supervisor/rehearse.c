/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch path on scrap disks, so that a parked clone has its code
 * translated and its caches warm. It runs in a process and a mount namespace
 * of its own, with a key and a token that are thrown away; what it leaves is
 * only faster.
 */
#include <signal.h>
#include <string.h>

#include "supervisor/inner.h"

enum {
	LIMIT_MS = 30000,
	USER = 1000
};

struct rehearsal {
	struct loop *loop;
	struct supervisor sv; /* what run.c needs */
	struct timer limit;
	struct fault why;
	bool has_passed;
};

static void
stop_with(struct rehearsal *r, const struct fault *f)
{
	r->why = *f;
	r->has_passed = f->code == FAULT_NONE;
	loop_stop(r->loop);
}

static struct rehearsal *
of(struct supervisor *sv)
{
	return CONTAINER_OF(sv, struct rehearsal, sv);
}

static void
stopped(void *owner, const struct fault *f, struct span reply)
{
	(void)reply;
	stop_with(owner, f);
}

static void
ended(struct run *run)
{
	nacre_sandbox_v1_StopRequest q = nacre_sandbox_v1_StopRequest_init_zero;
	struct rehearsal *r = of(run->sv);
	struct fault f = { 0 };

	if (run->code != 0)
		(void)fault_set(&f, FAULT_START_FAILED,
		    "the scrap program ended with %d %s", run->code,
		    run->reason);
	else if (BOX_CALL(&r->sv.box, "Stop", StopRequest, &q, stopped, r,
		     &f) == 0)
		return;
	stop_with(r, &f);
}

static void
confirmed(void *owner, const struct fault *why, struct span m)
{
	static char program[] = "/true";
	static char path[] = "PATH=/";
	static char root[] = "/";
	static char *argv[] = { program };
	static char *env[] = { path };
	struct rehearsal *r = owner;
	nacre_session_v1_Command c = nacre_session_v1_Command_init_zero;
	struct fault f = *why;

	(void)m;
	c.argv = argv;
	c.argv_count = 1;
	c.env = env;
	c.env_count = 1;
	c.workdir = root;
	if (f.code == FAULT_NONE) {
		r->sv.main = run_new(&r->sv, "rehearsal");
		r->sv.main->is_lost = true;
		r->sv.main->ended = ended;
		if (run_start(r->sv.main, &c, 1000, &f) == 0)
			return;
	}
	stop_with(r, &f);
}

static void
box_up(void *owner)
{
	static char host[] = "rehearsal";
	static char home[] = "/tmp";
	struct rehearsal *r = owner;
	nacre_sandbox_v1_ConfirmRequest q =
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	struct fault f = { 0 };
	uint8_t random[32];
	char token[65];

	random_bytes(random, sizeof(random));
	hex_format(random, sizeof(random), token);
	q.host_name = host;
	q.home = home;
	q.workdir = home;
	q.uid = USER;
	q.gid = USER;
	q.pids_max = 64;
	if (box_grant(&r->sv.box, token, &f) != 0 ||
	    box_watch(&r->sv.box, &f) != 0 ||
	    BOX_CALL(&r->sv.box, "Confirm", ConfirmRequest, &q, confirmed, r,
		&f) != 0)
		stop_with(r, &f);
}

static void
box_event(void *owner, const nacre_sandbox_v1_Event *e)
{
	struct rehearsal *r = owner;

	if (r->sv.main && e->exec_id && strcmp(e->exec_id, r->sv.main->id) == 0)
		run_event(r->sv.main, e);
}

static void
box_down(void *owner, const struct fault *f)
{
	struct rehearsal *r = owner;
	struct fault why = { 0 };

	if (r->has_passed)
		return;
	(void)fault_set(&why, FAULT_START_FAILED, "the sandbox ended: %s",
	    f->text);
	stop_with(r, &why);
}

static void
too_long(struct timer *t)
{
	struct rehearsal *r = CONTAINER_OF(t, struct rehearsal, limit);
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_TIMEOUT, "the rehearsal takes too long");
	stop_with(r, &f);
}

/* Limits that the rehearsal set must not outlast it. */
static int
reset_cgroup(struct fault *f)
{
	static const char *const files[] = {
		"/sys/fs/cgroup/agent/pids.max",
		"/sys/fs/cgroup/agent/memory.max",
	};

	for (size_t i = 0; i < NELEM(files); i++)
		if (boot_write(files[i], "max", f) != 0)
			return -1;
	return 0;
}

int
rehearse_run(struct fault *f)
{
	static struct rehearsal r;
	static const struct box_events events = { .up = box_up,
		.event = box_event,
		.down = box_down };
	int failed;

	r.loop = loop_new(f);
	if (!r.loop)
		return -1;
	r.sv.loop = r.loop;
	r.limit.fire = too_long;
	loop_timer_set(r.loop, &r.limit, LIMIT_MS);
	failed = disks_mount(&r.sv.disks, f) != 0 ||
	    box_open(&r.sv.box, r.loop, &events, &r, f) != 0 ||
	    loop_run(r.loop, f) != 0;
	box_kill(&r.sv.box);
	if (!failed && !r.has_passed) {
		*f = r.why;
		failed = true;
	}
	if (disks_unmount(&r.sv.disks, f) != 0 || reset_cgroup(f) != 0)
		failed = true;
	return failed ? -1 : 0;
}
