/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre sandbox ls and rm: names in a sandbox without a shell in it. Names
 * are a stranger's: control bytes are escaped.
 */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

struct names {
	struct client client;
	struct client_stream stream;
	struct arena arena; /* of one message */
	bool only_itself;
	uint64_t seen;
	bool is_folder; /* the first entry was one */
};

/* "NAME:PATH": the name has no slash. */
static int
take_place(const char *word, struct arena *a, char **name, char **path,
    struct fault *f)
{
	struct span s = span_str(word);
	size_t colon = span_find(s, ':');

	if (colon == 0 || colon == s.len || colon > span_find(s, '/'))
		return fault_field(f, "path", "'%s' is no NAME:PATH", word);
	*name = arena_str(a, span_of(s.ptr, colon));
	*path = arena_str(a, span_from(s, colon + 1));
	return 0;
}

static const char *
kind_word(const nacre_v1_Entry *e)
{
	return e->kind == nacre_v1_EntryKind_ENTRY_FOLDER ? "folder"
	    : e->kind == nacre_v1_EntryKind_ENTRY_LINK    ? "link"
	    : e->kind == nacre_v1_EntryKind_ENTRY_OTHER   ? "other"
							  : "file";
}

static int
print_json(const nacre_v1_Entry *e, const char *path, const char *link)
{
	struct fault f = { 0 };
	struct json_out o;
	struct buf b;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "path");
	json_out_text(&o, path);
	json_out_key(&o, "kind");
	json_out_text(&o, kind_word(e));
	json_out_key(&o, "mode");
	json_out_int(&o, e->mode);
	json_out_key(&o, "size");
	json_out_int(&o, (int64_t)e->size);
	json_out_key(&o, "mtime_ms");
	json_out_int(&o, e->mtime_ms);
	json_out_key(&o, "link");
	json_out_text(&o, link);
	json_out_end(&o);
	return cli_json_print(&b, &o, &f);
}

static bool
on_entry(struct client_stream *s, struct span message)
{
	nacre_v1_FileChunk m = nacre_v1_FileChunk_init_zero;
	struct names *x = s->owner;
	char path[4 * LIMIT_PATH];
	char link[4 * LIMIT_PATH];
	const nacre_v1_Entry *e = &m.kind.entry;
	bool is_shown;

	if (WIRE_DECODE(nacre_v1_FileChunk, &m, message, &x->arena,
		&s->fault) != 0)
		return false;
	if (m.which_kind != nacre_v1_FileChunk_entry_tag)
		return true;
	if (x->seen++ == 0)
		x->is_folder = e->kind == nacre_v1_EntryKind_ENTRY_FOLDER;
	text_escape(wire_span(e->path), path, sizeof(path));
	text_escape(wire_span(e->link), link, sizeof(link));
	/* A folder's own entry comes first; its name was given. */
	is_shown = x->only_itself || x->seen > 1 || !x->is_folder;
	if (path[0] == '\0')
		(void)text_copy(path, sizeof(path), SPAN_LIT("."));
	if (is_shown && s->client->cli->json)
		(void)print_json(e, path, link);
	else if (is_shown)
		(void)printf("%-6s %04o %12llu  %s%s%s\n", kind_word(e),
		    (unsigned)e->mode, (unsigned long long)e->size, path,
		    link[0] ? " -> " : "", link);
	arena_release(&x->arena);
	return true;
}

static int
list(struct names *x, const char *word, struct fault *f)
{
	nacre_v1_ListFilesRequest ask = nacre_v1_ListFilesRequest_init_zero;
	struct cli *c = x->client.cli;

	if (take_place(word, &c->arena, &ask.sandbox, &ask.path, f) != 0)
		return -1;
	ask.only_itself = x->only_itself;
	x->stream.message = on_entry;
	x->stream.owner = x;
	if (client_stream_open(&x->client, &x->stream,
		"/nacre.v1.Nacre/ListFiles", f) != 0 ||
	    client_stream_send(&x->stream, nacre_v1_ListFilesRequest_fields,
		&ask, f) != 0)
		return -1;
	rpc_half_close(x->stream.call);
	return client_stream_run(&x->stream, f);
}

int
cmd_ls(struct cli *c, char **argv)
{
	struct names x = { 0 };
	const struct cli_option options[] = {
		{ "-d", CLI_FLAG, &x.only_itself, 0 },
	};
	struct cli_words w;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox ls [-d] NAME:PATH", &f) != 0 ||
	    client_open(&x.client, c, &f) != 0)
		return cli_fail(&f, NULL);
	arena_init(&x.arena, 4 * LIMIT_MESSAGE);
	rc = list(&x, w.word[0], &f);
	client_close(&x.client);
	arena_release(&x.arena);
	return rc == 0 ? 0 : cli_fail(&f, x.client.hint);
}

static int
remove_at(struct client *cl, const char *word, bool recursive, struct fault *f)
{
	nacre_v1_RemoveFilesRequest ask = nacre_v1_RemoveFilesRequest_init_zero;
	nacre_v1_FilesReply reply = nacre_v1_FilesReply_init_zero;

	if (take_place(word, &cl->cli->arena, &ask.sandbox, &ask.path, f) != 0)
		return -1;
	ask.recursive = recursive;
	client_doing(cl, "removing");
	return CLIENT_UNARY(cl, "/nacre.v1.Nacre/RemoveFiles",
	    nacre_v1_RemoveFilesRequest, &ask, nacre_v1_FilesReply, &reply, f);
}

int
cmd_rm(struct cli *c, char **argv)
{
	bool recursive = false;
	const struct cli_option options[] = {
		{ "-r", CLI_FLAG, &recursive, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 1, "sandbox rm [-r] NAME:PATH", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = remove_at(&cl, w.word[0], recursive, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}
