/* SPDX-License-Identifier: Apache-2.0 */
/* nacre image import | list | delete. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	LIST_PAGE = 200,
};

struct import {
	bool done;
	nacre_v1_ImportImageEvent last;
	char doing[160];
	const char *name;
};

static bool
import_message(struct client_stream *s, struct span message)
{
	struct import *im = s->owner;
	nacre_v1_ImportImageEvent e = nacre_v1_ImportImageEvent_init_zero;
	struct cli *c = s->client->cli;
	struct arena a;
	bool rc;

	arena_init(&a, LIMIT_MESSAGE);
	rc = WIRE_DECODE(nacre_v1_ImportImageEvent, &e, message, &a,
		 &s->fault) == 0;
	if (rc && !e.has_image) {
		char size[32];

		cli_bytes(e.bytes, size);
		(void)snprintf(im->doing, sizeof(im->doing),
		    "importing '%s': %.64s, %s, %llu entries", im->name,
		    cli_text(e.phase), size, (unsigned long long)e.entries);
	}
	arena_release(&a);
	if (!rc || !e.has_image)
		return rc;
	/* It outlives this call, unlike what an import tells on its way. */
	im->done = WIRE_DECODE(nacre_v1_ImportImageEvent, &im->last, message,
		       &c->arena, &s->fault) == 0;
	return im->done;
}

static void
image_json(struct json_out *o, const nacre_v1_Image *i)
{
	json_out_object(o);
	json_out_key(o, "name");
	json_out_text(o, i->name);
	json_out_key(o, "digest");
	json_out_text(o, i->digest);
	json_out_key(o, "size_bytes");
	json_out_uint(o, i->size_bytes);
	json_out_key(o, "entries");
	json_out_uint(o, i->entries);
	json_out_key(o, "created_ms");
	json_out_int(o, i->created_ms);
	json_out_key(o, "entrypoint");
	json_out_array(o);
	for (pb_size_t k = 0; k < i->entrypoint_count; k++)
		json_out_text(o, i->entrypoint[k]);
	json_out_end(o);
	json_out_key(o, "cmd");
	json_out_array(o);
	for (pb_size_t k = 0; k < i->cmd_count; k++)
		json_out_text(o, i->cmd[k]);
	json_out_end(o);
	json_out_key(o, "user");
	json_out_text(o, i->user);
	json_out_key(o, "workdir");
	json_out_text(o, i->workdir);
	json_out_end(o);
}

static int
print_image(struct cli *c, const nacre_v1_Image *i, struct fault *f)
{
	struct buf b;
	struct json_out o;
	char size[32];

	if (c->json) {
		buf_init(&b, CLI_OUTPUT);
		json_out_init(&o, &b);
		image_json(&o, i);
		return cli_json_print(&b, &o, f);
	}
	cli_bytes(i->size_bytes, size);
	(void)printf("imported '%s': %s, %llu entries, sha256:%s\n",
	    cli_text(i->name), size, (unsigned long long)i->entries,
	    cli_text(i->digest));
	return 0;
}

int
cmd_image_import(struct cli *c, char **argv)
{
	nacre_v1_ImportImageRequest ask = nacre_v1_ImportImageRequest_init_zero;
	struct import im = { 0 };
	struct client_stream s = { .message = import_message, .owner = &im };
	bool replace = false;
	const struct cli_option options[] = {
		{ "--replace", CLI_FLAG, &replace, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	char real[PATH_MAX];
	int rc = -1;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 2, "image import [--replace] NAME PATH", &f) != 0)
		return cli_fail(&f, NULL);
	if (!realpath(w.word[1], real)) {
		(void)fault_sys(&f, "cannot open '%s'", w.word[1]);
		f.code = FAULT_NOT_FOUND;
		return cli_fail(&f, NULL);
	}
	if (client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	im.name = w.word[0];
	ask.name = arena_str(&c->arena, span_str(w.word[0]));
	ask.path = real;
	ask.replace = replace;
	(void)snprintf(im.doing, sizeof(im.doing), "importing '%s'", im.name);
	client_doing(&cl, im.doing);
	if (client_stream_open(&cl, &s, "/nacre.v1.Nacre/ImportImage", &f) ==
		0 &&
	    client_stream_send(&s, nacre_v1_ImportImageRequest_fields, &ask,
		&f) == 0) {
		rpc_half_close(s.call);
		rc = client_stream_run(&s, &f);
	}
	if (rc == 0 && !im.done)
		rc = fault_set(&f, FAULT_PROTOCOL, "the import gave no image");
	if (rc == 0)
		rc = print_image(c, &im.last.image, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

static void
image_row(struct cli *c, struct cli_table *t, const nacre_v1_Image *im)
{
	char size[32];
	char entries[32];
	char digest[13];
	char when[32];
	const char *cells[] = { cli_text(im->name), size, entries, digest,
		when };

	cli_bytes(im->size_bytes, size);
	(void)snprintf(entries, sizeof(entries), "%llu",
	    (unsigned long long)im->entries);
	(void)text_copy(digest, sizeof(digest), span_str(im->digest));
	time_format(im->created_ms, when);
	cli_table_row(c, t, cells);
}

/* A page at a time; one of the table or of the array takes each image. */
static int
image_rows(struct client *cl, struct cli_table *t, struct json_out *o,
    size_t *count, struct fault *f)
{
	nacre_v1_ListImagesRequest ask = nacre_v1_ListImagesRequest_init_zero;

	*count = 0;
	ask.limit = LIST_PAGE;
	for (;;) {
		nacre_v1_ListImagesReply a = nacre_v1_ListImagesReply_init_zero;

		if (CLIENT_UNARY(cl, "/nacre.v1.Nacre/ListImages",
			nacre_v1_ListImagesRequest, &ask,
			nacre_v1_ListImagesReply, &a, f) != 0)
			return -1;
		for (pb_size_t i = 0; i < a.images_count; i++)
			if (cl->cli->json)
				image_json(o, &a.images[i]);
			else
				image_row(cl->cli, t, &a.images[i]);
		*count += a.images_count;
		if (!a.next_cursor || !*a.next_cursor)
			return 0;
		ask.cursor = a.next_cursor;
	}
}

static int
list_images(struct client *cl, struct fault *f)
{
	static const char *const heads[] = { "NAME", "SIZE", "ENTRIES",
		"DIGEST", "IMPORTED" };
	struct cli_table t;
	struct json_out o;
	struct buf b;
	size_t count;

	cli_table_init(&t, heads, NELEM(heads));
	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_array(&o);
	if (image_rows(cl, &t, &o, &count, f) != 0) {
		buf_release(&b);
		return -1;
	}
	json_out_end(&o);
	if (cl->cli->json)
		return cli_json_print(&b, &o, f);
	buf_release(&b);
	if (count == 0)
		(void)puts("no images: 'nacre image import NAME PATH'");
	else
		cli_table_print(&t);
	return 0;
}

int
cmd_image_list(struct cli *c, char **argv)
{
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "image list", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = list_images(&cl, &f);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

int
cmd_image_delete(struct cli *c, char **argv)
{
	nacre_v1_DeleteImageRequest ask = nacre_v1_DeleteImageRequest_init_zero;
	nacre_v1_DeleteImageReply a = nacre_v1_DeleteImageReply_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 1, "image delete NAME", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	ask.name = arena_str(&c->arena, span_str(w.word[0]));
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/DeleteImage",
	    nacre_v1_DeleteImageRequest, &ask, nacre_v1_DeleteImageReply, &a,
	    &f);
	client_close(&cl);
	if (rc != 0)
		return cli_fail(&f, cl.hint);
	if (!c->json)
		(void)printf("deleted image '%s'\n", w.word[0]);
	return 0;
}
