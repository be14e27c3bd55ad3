/* rooms: prover */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prove many pairs: stdin is lines of JSON, a child and then its parent; each
 * pair is answered by a line
 *
 *	VERDICT NANOSECONDS STEPS ARENA PORT|PROGRAM|HOST|METHOD|PATH
 *
 * the fastest of `REPEAT` proofs (argument 1, default 1), by the clock on the
 * wall or (a second argument) of the processor. Children are judged
 * as written, not completed. For tests/z3 and tests/bench.
 */
#include <time.h>

#include "base/base.h"
#include "policy/policy.h"
#include "prover/prover.h"

static struct yaml_errors errors;

static clockid_t clock_id = CLOCK_MONOTONIC;

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(clock_id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static bool
read_line(char **line, size_t *room, struct arena *a, struct policy *p)
{
	struct fault f = { 0 };
	ssize_t n = getline(line, room, stdin);

	if (n <= 0)
		return false;
	if (policy_read_json(span_of(*line, (size_t)n), 0, a, p, &errors, &f) !=
	    0) {
		(void)fprintf(stderr, "pairs: %s\n", f.text);
		exit(2);
	}
	return true;
}

static void
print_span(struct span s)
{
	char text[4096];

	text_escape(s, text, sizeof(text));
	(void)printf("|%s", text);
}

int
main(int argc, char **argv)
{
	unsigned repeat = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
	char *line = NULL;
	size_t room = 0;
	struct policy child;
	struct policy parent;
	struct arena policies;
	struct arena proofs;

	if (argc > 2)
		clock_id = CLOCK_PROCESS_CPUTIME_ID;
	arena_init(&policies, 512 << 20);
	arena_init(&proofs, PROVER_ARENA + 65536);
	while (read_line(&line, &room, &policies, &child) &&
	    read_line(&line, &room, &policies, &parent)) {
		struct prover_question q = { .child = &child,
			.parent = &parent };
		struct prover_result r;
		uint64_t best = UINT64_MAX;
		size_t used = 0;
		unsigned i = 0;

		do {
			uint64_t from = now_ns();

			prover_prove(&q, &proofs, &r);
			from = now_ns() - from;
			best = from < best ? from : best;
			used = proofs.used;
			if (i + 1 < repeat)
				arena_release(&proofs);
		} while (++i < repeat);
		(void)printf("%s %llu %llu %zu %u",
		    prover_verdict_name(r.verdict), (unsigned long long)best,
		    (unsigned long long)r.steps, used,
		    (unsigned)r.witness.port);
		print_span(r.witness.program);
		print_span(r.witness.host);
		print_span(r.witness.method);
		print_span(r.witness.path);
		(void)printf("\n");
		(void)fflush(stdout);
		arena_release(&proofs);
		arena_release(&policies);
	}
	free(line);
	return 0;
}
