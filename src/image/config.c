/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an image wants to be run: the "config" object of an OCI or Docker image
 * configuration, and our own copy of it in names/NAME.json. Pure.
 */
#include <string.h>

#include "image/inner.h"

enum {
	LABELS = 256,
	TEXTS = 256 << 10, /* bytes of an environment, of all labels */
	USER = 255,
	CREATED = 63, /* a time, RFC 3339 */
};

static const char *const nothing[] = { NULL };

static int
read_text(const struct json_value *v, const char *key, const char **out,
    struct fault *f)
{
	const struct json_value *member = json_get(v, key);

	if (!member || json_is(member, JSON_NULL)) {
		*out = "";
		return 0;
	}
	if (!json_cstr(member, out))
		return fault_field(f, key, "'%s' is not a text", key);
	return 0;
}

/* An array of texts, or null; older images have a lone text. */
static int
read_list(const struct json_value *v, const char *key, size_t max,
    struct arena *a, const char *const **out, struct fault *f)
{
	const struct json_value *member = json_get(v, key);
	const char **list;
	size_t n = 0;

	*out = nothing;
	if (!member || json_is(member, JSON_NULL))
		return 0;
	if (!json_is(member, JSON_ARRAY) && !json_is(member, JSON_STRING))
		return fault_field(f, key, "'%s' is not a list of texts", key);
	if (member->count > max)
		return fault_field(f, key, "'%s' has more than %zu items", key,
		    max);
	list = arena_get(a, (member->count + 2) * sizeof(*list));
	if (!list)
		return fault_set(f, FAULT_LIMIT, "configuration is too long");
	if (json_is(member, JSON_STRING) && !json_cstr(member, &list[n++]))
		return fault_field(f, key, "'%s' holds a NUL byte", key);
	for (const struct json_value *i = json_first(member); i;
	     i = json_next(i))
		if (!json_cstr(i, &list[n++]))
			return fault_field(f, key,
			    "'%s' is not a list of texts", key);
	*out = list;
	return 0;
}

static int
read_labels(const struct json_value *v, const char *key, struct arena *a,
    const char *const **out, struct fault *f)
{
	const struct json_value *member = json_get(v, key);
	const char **list;
	size_t n = 0;

	*out = nothing;
	if (!json_is(member, JSON_OBJECT))
		return 0;
	list = arena_get(a, (2 * member->count + 1) * sizeof(*list));
	if (!list)
		return fault_set(f, FAULT_LIMIT, "configuration is too long");
	for (const struct json_value *i = json_first(member);
	     i && n < 2 * (size_t)LABELS; i = json_next(i)) {
		if (!json_cstr(i, &list[n + 1]))
			continue;
		list[n] = arena_str(a, i->key);
		if (!list[n])
			return fault_set(f, FAULT_LIMIT,
			    "configuration is too long");
		n += 2;
	}
	list[n] = NULL;
	*out = list;
	return 0;
}

static int
check_platform(const struct json_value *root, struct fault *f)
{
	const char *os = "";
	const char *cpu = "";

	if (read_text(root, "os", &os, f) < 0 ||
	    read_text(root, "architecture", &cpu, f) < 0)
		return -1;
	if ((*os && strcmp(os, "linux") != 0) ||
	    (*cpu && strcmp(cpu, IMAGE_CPU) != 0))
		return fault_field(f, "path",
		    "the image is for %.20s/%.20s, this host runs linux/%s", os,
		    cpu, IMAGE_CPU);
	return 0;
}

size_t
image_config_bytes(const char *const *list)
{
	size_t n = 0;

	for (; *list; list++)
		n += strlen(*list) + 1;
	return n;
}

/* A command is held to what a create may have; all of it is kept and told. */
static int
check_sizes(const struct image_config *c, struct fault *f)
{
	const struct {
		const char *what;
		size_t bytes;
		size_t max;
	} rows[] = {
		{ "'Entrypoint' and 'Cmd' are",
		    image_config_bytes(c->entrypoint) +
			image_config_bytes(c->cmd),
		    LIMIT_ARGS_BYTES },
		{ "'Env' is", image_config_bytes(c->env), TEXTS },
		{ "'Labels' are", image_config_bytes(c->labels), TEXTS },
		{ "'User' is", strlen(c->user), USER },
		{ "'WorkingDir' is", strlen(c->workdir), LIMIT_PATH - 1 },
		{ "'created' is", strlen(c->created), CREATED },
	};

	for (size_t i = 0; i < NELEM(rows); i++)
		if (rows[i].bytes > rows[i].max)
			return fault_set(f, FAULT_LIMIT, "%s over %zu bytes",
			    rows[i].what, rows[i].max);
	return 0;
}

int
image_config_parse(struct span text, struct arena *a, struct image_config *out,
    const struct json_value **root, struct fault *f)
{
	const struct json_value *c;

	*out = (struct image_config){ nothing, nothing, nothing, "", "", "",
		nothing };
	if (json_parse(text, a, root, f) < 0 || check_platform(*root, f) < 0)
		return -1;
	c = json_get(*root, "config");
	if (read_text(*root, "created", &out->created, f) < 0)
		return -1;
	if (!json_is(c, JSON_OBJECT))
		return check_sizes(out, f);
	if (read_list(c, "Env", LIMIT_ENV, a, &out->env, f) < 0 ||
	    read_list(c, "Entrypoint", LIMIT_ARGS, a, &out->entrypoint, f) <
		0 ||
	    read_list(c, "Cmd", LIMIT_ARGS, a, &out->cmd, f) < 0 ||
	    read_text(c, "User", &out->user, f) < 0 ||
	    read_text(c, "WorkingDir", &out->workdir, f) < 0 ||
	    read_labels(c, "Labels", a, &out->labels, f) < 0)
		return -1;
	return check_sizes(out, f);
}

static void
write_list(struct json_out *o, const char *key, const char *const *list)
{
	json_out_key(o, key);
	json_out_array(o);
	for (; list && *list; list++)
		json_out_text(o, *list);
	json_out_end(o);
}

static void
write_text(struct json_out *o, const char *key, const char *text)
{
	json_out_key(o, key);
	json_out_text(o, text);
}

void
image_config_write(struct json_out *o, const struct image_config *c)
{
	write_list(o, "env", c->env);
	write_list(o, "entrypoint", c->entrypoint);
	write_list(o, "cmd", c->cmd);
	write_text(o, "user", c->user);
	write_text(o, "workdir", c->workdir);
	write_text(o, "created", c->created);
	json_out_key(o, "labels");
	json_out_object(o);
	for (const char *const *l = c->labels; l && l[0]; l += 2)
		write_text(o, l[0], l[1]);
	json_out_end(o);
}

int
image_config_read(const struct json_value *v, struct arena *a,
    struct image_config *out, struct fault *f)
{
	if (read_list(v, "env", LIMIT_ENV, a, &out->env, f) < 0 ||
	    read_list(v, "entrypoint", LIMIT_ARGS, a, &out->entrypoint, f) <
		0 ||
	    read_list(v, "cmd", LIMIT_ARGS, a, &out->cmd, f) < 0 ||
	    read_text(v, "user", &out->user, f) < 0 ||
	    read_text(v, "workdir", &out->workdir, f) < 0 ||
	    read_text(v, "created", &out->created, f) < 0 ||
	    read_labels(v, "labels", a, &out->labels, f) < 0)
		return -1;
	return 0;
}

int
image_digest_parse(const struct json_value *v, uint8_t out[DIGEST_SIZE],
    struct fault *f)
{
	struct span s;

	if (!json_str(v, &s) || !span_starts(s, "sha256:") ||
	    !hex_parse(span_from(s, 7), out, DIGEST_SIZE))
		return fault_set(f, FAULT_INVALID,
		    "a digest is not of the form sha256:HEX");
	return 0;
}
