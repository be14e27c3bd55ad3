/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a sandbox as one table: state x event, no blank cell. Pure. */
#ifndef GATEWAY_STATE_H
#define GATEWAY_STATE_H

#include <stdbool.h>

/* Numbers are stored: they never change. */
enum state {
	STATE_STARTING = 0, /* a machine is on its way */
	STATE_RUNNING = 1,  /* confined, confirmed, with a session */
	STATE_STOPPING = 2, /* asked to end, not gone yet */
	STATE_STOPPED = 3,  /* no machine; the disk is kept */
	STATE_ENDED = 4,    /* the main process ended; the machine goes on */
	STATE_FAILED = 5,   /* a launch failed; the machine goes or is gone */
	STATE_DELETING = 6, /* going for good */
	STATE_RESERVED = 7, /* it waits for its turn to start */
	STATE_OVER = 8,     /* of a child: its main process ended, and with it
			       the machine; it is not started again */
	STATE_COUNT,
	STATE_REMOVED = STATE_COUNT, /* no row any more */
};

enum state_event {
	EVENT_START,  /* asked by the user */
	EVENT_TURN,   /* a reserved one's turn has come */
	EVENT_STOP,   /* asked by the user */
	EVENT_DELETE, /* asked by the user */
	EVENT_READY,  /* the sandbox confirmed itself */
	EVENT_EXIT,   /* the main process ended */
	EVENT_FAIL,   /* the launch failed */
	EVENT_GONE,   /* the machine is gone */
	EVENT_COUNT
};

enum state_verdict {
	VERDICT_MOVE,   /* go to `next` */
	VERDICT_SAME,   /* done already: a success without effect */
	VERDICT_REFUSE, /* NOT_READY */
	VERDICT_IGNORE, /* comes too late to matter */
};

struct state_cell {
	enum state_verdict verdict;
	enum state next; /* of MOVE, else the state itself */
};

struct state_cell state_step(enum state now, enum state_event event);
const char *state_name(enum state s); /* "starting" */
/* May commands be run and files moved in it? */
bool state_is_open(enum state s);

#endif
