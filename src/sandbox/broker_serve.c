/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broker's calls of the Sandbox Protocol. Accept waits for a connection:
 * the supervisor asks for as many as it can hold, the rest stays here, and
 * past BROKER_JOINS an agent's connect gets EAGAIN.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "sandbox/inner.h"

_Static_assert((int)PROGRAM_FILE ==
	    (int)nacre_sandbox_v1_ProgramState_PROGRAM_FILE &&
	(int)PROGRAM_MEMFD ==
	    (int)nacre_sandbox_v1_ProgramState_PROGRAM_MEMFD &&
	(int)PROGRAM_DELETED ==
	    (int)nacre_sandbox_v1_ProgramState_PROGRAM_DELETED &&
	(int)PROGRAM_CHANGED ==
	    (int)nacre_sandbox_v1_ProgramState_PROGRAM_CHANGED &&
	(int)PROGRAM_UNREADABLE ==
	    (int)nacre_sandbox_v1_ProgramState_PROGRAM_UNREADABLE,
    "the states are the protocol's");

/* The message borrows the path. A path is bytes to the kernel and text to the
 * protocol: one that is no UTF-8 cannot be told, and grants nothing. */
static nacre_sandbox_v1_Program
program_message(const struct program *p, struct arena *a)
{
	nacre_sandbox_v1_Program m = nacre_sandbox_v1_Program_init_zero;
	bool is_text = utf8_valid(span_str(p->path));

	m.path = arena_str(a, is_text ? span_str(p->path) : span_str(""));
	m.state = (nacre_sandbox_v1_ProgramState)p->state;
	if (!is_text || !m.path)
		m.state = nacre_sandbox_v1_ProgramState_PROGRAM_UNREADABLE;
	m.image = p->in_image;
	m.device = p->device;
	m.inode = p->inode;
	if (p->has_digest)
		m.sha256 = wire_bytes(a, span_of(p->digest, DIGEST_SIZE));
	return m;
}

static void
fill_caller(nacre_sandbox_v1_Caller *c, const struct evidence *e,
    nacre_sandbox_v1_Ancestor rows[EVIDENCE_ANCESTORS], struct arena *a)
{
	c->pid = e->pid;
	c->start_ticks = e->start_ticks;
	c->has_program = true;
	c->program = program_message(&e->program, a);
	c->cut = e->is_cut;
	for (size_t i = 0; i < e->ancestors_n; i++) {
		struct span path = span_str(e->ancestors[i].path);

		if (!utf8_valid(path))
			path = span_str("");
		rows[i] =
		    (nacre_sandbox_v1_Ancestor){ .pid = e->ancestors[i].pid,
			    .path = arena_str(a, path) };
	}
	c->ancestors = rows;
	c->ancestors_count = (pb_size_t)e->ancestors_n;
}

/* A call that is over by an answer is forgotten by broker_call_closed(). */
int
broker_hand_over(struct broker *b, struct join *j, struct rpc_call *c)
{
	nacre_sandbox_v1_Connection m = nacre_sandbox_v1_Connection_init_zero;
	nacre_sandbox_v1_Ancestor rows[EVIDENCE_ANCESTORS];
	char address[INET_ADDRSTRLEN] = "";
	struct fault f = { 0 };
	struct arena a;
	int end = fd_take(&j->end);

	m.tag = ++b->sb->last_tag;
	if (bulk_pass(b->sb, m.tag, &end, 1, &f) != 0) {
		log_warn(&f, "cannot hand over a connection");
		join_drop(j);
		return -1;
	}
	arena_init(&a, 4 * EVIDENCE_BYTES);
	m.address = address;
	(void)inet_ntop(AF_INET, &j->at.sin_addr, address, sizeof(address));
	m.port = ntohs(j->at.sin_port);
	m.socket = j->inode;
	m.has_caller = true;
	fill_caller(&m.caller, &j->evidence, rows, &a);
	for (size_t i = 0; i < BROKER_ACCEPTS; i++)
		if (b->accepts[i] == c)
			b->accepts[i] = NULL;
	sandbox_answer(c, nacre_sandbox_v1_Connection_fields, &m);
	arena_release(&a);
	return 0;
}

void
broker_accept_serve(struct serving *s, struct span m)
{
	struct broker *b = &s->sb->broker;
	struct fault f = { 0 };

	(void)m;
	for (size_t i = 0; i < BROKER_ACCEPTS; i++)
		if (!b->accepts[i]) {
			b->accepts[i] = s->call;
			join_settle(b);
			return;
		}
	(void)fault_set(&f, FAULT_LIMIT, "%d calls wait already",
	    BROKER_ACCEPTS);
	sandbox_refuse(s->call, &f);
}

/* --- holders */
static void
send_holders(struct serving *s, const nacre_sandbox_v1_HoldersReply *r)
{
	struct fault f = { 0 };

	if (sandbox_send(s->call, nacre_sandbox_v1_HoldersReply_fields, r,
		&f) != 0)
		sandbox_refuse(s->call, &f);
	else
		broker_holders_ended(s);
}

/* The last request came and is answered. */
void
broker_holders_ended(struct serving *s)
{
	for (struct lookup *l = s->sb->broker.lookups.first; l; l = l->next)
		if (l->owner == s)
			return;
	if (s->has_ended)
		rpc_finish(s->call, NULL, span_of(NULL, 0));
}

static void
looked_up(struct lookup *l)
{
	nacre_sandbox_v1_HoldersReply r =
	    nacre_sandbox_v1_HoldersReply_init_zero;
	nacre_sandbox_v1_Holder rows[EVIDENCE_HOLDERS];
	struct serving *s = l->owner;
	struct arena a;

	if (!s)
		return; /* nobody asks any more */
	l->owner = NULL;
	arena_init(&a, 2 * EVIDENCE_HOLDERS * LIMIT_PATH);
	for (size_t i = 0; i < l->n; i++) {
		rows[i] =
		    (nacre_sandbox_v1_Holder)nacre_sandbox_v1_Holder_init_zero;
		rows[i].pid = l->holders[i].pid;
		rows[i].has_program = true;
		rows[i].program = program_message(&l->holders[i].program, &a);
	}
	r.holders = rows;
	r.holders_count = (pb_size_t)l->n;
	r.cut = l->is_cut;
	r.socket = l->socket;
	send_holders(s, &r);
	arena_release(&a);
}

void
broker_holders_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_HoldersRequest q =
	    nacre_sandbox_v1_HoldersRequest_init_zero;
	nacre_sandbox_v1_HoldersReply none =
	    nacre_sandbox_v1_HoldersReply_init_zero;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 1024);
	if (WIRE_DECODE(nacre_sandbox_v1_HoldersRequest, &q, m, &a, &f) != 0) {
		sandbox_refuse(s->call, &f);
	} else if (!lookup_start(&s->sb->broker.lookups, q.socket, looked_up, s,
		       &f)) {
		none.socket = q.socket;
		none.cut = true;
		send_holders(s, &none);
	}
	arena_release(&a);
}

void
broker_call_closed(struct broker *b, const struct rpc_call *c)
{
	for (size_t i = 0; i < BROKER_ACCEPTS; i++)
		if (b->accepts[i] == c)
			b->accepts[i] = NULL;
	for (struct lookup *l = b->lookups.first; l; l = l->next) {
		const struct serving *s = l->owner;

		if (s && s->call == c)
			l->owner = NULL;
	}
}
