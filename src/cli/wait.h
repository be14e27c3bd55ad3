/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a sandbox: what its status told last, and whether what was
 * asked for has come or cannot come any more. Set attach and until, then
 * cli_wait(). The other three are its parts, and touch nothing else.
 */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include "cli/inner.h"
#include "proto/openshell_v1.pb.h"

struct wait {
	bool attach; /* for the main process's end, its lines printed here */
	openshell_v1_SandboxPhase until; /* READY or STOPPED; attach: READY */
	openshell_v1_SandboxPhase phase;
	bool was_ready;
	bool has_exit;
	int32_t exit_code;
	char why[240]; /* of this phase, may be empty */
};

/* Watch that sandbox until it is there. The fault says what came instead. */
int cli_wait(struct client *cl, const char *id, struct wait *w,
    struct fault *f) MUST_CHECK;

void cli_wait_take(struct wait *w, const openshell_v1_SandboxStatus *s);
/* Nothing that may come can change the result. */
bool cli_wait_is_over(const struct wait *w);
/* When the watch has ended, by us or because the sandbox is gone. */
int cli_wait_result(const struct wait *w, struct fault *f) MUST_CHECK;

#endif
