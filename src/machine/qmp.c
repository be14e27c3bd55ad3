/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QMP, QEMU's control protocol: a JSON text a line, both ways. The VMM may
 * have been taken over by its guest, so lines are capped, parsed strictly and
 * believed only for "it worked", "it did not" and "the stream is done".
 */
#include <sys/socket.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	READ_STEP = 16384,
	PARSE_ARENA = 4 << 20,
};

static struct qmp_command *
head(struct qmp *q)
{
	return &q->queue[q->head];
}

static void
pop(struct qmp *q)
{
	fd_close(&head(q)->fd);
	q->head = (q->head + 1) % QMP_QUEUE;
	q->count--;
	q->sent = false;
	q->answered = false;
}

static void
failed(struct qmp *q, const struct fault *f)
{
	while (q->count > 0)
		pop(q);
	if (!q->quitting)
		q->idle(q, f);
}

static void
send_head(struct qmp *q)
{
	struct fault f = { 0 };
	struct qmp_command *c;

	if (!q->greeted || q->sent || q->count == 0 || q->quitting)
		return;
	c = head(q);
	/* A command is smaller than any socket buffer and alone in it. */
	if (fd_send(q->fd, c->text, c->len, &c->fd, c->fd >= 0 ? 1 : 0, &f) !=
	    0) {
		(void)fault_prefix(&f, "qmp");
		failed(q, &f);
		return;
	}
	q->sent = true;
	fd_close(&c->fd);
}

static void
finish_head(struct qmp *q)
{
	pop(q);
	if (q->count > 0)
		send_head(q);
	else
		q->idle(q, NULL);
}

static void
refused(struct qmp *q, const struct json_value *error)
{
	struct fault f = { 0 };
	struct span text = { 0 };
	char shown[160];

	if (!json_str(json_get(error, "desc"), &text))
		text = SPAN_LIT("no reason given");
	text_escape(text, shown, sizeof(shown));
	(void)fault_set(&f, FAULT_START_FAILED, "the VMM refused: %s", shown);
	failed(q, &f);
}

static void
migration(struct qmp *q, const struct json_value *data)
{
	struct span status = { 0 };
	struct fault f = { 0 };

	if (!q->sent || head(q)->wait != QMP_MIGRATED ||
	    !json_str(json_get(data, "status"), &status))
		return;
	if (span_is(status, "completed")) {
		finish_head(q);
	} else if (span_is(status, "failed")) {
		(void)fault_set(&f, FAULT_START_FAILED,
		    "the VMM could not move its state");
		failed(q, &f);
	}
}

static void
take_line(struct qmp *q, struct span line)
{
	struct arena a;
	const struct json_value *v = NULL;
	struct fault f = { 0 };
	struct span event = { 0 };

	arena_init(&a, PARSE_ARENA);
	if (json_parse(line, &a, &v, &f) != 0) {
		(void)fault_prefix(&f, "qmp");
		failed(q, &f);
	} else if (json_get(v, "QMP") && !q->greeted) {
		q->greeted = true;
		send_head(q);
	} else if (json_str(json_get(v, "event"), &event)) {
		if (span_is(event, "MIGRATION"))
			migration(q, json_get(v, "data"));
	} else if (q->sent && !q->answered && json_get(v, "error")) {
		refused(q, json_get(v, "error"));
	} else if (q->sent && !q->answered && json_get(v, "return")) {
		q->answered = true;
		if (head(q)->wait == QMP_REPLY)
			finish_head(q);
	}
	arena_release(&a);
}

static void
take_lines(struct qmp *q)
{
	for (;;) {
		struct span all = buf_span(&q->in);
		size_t end = span_find(all, '\n');
		size_t n = end;

		if (end == all.len)
			return;
		if (n > 0 && all.ptr[n - 1] == '\r')
			n--;
		if (n > 0)
			take_line(q, span_of(all.ptr, n));
		if (q->fd < 0)
			return;
		buf_eat(&q->in, end + 1);
	}
}

static void
ready(struct watch *w, unsigned events)
{
	struct qmp *q = CONTAINER_OF(w, struct qmp, watch);
	uint8_t *at = buf_room(&q->in, READ_STEP);
	struct fault f = { 0 };
	ssize_t n;

	(void)events;
	if (!at) {
		(void)fault_set(&f, FAULT_LIMIT, "a qmp line is too long");
		loop_unwatch(&q->watch);
		failed(q, &f);
		return;
	}
	n = read(q->fd, at, READ_STEP);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* its end is told by the child */
		loop_unwatch(&q->watch);
		return;
	}
	buf_grew(&q->in, (size_t)n);
	take_lines(q);
}

int
qmp_open(struct qmp *q, struct loop *l, int fd, struct fault *f)
{
	q->loop = l;
	q->fd = fd;
	q->watch.ready = ready;
	buf_init(&q->in, QMP_LINE);
	if (fd_nonblock(fd, f) != 0 ||
	    loop_watch(l, &q->watch, fd, LOOP_IN, f) != 0) {
		qmp_close(q);
		return -1;
	}
	return 0;
}

void
qmp_close(struct qmp *q)
{
	if (q->fd < 0)
		return;
	loop_unwatch(&q->watch);
	while (q->count > 0)
		pop(q);
	buf_release(&q->in);
	fd_close(&q->fd);
}

void
qmp_push(struct qmp *q, enum qmp_wait wait, int fd, const char *fmt, ...)
{
	struct qmp_command *c = &q->queue[(q->head + q->count) % QMP_QUEUE];
	va_list ap;
	int n;

	BUG_IF(q->count == QMP_QUEUE);
	va_start(ap, fmt);
	n = vsnprintf(c->text, sizeof(c->text) - 1, fmt, ap);
	va_end(ap);
	BUG_IF(n < 0 || (size_t)n >= sizeof(c->text) - 1);
	c->text[n] = '\n';
	c->len = (size_t)n + 1;
	c->fd = fd;
	c->wait = wait;
	q->count++;
	send_head(q);
}

void
qmp_quit(struct qmp *q)
{
	static const char text[] = "{\"execute\":\"quit\"}\n";

	if (q->fd < 0 || q->quitting)
		return;
	q->quitting = true;
	(void)send(q->fd, text, sizeof(text) - 1, MSG_NOSIGNAL);
}
