/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end. Asked for: every process gets TERM, then KILL; the output goes up;
 * copies are ended, as an open file keeps the disk mounted; it is unmounted,
 * so that its file system is clean; Stopped is said and the machine waits a
 * while for its keeper. Not asked for (the port or the sandbox is gone):
 * nothing runs on, and the machine ends at once.
 */
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	LINGER_MS = 10000
};

static _Noreturn void
end(struct supervisor *sv)
{
	if (sv->is_rehearsal)
		rehearse_end(sv);
	machine_end();
}

static void
linger_over(struct timer *t)
{
	end(CONTAINER_OF(t, struct supervisor, ending));
}

void
finish_tell(struct supervisor *sv)
{
	nacre_session_v1_Up up = nacre_session_v1_Up_init_zero;
	struct fault f = { 0 };

	up.which_kind = nacre_session_v1_Up_stopped_tag;
	if (session_send(&sv->session, &up, &f) != 0)
		log_warn(&f, "cannot tell that it is stopped");
	sv->ending.fire = linger_over;
	loop_timer_set(sv->loop, &sv->ending, LINGER_MS);
}

static void
clean_up(struct supervisor *sv)
{
	struct fault why = { 0 };
	struct fault f = { 0 };

	(void)fault_set(&why, FAULT_NOT_READY, "the sandbox is ending");
	attach_copies_end(sv, &why);
	box_kill(&sv->box);
	if (disks_unmount(&sv->disks, &f) == 0)
		return;
	log_warn(&f, "disk stays mounted");
	/* Also what nothing is mounted of any more. */
	sync();
}

void
finish_check(struct supervisor *sv)
{
	if (sv->phase != PHASE_STOPPING || !sv->are_gone)
		return;
	if (sv->main && sv->main->is_started &&
	    (!sv->main->is_done || (sv->session.call && !sv->exit_told)))
		return;
	sv->phase = PHASE_STOPPED;
	clean_up(sv);
	finish_tell(sv);
}

static void
all_gone(void *owner, const struct fault *f, struct span reply)
{
	struct supervisor *sv = owner;

	(void)reply;
	if (f->code != FAULT_NONE)
		log_warn(f, "sandbox could not stop its processes");
	sv->are_gone = true;
	finish_check(sv);
}

void
finish_stop(struct supervisor *sv, uint32_t grace_ms)
{
	nacre_sandbox_v1_StopRequest q = nacre_sandbox_v1_StopRequest_init_zero;
	struct fault f = { 0 };

	if (sv->phase == PHASE_STOPPING)
		return;
	if (sv->phase == PHASE_STOPPED) {
		finish_tell(sv);
		return;
	}
	sv->phase = PHASE_STOPPING;
	/* What is frozen hears nothing but KILL. */
	q.grace_ms = sv->brake.is_on ? 0 : grace_ms;
	/* A sandbox that never got its token has started nothing. */
	if (sv->box.bearer[0] == '\0' || !sv->box.link) {
		sv->are_gone = true;
		finish_check(sv);
	} else if (BOX_CALL(&sv->box, "Stop", StopRequest, &q, all_gone, sv,
		       &f) != 0) {
		all_gone(sv, &f, span_of(NULL, 0));
	}
}

void
finish_lost(struct supervisor *sv, const struct fault *f)
{
	if (sv->phase != PHASE_STOPPED) {
		log_warn(f, "the machine ends");
		/* Who cannot be frozen may wait for a disk that does not
		 * answer, and so would we. Its file system has a journal. */
		if (sv->brake.freeze < 0 || brake_now(&sv->brake))
			clean_up(sv);
		else
			log_error("the disk is left as it is");
	}
	end(sv);
}
