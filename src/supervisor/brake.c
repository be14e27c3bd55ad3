/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The brake: what holds the agent when nobody may answer for it any more. The
 * agent's cgroup is frozen, the kernel confirms it in cgroup.events within a
 * second, and what the brake waits for decides:
 *
 *   tokens expired, or the gateway refused them   30 s for new ones: thaw
 *   no new ones in that time                      the machine ends
 *   not frozen in a second                        the machine ends
 *   the port or the sandbox is gone               the machine ends, at once
 *
 * Nothing that the agent does undoes a freeze: SIGCONT has no effect on it,
 * and the cgroup is not its own. KILL works on what is frozen.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	CONFIRM_MS = 1000,
	GRACE_MS = 30000,
};

static bool
is_frozen(const struct brake *b)
{
	char text[256];
	ssize_t n = pread(b->events, text, sizeof(text) - 1, 0);

	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, "frozen 1") != NULL;
}

static int
put(struct brake *b, const char *what, struct fault *f)
{
	if (pwrite(b->freeze, what, 1, 0) != 1)
		return fault_sys(f, "cannot write cgroup.freeze");
	return 0;
}

static void
confirmed(struct brake *b)
{
	loop_unwatch(&b->watch);
	b->is_sure = true;
	log_warn(&b->why, "agent is frozen after %lld us",
	    (long long)(clock_mono_us() - b->began_us));
	loop_timer_set(b->sv->loop, &b->bound, GRACE_MS);
}

static void
events_changed(struct watch *w, unsigned events)
{
	struct brake *b = CONTAINER_OF(w, struct brake, watch);

	(void)events;
	if (is_frozen(b))
		confirmed(b);
}

static void
bound_over(struct timer *t)
{
	struct brake *b = CONTAINER_OF(t, struct brake, bound);

	if (!b->is_sure && is_frozen(b)) {
		confirmed(b);
		return;
	}
	if (!b->is_sure)
		(void)fault_prefix(&b->why, "agent could not be frozen");
	finish_lost(b->sv, &b->why);
}

void
brake_pull(struct brake *b, const struct fault *why)
{
	struct fault f = { 0 };

	if (b->is_on || b->sv->phase >= PHASE_STOPPING)
		return;
	b->is_on = true;
	b->is_sure = false;
	b->why = *why;
	b->began_us = clock_mono_us();
	/* Read first: only what changes after it is told. */
	(void)is_frozen(b);
	if (put(b, "1", &f) != 0 ||
	    loop_watch(b->sv->loop, &b->watch, b->events, 0, &f) != 0)
		finish_lost(b->sv, &f);
	loop_timer_set(b->sv->loop, &b->bound, CONFIRM_MS);
	if (is_frozen(b))
		confirmed(b);
}

static void
thaw(struct brake *b)
{
	struct fault f = { 0 };

	if (!b->is_on)
		return;
	loop_unwatch(&b->watch);
	loop_timer_clear(&b->bound);
	if (put(b, "0", &f) != 0)
		finish_lost(b->sv, &f);
	b->is_on = false;
	log_info("agent goes on after %lld ms",
	    (long long)((clock_mono_us() - b->began_us) / 1000));
}

static void
expired(struct timer *t)
{
	struct brake *b = CONTAINER_OF(t, struct brake, expiry);
	struct fault f = { 0 };

	(void)fault_set(&f, FAULT_UNAUTHENTICATED, "the tokens have expired");
	brake_pull(b, &f);
}

static void
watch_tokens(struct brake *b)
{
	int64_t left_ms = b->sv->tokens.until_ms - clock_mono_ms();

	/* No root, no agent: the launch is about to fail. */
	if (b->events < 0 || b->sv->tokens.until_ms == 0)
		return;
	loop_timer_set(b->sv->loop, &b->expiry, left_ms > 0 ? left_ms : 0);
}

void
brake_renewed(struct brake *b)
{
	thaw(b);
	watch_tokens(b);
}

bool
brake_now(struct brake *b)
{
	struct pollfd p = { .fd = b->events, .events = POLLPRI };
	int64_t began_us = b->is_on ? b->began_us : clock_mono_us();
	int64_t left_ms = CONFIRM_MS - (clock_mono_us() - began_us) / 1000;
	struct fault f = { 0 };

	if (b->is_on && b->is_sure)
		return true;
	if (b->freeze < 0)
		return false;
	loop_unwatch(&b->watch);
	if (put(b, "1", &f) != 0) {
		log_warn(&f, "agent is not frozen");
		return false;
	}
	while (!is_frozen(b) && left_ms > 0) {
		if (poll(&p, 1, (int)left_ms) < 0 && errno != EINTR)
			break;
		left_ms = CONFIRM_MS - (clock_mono_us() - began_us) / 1000;
	}
	log_info("agent is %s after %lld us", is_frozen(b) ? "frozen" : "awake",
	    (long long)(clock_mono_us() - began_us));
	return is_frozen(b);
}

int
brake_open(struct brake *b, struct fault *f)
{
	static const char freeze[] = "/sys/fs/cgroup/agent/cgroup.freeze";
	static const char events[] = "/sys/fs/cgroup/agent/cgroup.events";

	b->watch = (struct watch){ .fd = -1, .ready = events_changed };
	b->bound.fire = bound_over;
	b->expiry.fire = expired;
	b->freeze = open(freeze, O_WRONLY | O_CLOEXEC);
	b->events = open(events, O_RDONLY | O_CLOEXEC);
	if (b->freeze < 0 || b->events < 0)
		return fault_sys(f, "cannot open the agent's cgroup");
	watch_tokens(b);
	return 0;
}
