/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How calls are answered over time:
 *
 *	waiting --(progress, or 1.5 s, if the client takes a stream)--> streaming
 *	waiting --(over)--> JSON, complete
 *	streaming --(over)--> last event, complete
 *
 * A batch only waits. A client that takes nothing but streams has its first
 * event when the call is over, if not before.
 */
#include "mcp/inner.h"

void
mcp_reply_begin(struct mcp_reply *r, struct mcp_decision *d, int64_t now_ms)
{
	*r = (struct mcp_reply){
		.d = d,
		.begun_ms = now_ms,
		.sent_ms = now_ms,
		.told_ms = now_ms - MCP_PROGRESS_MS,
	};
}

static bool
may_stream(const struct mcp_reply *r)
{
	return r->d->accepts.asks_stream && !r->d->is_batch && !r->ended;
}

static unsigned
stream_open(struct mcp_reply *r, struct mcp_answer *head)
{
	if (r->streaming)
		return 0;
	r->streaming = true;
	mcp_answer_stream(head);
	return MCP_SEND_HEAD;
}

int64_t
mcp_reply_due(const struct mcp_reply *r)
{
	if (!may_stream(r))
		return -1;
	return r->streaming ? r->sent_ms + MCP_KEEPALIVE_MS
			    : r->begun_ms + MCP_STREAM_AFTER_MS;
}

unsigned
mcp_reply_tick(struct mcp_reply *r, int64_t now_ms, struct mcp_answer *head,
    struct buf *out)
{
	unsigned send;
	int64_t due = mcp_reply_due(r);

	if (due < 0 || now_ms < due)
		return 0;
	send = stream_open(r, head);
	r->sent_ms = now_ms;
	return mcp_sse_keepalive(out) == 0 ? send | MCP_SEND_BODY : send;
}

/* Few enough bytes for the stack: a token and 200 bytes of words. */
static int
progress_write(const struct mcp_call *c, const struct mcp_progress *p,
    struct buf *b, struct fault *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	json_out_key(&o, "method");
	json_out_text(&o, "notifications/progress");
	json_out_key(&o, "params");
	json_out_object(&o);
	json_out_key(&o, "progressToken");
	json_out_raw(&o, c->progress_token);
	json_out_key(&o, "progress");
	json_out_uint(&o, p->done);
	if (p->total > 0) {
		json_out_key(&o, "total");
		json_out_uint(&o, p->total);
	}
	if (p->message) {
		json_out_key(&o, "message");
		json_out_text(&o, p->message);
	}
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static bool
progress_due(const struct mcp_reply *r, int64_t now_ms,
    const struct mcp_progress *p)
{
	if (!may_stream(r) || r->d->calls[0].progress_token.len == 0)
		return false;
	if (r->progressed && p->done <= r->progress)
		return false;
	return now_ms - r->told_ms >= MCP_PROGRESS_MS;
}

unsigned
mcp_reply_progress(struct mcp_reply *r, int64_t now_ms,
    const struct mcp_progress *p, struct mcp_answer *head, struct buf *out)
{
	uint8_t room[2048];
	struct buf event = { .base = room,
		.cap = sizeof(room),
		.max = sizeof(room) };
	struct fault f = { 0 };
	unsigned send;

	if (!progress_due(r, now_ms, p) ||
	    progress_write(&r->d->calls[0], p, &event, &f) != 0)
		return 0;
	r->progressed = true;
	r->progress = p->done;
	r->told_ms = now_ms;
	r->sent_ms = now_ms;
	send = stream_open(r, head);
	return mcp_sse_event(out, buf_span(&event)) == 0 ? send | MCP_SEND_BODY
							 : send;
}

static bool
all_over(const struct mcp_decision *d)
{
	for (size_t i = 0; i < d->ncalls; i++)
		if (!d->calls[i].over)
			return false;
	return true;
}

/* Nothing to say: the response ends as a stream without an event. */
static unsigned
silence(struct mcp_answer *head)
{
	mcp_answer_stream(head);
	head->stream = false;
	return MCP_SEND_HEAD | MCP_SEND_END;
}

static unsigned
json_send(struct mcp_reply *r, struct span message, struct mcp_answer *head,
    struct buf *out)
{
	size_t from = out->len;

	if (r->d->accepts.json) {
		mcp_answer_json(head, 200, message);
		return MCP_SEND_HEAD | MCP_SEND_END;
	}
	mcp_answer_stream(head);
	head->stream = false;
	if (mcp_sse_event(out, message) != 0)
		return MCP_SEND_END;
	head->body = span_from(buf_span(out), from);
	return MCP_SEND_HEAD | MCP_SEND_END;
}

/* As one event. */
static unsigned
batch_event(struct mcp_reply *r, struct mcp_answer *head, struct buf *out)
{
	unsigned send = MCP_SEND_END;
	struct buf joined;

	buf_init(&joined, buf_left(out));
	if (mcp_batch_join(r->d, &joined) == 0)
		send = joined.len > 0
		    ? json_send(r, buf_span(&joined), head, out)
		    : silence(head);
	buf_release(&joined);
	return send;
}

static unsigned
batch_send(struct mcp_reply *r, struct mcp_answer *head, struct buf *out)
{
	size_t from = out->len;

	if (!r->d->accepts.json)
		return batch_event(r, head, out);
	if (mcp_batch_join(r->d, out) != 0)
		return MCP_SEND_END;
	if (out->len == from)
		return silence(head);
	mcp_answer_json(head, 200, span_from(buf_span(out), from));
	return MCP_SEND_HEAD | MCP_SEND_END;
}

unsigned
mcp_reply_over(struct mcp_reply *r, struct mcp_call *c, struct span message,
    struct mcp_answer *head, struct buf *out)
{
	if (r->ended || c->over)
		return 0;
	c->over = true;
	c->reply = message;
	if (!all_over(r->d))
		return 0;
	r->ended = true;
	if (r->d->is_batch)
		return batch_send(r, head, out);
	if (r->streaming) {
		if (message.len > 0 && mcp_sse_event(out, message) == 0)
			return MCP_SEND_BODY | MCP_SEND_END;
		return MCP_SEND_END;
	}
	return message.len > 0 ? json_send(r, message, head, out)
			       : silence(head);
}
