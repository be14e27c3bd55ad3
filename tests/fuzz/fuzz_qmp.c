/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: machine */
/*
 * Whatever a VMM says by QMP: it may have been taken over by its guest. The
 * first byte says how many commands wait; the rest is its text.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "machine/inner.h"

static void
idle(struct qmp *q, const struct fault *f)
{
	BUG_IF(f && f->code == FAULT_NONE);
	BUG_IF(q->count != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct loop *loop;
	static struct qmp q;
	struct fault f = { 0 };
	int ends[2];

	if (size < 1 || size > 65536)
		return 0;
	if (!loop)
		loop = loop_new(&f);
	BUG_IF(!loop);
	BUG_IF(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0);
	memset(&q, 0, sizeof(q));
	q.idle = idle;
	BUG_IF(qmp_open(&q, loop, ends[0], &f) != 0);
	for (int i = 0; i < data[0] % 4; i++)
		qmp_push(&q, i & 1 ? QMP_MIGRATED : QMP_REPLY, -1, "{}");
	BUG_IF(fd_nonblock(ends[1], &f) != 0);
	(void)!write(ends[1], data + 1, size - 1);
	for (int i = 0; i < 5; i++)
		BUG_IF(loop_tick(loop, 0, &f) != 0);
	qmp_close(&q);
	(void)close(ends[1]);
	return 0;
}
