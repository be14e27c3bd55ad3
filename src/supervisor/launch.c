/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch, after the re-execution:
 *
 *   LAUNCHING   the tunnel opens; meanwhile disks are mounted and the
 *               sandbox starts. Left when the bundle and the sandbox's link
 *               are both there.
 *   CONFIRMING  the sandbox builds the root and proves the confinement.
 *   STARTING    the main process is being executed.
 *   RUNNING     Ready was sent.
 *
 * A step that fails is told once as Failed and ends in PHASE_FAILED, where
 * the machine waits for its keeper. Nothing of the agent's runs before
 * STARTING.
 */
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/inner.h"

enum {
	LOG_MESSAGE = 16384,
	CLOCK_OFF_NS = 500000000,
	LOG_OVER = 64
};

static void
tell_failed(struct supervisor *sv)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault lost = { 0 };
	char code[32];

	(void)text_copy(code, sizeof(code),
	    span_str(fault_reason(sv->failure.code)));
	up.which_kind = nacre_session_v1_Up_failed_tag;
	up.kind.failed.stage = sv->failed_stage;
	up.kind.failed.reason = sv->failure.text;
	up.kind.failed.code = code;
	if (session_send(&sv->session, &up, &lost) != 0)
		log_warn(&lost, "cannot tell it");
}

void
launch_failed(struct supervisor *sv, const char *stage, const struct fault *f)
{
	if (sv->phase >= PHASE_STOPPING)
		return;
	log_warn(f, "launch failed at '%s'", stage);
	sv->phase = PHASE_FAILED;
	sv->failure = *f;
	(void)text_copy(sv->failed_stage, sizeof(sv->failed_stage),
	    span_str(stage));
	tell_failed(sv);
}

static void
tell_ready(struct supervisor *sv)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	nacre_session_v1_Ready *r = &up.kind.ready;
	struct fault f = { 0 };

	up.which_kind = nacre_session_v1_Up_ready_tag;
	r->probes = sv->probes;
	r->probes_count = (pb_size_t)sv->probes_n;
	r->main_pid = sv->main ? sv->main->pid : 0;
	r->generation = sv->bundle.generation;
	r->mounted_us = (uint64_t)(sv->mounted_us - sv->launch_us);
	r->tls_us = (uint64_t)(sv->tls_us - sv->launch_us);
	r->started_us = (uint64_t)(sv->started_us - sv->launch_us);
	if (session_send(&sv->session, &up, &f) != 0)
		log_warn(&f, "cannot tell that it is ready");
}

static void
running(struct supervisor *sv)
{
	sv->started_us = clock_mono_us();
	sv->phase = PHASE_RUNNING;
	tell_ready(sv);
}

/* --- the main process */
static void
main_begun(struct run *r)
{
	struct supervisor *sv = r->sv;
	struct fault f = { 0 };

	if (sv->phase != PHASE_STARTING)
		return;
	if (r->is_started) {
		running(sv);
		return;
	}
	if (r->why.code != FAULT_NONE)
		f = r->why;
	else if (r->failed_errno == ENOENT || r->failed_errno == ENOTDIR)
		(void)fault_set(&f, FAULT_NOT_FOUND, "cannot execute '%s': %s",
		    sv->bundle.agent.argv[0], strerror(r->failed_errno));
	else
		(void)fault_set(&f, FAULT_START_FAILED,
		    "cannot execute '%s': %s", sv->bundle.agent.argv[0],
		    strerror(r->failed_errno));
	if (strcmp(r->reason, "workdir") == 0)
		(void)fault_prefix(&f, "work folder '%s'",
		    sv->bundle.agent.workdir);
	launch_failed(sv, r->code == 126 || r->code == 127 ? "exec" : r->reason,
	    &f);
}

static void
tell_main_exit(struct supervisor *sv)
{
	static char none[] = "";
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct run *r = sv->main;
	struct fault f = { 0 };

	if (!r || !r->is_done || !r->is_started || sv->exit_told)
		return;
	/* After its last output, in the same stream. */
	launch_push_log(sv);
	if (sv->log.sent < sv->log.end)
		return;
	up.which_kind = nacre_session_v1_Up_exit_tag;
	up.kind.exit.exec_id = none;
	up.kind.exit.code = r->code;
	up.kind.exit.signal = r->signal;
	up.kind.exit.reason = r->reason;
	if (session_send(&sv->session, &up, &f) == 0)
		sv->exit_told = true;
}

static void
main_ended(struct run *r)
{
	tell_main_exit(r->sv);
	attach_main_ended(r->sv);
	finish_check(r->sv);
}

static void
start_main(struct supervisor *sv)
{
	struct fault f = { 0 };

	sv->phase = PHASE_STARTING;
	if (sv->bundle.no_main) {
		running(sv);
		return;
	}
	if (!sv->bundle.has_agent) {
		(void)fault_field(&f, "agent", "is missing");
		launch_failed(sv, "exec", &f);
		return;
	}
	sv->main = run_new(sv, "main");
	sv->main->is_main = true;
	sv->main->begun = main_begun;
	sv->main->ended = main_ended;
	/* A terminal waits for who attaches; a pipe has nobody to fill it. */
	if (!sv->bundle.agent.tty)
		run_input_end(sv->main);
	if (run_start(sv->main, &sv->bundle.agent, 0, &f) != 0)
		launch_failed(sv, "exec", &f);
}

/* --- output of the main process */
static bool
push_piece(struct supervisor *sv)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	nacre_session_v1_Log *l = &up.kind.log;
	struct fault f = { 0 };
	struct arena a;
	struct span s;
	bool sent;

	if (!sv->session.call || !sv->session.is_open ||
	    !attach_has_room(sv->session.call))
		return false;
	if (!mainlog_next(&sv->log, LOG_MESSAGE, &l->offset, &s, &l->is_error,
		&l->time_ms))
		return false;
	arena_init(&a, 2 * LOG_MESSAGE);
	up.which_kind = nacre_session_v1_Up_log_tag;
	l->data = wire_bytes(&a, s);
	sent = session_send(&sv->session, &up, &f) == 0;
	arena_release(&a);
	if (sent)
		mainlog_sent(&sv->log, l->offset + s.len);
	return sent;
}

void
launch_push_log(struct supervisor *sv)
{
	while (push_piece(sv)) {
	}
}

void
launch_log_room(struct supervisor *sv)
{
	launch_push_log(sv);
	tell_main_exit(sv);
	finish_check(sv);
}

void
launch_resumed(struct supervisor *sv)
{
	sv->exit_told = false;
	if (sv->phase == PHASE_RUNNING)
		tell_ready(sv);
	if (sv->phase == PHASE_FAILED)
		tell_failed(sv);
	launch_log_room(sv);
	if (sv->phase == PHASE_STOPPED)
		finish_tell(sv);
}

/* --- confirmation */
static int
keep_probes(struct supervisor *sv, struct span m, struct fault *f)
{
	nacre_sandbox_v1_ConfirmReply r =
	    nacre_sandbox_v1_ConfirmReply_init_zero;
	struct arena *a = &sv->bundle_arena;

	if (WIRE_DECODE(nacre_sandbox_v1_ConfirmReply, &r, m, a, f) != 0)
		return -1;
	sv->probes = arena_get(a, (r.probes_count + 1) * sizeof(*sv->probes));
	if (!sv->probes)
		return fault_set(f, FAULT_LIMIT, "the probes are too many");
	for (size_t i = 0; i < r.probes_count; i++) {
		sv->probes[i].name = r.probes[i].name;
		sv->probes[i].passed = r.probes[i].passed;
		sv->probes[i].detail = r.probes[i].detail;
		if (!r.probes[i].passed)
			return fault_set(f, FAULT_START_FAILED,
			    "probe '%s' failed", r.probes[i].name);
	}
	sv->probes_n = r.probes_count;
	if (sv->probes_n == 0)
		return fault_set(f, FAULT_PROTOCOL, "nothing was proved");
	return 0;
}

static void
confirmed(void *owner, const struct fault *why, struct span m)
{
	struct supervisor *sv = owner;
	struct fault f = *why;

	if (sv->phase != PHASE_CONFIRMING)
		return;
	if (f.code != FAULT_NONE || keep_probes(sv, m, &f) != 0)
		launch_failed(sv, "confine", &f);
	else {
		door_open(&sv->door, sv);
		start_main(sv);
	}
}

static int
confirm(struct supervisor *sv, struct fault *f)
{
	nacre_sandbox_v1_ConfirmRequest q =
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	const nacre_session_v1_Bundle *b = &sv->bundle;

	q.host_name = b->name;
	q.uid = b->uid;
	q.gid = b->gid;
	q.groups = b->groups;
	q.groups_count = b->groups_count;
	q.user = b->user;
	q.home = b->home;
	q.pids_max = b->pids_max;
	q.memory_max = b->memory_max;
	q.tmpfs = b->tmpfs;
	q.workdir = b->agent.workdir;
	sv->phase = PHASE_CONFIRMING;
	if (files_rules(sv, &q, f) != 0 ||
	    box_grant(&sv->box, sv->tokens.sandbox, f) != 0 ||
	    box_watch(&sv->box, f) != 0)
		return -1;
	return BOX_CALL(&sv->box, "Confirm", ConfirmRequest, &q, confirmed, sv,
	    f);
}

/* Go on when the bundle, the disks and the sandbox are there. */
static void
proceed(struct supervisor *sv)
{
	struct fault f = { 0 };

	if (sv->phase != PHASE_LAUNCHING || !sv->has_bundle)
		return;
	if (sv->early_fault.code != FAULT_NONE) {
		launch_failed(sv, sv->disks.root ? "sandbox" : "mount",
		    &sv->early_fault);
		return;
	}
	if (!sv->box_up)
		return;
	if (sv->bundle.tmpfs == sv->disks.on_disk) {
		(void)fault_set(&f, FAULT_START_FAILED,
		    sv->bundle.tmpfs ? "there is a disk where none should be"
				     : "the disk holds no file system");
		launch_failed(sv, "mount", &f);
		return;
	}
	if (confirm(sv, &f) != 0)
		launch_failed(sv, "confine", &f);
}

void
launch_bundle(struct supervisor *sv)
{
	int64_t off_ns = sv->bundle.time_ns - clock_wall_ns();

	/* LAUNCH and the keeper's line brought the time already; without a
	 * keeper it is in the bundle. A clock that is right stays. */
	if (off_ns > CLOCK_OFF_NS || off_ns < -CLOCK_OFF_NS)
		boot_set_clock(sv->bundle.time_ns);
	proceed(sv);
}

/* --- the sandbox */
static void
box_is_up(void *owner)
{
	struct supervisor *sv = owner;

	sv->box_up = true;
	sv->tls_us = clock_mono_us();
	proceed(sv);
}

static void
box_said(void *owner, const nacre_sandbox_v1_Event *e)
{
	struct supervisor *sv = owner;

	if (!e->exec_id)
		return;
	if (sv->main && strcmp(e->exec_id, sv->main->id) == 0)
		run_event(sv->main, e);
	for (size_t i = 0; i < NELEM(sv->runs); i++)
		if (sv->runs[i] && strcmp(e->exec_id, sv->runs[i]->id) == 0) {
			run_event(sv->runs[i], e);
			return;
		}
}

static void
box_is_down(void *owner, const struct fault *f)
{
	struct supervisor *sv = owner;

	if (sv->phase == PHASE_STOPPED)
		return;
	if (sv->phase == PHASE_LAUNCHING || sv->phase == PHASE_FAILED) {
		if (sv->early_fault.code == FAULT_NONE)
			(void)fault_set(&sv->early_fault, FAULT_START_FAILED,
			    "the sandbox ended: %s", f->text);
		proceed(sv);
		return;
	}
	finish_lost(sv, f);
}

static void
reap(void *owner, int sig)
{
	struct supervisor *sv = owner;
	pid_t pid;

	(void)sig;
	/* The sandbox's own end shows on its link. */
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		if (pid == sv->box.pid)
			sv->box.pid = 0;
}

/* What needs no bundle, while the gateway answers. */
static void
start_early(struct deferred *d)
{
	static const struct box_events events = { .up = box_is_up,
		.event = box_said,
		.down = box_is_down };
	struct supervisor *sv = CONTAINER_OF(d, struct supervisor, early);
	struct fault *f = &sv->early_fault;

	if (disks_mount(&sv->disks, f) == 0) {
		sv->mounted_us = clock_mono_us();
		(void)(brake_open(&sv->brake, f) == 0 &&
		    box_open(&sv->box, sv->loop, &events, sv, f) == 0 &&
		    rights_narrow(f) == 0);
	}
	proceed(sv);
}

static void
port_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	(void)l;
	finish_lost(owner, f);
}

int
launch_run(struct supervisor *sv, int port, struct fault *f)
{
	static const struct rpc_link_events events = { .down = port_down };
	struct rpc_link_options o = { .events = &events, .owner = sv };

	sv->phase = PHASE_LAUNCHING;
	sv->box = (struct box){ .pass = -1, .start = -1 };
	sv->tunnel.sv = sv;
	sv->clock.sv = sv;
	sv->session.sv = sv;
	sv->brake = (struct brake){ .sv = sv, .freeze = -1, .events = -1 };
	mainlog_init(&sv->log);
	sv->loop = loop_new(f);
	if (!sv->loop || loop_signal(sv->loop, SIGCHLD, reap, sv, f) != 0)
		return -1;
	sv->port = rpc_link_open_fd(sv->loop, port, &o, f);
	if (!sv->port || tunnel_open(&sv->tunnel, f) != 0)
		return -1;
	clock_open(&sv->clock);
	sv->early.run = start_early;
	loop_later(sv->loop, &sv->early);
	return loop_run(sv->loop, f);
}
