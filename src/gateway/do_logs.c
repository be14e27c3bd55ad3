/* SPDX-License-Identifier: Apache-2.0 */
/* GetSandboxLogs: the last lines that are kept. */
#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/open.h"
#include "gateway/tail.h"

enum {
	LINES = 2000,
	/* The rest of a message is for its frame and the word on lines that
	 * were left out. */
	BYTES = LIMIT_MESSAGE - 4096,
};

struct collect {
	struct call *c;
	struct tail tail;
	uint64_t left; /* lines that still go in */
	openshell_v1_GetSandboxLogsResponse *reply;
};

/* The answer is full before all that was asked for: its first line says so. */
static int
say_dropped(const struct collect *k, struct fault *f)
{
	openshell_v1_GetSandboxLogsResponse *r = k->reply;
	openshell_v1_SandboxLogLine *l = &r->logs[r->logs_count++];
	struct arena *a = &k->c->arena;

	l->sandbox_id = arena_str(a, span_str(k->c->sandbox_id));
	l->timestamp_ms = clock_wall_ms();
	l->level = arena_str(a, SPAN_LIT("WARN"));
	l->target = arena_str(a, SPAN_LIT("stderr"));
	l->source = arena_str(a, SPAN_LIT("gateway"));
	l->message = arena_fmt(a,
	    "%llu lines before these are left out: the answer is full",
	    (unsigned long long)k->tail.dropped);
	return l->message != NULL ? 0
				  : fault_set(f, FAULT_LIMIT, "too many lines");
}

static bool
add(void *owner, const struct journal_line *line)
{
	struct collect *k = owner;
	openshell_v1_GetSandboxLogsResponse *r = k->reply;

	if (tail_passes_over(&k->tail, line))
		return true;
	if (k->left == 0)
		return false;
	k->left--;
	tail_line(k->c->sandbox_id, line, &k->c->arena,
	    &r->logs[r->logs_count++]);
	return true;
}

int
do_logs(struct call *c, struct fault *f)
{
	const openshell_v1_GetSandboxLogsRequest *ask = c->ask;
	openshell_v1_GetSandboxLogsResponse reply =
	    openshell_v1_GetSandboxLogsResponse_init_zero;
	struct collect k = { .c = c, .reply = &reply };
	struct journal_reader r;
	struct store_sandbox row;
	uint32_t lines =
	    ask->lines == 0 || ask->lines > LINES ? LINES : ask->lines;
	int rc;

	if (check_workspace(ask->workspace, f) < 0 ||
	    open_id(c, ask->sandbox_id, &row, f) < 0)
		return -1;
	tail_init(&k.tail, lines, ask->since_ms,
	    (const char *const *)ask->sources, ask->sources_count);
	k.tail.bytes_most = BYTES;
	if (tail_count(c->g, row.id, &k.tail, f) < 0)
		return -1;
	reply.buffer_total = (uint32_t)k.tail.total;
	k.left = k.tail.total - k.tail.skip;
	reply.logs = arena_get(&c->arena, (lines + 1) * sizeof(*reply.logs));
	if (reply.logs == NULL)
		return fault_set(f, FAULT_LIMIT, "too many lines");
	if (k.tail.dropped > 0 && say_dropped(&k, f) < 0)
		return -1;
	journal_reader_init(&r, row.id);
	rc = journal_read(c->g, &r, true, add, &k, f);
	journal_reader_release(&r);
	if (rc < 0)
		return -1;
	return CALL_REPLY(c, openshell_v1_GetSandboxLogsResponse, &reply, f);
}
