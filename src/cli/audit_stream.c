/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre audit follow and export: the record as a stream of lines. A follower
 * whose gateway ends waits for the next one and goes on behind the last row
 * that it has printed.
 */
#include <sys/inotify.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/audit.h"
#include "wire/wire.h"

enum {
	LINE = 256 << 10,
	AGAIN_MS = 1000,         /* should the folder tell nothing */
	PATIENCE_MS = 60 * 1000, /* for a gateway that is started anew */
};

struct lines {
	struct cli *c;
	struct buf line;
	struct arena arena; /* of the message at hand */
	uint64_t row;       /* the last one that was printed */
	struct fault fault;
	bool json;
};

static bool
print_json(struct lines *l, struct json_out *o)
{
	if (json_out_done(o, &l->fault) < 0)
		return false;
	(void)fwrite(buf_ptr(&l->line), 1, l->line.len, stdout);
	(void)putchar('\n');
	return ferror(stdout) == 0;
}

static struct json_out
begin_json(struct lines *l)
{
	struct json_out o;

	buf_clear(&l->line);
	json_out_init(&o, &l->line);
	return o;
}

static bool
print_row(struct lines *l, const nacre_v1_AuditRow *r)
{
	char when[32];
	char why[512];
	char safe[1024];

	l->row = r->row;
	if (l->json) {
		struct json_out o = begin_json(l);

		audit_row_json(&o, r);
		return print_json(l, &o);
	}
	time_format(r->time_ms, when);
	audit_row_why(r, why, sizeof(why));
	text_escape(span_str(why), safe, sizeof(safe));
	(void)printf("%llu  %s  %s  %s  %s  %s  %s\n",
	    (unsigned long long)r->row, when, cli_text(r->caller),
	    cli_text(r->verb), r->sandbox && *r->sandbox ? r->sandbox : "-",
	    cli_text(r->verdict), safe);
	return ferror(stdout) == 0;
}

static bool
print_checkpoint(struct lines *l, const nacre_v1_AuditCheckpoint *p)
{
	const struct cli_text_member texts[] = {
		{ "kind", p->kind },
		{ "hash", p->hash },
		{ "key", p->key },
		{ "signature", p->signature },
	};
	const struct cli_number_member numbers[] = {
		{ "row", (int64_t)p->row },
		{ "time_ms", p->time_ms },
		{ "bytes", (int64_t)p->bytes },
	};
	struct json_out o = begin_json(l);

	json_out_object(&o);
	json_out_key(&o, "checkpoint");
	json_out_object(&o);
	cli_json_numbers(&o, numbers, NELEM(numbers));
	cli_json_texts(&o, texts, NELEM(texts));
	json_out_end(&o);
	json_out_end(&o);
	return print_json(l, &o);
}

static bool
on_row(struct client_stream *s, struct span message)
{
	struct lines *l = s->owner;
	nacre_v1_AuditRow r = nacre_v1_AuditRow_init_zero;

	arena_release(&l->arena);
	return WIRE_DECODE(nacre_v1_AuditRow, &r, message, &l->arena,
		   &l->fault) == 0 &&
	    print_row(l, &r) && fflush(stdout) == 0;
}

static bool
on_item(struct client_stream *s, struct span message)
{
	struct lines *l = s->owner;
	nacre_v1_AuditItem item = nacre_v1_AuditItem_init_zero;

	arena_release(&l->arena);
	if (WIRE_DECODE(nacre_v1_AuditItem, &item, message, &l->arena,
		&l->fault) != 0)
		return false;
	if (item.which_kind == nacre_v1_AuditItem_row_tag)
		return print_row(l, &item.kind.row);
	return print_checkpoint(l, &item.kind.checkpoint);
}

static void
init(struct lines *l, struct cli *c, bool json)
{
	memset(l, 0, sizeof(*l));
	l->c = c;
	l->json = json;
	buf_init(&l->line, LINE);
	arena_init(&l->arena, 4 * LINE);
}

static void
release(struct lines *l)
{
	buf_release(&l->line);
	arena_release(&l->arena);
}

/* One life of the gateway; 0: the reader of our lines has left. */
static int
follow_once(struct client *cl, struct lines *l,
    const nacre_v1_FollowAuditRequest *ask, struct fault *f)
{
	struct client_stream s = { .message = on_row, .owner = l };

	if (client_stream_open(cl, &s, "/nacre.v1.Nacre/FollowAudit", f) != 0 ||
	    client_stream_send(&s, nacre_v1_FollowAuditRequest_fields, ask,
		f) != 0)
		return -1;
	rpc_half_close(s.call);
	if (client_stream_run(&s, f) != 0)
		return -1;
	if (l->fault.code == FAULT_NONE)
		return 0;
	*f = l->fault;
	return -1;
}

/* Tells that something has come into the state folder: a socket, maybe. */
static int
watch_state(const struct cli *c, struct fault *f)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd < 0 ||
	    inotify_add_watch(fd, c->state, IN_CREATE | IN_MOVED_TO) < 0) {
		fault_sys(f, "cannot watch '%s'", c->state);
		fd_close(&fd);
		return -1;
	}
	return fd;
}

static void
wait_for_state(int watch)
{
	struct pollfd p = { .fd = watch, .events = POLLIN };

	if (poll(&p, 1, AGAIN_MS) > 0) {
		char events[4096];

		(void)!read(watch, events, sizeof(events));
	}
}

/* Is it the end of a gateway, behind which another may come? */
static bool
may_come_again(const struct fault *f, int64_t *until)
{
	if (f->code == FAULT_LOST)
		*until = clock_mono_ms() + PATIENCE_MS;
	return (f->code == FAULT_LOST || f->code == FAULT_BUSY ||
		   f->code == FAULT_NOT_READY) &&
	    clock_mono_ms() < *until;
}

static int
follow(struct client *cl, struct lines *l, nacre_v1_FollowAuditRequest *ask,
    struct fault *f)
{
	with_fd watch = watch_state(l->c, f);
	int64_t until = 0;

	if (watch < 0)
		return -1;
	for (;;) {
		if (cl->loop != NULL && follow_once(cl, l, ask, f) == 0)
			return 0;
		if (!may_come_again(f, &until))
			return -1;
		client_close(cl);
		if (l->row > 0)
			ask->after = l->row;
		wait_for_state(watch);
		fault_clear(f);
		if (client_open(cl, l->c, f) != 0)
			client_close(cl);
	}
}

/* The row from which on it is told, so that none is missed should the first
 * one come only after a restart. */
static int
find_head(struct client *cl, uint64_t *row, struct fault *f)
{
	nacre_v1_ListAuditRequest ask = { .limit = 1 };
	nacre_v1_ListAuditReply a = nacre_v1_ListAuditReply_init_zero;

	if (CLIENT_UNARY(cl, "/nacre.v1.Nacre/ListAudit",
		nacre_v1_ListAuditRequest, &ask, nacre_v1_ListAuditReply, &a,
		f) != 0)
		return -1;
	*row = a.rows_count > 0 ? a.rows[0].row : 0;
	return 0;
}

int
cmd_audit_follow(struct cli *c, char **argv)
{
	nacre_v1_FollowAuditRequest ask = nacre_v1_FollowAuditRequest_init_zero;
	struct audit_wish wish = { 0 };
	bool json = false;
	uint64_t after = 0;
	const struct cli_option options[] = {
		AUDIT_WISHES(wish),
		{ "--after", CLI_NUMBER, &after, INT64_MAX },
		{ "--from-start", CLI_FLAG, &ask.from_start, 0 },
		{ "--json", CLI_FLAG, &json, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct lines l;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "audit follow", &f) != 0 ||
	    audit_wish_take(c, &wish, &ask.filter, &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	init(&l, c, json || c->json);
	ask.has_filter = true;
	ask.after = after;
	rc = after > 0 || ask.from_start ? 0 : find_head(&cl, &ask.after, &f);
	if (rc == 0)
		rc = follow(&cl, &l, &ask, &f);
	client_close(&cl);
	release(&l);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

int
cmd_audit_export(struct cli *c, char **argv)
{
	nacre_v1_ExportAuditRequest ask = nacre_v1_ExportAuditRequest_init_zero;
	struct audit_wish wish = { 0 };
	bool json = false; /* there is no other form */
	uint64_t after = 0;
	const struct cli_option options[] = {
		AUDIT_WISHES(wish),
		{ "--after", CLI_NUMBER, &after, INT64_MAX },
		{ "--json", CLI_FLAG, &json, 0 },
	};
	struct client_stream s = { .message = on_item };
	struct cli_words w;
	struct client cl;
	struct lines l;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "audit export --json", &f) != 0 ||
	    audit_wish_take(c, &wish, &ask.filter, &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	init(&l, c, true);
	s.owner = &l;
	ask.has_filter = true;
	ask.after = after;
	rc = client_stream_open(&cl, &s, "/nacre.v1.Nacre/ExportAudit", &f);
	if (rc == 0)
		rc = client_stream_send(&s, nacre_v1_ExportAuditRequest_fields,
		    &ask, &f);
	if (rc == 0) {
		rpc_half_close(s.call);
		rc = client_stream_run(&s, &f);
	}
	if (rc == 0 && l.fault.code != FAULT_NONE) {
		f = l.fault;
		rc = -1;
	}
	if (rc == 0 && (fflush(stdout) != 0 || s.stopped))
		rc = fault_set(&f, FAULT_SYSTEM, "cannot write the lines");
	client_close(&cl);
	release(&l);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
