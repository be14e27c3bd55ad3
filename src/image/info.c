/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the store says of its images: one by name, or all. Files are parsed in
 * an arena of their own, and only what callers want is copied to theirs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	PARSED = 32 << 20,
	PAGE = LIMIT_MESSAGE / 2, /* bytes of a page, but for its last image */
	ROW = 256,                /* of an image, beside its texts */
};

static const char *const nothing[] = { NULL };

static int
read_json(int dir, const char *file, struct arena *a,
    const struct json_value **out, struct fault *f)
{
	struct buf text;
	int r = -1;

	buf_init(&text, IMAGE_META);
	if (file_read(dir, file, &text, f) == 0) {
		struct span kept = arena_dup(a, buf_span(&text));

		r = kept.ptr
		    ? json_parse(kept, a, out, f)
		    : fault_set(f, FAULT_LIMIT, "no room for '%s'", file);
	}
	buf_release(&text);
	return r;
}

static int
read_uint(const struct json_value *v, const char *key, uint64_t *out,
    struct fault *f)
{
	if (json_uint(json_get(v, key), INT64_MAX, out))
		return 0;
	return fault_set(f, FAULT_INVALID, "'%s' is missing", key);
}

static int
read_accounts(const struct json_value *v, const char *key, struct arena *a,
    const struct image_account **out, size_t *count, struct fault *f)
{
	const struct json_value *list;
	struct image_account *row;

	if (json_need(v, key, JSON_ARRAY, &list, f) < 0)
		return -1;
	row = arena_get(a, (list->count + 1) * sizeof(*row));
	if (!row)
		return fault_set(f, FAULT_LIMIT, "too many users");
	*out = row;
	*count = list->count;
	for (const struct json_value *i = json_first(list); i;
	     i = json_next(i), row++) {
		uint64_t uid = 0;
		uint64_t gid = 0;

		row->home = "";
		if (!json_cstr(json_get(i, "name"), &row->name) ||
		    !json_uint(json_get(i, "gid"), UINT32_MAX, &gid))
			return fault_set(f, FAULT_INVALID, "a bad '%s'", key);
		if (json_get(i, "home") &&
		    (!json_cstr(json_get(i, "home"), &row->home) ||
			!json_uint(json_get(i, "uid"), UINT32_MAX, &uid)))
			return fault_set(f, FAULT_INVALID, "a bad '%s'", key);
		row->uid = (uint32_t)uid;
		row->gid = (uint32_t)gid;
	}
	return 0;
}

static int
read_blob_facts(const struct image_store *s, struct arena *a,
    struct image_info *out, struct fault *f)
{
	const struct json_value *v = NULL;
	char file[DIGEST_HEX + 8];

	(void)snprintf(file, sizeof(file), "%s.json", out->digest);
	if (read_json(s->blobs, file, a, &v, f) < 0 ||
	    read_uint(v, "size_bytes", &out->size_bytes, f) < 0 ||
	    read_uint(v, "content_bytes", &out->content_bytes, f) < 0 ||
	    read_uint(v, "entries", &out->entries, f) < 0 ||
	    read_accounts(v, "users", a, &out->users, &out->user_count, f) <
		0 ||
	    read_accounts(v, "groups", a, &out->groups, &out->group_count, f) <
		0)
		return -1;
	return 0;
}

static int
read_digest(const struct json_value *v, struct image_info *out, struct fault *f)
{
	uint8_t raw[DIGEST_SIZE];
	struct span hex = { 0 };

	if (!json_str(json_get(v, "digest"), &hex) ||
	    !hex_parse(hex, raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "'digest' is missing");
	hex_format(raw, sizeof(raw), out->digest);
	return 0;
}

/* A name's own file: everything in `a`. */
static int
read_name(const struct image_store *s, const char *name, struct arena *a,
    struct image_info *out, struct fault *f)
{
	const struct json_value *v = NULL;
	uint64_t imported = 0;
	char file[LIMIT_NAME + 8];

	memset(out, 0, sizeof(*out));
	out->name = name;
	(void)snprintf(file, sizeof(file), "%s.json", name);
	if (read_json(s->names, file, a, &v, f) < 0 ||
	    read_digest(v, out, f) < 0 ||
	    read_uint(v, "imported_ms", &imported, f) < 0 ||
	    image_config_read(v, a, &out->config, f) < 0)
		return -1;
	if (!json_cstr(json_get(v, "source"), &out->source) ||
	    !json_cstr(json_get(v, "source_digest"), &out->source_digest))
		return fault_set(f, FAULT_INVALID, "'source' is missing");
	out->imported_ms = (int64_t)imported;
	return 0;
}

static bool
keep_text(const char **text, struct arena *a)
{
	*text = arena_str(a, span_str(*text));
	return *text;
}

static bool
keep_list(const char *const **list, struct arena *a)
{
	const char **copy;
	size_t n = 0;

	while ((*list)[n])
		n++;
	copy = arena_get(a, (n + 1) * sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = (*list)[i];
		if (!keep_text(&copy[i], a))
			return false;
	}
	*list = copy;
	return copy;
}

static bool
keep_accounts(const struct image_account **list, size_t n, struct arena *a)
{
	struct image_account *copy = arena_get(a, (n + 1) * sizeof(*copy));

	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = (*list)[i];
		if (!keep_text(&copy[i].name, a) ||
		    !keep_text(&copy[i].home, a))
			return false;
	}
	*list = copy;
	return copy;
}

/* From the arena of the parsed files to the caller's, which is smaller. */
static int
keep(struct image_info *i, struct arena *a, struct fault *f)
{
	struct image_config *c = &i->config;

	i->blob = arena_fmt(a, "blobs/%s.sqfs", i->digest);
	i->index = arena_fmt(a, "blobs/%s.idx", i->digest);
	if (i->blob && i->index && keep_text(&i->name, a) &&
	    keep_text(&i->source, a) && keep_text(&i->source_digest, a) &&
	    keep_list(&c->env, a) && keep_list(&c->entrypoint, a) &&
	    keep_list(&c->cmd, a) && keep_text(&c->user, a) &&
	    keep_text(&c->workdir, a) && keep_text(&c->created, a) &&
	    keep_list(&c->labels, a) &&
	    keep_accounts(&i->users, i->user_count, a) &&
	    keep_accounts(&i->groups, i->group_count, a))
		return 0;
	return fault_set(f, FAULT_LIMIT, "no room for an image");
}

static size_t
command_bytes(const struct image_info *i)
{
	return image_config_bytes(i->config.entrypoint) +
	    image_config_bytes(i->config.cmd);
}

/* What a list goes without; a command that fills a page is of an old store. */
static void
make_short(struct image_info *i)
{
	i->user_count = 0;
	i->group_count = 0;
	i->config.env = nothing;
	i->config.labels = nothing;
	if (command_bytes(i) > PAGE) {
		i->config.entrypoint = nothing;
		i->config.cmd = nothing;
	}
}

/* Name and blob; whole or as in a list. */
static int
read_image(const struct image_store *s, const char *name, bool whole,
    struct arena *a, struct image_info *out, struct fault *f)
{
	struct arena parsed;
	int r;

	arena_init(&parsed, PARSED);
	r = read_name(s, name, &parsed, out, f);
	if (r == 0)
		r = read_blob_facts(s, &parsed, out, f);
	if (r == 0 && !whole)
		make_short(out);
	if (r == 0)
		r = keep(out, a, f);
	arena_release(&parsed);
	return r;
}

int
image_not_found(const char *name, struct fault *f)
{
	char shown[64];

	text_escape(span_str(name), shown, sizeof(shown));
	return fault_set(f, FAULT_NOT_FOUND,
	    "no image '%s': see 'nacre image list'", shown);
}

int
image_find(const struct image_store *s, const char *name, struct arena *a,
    struct image_info *out, struct fault *f)
{
	if (!name_valid(span_str(name), LIMIT_NAME))
		return image_not_found(name, f);
	if (read_image(s, name, true, a, out, f) == 0)
		return 0;
	if (f->code == FAULT_SYSTEM && f->sys == ENOENT)
		return image_not_found(name, f);
	return fault_prefix(f, "image '%s'", name);
}

int
image_find_blob(const struct image_store *s, const char *digest,
    struct arena *a, struct image_info *out, struct fault *f)
{
	uint8_t raw[DIGEST_SIZE];
	struct arena parsed;
	int r;

	if (!hex_parse(span_str(digest), raw, sizeof(raw)))
		return fault_set(f, FAULT_INVALID, "not a digest");
	*out = (struct image_info){ .name = "",
		.source = "",
		.source_digest = "",
		.config = { nothing, nothing, nothing, "", "", "", nothing } };
	hex_format(raw, sizeof(raw), out->digest);
	arena_init(&parsed, PARSED);
	r = read_blob_facts(s, &parsed, out, f);
	if (r == 0)
		r = keep(out, a, f);
	arena_release(&parsed);
	if (r < 0 && f->code == FAULT_SYSTEM && f->sys == ENOENT) {
		fault_clear(f);
		return fault_set(f, FAULT_NOT_FOUND, "no image of digest %s",
		    out->digest);
	}
	return r;
}

/* "NAME.json" -> NAME; false for anything else that lies about. */
bool
image_name_of_file(const char *file, char name[LIMIT_NAME + 1])
{
	struct span s = span_str(file);

	if (s.len <= 5 || !span_is(span_from(s, s.len - 5), ".json"))
		return false;
	s.len -= 5;
	return name_valid(s, LIMIT_NAME) && text_copy(name, LIMIT_NAME + 1, s);
}

static int
order_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* All names, sorted, in the arena. */
int
image_names(const struct image_store *s, struct arena *a,
    char (**out)[LIMIT_NAME + 1], size_t *count, struct fault *f)
{
	int fd = openat(s->names, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	*count = 0;
	if (!d)
		return fault_sys(f, "cannot list the image store");
	*out = arena_get(a, IMAGE_NAMES * sizeof(**out));
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread */
	while (*out && *count < IMAGE_NAMES && (e = readdir(d)))
		if (image_name_of_file(e->d_name, (*out)[*count]))
			++*count;
	(void)closedir(d);
	if (!*out)
		return fault_set(f, FAULT_LIMIT, "no room for a list");
	qsort(*out, *count, sizeof(**out), order_names);
	return 0;
}

/* The next of a page; *bytes is what the page has by then. */
static int
list_one(const struct image_store *s, const char *name, struct image_page *p,
    size_t *bytes, struct arena *a, struct fault *f)
{
	struct image_info *i = &p->list[p->count];
	struct fault why;

	if (read_image(s, name, false, a, i, &why) == 0) {
		*bytes += ROW + command_bytes(i) + strlen(i->config.user) +
		    strlen(i->config.workdir);
		p->count++;
	} else if (why.code == FAULT_LIMIT) {
		return fault_set(f, FAULT_LIMIT, "the list is too long");
	} else if (why.code != FAULT_SYSTEM || why.sys != ENOENT) {
		log_warn(&why, "image '%s' is not listed", name);
	}
	return 0;
}

int
image_list(const struct image_store *s, struct image_page *p, struct arena *a,
    struct fault *f)
{
	char(*names)[LIMIT_NAME + 1];
	struct arena own;
	size_t bytes = 0;
	size_t n = 0;
	int r;

	p->count = 0;
	p->has_more = false;
	arena_init(&own, PARSED);
	r = image_names(s, &own, &names, &n, f);
	p->list = arena_get(a, (p->most + 1) * sizeof(*p->list));
	if (r == 0 && !p->list)
		r = fault_set(f, FAULT_LIMIT, "no room for a list");
	for (size_t i = 0; r == 0 && p->list && i < n && !p->has_more; i++) {
		if (strcmp(names[i], p->after) <= 0)
			continue;
		p->has_more = p->count == p->most || bytes > PAGE;
		if (!p->has_more)
			r = list_one(s, names[i], p, &bytes, a, f);
	}
	arena_release(&own);
	return r;
}

int
image_name_digest(const struct image_store *s, const char *name,
    char digest[DIGEST_HEX], struct fault *f)
{
	const struct json_value *v = NULL;
	struct image_info info = { 0 };
	char file[LIMIT_NAME + 8];
	struct arena parsed;
	int r;

	arena_init(&parsed, PARSED);
	(void)snprintf(file, sizeof(file), "%s.json", name);
	r = read_json(s->names, file, &parsed, &v, f);
	if (r == 0)
		r = read_digest(v, &info, f);
	memcpy(digest, info.digest, sizeof(info.digest));
	arena_release(&parsed);
	return r;
}
