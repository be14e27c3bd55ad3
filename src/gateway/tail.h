/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of a log, and lines as the north API shows them. */
#ifndef GATEWAY_TAIL_H
#define GATEWAY_TAIL_H

#include "gateway/journal.h"
#include "proto/openshell_v1.pb.h"

struct tail {
	uint32_t lines;   /* wanted */
	int64_t since_ms; /* 0: all */
	bool is_muted;    /* no source that is asked for is ours */
	uint64_t total;   /* lines that match, when they were counted */
	uint64_t skip;    /* matching lines to pass over first */
	/* 0, or what the lines may take in an answer: the oldest go. */
	size_t bytes_most;
	uint64_t dropped; /* by that, of those that were wanted */
	struct tail_window *window;
};

/* sources: "sandbox", "gateway"; none means all. */
void tail_init(struct tail *t, uint32_t lines, int64_t since_ms,
    const char *const *sources, size_t n);
/* Read once to know how many lines come before the wanted ones. */
int tail_count(const struct gateway *g, const char *id, struct tail *t,
    struct fault *f) MUST_CHECK;
bool tail_passes_over(struct tail *t, const struct journal_line *line);
void tail_line(const char *id, const struct journal_line *line, struct arena *a,
    openshell_v1_SandboxLogLine *out);

#endif
