/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches: a must of 2025-03-26 alone, taken from any client of the first era.
 * Each message comes to a reply, a call or nothing; nothing of a batch is
 * streamed, and its answer is one array.
 */
#include "mcp/inner.h"

static bool
refuse(struct mcp_walk *w, const char *message)
{
	struct mcp_error e = {
		.status = 400,
		.code = MCP_INVALID_REQUEST,
		.message = message,
	};

	mcp_answer_error(&w->d->answer, w->a, &e);
	return false;
}

static bool
is_allowed(struct mcp_walk *w, const struct json_value *root)
{
	if (w->is_modern)
		return refuse(w,
		    "Invalid Request: no batches since 2025-06-18");
	if (root->count == 0 || root->count > MCP_BATCH)
		return refuse(w,
		    "Invalid Request: a batch has 1 to 50 messages");
	for (const struct json_value *v = json_first(root); v;
	     v = json_next(v)) {
		const struct json_value *meta =
		    json_get(json_get(v, "params"), "_meta");
		struct span method;

		if (json_str(json_get(v, "method"), &method) &&
		    span_is(method, "initialize"))
			return refuse(w,
			    "Invalid Request: initialize comes alone");
		if (json_get(meta, MCP_OWN "protocolVersion"))
			return refuse(w,
			    "Invalid Request: no batches since 2025-06-18");
	}
	return true;
}

static bool
room_take(struct mcp_walk *w, size_t n)
{
	w->d->calls = arena_get(w->a, n * sizeof(*w->d->calls));
	w->d->replies = arena_get(w->a, n * sizeof(*w->d->replies));
	w->d->cancels = arena_get(w->a, n * sizeof(*w->d->cancels));
	return w->d->calls && w->d->replies && w->d->cancels;
}

/* False when the arena is spent. */
static bool
element_decide(struct mcp_walk *w, const struct json_value *v)
{
	struct mcp_step s = { 0 };
	struct mcp_message m;
	struct mcp_error e;

	if (!mcp_message_read(v, false, &m, &e))
		mcp_step_error(w, &m, &e, &s);
	else if (m.kind == MCP_REQUEST)
		mcp_legacy_step(w, &m, &s);
	else if (m.kind == MCP_NOTIFICATION)
		mcp_legacy_notice(w, &m);
	if (s.kind == MCP_STEP_CALL)
		w->d->calls[w->d->ncalls++] = s.call;
	if (s.kind == MCP_STEP_REPLY)
		w->d->replies[w->d->nreplies++] = s.reply;
	return s.kind != MCP_STEP_REPLY || s.reply.len > 0;
}

/* All replies are there already, or nothing was asked. */
static void
replies_answer(struct mcp_walk *w)
{
	struct mcp_decision *d = w->d;
	size_t n = 64;
	struct buf b;

	if (d->nreplies == 0) {
		mcp_answer_plain(&d->answer, 202);
		return;
	}
	for (size_t i = 0; i < d->nreplies; i++)
		n += d->replies[i].len + 1;
	if (!mcp_buf(w->a, n, &b) || mcp_batch_join(d, &b) != 0) {
		mcp_answer_spent(&d->answer);
		return;
	}
	mcp_reply_answer(w, buf_span(&b), 200);
}

void
mcp_batch_decide(struct mcp_walk *w, const struct json_value *root)
{
	struct mcp_error e;
	bool fits;

	if (!is_allowed(w, root))
		return;
	if (!mcp_legacy_enter(w, &e)) {
		mcp_answer_error(&w->d->answer, w->a, &e);
		return;
	}
	w->d->is_batch = true;
	fits = room_take(w, root->count);
	for (const struct json_value *v = json_first(root); fits && v;
	     v = json_next(v))
		fits = element_decide(w, v);
	if (!fits) {
		w->d->ncalls = 0;
		w->d->ncancels = 0;
		mcp_answer_spent(&w->d->answer);
	} else if (w->d->ncalls > 0) {
		w->d->next = MCP_RUN;
	} else {
		replies_answer(w);
	}
}

static int
join_one(struct buf *b, struct span reply, size_t *n, struct fault *f)
{
	if (reply.len == 0)
		return 0;
	if (buf_add(b, (*n)++ ? "," : "[", 1, f) != 0)
		return -1;
	return buf_add(b, reply.ptr, reply.len, f);
}

enum {
	LOST = 128, /* bytes of an error beside its id */
};

static size_t
reply_size(const struct mcp_call *c)
{
	return c->is_lost ? LOST + c->id.raw.len : c->reply.len;
}

/* The longest that is longer than an error; NULL: none. */
static struct mcp_call *
longest(struct mcp_decision *d)
{
	struct mcp_call *most = NULL;

	for (size_t i = 0; i < d->ncalls; i++) {
		struct mcp_call *c = &d->calls[i];

		if (!c->is_lost && c->reply.len > LOST + c->id.raw.len &&
		    (most == NULL || c->reply.len > most->reply.len))
			most = c;
	}
	return most;
}

static void
lose_longest(struct mcp_decision *d, size_t room)
{
	struct mcp_call *c;
	size_t n = 1; /* and a comma or the end behind each */

	for (size_t i = 0; i < d->nreplies; i++)
		n += d->replies[i].len + 1;
	for (size_t i = 0; i < d->ncalls; i++)
		n += reply_size(&d->calls[i]) + 1;
	while (n > room && (c = longest(d)) != NULL) {
		n -= c->reply.len;
		c->is_lost = true;
		n += reply_size(c);
	}
}

static int
join_call(struct buf *b, const struct mcp_call *c, size_t *n, struct fault *f)
{
	if (!c->is_lost)
		return join_one(b, c->reply, n, f);
	if (buf_add(b, (*n)++ ? "," : "[", 1, f) != 0)
		return -1;
	return mcp_failure(c, "the answers of this batch are too long", b, f);
}

int
mcp_batch_join(struct mcp_decision *d, struct buf *b)
{
	size_t start = b->len;
	struct fault f = { 0 };
	size_t n = 0;
	int rc = 0;

	lose_longest(d, buf_left(b));
	for (size_t i = 0; rc == 0 && i < d->nreplies; i++)
		rc = join_one(b, d->replies[i], &n, &f);
	for (size_t i = 0; rc == 0 && i < d->ncalls; i++)
		rc = join_call(b, &d->calls[i], &n, &f);
	if (rc == 0 && n > 0)
		rc = buf_add(b, "]", 1, &f);
	if (rc != 0)
		b->len = start;
	return rc;
}
