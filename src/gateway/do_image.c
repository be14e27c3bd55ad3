/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images: listed and deleted here, imported by a process of their own, so
 * that what a stranger's archive does to it stays in it. Its progress comes
 * as lines of JSON. It ends with its caller, with us, and after an hour; what
 * it had made by then has no name and goes by itself.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "gateway/check.h"
#include "gateway/do.h"
#include "gateway/image_gone.h"
#include "gateway/refuse.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"

enum {
	LINES = 256 << 10, /* of JSON that wait */
	IMPORTS = 4,       /* at once */
	/* A host that needs a minute for a gigabyte has three times what the
	 * largest image takes. */
	IMPORT_MS = 3600000,
};

struct import {
	struct gateway *g;
	struct call *call; /* NULL when the client has left */
	struct child child;
	struct watch out;
	struct timer limit;
	struct buf lines;
	struct fault fault; /* as the child said it */
	bool replaces;
	bool done; /* it named its image */
	bool out_ended;
	bool exited;
	int status;
	char name[LIMIT_NAME + 1];
};

static void
free_import(void *p)
{
	struct import *im = p;

	buf_release(&im->lines);
	free(im);
}

/* NULL when the arena is spent. */
static char **
copy_list(const char *const *list, struct arena *a, pb_size_t *n)
{
	char **out;
	size_t count = 0;

	while (list != NULL && list[count] != NULL)
		count++;
	out = arena_get(a, (count + 1) * sizeof(*out));
	for (size_t i = 0; i < count && out != NULL; i++)
		out[i] = arena_str(a, span_str(list[i]));
	*n = out == NULL ? 0 : (pb_size_t)count;
	return out;
}

static int
fill_image(const struct image_info *i, struct arena *a, nacre_v1_Image *out,
    struct fault *f)
{
	out->name = arena_str(a, span_str(i->name));
	out->digest = arena_str(a, span_str(i->digest));
	out->size_bytes = i->size_bytes;
	out->entries = i->entries;
	out->created_ms = i->imported_ms;
	out->user = arena_str(a, span_str(i->config.user));
	out->workdir = arena_str(a, span_str(i->config.workdir));
	out->entrypoint =
	    copy_list(i->config.entrypoint, a, &out->entrypoint_count);
	out->cmd = copy_list(i->config.cmd, a, &out->cmd_count);
	if (out->workdir == NULL || out->cmd == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return 0;
}

int
do_images(struct call *c, struct fault *f)
{
	const nacre_v1_ListImagesRequest *ask = c->ask;
	nacre_v1_ListImagesReply reply = nacre_v1_ListImagesReply_init_zero;
	struct image_page p = { .after = ask->cursor == NULL ? "" : ask->cursor,
		.most = call_page(ask->limit, CALL_PAGE) };

	if (image_list(&c->g->images, &p, &c->arena, f) < 0)
		return -1;
	reply.images =
	    arena_get(&c->arena, (p.count + 1) * sizeof(*reply.images));
	if (reply.images == NULL)
		return fault_set(f, FAULT_LIMIT, "too many images");
	for (size_t i = 0; i < p.count; i++) {
		if (fill_image(&p.list[i], &c->arena, &reply.images[i], f) < 0)
			return -1;
	}
	reply.images_count = (pb_size_t)p.count;
	if (p.has_more && p.count > 0)
		reply.next_cursor = reply.images[p.count - 1].name;
	return CALL_REPLY(c, nacre_v1_ListImagesReply, &reply, f);
}

int
do_image_delete_decide(struct call *c, struct fault *f)
{
	const nacre_v1_DeleteImageRequest *ask = c->ask;
	struct image_info image;
	char user[LIMIT_NAME + 1] = "";
	bool used = false;

	call_note(c, "%.64s", ask->name == NULL ? "" : ask->name);
	if (check_name(ask->name, "name", f) < 0)
		return -1;
	if (image_find(&c->g->images, ask->name, &c->arena, &image, f) < 0) {
		c->hint = "'nacre image list' shows what is there";
		return -1;
	}
	if (store_sandbox_uses(c->g->store, image.digest, &used, user, f) < 0)
		return -1;
	if (used) {
		c->hint = "delete the sandboxes that use it first";
		return fault_set(f, FAULT_REFUSED,
		    "image '%s' is in use by sandbox '%s'", ask->name, user);
	}
	c->work = arena_str(&c->arena, span_str(image.digest));
	return c->work != NULL
	    ? 0
	    : fault_set(f, FAULT_LIMIT, "the name is too long");
}

int
do_image_delete(struct call *c, struct fault *f)
{
	const nacre_v1_DeleteImageRequest *ask = c->ask;
	const char *digest = c->work;

	return image_gone_note(c->g, ask->name, digest, f);
}

/* After the commit, and after its files have gone. */
void
do_image_delete_answer(struct call *c)
{
	const nacre_v1_DeleteImageRequest *ask = c->ask;
	nacre_v1_DeleteImageReply reply = nacre_v1_DeleteImageReply_init_zero;
	struct fault f = { 0 };

	reply.deleted = true;
	if (image_gone_check(c->g, ask->name, &f) == 0)
		(void)!call_send(c, nacre_v1_DeleteImageReply_fields, &reply,
		    &f);
	else
		fault_prefix(&f, "image '%s' goes later", ask->name);
	call_finish(c, f.code == FAULT_NONE ? NULL : &f);
}

/* ---- import ---- */

int
do_import_decide(struct call *c, struct fault *f)
{
	const nacre_v1_ImportImageRequest *ask = c->ask;
	struct image_info there;
	struct stat st;

	call_note(c, "%.64s from %.512s", ask->name == NULL ? "" : ask->name,
	    ask->path == NULL ? "" : ask->path);
	if (check_name(ask->name, "name", f) < 0)
		return -1;
	if (ask->path == NULL || ask->path[0] != '/' ||
	    strlen(ask->path) >= LIMIT_PATH)
		return fault_field(f, "path", "the path must be absolute");
	if (stat(ask->path, &st) < 0) {
		fault_sys(f, "cannot open '%.128s'", ask->path);
		if (errno == ENOENT || errno == ENOTDIR)
			f->code = FAULT_NOT_FOUND;
		return -1;
	}
	if (ask->replace)
		return 0;
	if (image_find(&c->g->images, ask->name, &c->arena, &there, f) == 0) {
		c->hint = "choose another name, or say --replace";
		fault_set(f, FAULT_EXISTS, "image '%s' already exists",
		    ask->name);
		return refuse_taken(c, ask->name, f);
	}
	if (f->code != FAULT_NOT_FOUND)
		return -1;
	fault_clear(f);
	return 0;
}

static void
take_error(struct import *im, const struct json_value *error)
{
	enum fault_code code = FAULT_NONE;
	const char *text = "the import failed";
	const char *reason = "";
	const char *field = "";

	if (json_cstr(json_get(error, "code"), &reason))
		code = fault_from_reason(reason);
	if (!json_cstr(json_get(error, "message"), &text))
		text = "the import failed";
	fault_clear(&im->fault);
	fault_set(&im->fault, code == FAULT_NONE ? FAULT_SYSTEM : code,
	    "%.220s", text);
	if (json_cstr(json_get(error, "place"), &field))
		(void)text_copy(im->fault.field, sizeof(im->fault.field),
		    span_str(field));
}

static void
tell_progress(struct import *im, const struct json_value *v, struct arena *a)
{
	nacre_v1_ImportImageEvent e = nacre_v1_ImportImageEvent_init_zero;
	struct fault ignored = { 0 };
	const char *phase = "";

	/* A slow client misses progress, nothing else. */
	if (im->call == NULL || im->call->rpc == NULL ||
	    rpc_room(im->call->rpc) == 0 ||
	    !json_cstr(json_get(v, "phase"), &phase))
		return;
	/* Not in the call's arena: a long import tells much. */
	e.phase = arena_str(a, span_str(phase));
	(void)!json_uint(json_get(v, "bytes"), INT64_MAX, &e.bytes);
	(void)!json_uint(json_get(v, "entries"), INT64_MAX, &e.entries);
	if (e.phase == NULL ||
	    call_send(im->call, nacre_v1_ImportImageEvent_fields, &e,
		&ignored) < 0)
		log_debug("progress was not told");
}

static void
take_line(struct import *im, struct span line)
{
	const struct json_value *v = NULL;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, LINES);
	if (json_parse(line, &a, &v, &f) < 0)
		log_warn(&f, "an import said something odd");
	else if (json_get(v, "error") != NULL)
		take_error(im, json_get(v, "error"));
	else if (json_get(v, "image") != NULL)
		im->done = true;
	else
		tell_progress(im, v, &a);
	arena_release(&a);
}

static void
take_lines(struct import *im)
{
	for (;;) {
		struct span s = buf_span(&im->lines);
		size_t n = span_find(s, '\n');

		if (n == s.len)
			return;
		take_line(im, span_of(s.ptr, n));
		buf_eat(&im->lines, n + 1);
	}
}

static void
tell_image(struct import *im)
{
	nacre_v1_ImportImageEvent e = nacre_v1_ImportImageEvent_init_zero;
	struct call *c = im->call;
	struct image_info image;

	if (c == NULL)
		return;
	if (image_find(&im->g->images, im->name, &c->arena, &image,
		&im->fault) < 0 ||
	    fill_image(&image, &c->arena, &e.image, &im->fault) < 0)
		return;
	e.phase = arena_str(&c->arena, SPAN_LIT("done"));
	e.has_image = true;
	e.bytes = image.content_bytes;
	e.entries = image.entries;
	(void)!call_send(c, nacre_v1_ImportImageEvent_fields, &e, &im->fault);
}

static void
check_end(struct import *im)
{
	if (!im->exited || !im->out_ended)
		return;
	if (im->done && im->status == 0) {
		image_gone_forget(im->g, im->name);
		tell_image(im);
	} else if (im->fault.code == FAULT_NONE)
		fault_set(&im->fault, FAULT_SYSTEM,
		    "the import ended without a word (status %d)", im->status);
	if (im->fault.code != FAULT_NONE)
		log_warn(&im->fault, "import of image '%s'", im->name);
	if (im->call != NULL) {
		(void)refuse_taken(im->call, im->name, &im->fault);
		call_finish(im->call,
		    im->fault.code == FAULT_NONE ? NULL : &im->fault);
	}
	/* A new name alone leaves nothing that nothing needs. */
	if (im->replaces || !im->done)
		image_gone_sweep(im->g);
	im->g->imports--;
	loop_timer_clear(&im->limit);
	loop_bury(im->g->loop, im, free_import);
}

static void
end_output(struct import *im)
{
	int fd = im->out.fd;

	loop_unwatch(&im->out);
	fd_close(&fd);
	im->out_ended = true;
	check_end(im);
}

static void
on_output(struct watch *w, unsigned events)
{
	struct import *im = CONTAINER_OF(w, struct import, out);
	uint8_t *at = buf_room(&im->lines, 8192);
	ssize_t n;

	(void)events;
	if (at == NULL) {
		buf_clear(&im->lines); /* a line without end is not ours */
		return;
	}
	n = read(w->fd, at, 8192);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end_output(im);
		return;
	}
	buf_grew(&im->lines, (size_t)n);
	take_lines(im);
}

static void
on_exited(struct child *child, int status)
{
	struct import *im = CONTAINER_OF(child, struct import, child);

	im->exited = true;
	im->status = status;
	check_end(im);
}

/* What it says from now on is not heard; on_exited() follows. */
static void
end_import(struct import *im, enum fault_code code, const char *why)
{
	if (im->done || im->exited)
		return;
	fault_set(&im->fault, code, "%s", why);
	(void)kill(im->child.pid, SIGKILL);
}

static void
on_limit(struct timer *t)
{
	end_import(CONTAINER_OF(t, struct import, limit), FAULT_TIMEOUT,
	    "the import took more than an hour");
}

static void
on_gone(struct call *c)
{
	struct import *im = c->work;

	im->call = NULL;
	end_import(im, FAULT_CANCELLED, "its caller has left");
}

static const struct call_events events = {
	.gone = on_gone,
};

/* Between fork and exec only raw calls. */
static _Noreturn void
become_import(char *const argv[], char *const env[], int out, pid_t parent)
{
	const int keep[] = { 0, 1, 2 };
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)dup2(null, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)setsid();
	(void)confine_signals_reset();
	if (confine_die_with_parent(parent) < 0)
		_exit(127);
	(void)confine_close_except(keep, NELEM(keep));
	(void)execve(argv[0], argv, env);
	_exit(127);
}

static int
start(struct import *im, const nacre_v1_ImportImageRequest *ask,
    struct fault *f)
{
	/* One thread; nobody changes the environment. */
	const char *path = getenv("PATH"); /* NOLINT(concurrency-mt-unsafe) */
	struct arena *a = &im->call->arena;
	char *argv[9] = { NULL }; /* with its NULL */
	char *env[2] = { NULL };
	pid_t parent = getpid();
	int ends[2];
	pid_t pid;

	argv[0] = arena_fmt(a, "%s/nacre-image", im->g->bin);
	argv[1] = arena_str(a, SPAN_LIT("import"));
	argv[2] = arena_str(a, SPAN_LIT("--store"));
	argv[3] = arena_fmt(a, "%s/images", im->g->state);
	argv[4] = arena_str(a, SPAN_LIT("--name"));
	argv[5] = im->name;
	argv[6] = ask->path;
	if (!ask->replace)
		argv[7] = arena_str(a, SPAN_LIT("--new"));
	env[0] = arena_fmt(a, "PATH=%s", path == NULL ? "/usr/bin:/bin" : path);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fault_sys(f, "cannot make a pipe");
	pid = fork();
	if (pid == 0)
		become_import(argv, env, ends[1], parent);
	fd_close(&ends[1]);
	if (pid < 0) {
		fd_close(&ends[0]);
		return fault_sys(f, "cannot start an import");
	}
	if (fd_nonblock(ends[0], f) == 0 &&
	    loop_watch(im->g->loop, &im->out, ends[0], LOOP_IN, f) == 0) {
		if (loop_child(im->g->loop, &im->child, pid, f) == 0)
			return 0;
		loop_unwatch(&im->out);
	}
	/* Nobody would hear of its end: it ends here. */
	fd_close(&ends[0]);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	return -1;
}

void
do_import_answer(struct call *c)
{
	const nacre_v1_ImportImageRequest *ask = c->ask;
	struct import *im;
	struct fault f = { 0 };

	if (c->g->imports >= IMPORTS) {
		fault_set(&f, FAULT_BUSY, "%d imports run already", IMPORTS);
		call_finish(c, &f);
		return;
	}
	im = must_alloc(sizeof(*im));
	im->g = c->g;
	im->call = c;
	im->out.ready = on_output;
	im->replaces = ask->replace;
	im->child.exited = on_exited;
	im->limit.fire = on_limit;
	buf_init(&im->lines, LINES);
	(void)text_copy(im->name, sizeof(im->name), span_str(ask->name));
	if (start(im, ask, &f) < 0) {
		free_import(im);
		call_finish(c, &f);
		return;
	}
	c->g->imports++;
	loop_timer_set(c->g->loop, &im->limit, IMPORT_MS);
	call_take(c, &events, im);
}
