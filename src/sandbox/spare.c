/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spare: a child made ahead, while nobody waits, that stands before its
 * exec. It has its cgroup, its pipes, its cell and none of our other
 * descriptors, and all has been taken from it that is taken from an agent's
 * process. The agent can end or stop it, but neither trace it nor see into its
 * cell, as it is not dumpable. An exec writes its plan into the cell and a byte
 * into the pipe. Whatever does not suit (a terminal, a plan that is too large,
 * a spare that has ended, an agent that has all its processes) gets a child of
 * its own instead.
 *
 * What it holds while it waits are its kernel's books, in the agent's
 * memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	PLAN_BYTES = 64 << 10, /* touched as far as a plan goes */
	AGAIN_MS = 1000        /* after one that could not be made */
};

static void refill(struct timer *t);

static struct sandbox *
owner(struct spare *sp)
{
	return CONTAINER_OF(sp, struct sandbox, spare);
}

void
spare_init(struct sandbox *sb)
{
	sb->spare = (struct spare){ .go = -1,
		.report = -1,
		.ours = { -1, -1, -1 },
		.refill = { .fire = refill } };
	sb->pids_limit = -1;
	sb->pids_now = -1;
}

void
spare_later(struct sandbox *sb, int64_t ms)
{
	if (sb->state == SANDBOX_READY && sb->spare.pid == 0)
		loop_timer_set(sb->loop, &sb->spare.refill, ms);
}

/* It is not there, or is not ours to keep. The cell stays. */
static void
forget(struct spare *sp)
{
	struct fault f = { 0 };

	fd_close(&sp->go);
	fd_close(&sp->report);
	for (size_t i = 0; i < NELEM(sp->ours); i++)
		fd_close(&sp->ours[i]);
	leaf_give(sp->leaf);
	sp->leaf = NULL;
	sp->pid = 0;
	if (leaf_count_spare(owner(sp), false, &f) != 0)
		log_warn(&f, "cannot set the limit of processes");
}

void
spare_drop(struct sandbox *sb)
{
	struct spare *sp = &sb->spare;

	loop_timer_clear(&sp->refill);
	if (sp->pid > 0)
		(void)kill(sp->pid, SIGKILL);
	forget(sp);
	cell_close(&sp->cell);
}

bool
spare_ended(struct sandbox *sb, pid_t pid)
{
	if (sb->spare.pid != pid)
		return false;
	forget(&sb->spare);
	spare_later(sb, AGAIN_MS);
	return true;
}

void
spare_give_cell(struct sandbox *sb, struct cell *c)
{
	if (sb->spare.cell.at || c->size < PLAN_BYTES ||
	    sb->state != SANDBOX_READY) {
		cell_close(c);
		return;
	}
	sb->spare.cell = *c;
	*c = (struct cell){ 0 };
}

static int
by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
keep(struct child_plan *p)
{
	p->keep[0] = p->go;
	p->keep[1] = p->report;
	p->keep[2] = p->jail ? confine_agent_ruleset(p->jail) : -1;
	qsort(p->keep, NELEM(p->keep), sizeof(p->keep[0]), by_number);
}

static int
start(struct spare *sp, struct child_plan *p, struct fault *f)
{
	static char *none[] = { NULL };
	struct sandbox *sb = owner(sp);

	p->waits = true;
	p->who = sb->who;
	p->jail = sb->jail;
	p->workdir = "/";
	p->argv = none;
	p->env = none;
	keep(p);
	BUG_IF(!cell_fill(&sp->cell, p));
	if (leaf_count_spare(sb, true, f) != 0)
		return -1;
	if (sb->keeps_memory)
		cell_keep_memory();
	sp->pid = child_start(&sp->cell, leaf_fd(sp->leaf));
	if (sp->pid > 0)
		return 0;
	sp->pid = 0;
	return fault_sys(f, "cannot make a process");
}

static int
make(struct spare *sp, struct child_plan *p, struct fault *f)
{
	struct sandbox *sb = owner(sp);
	int go[2];
	int report[2];

	if (leaf_take(sb, &sp->leaf, f) != 0)
		return -1;
	/* Others in it would be taken for the spare's. */
	if (!leaf_is_empty(sp->leaf))
		return fault_set(f, FAULT_BUSY, "no cgroup is empty");
	if (!sp->cell.at && cell_open(&sp->cell, PLAN_BYTES, f) != 0)
		return -1;
	if (plan_pipes(sp->ours, p->stdio, f) != 0)
		return -1;
	if (pipe2(go, O_CLOEXEC) != 0)
		return fault_sys(f, "cannot open a pipe");
	sp->go = go[1];
	p->go = go[0];
	if (pipe2(report, O_CLOEXEC | O_NONBLOCK) != 0)
		return fault_sys(f, "cannot open a pipe");
	sp->report = report[0];
	p->report = report[1];
	sp->ooms = leaf_ooms(sp->leaf);
	return start(sp, p, f);
}

static void
refill(struct timer *t)
{
	struct spare *sp = CONTAINER_OF(t, struct spare, refill);
	struct child_plan p = { .stdio = { -1, -1, -1 },
		.go = -1,
		.report = -1 };
	struct fault f = { 0 };

	if (owner(sp)->state != SANDBOX_READY || sp->pid > 0)
		return;
	if (make(sp, &p, &f) != 0) {
		/* Execs make their own, and say what is wrong. */
		forget(sp);
		spare_later(owner(sp), AGAIN_MS);
	}
	plan_close(&p);
	fd_close(&p.go);
	fd_close(&p.report);
}

/* Its descriptors and its cell are the exec's now. */
static void
take_over(struct exec *e, struct spare *sp)
{
	e->pid = sp->pid;
	e->leaf = sp->leaf;
	e->ooms = sp->ooms;
	e->cell = sp->cell;
	e->report_fd = fd_take(&sp->report);
	for (size_t i = 0; i < NELEM(e->ours); i++)
		e->ours[i] = fd_take(&sp->ours[i]);
	e->ours_n = NELEM(e->ours);
	fd_close(&sp->go);
	sp->cell = (struct cell){ 0 };
	sp->leaf = NULL;
	sp->pid = 0;
}

/* What it started with stays: it may not have looked at all of it yet. */
static void
be_spare(struct child_plan *p, const struct child_plan *spare)
{
	p->waits = true;
	p->go = spare->go;
	p->report = spare->report;
	for (size_t i = 0; i < NELEM(p->stdio); i++)
		p->stdio[i] = spare->stdio[i];
	for (size_t i = 0; i < NELEM(p->keep); i++)
		p->keep[i] = spare->keep[i];
}

/* The agent may have stopped it. */
static bool
wake(const struct spare *sp)
{
	(void)kill(sp->pid, SIGCONT);
	return write(sp->go, "", 1) == 1;
}

bool
spare_use(struct exec *e)
{
	struct sandbox *sb = e->sb;
	struct spare *sp = &sb->spare;
	struct child_plan p = e->plan;
	struct fault f = { 0 };

	if (sp->pid == 0 || p.tty || leaf_is_full(sb))
		return false;
	be_spare(&p, cell_plan(&sp->cell));
	if (!cell_fill(&sp->cell, &p))
		return false;
	if (leaf_count_spare(sb, false, &f) != 0 || !wake(sp)) {
		(void)kill(sp->pid, SIGKILL);
		forget(sp);
		return false;
	}
	take_over(e, sp);
	return true;
}
