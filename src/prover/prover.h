/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Containment: does the child permit nothing that the parent does not?
 *
 *	WITHIN       proven for every request, file and identity
 *	EXCEEDS      a concrete act that the child permits and the parent not,
 *	             confirmed by a second evaluator (replay.c)
 *
 * Sections are independent and the first of INVALID, EXCEEDS, UNSUPPORTED,
 * OUT_OF_BUDGET, WITHIN wins. Work is counted in steps, never timed: the same
 * question has the same answer on every machine. Pure; all memory is the
 * caller's arena. Children are judged completed (policy_complete()).
 */
#ifndef PROVER_PROVER_H
#define PROVER_PROVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "policy/policy.h"

enum {
	PROVER_STEPS = 3000000, /* at most 100 ms */
	PROVER_ARENA = 8 << 20, /* what a proof may take of its arena */
	PROVER_TICK = 300000,   /* steps of prover_run() that take 10 ms */
	PROVER_PAIRS = 64,  /* query pairs of a witness; more: OUT_OF_BUDGET */
	PROVER_CAUSE = 320, /* bytes of a text of a result */
	PROVER_PLACE = 200,
};

/*
 * The image that both run in: its symlinks, and what it says where policies
 * are silent. Paths are absolute; links may point anywhere.
 */
struct prover_link {
	struct span path;
	struct span target; /* as stored: absolute or relative */
};

struct prover_image {
	const struct prover_link *links; /* sorted, '/' before other bytes */
	size_t links_n;
	struct span workdir; /* of include_workdir */
	/* Who runs under these fields of a policy ("" is unset); false: the
	 * image does not say. May be NULL: it never says. */
	bool (*identify)(const void *arg, const char *user, const char *group,
	    uint32_t *uid, uint32_t *gid);
	const void *arg;
};

struct prover_question {
	const struct policy *child; /* completed */
	const struct policy *parent;
	const struct prover_image *image; /* NULL: none is known */
	uint64_t steps;                   /* 0: PROVER_STEPS */
	bool paranoid; /* abort when the second evaluator disagrees */
};

enum prover_verdict {
	PROVER_INVALID, /* of callers: a policy that cannot be read */
	PROVER_EXCEEDS,
	PROVER_UNSUPPORTED,
	PROVER_OUT_OF_BUDGET,
	PROVER_WITHIN,
};

enum prover_code { /* why UNSUPPORTED */
	PROVER_NONE,
	PROVER_NO_IMAGE,    /* files or names that only an image decides */
	PROVER_KERNEL_PATH, /* below /proc: what it is depends on who looks */
	PROVER_LINK_LOOP,   /* symlinks of the image do not end */
	PROVER_DISAGREE,    /* the second evaluator does: a bug of ours */
};

/* What the child permits and the parent does not. */
struct prover_witness {
	/* files */
	struct span file;
	bool write;
	/* process, landlock: what differs is in the causes */
	/* network */
	struct span program;
	struct span host;
	uint16_t port;
	struct policy_address address;
	enum policy_act act;
	struct span method; /* HTTP method, RPC method */
	struct span path;
	struct policy_pair query[PROVER_PAIRS];
	size_t query_n;
	struct span tool;
	enum policy_use use;
	const struct policy_capabilities *use_of;
};

struct prover_result {
	enum prover_verdict verdict;
	enum policy_section section; /* not of WITHIN */
	enum prover_code code;       /* of UNSUPPORTED */
	char place[PROVER_PLACE];    /* of UNSUPPORTED: what cannot be judged */
	struct prover_witness
	    witness;   /* of EXCEEDS: the plainest, see plain.c */
	bool shortest; /* of it: certain; else the budget ended the search */
	char child[PROVER_CAUSE];  /* why the child permits it */
	char parent[PROVER_CAUSE]; /* why the parent does not */
	char hint[PROVER_CAUSE];   /* what to write instead */
	uint64_t steps;
};

struct prover;

/* A proof about to begin, in a; NULL when a has no room for it. */
struct prover *prover_new(const struct prover_question *q, struct arena *a);
/* Go on for about `steps`. True: done, *out is the answer. */
bool prover_run(struct prover *p, uint64_t steps, struct prover_result *out);
/* Steps so far. */
uint64_t prover_steps(const struct prover *p);
/* All of it at once. */
void prover_prove(const struct prover_question *q, struct arena *a,
    struct prover_result *out);

const char *prover_verdict_name(enum prover_verdict v); /* "within" */
const char *prover_code_name(enum prover_code c);       /* "no_image" */
const char *prover_section_name(enum policy_section s); /* "network" */
const char *prover_act_name(enum policy_act act);
/* One line: "/usr/bin/curl  GET https://api.example.com/admin". */
void prover_witness_format(const struct prover_result *r, char *out,
    size_t size);
/* The lines of POLICY.md 3, with a newline after the last. */
void prover_result_format(const struct prover_result *r, char *out,
    size_t size);

#endif
