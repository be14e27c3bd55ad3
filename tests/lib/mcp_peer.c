/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_peer.h"

static bool
field_get(const void *at, const char *name, size_t nth, struct span *value)
{
	const struct peer *p = at;

	for (size_t i = 0; i < p->nfields; i++)
		if (strcmp(p->fields[i].name, name) == 0 && nth-- == 0) {
			*value = p->fields[i].value;
			return true;
		}
	return false;
}

/* The same for all peers; lives as long as the program. */
static void
lists_take(struct mcp_server *s)
{
	static struct arena arena;
	static struct mcp_server ready;
	struct fault f = { 0 };

	if (!arena.cap) {
		arena_init(&arena, 1 << 20);
		BUG_IF(mcp_server_ready(&ready, &arena, &f) != 0);
	}
	s->listed[0] = ready.listed[0];
	s->listed[1] = ready.listed[1];
}

void
peer_init(struct peer *p)
{
	static const uint8_t secret[MCP_KEY] = "a secret";

	*p = (struct peer){ 0 };
	mcp_key_set(&p->key, secret);
	p->server = (struct mcp_server){
		.key = &p->key,
		.ended = &p->ended,
	};
	lists_take(&p->server);
	p->head = (struct mcp_head){
		.method = SPAN_LIT("POST"),
		.target = SPAN_LIT("/mcp"),
		.host = SPAN_LIT("localhost:8080"),
		.length = -1,
		.header = field_get,
		.at = p,
	};
	p->request = (struct mcp_request){
		.server = &p->server,
		.head = &p->head,
		.side = MCP_SANDBOX,
		.principal = SPAN_LIT("sandbox:one"),
		.now_s = 1800000000,
		.random = "0123456789abcde",
	};
	peer_field(p, "content-type", "application/json");
	peer_field(p, "accept", "application/json, text/event-stream");
}

void
peer_bare(struct peer *p)
{
	p->nfields = 0;
}

void
peer_set(struct peer *p, const char *name, struct span value)
{
	BUG_IF(p->nfields == PEER_FIELDS);
	p->fields[p->nfields].name = name;
	p->fields[p->nfields++].value = value;
}

void
peer_field(struct peer *p, const char *name, const char *value)
{
	peer_set(p, name, span_str(value));
}

void
peer_body(struct peer *p, const char *body)
{
	p->request.body = span_str(body);
	p->head.length = (int64_t)p->request.body.len;
}
