/* SPDX-License-Identifier: Apache-2.0 */
/* The table. A row is an event, a column a state; state.h names them. */
#include "base/base.h"
#include "gateway/state.h"

#define MOVE(to)           \
 {                         \
  VERDICT_MOVE, STATE_##to \
 }
#define SAME                \
 {                          \
  VERDICT_SAME, STATE_COUNT \
 }
#define REFUSE                \
 {                            \
  VERDICT_REFUSE, STATE_COUNT \
 }
#define IGNORE                \
 {                            \
  VERDICT_IGNORE, STATE_COUNT \
 }

/* clang-format off */
static const struct state_cell table[EVENT_COUNT][STATE_COUNT] = {
	/*                 starting        running         stopping        stopped         ended           failed          deleting       reserved        over */
	[EVENT_START]  = { SAME,           SAME,           REFUSE,         MOVE(RESERVED), MOVE(RESERVED), MOVE(RESERVED), REFUSE,        SAME,           REFUSE },
	[EVENT_TURN]   = { IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,        MOVE(STARTING), IGNORE },
	[EVENT_STOP]   = { MOVE(STOPPING), MOVE(STOPPING), SAME,           SAME,           MOVE(STOPPING), MOVE(STOPPING), REFUSE,        MOVE(STOPPING), SAME },
	[EVENT_DELETE] = { MOVE(DELETING), MOVE(DELETING), MOVE(DELETING), MOVE(DELETING), MOVE(DELETING), MOVE(DELETING), SAME,          MOVE(DELETING), MOVE(DELETING) },
	[EVENT_READY]  = { MOVE(RUNNING),  SAME,           IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,        IGNORE,         IGNORE },
	[EVENT_EXIT]   = { MOVE(ENDED),    MOVE(ENDED),    IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,        IGNORE,         IGNORE },
	[EVENT_FAIL]   = { MOVE(FAILED),   MOVE(FAILED),   IGNORE,         IGNORE,         IGNORE,         IGNORE,         IGNORE,        IGNORE,         IGNORE },
	[EVENT_GONE]   = { MOVE(FAILED),   MOVE(STOPPED),  MOVE(STOPPED),  SAME,           MOVE(STOPPED),  SAME,           MOVE(REMOVED), SAME,           SAME },
};
/* clang-format on */

struct state_cell
state_step(enum state now, enum state_event event)
{
	struct state_cell cell;

	BUG_IF((unsigned)now >= STATE_COUNT);
	BUG_IF((unsigned)event >= EVENT_COUNT);
	cell = table[event][now];
	if (cell.verdict != VERDICT_MOVE)
		cell.next = now;
	return cell;
}

const char *
state_name(enum state s)
{
	static const char *const names[] = {
		[STATE_STARTING] = "starting",
		[STATE_RUNNING] = "running",
		[STATE_STOPPING] = "stopping",
		[STATE_STOPPED] = "stopped",
		[STATE_ENDED] = "ended",
		[STATE_FAILED] = "failed",
		[STATE_DELETING] = "deleting",
		[STATE_RESERVED] = "reserved",
		[STATE_OVER] = "ended",
		[STATE_REMOVED] = "removed",
	};

	return names[s];
}

bool
state_is_open(enum state s)
{
	return s == STATE_RUNNING || s == STATE_ENDED;
}
