/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subscriptions/listen: nothing we serve ever changes under a client's feet
 * (tools are the same until the gateway is another), so the stream of changes
 * is acknowledged and complete at once.
 */
#include "mcp/inner.h"

static void
subscription_write(struct json_out *o, const struct mcp_message *m)
{
	json_out_key(o, "_meta");
	json_out_object(o);
	json_out_key(o, MCP_OWN "subscriptionId");
	json_out_raw(o, m->id.raw);
}

static int
acknowledge(const struct mcp_message *m, struct buf *b, struct fault *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	json_out_key(&o, "method");
	json_out_text(&o, "notifications/subscriptions/acknowledged");
	json_out_key(&o, "params");
	json_out_object(&o);
	subscription_write(&o, m);
	json_out_end(&o);
	json_out_key(&o, "notifications");
	json_out_object(&o);
	json_out_end(&o);
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static int
complete(const struct mcp_message *m, struct buf *b, struct fault *f)
{
	struct json_out o;

	json_out_init(&o, b);
	json_out_object(&o);
	json_out_key(&o, "jsonrpc");
	json_out_text(&o, "2.0");
	json_out_key(&o, "id");
	json_out_raw(&o, m->id.raw);
	json_out_key(&o, "result");
	json_out_object(&o);
	json_out_key(&o, "resultType");
	json_out_text(&o, "complete");
	subscription_write(&o, m);
	mcp_server_info_write(&o);
	json_out_end(&o);
	json_out_end(&o);
	json_out_end(&o);
	return json_out_done(&o, f);
}

static struct span
events(struct mcp_walk *w, const struct mcp_message *m)
{
	size_t n = 1024 + 2 * m->id.raw.len;
	struct buf out;
	struct buf first;
	struct buf second;
	struct fault f = { 0 };

	if (!mcp_buf(w->a, 2 * n, &out) || !mcp_buf(w->a, n, &first) ||
	    !mcp_buf(w->a, n, &second))
		return SPAN_LIT("");
	if (acknowledge(m, &first, &f) != 0 || complete(m, &second, &f) != 0 ||
	    mcp_sse_event(&out, buf_span(&first)) != 0 ||
	    mcp_sse_event(&out, buf_span(&second)) != 0)
		return SPAN_LIT("");
	return buf_span(&out);
}

void
mcp_listen_step(struct mcp_walk *w, const struct mcp_message *m,
    struct mcp_step *s)
{
	struct mcp_error e = {
		.status = 200,
		.code = MCP_INVALID_PARAMS,
		.message = "Invalid params: notifications must be an object",
	};

	if (!json_is(json_get(m->params, "notifications"), JSON_OBJECT)) {
		mcp_step_error(w, m, &e, s);
		return;
	}
	if (!w->d->accepts.stream) {
		e.status = 406;
		e.code = MCP_INVALID_REQUEST;
		e.message = "Not Acceptable: this is answered by "
			    "text/event-stream";
		mcp_step_error(w, m, &e, s);
		return;
	}
	*s = (struct mcp_step){
		.kind = MCP_STEP_EVENTS,
		.status = 200,
		.reply = events(w, m),
	};
}
