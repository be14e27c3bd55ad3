/* SPDX-License-Identifier: Apache-2.0 */
/* nacre sandbox logs [-f]: the output of the main process. */
#include <sys/stat.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/openshell_v1.pb.h"
#include "wire/wire.h"

static void
print_line(struct cli *c, const openshell_v1_SandboxLogLine *l)
{
	struct buf b;
	struct json_out o;
	struct fault f = { 0 };
	bool err = l->target && strcmp(l->target, "stderr") == 0;

	if (!c->json) {
		(void)fprintf(err ? stderr : stdout, "%s\n",
		    cli_text(l->message));
		return;
	}
	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "time_ms");
	json_out_int(&o, l->timestamp_ms);
	json_out_key(&o, "stream");
	json_out_text(&o, l->target);
	json_out_key(&o, "message");
	json_out_text(&o, l->message);
	json_out_end(&o);
	if (cli_json_print(&b, &o, &f) != 0)
		log_warn(&f, "cannot print a line");
}

static bool
on_message(struct client_stream *s, struct span message)
{
	openshell_v1_SandboxStreamEvent e =
	    openshell_v1_SandboxStreamEvent_init_zero;
	struct cli *c = s->client->cli;

	if (WIRE_DECODE(openshell_v1_SandboxStreamEvent, &e, message, &c->arena,
		&s->fault) != 0)
		return false;
	if (e.which_payload == openshell_v1_SandboxStreamEvent_log_tag)
		print_line(c, &e.payload.log);
	arena_release(&c->arena);
	return cli_flush(&s->fault) == 0;
}

static void
on_reader(struct watch *w, unsigned events)
{
	(void)w;
	if (events & LOOP_HUP)
		cli_end_by_pipe();
}

/* Whoever reads a pipe of ours may leave while no line comes. */
static int
watch_reader(struct client *cl, struct watch *w, struct fault *f)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) != 0 || !S_ISFIFO(st.st_mode))
		return 0;
	return loop_watch(cl->loop, w, STDOUT_FILENO, 0, f);
}

static int
follow(struct client *cl, const char *id, uint64_t lines, struct fault *f)
{
	openshell_v1_WatchSandboxRequest ask =
	    openshell_v1_WatchSandboxRequest_init_zero;
	struct client_stream s = { .message = on_message };
	struct watch reader = { .fd = -1, .ready = on_reader };
	char kept[LIMIT_ID + 1];
	int rc;

	/* The arena is emptied after each line. */
	(void)text_copy(kept, sizeof(kept), span_str(id));
	ask.id = kept;
	ask.follow_logs = true;
	ask.log_tail_lines = (uint32_t)lines;
	if (client_stream_open(cl, &s, "/openshell.v1.OpenShell/WatchSandbox",
		f) != 0 ||
	    client_stream_send(&s, openshell_v1_WatchSandboxRequest_fields,
		&ask, f) != 0 ||
	    watch_reader(cl, &reader, f) != 0)
		return -1;
	rpc_half_close(s.call);
	rc = client_stream_run(&s, f);
	loop_unwatch(&reader);
	return rc;
}

static int
once(struct client *cl, char *id, uint64_t lines, struct fault *f)
{
	openshell_v1_GetSandboxLogsRequest ask =
	    openshell_v1_GetSandboxLogsRequest_init_zero;
	openshell_v1_GetSandboxLogsResponse a =
	    openshell_v1_GetSandboxLogsResponse_init_zero;

	ask.sandbox_id = id;
	ask.lines = (uint32_t)lines;
	if (CLIENT_UNARY(cl, "/openshell.v1.OpenShell/GetSandboxLogs",
		openshell_v1_GetSandboxLogsRequest, &ask,
		openshell_v1_GetSandboxLogsResponse, &a, f) != 0)
		return -1;
	for (pb_size_t i = 0; i < a.logs_count; i++)
		print_line(cl->cli, &a.logs[i]);
	return 0;
}

int
cmd_logs(struct cli *c, char **argv)
{
	bool following = false;
	uint64_t lines = 0;
	const struct cli_option options[] = {
		{ "-f", CLI_FLAG, &following, 0 },
		{ "--follow", CLI_FLAG, &following, 0 },
		{ "-n", CLI_NUMBER, &lines, 100000 },
	};
	openshell_v1_Sandbox s = openshell_v1_Sandbox_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox logs NAME [-f] [-n LINES]", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = cli_sandbox(&cl, w.word[0], &s, &f);
	if (rc == 0 && !s.metadata.id)
		rc = fault_set(&f, FAULT_PROTOCOL, "the sandbox has no id");
	if (rc == 0 && following)
		rc = follow(&cl, s.metadata.id, lines, &f);
	else if (rc == 0)
		rc = once(&cl, s.metadata.id, lines, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
