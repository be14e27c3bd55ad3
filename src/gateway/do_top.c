/* SPDX-License-Identifier: Apache-2.0 */
/* ListProcesses: what runs in a sandbox, as its supervisor counts it. */
#include <string.h>

#include "gateway/do.h"
#include "gateway/open.h"
#include "gateway/pipe.h"
#include "gateway/vm.h"
#include "proto/nacre_v1.pb.h"

_Static_assert(sizeof(nacre_v1_Process) == sizeof(nacre_session_v1_Process) &&
	sizeof(nacre_v1_Processes) == sizeof(nacre_session_v1_Processes),
    "one form of processes");

int
do_top_decide(struct call *c, struct fault *f)
{
	const nacre_v1_ListProcessesRequest *ask = c->ask;
	struct store_sandbox row;
	struct vm *vm;

	if (open_name(c, ask->sandbox, &row, f) < 0 ||
	    open_running(c, &row, &vm, f) < 0)
		return -1;
	c->work = vm;
	return 0;
}

static int
from_sandbox(struct pipe *p, const nacre_session_v1_AttachUp *up,
    struct fault *f)
{
	nacre_v1_Processes reply;

	if (up->which_kind == nacre_session_v1_AttachUp_done_tag)
		return pipe_check_done(&up->kind.done, f);
	if (up->which_kind != nacre_session_v1_AttachUp_processes_tag)
		return 0;
	memcpy(&reply, &up->kind.processes, sizeof(reply));
	pipe_finish(p);
	return pipe_up(p, nacre_v1_Processes_fields, &reply, f);
}

static const struct pipe_ops top_ops = {
	.from_client = pipe_no_message,
	.client_ended = pipe_no_end,
	.from_sandbox = from_sandbox,
};

void
do_top_answer(struct call *c)
{
	nacre_session_v1_Open open = nacre_session_v1_Open_init_zero;

	open.which_kind = nacre_session_v1_Open_top_tag;
	pipe_start(c, c->work, &open, &top_ops, NULL);
}
