/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre-image: one import, started by the gateway (or by hand), one process an
 * import, so that what a stranger's archive does to it stays in it.
 *
 *	nacre-image import --store DIR --name NAME [--ref REF]
 *	    [--max-bytes N] [--new] PATH
 *
 * stdout is one JSON object a line: {"phase":...} at most four a second, then
 * {"image":...} or {"error":...}. Exit codes are those of base/fault.def.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "image/image.h"
#include "json/json.h"

enum {
	LINE_MAX_BYTES = 4096,
	TELL_MS = 250,
};

struct options {
	const char *store;
	struct image_import ask;
};

struct teller {
	int64_t next_ms;
};

/* Whoever does not listen any more cannot be told that either. */
static void
print_line(struct buf *line)
{
	struct fault f;

	if (buf_add(line, "\n", 1, &f) < 0 ||
	    fd_write_all(STDOUT_FILENO, buf_ptr(line), line->len, &f) < 0)
		log_debug("nobody reads the progress");
	buf_release(line);
}

static void
out_text(struct json_out *o, const char *key, const char *s)
{
	json_out_key(o, key);
	json_out_text(o, s);
}

static void
out_uint(struct json_out *o, const char *key, uint64_t n)
{
	json_out_key(o, key);
	json_out_uint(o, n);
}

static void
tell_progress(void *arg, const char *phase, uint64_t bytes, uint64_t entries)
{
	struct teller *t = arg;
	int64_t now = clock_mono_ms();
	struct fault ignored;
	struct json_out o;
	struct buf line;

	if (now < t->next_ms)
		return;
	t->next_ms = now + TELL_MS;
	buf_init(&line, LINE_MAX_BYTES);
	json_out_init(&o, &line);
	json_out_object(&o);
	out_text(&o, "phase", phase);
	out_uint(&o, "bytes", bytes);
	out_uint(&o, "entries", entries);
	json_out_end(&o);
	if (json_out_done(&o, &ignored) == 0)
		print_line(&line);
}

static int
tell_fault(const struct fault *why)
{
	struct fault ignored;
	struct json_out o;
	struct buf line;

	buf_init(&line, LINE_MAX_BYTES);
	json_out_init(&o, &line);
	json_out_object(&o);
	json_out_key(&o, "error");
	json_out_object(&o);
	out_text(&o, "code", fault_reason(why->code));
	out_text(&o, "message", why->text);
	out_text(&o, "place", why->field);
	json_out_end(&o);
	json_out_end(&o);
	if (json_out_done(&o, &ignored) == 0)
		print_line(&line);
	return fault_exit(why->code);
}

static void
tell_result(const char *name, const struct image_result *r)
{
	struct fault ignored;
	struct json_out o;
	struct buf line;

	buf_init(&line, LINE_MAX_BYTES);
	json_out_init(&o, &line);
	json_out_object(&o);
	json_out_key(&o, "image");
	json_out_object(&o);
	out_text(&o, "name", name);
	out_text(&o, "digest", r->digest);
	out_text(&o, "source", r->source);
	out_text(&o, "source_digest", r->source_digest);
	out_uint(&o, "size_bytes", r->size_bytes);
	out_uint(&o, "content_bytes", r->content_bytes);
	out_uint(&o, "entries", r->entries);
	out_uint(&o, "layers", r->layers);
	out_uint(&o, "devices_dropped", r->devices_dropped);
	out_uint(&o, "xattrs_dropped", r->xattrs_dropped);
	json_out_key(&o, "known");
	json_out_bool(&o, r->known);
	json_out_end(&o);
	json_out_end(&o);
	if (json_out_done(&o, &ignored) == 0)
		print_line(&line);
}

static int
take_option(struct options *o, const char *key, const char *value,
    struct fault *f)
{
	if (strcmp(key, "--store") == 0)
		o->store = value;
	else if (strcmp(key, "--name") == 0)
		o->ask.name = value;
	else if (strcmp(key, "--ref") == 0)
		o->ask.ref = value;
	else if (strcmp(key, "--max-bytes") == 0) {
		if (!num_parse(span_str(value), INT64_MAX / 2,
			&o->ask.bytes_max))
			return fault_field(f, "--max-bytes", "not a number");
	} else
		return fault_field(f, "option", "unknown option '%.40s'", key);
	return 0;
}

static int
parse_options(int argc, char **argv, struct options *o, struct fault *f)
{
	if (argc < 2 || strcmp(argv[1], "import") != 0)
		return fault_field(f, "command",
		    "usage: nacre-image import --store DIR --name NAME "
		    "[--ref REF] [--max-bytes N] [--new] PATH");
	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], "--", 2) != 0 && !o->ask.path) {
			o->ask.path = argv[i];
			continue;
		}
		if (strcmp(argv[i], "--new") == 0) {
			o->ask.is_new = true;
			continue;
		}
		if (i + 1 == argc)
			return fault_field(f, "option", "'%.40s' has no value",
			    argv[i]);
		if (take_option(o, argv[i], argv[i + 1], f) < 0)
			return -1;
		i++;
	}
	if (!o->store || !o->ask.name || !o->ask.path)
		return fault_field(f, "option",
		    "--store, --name and a path are needed");
	return 0;
}

/*
 * All that an import needs, for us and for what we run: the source to read,
 * the store to write, three programs and their libraries to execute. No
 * socket, no core file of a stranger's bytes, no new privileges.
 */
static int
lock_down(const struct options *o, struct fault *f)
{
	enum {
		RUN = CONFINE_READ | CONFINE_EXECUTE | CONFINE_OPTIONAL
	};
	struct image_tools tools;
	struct confine_program *jail;
	const char *step = "";
	int r;

	if (image_tools_find(&tools, f) < 0)
		return -1;
	const struct confine_path paths[] = {
		{ o->ask.path, CONFINE_READ | CONFINE_OPTIONAL },
		{ o->store, CONFINE_READ | CONFINE_WRITE | CONFINE_MAKE },
		{ tools.tar2sqfs, RUN },
		{ *tools.gzip ? tools.gzip : tools.tar2sqfs, RUN },
		{ *tools.zstd ? tools.zstd : tools.tar2sqfs, RUN },
		{ "/bin/sh", RUN }, /* where gzip is a script */
		{ "/lib", RUN },
		{ "/lib64", RUN },
		{ "/usr/lib", RUN },
		{ "/usr/local/lib", RUN },
		{ "/etc/ld.so.cache", CONFINE_READ | CONFINE_OPTIONAL },
	};
	jail = confine_importer(paths, NELEM(paths), f);
	if (!jail)
		return -1;
	r = confine_apply(jail, &step);
	if (r < 0)
		(void)fault_sys(f, "cannot lock down: %s", step);
	confine_program_free(jail);
	return r;
}

static int
run(struct options *o, struct image_result *result, struct fault *f)
{
	struct image_store store;
	int r;

	if (image_store_open(&store, o->store, f) < 0)
		return -1;
	r = lock_down(o, f);
	if (r == 0)
		r = image_import(&store, &o->ask, result, f);
	image_store_close(&store);
	return r;
}

int
main(int argc, char **argv)
{
	struct teller teller = { 0 };
	struct options o = { .ask = { .bytes_max = IMAGE_BYTES_MAX,
				 .progress = tell_progress,
				 .arg = &teller } };
	struct image_result result = { 0 };
	struct fault f = { 0 };

	fd_standard();
	log_start("nacre-image", LOG_INFO);
	(void)signal(SIGPIPE, SIG_IGN);
	if (parse_options(argc, argv, &o, &f) < 0 || run(&o, &result, &f) < 0)
		return tell_fault(&f);
	tell_result(o.ask.name, &result);
	return 0;
}
