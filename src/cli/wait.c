/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a sandbox. Others may stop, start or delete it meanwhile, so
 * only its last status counts: the phase that is waited for, or a fault that
 * tells which one came instead.
 */
#include <stdio.h>
#include <string.h>

#include "cli/wait.h"
#include "wire/wire.h"

#define PHASE(name) openshell_v1_SandboxPhase_SANDBOX_PHASE_##name

void
cli_wait_take(struct wait *w, const openshell_v1_SandboxStatus *s)
{
	const char *why = "";

	w->phase = s->phase;
	for (pb_size_t i = 0; i < s->conditions_count; i++)
		if (s->conditions[i].message && *s->conditions[i].message)
			why = s->conditions[i].message;
	(void)text_copy(w->why, sizeof(w->why), span_str(why));
	if (s->phase == PHASE(READY))
		w->was_ready = true;
	w->has_exit = s->has_exit_code;
	w->exit_code = s->exit_code;
}

bool
cli_wait_is_over(const struct wait *w)
{
	if (w->attach && w->has_exit)
		return true;
	/* One whose launch failed says why at its very end. */
	if (w->phase == PHASE(DELETING))
		return false;
	/* It was stopping before we looked: any other phase is a new life. */
	if (w->until == PHASE(STOPPED))
		return w->phase != PHASE(STOPPING);
	return w->phase == PHASE(ERROR) || w->phase == PHASE(STOPPED) ||
	    (!w->attach && w->phase == PHASE(READY));
}

/* The stream ends by itself only when the sandbox is gone. */
static const char *
what_came(const struct wait *w)
{
	if (w->phase == PHASE(STOPPED))
		return "was stopped";
	if (w->until == PHASE(STOPPED) && cli_wait_is_over(w))
		return "was started again";
	return "was deleted";
}

int
cli_wait_result(const struct wait *w, struct fault *f)
{
	enum fault_code code = w->attach ? FAULT_LOST
	    : w->until == PHASE(READY)   ? FAULT_START_FAILED
					 : FAULT_CONFLICT;
	const char *before = w->until == PHASE(STOPPED) ? "it had stopped"
	    : w->was_ready ? "its main process ended"
			   : "it was ready";

	if (w->attach ? w->has_exit : w->phase == w->until)
		return 0;
	if (w->phase == PHASE(ERROR))
		return fault_set(f, code, "sandbox failed: %s",
		    w->why[0] ? w->why : "no reason was given");
	if (w->phase == PHASE(STOPPED) && w->why[0])
		return fault_set(f, code, "sandbox was stopped before %s: %s",
		    before, w->why);
	return fault_set(f, code, "sandbox %s before %s", what_came(w), before);
}

struct watch_call {
	struct wait *wait;
	struct arena arena; /* of one message */
};

static int
print_line(const openshell_v1_SandboxLogLine *l, struct fault *f)
{
	bool err = l->target && strcmp(l->target, "stderr") == 0;

	(void)fprintf(err ? stderr : stdout, "%s\n", cli_text(l->message));
	return cli_flush(f);
}

static bool
on_message(struct client_stream *s, struct span message)
{
	struct watch_call *c = s->owner;
	openshell_v1_SandboxStreamEvent e =
	    openshell_v1_SandboxStreamEvent_init_zero;
	bool goes_on = true;

	if (WIRE_DECODE(openshell_v1_SandboxStreamEvent, &e, message, &c->arena,
		&s->fault) != 0)
		return false;
	if (e.which_payload == openshell_v1_SandboxStreamEvent_log_tag) {
		goes_on = print_line(&e.payload.log, &s->fault) == 0;
	} else if (e.which_payload ==
		openshell_v1_SandboxStreamEvent_sandbox_tag &&
	    e.payload.sandbox.has_status) {
		cli_wait_take(c->wait, &e.payload.sandbox.status);
		if (c->wait->was_ready)
			client_doing(s->client, NULL);
		goes_on = !cli_wait_is_over(c->wait);
	}
	arena_release(&c->arena);
	return goes_on;
}

static int
run(struct client *cl, const char *id, struct watch_call *c, struct fault *f)
{
	openshell_v1_WatchSandboxRequest ask =
	    openshell_v1_WatchSandboxRequest_init_zero;
	struct client_stream s = { .message = on_message, .owner = c };

	ask.id = arena_str(&cl->cli->arena, span_str(id));
	ask.follow_status = true;
	ask.follow_logs = c->wait->attach;
	if (client_stream_open(cl, &s, "/openshell.v1.OpenShell/WatchSandbox",
		f) != 0 ||
	    client_stream_send(&s, openshell_v1_WatchSandboxRequest_fields,
		&ask, f) != 0)
		return -1;
	rpc_half_close(s.call);
	return client_stream_run(&s, f);
}

int
cli_wait(struct client *cl, const char *id, struct wait *w, struct fault *f)
{
	struct watch_call c = { .wait = w };
	int rc;

	arena_init(&c.arena, 4 * LIMIT_MESSAGE);
	rc = run(cl, id, &c, f);
	arena_release(&c.arena);
	return rc == 0 ? cli_wait_result(w, f) : -1;
}
