/* SPDX-License-Identifier: Apache-2.0 */
/* GetSandboxLogs: the last lines that are kept. */
#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/open.h"
#include "gateway/tail.h"

enum {
	LINES = 2000,
};

struct collect {
	struct call *c;
	struct tail tail;
	openshell_v1_GetSandboxLogsResponse *reply;
};

static bool
add(void *owner, const struct journal_line *line)
{
	struct collect *k = owner;
	openshell_v1_GetSandboxLogsResponse *r = k->reply;

	if (tail_passes_over(&k->tail, line))
		return true;
	if (r->logs_count == k->tail.lines)
		return false;
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
	if (tail_count(c->g, row.id, &k.tail, f) < 0)
		return -1;
	reply.buffer_total = (uint32_t)k.tail.total;
	reply.logs = arena_get(&c->arena, lines * sizeof(*reply.logs));
	if (reply.logs == NULL)
		return fault_set(f, FAULT_LIMIT, "too many lines");
	journal_reader_init(&r, row.id);
	rc = journal_read(c->g, &r, true, add, &k, f);
	journal_reader_release(&r);
	if (rc < 0)
		return -1;
	return CALL_REPLY(c, openshell_v1_GetSandboxLogsResponse, &reply, f);
}
