/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layers, in which order: `docker save` archives (manifest.json) and OCI
 * layouts (index.json, manifests, image-spec 1.1). Where a member lies is the
 * caller's business, so that a folder and an archive read alike. Every digest
 * that a document states is checked before what it names is believed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

enum {
	PLAN_ARENA = 32 << 20,
	NESTED = 3, /* an index inside an index */
};

struct finder {
	struct image_plan *plan;
	image_member find;
	void *arg;
	const char *ref;
};

void
image_plan_init(struct image_plan *p)
{
	memset(p, 0, sizeof(*p));
	arena_init(&p->arena, PLAN_ARENA);
	p->layers = must_alloc(IMAGE_LAYERS * sizeof(*p->layers));
	p->files = must_alloc(IMAGE_LAYERS * sizeof(*p->files));
	for (size_t i = 0; i < IMAGE_LAYERS; i++)
		p->files[i] = -1;
}

void
image_plan_release(struct image_plan *p)
{
	for (size_t i = 0; p->files && i < p->count; i++)
		fd_close(&p->files[i]);
	free(p->layers);
	free(p->files);
	arena_release(&p->arena);
	memset(p, 0, sizeof(*p));
}

/* A JSON member, whole, into the arena of the plan. */
static int
read_member(struct finder *d, const char *path, const uint8_t *want,
    struct span *out, struct fault *f)
{
	struct image_blob blob = { 0 };
	uint8_t got[DIGEST_SIZE];
	with_fd owned = -1;
	uint8_t *to;

	if (d->find(d->arg, path, &blob, &owned, f) < 0)
		return -1;
	if (blob.size > IMAGE_META)
		return fault_set(f, FAULT_LIMIT, "'%s' is over %d bytes", path,
		    IMAGE_META);
	to = arena_get(&d->plan->arena, (size_t)blob.size + 1);
	if (!to)
		return fault_set(f, FAULT_LIMIT, "the manifests are too long");
	for (size_t at = 0; at < blob.size;) {
		ssize_t n = pread(blob.fd, to + at, (size_t)blob.size - at,
		    (off_t)(blob.at + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fault_sys(f, "cannot read '%s'", path);
		at += (size_t)n;
	}
	*out = span_of(to, (size_t)blob.size);
	digest_of(*out, got);
	if (want && memcmp(want, got, sizeof(got)) != 0)
		return fault_set(f, FAULT_INVALID,
		    "'%s' has not the digest it is named by", path);
	return 0;
}

static int
parse_member(struct finder *d, const char *path, const uint8_t *want,
    const struct json_value **out, struct fault *f)
{
	struct span text = { 0 };

	if (read_member(d, path, want, &text, f) < 0)
		return -1;
	if (json_parse(text, &d->plan->arena, out, f) < 0)
		return fault_prefix(f, "'%s'", path);
	return 0;
}

static int
blob_path(const struct json_value *descriptor, uint8_t digest[DIGEST_SIZE],
    char path[96], struct fault *f)
{
	char hex[DIGEST_HEX];

	if (image_digest_parse(json_get(descriptor, "digest"), digest, f) < 0)
		return -1;
	hex_format(digest, DIGEST_SIZE, hex);
	(void)snprintf(path, 96, "blobs/sha256/%s", hex);
	return 0;
}

static int
read_config(struct finder *d, const char *path, const uint8_t *want,
    const struct json_value **root, struct fault *f)
{
	struct span text = { 0 };

	if (read_member(d, path, want, &text, f) < 0)
		return -1;
	digest_of(text, d->plan->config_digest);
	if (image_config_parse(text, &d->plan->arena, &d->plan->config, root,
		f) < 0)
		return fault_prefix(f, "'%s'", path);
	return 0;
}

static int
add_layer(struct finder *d, const char *path, struct fault *f)
{
	struct image_plan *p = d->plan;

	if (p->count >= IMAGE_LAYERS)
		return fault_set(f, FAULT_LIMIT, "more than %d layers",
		    IMAGE_LAYERS);
	if (d->find(d->arg, path, &p->layers[p->count], &p->files[p->count],
		f) < 0)
		return -1;
	p->count++;
	return 0;
}

/* Does a name of docker's or an annotation's say what --ref asks for? */
static bool
ref_matches(const struct json_value *v, const char *ref)
{
	struct span s;
	size_t n = strlen(ref);

	if (!json_str(v, &s))
		return false;
	if (span_is(s, ref))
		return true;
	/* "alpine" for "alpine:latest", "3.20" for "docker.io/x:3.20" */
	return (s.len > n && span_starts(s, ref) &&
		   span_is(span_from(s, n), ":latest")) ||
	    (s.len > n && s.ptr[s.len - n - 1] == ':' &&
		span_is(span_from(s, s.len - n), ref));
}

static int
choose_docker(struct finder *d, const struct json_value *list,
    const struct json_value **out, struct fault *f)
{
	const struct json_value *found = NULL;

	for (const struct json_value *i = json_first(list); i;
	     i = json_next(i)) {
		bool hit = !d->ref;

		for (const struct json_value *t =
			 json_first(json_get(i, "RepoTags"));
		     t && !hit; t = json_next(t))
			hit = ref_matches(t, d->ref);
		if (hit && found)
			return fault_field(f, "ref",
			    "the archive holds several images: name one of "
			    "them with --ref");
		if (hit)
			found = i;
	}
	if (!found)
		return fault_field(f, "ref", "the archive has no image '%s'",
		    d->ref ? d->ref : "at all");
	*out = found;
	return 0;
}

int
image_plan_docker(struct image_plan *p, image_member find, void *arg,
    const char *ref, struct fault *f)
{
	struct finder d = { p, find, arg, ref };
	const struct json_value *list = NULL;
	const struct json_value *image = NULL;
	const struct json_value *config;
	const struct json_value *layers;
	const struct json_value *diff;
	const char *path;

	p->kind = "docker";
	if (parse_member(&d, "manifest.json", NULL, &list, f) < 0 ||
	    choose_docker(&d, list, &image, f) < 0)
		return -1;
	if (!json_cstr(json_get(image, "Config"), &path) ||
	    json_need(image, "Layers", JSON_ARRAY, &layers, f) < 0)
		return fault_set(f, FAULT_INVALID,
		    "'manifest.json' names no configuration or no layers");
	if (read_config(&d, path, NULL, &config, f) < 0)
		return -1;
	diff = json_get(json_get(config, "rootfs"), "diff_ids");
	if (!json_is(diff, JSON_ARRAY) || diff->count != layers->count)
		return fault_set(f, FAULT_INVALID,
		    "the configuration does not list the digest of each layer");
	diff = json_first(diff);
	for (const struct json_value *l = json_first(layers); l;
	     l = json_next(l)) {
		if (!json_cstr(l, &path))
			return fault_set(f, FAULT_INVALID,
			    "a layer of 'manifest.json' is not a text");
		if (add_layer(&d, path, f) < 0)
			return -1;
		if (image_digest_parse(diff, p->layers[p->count - 1].want, f) <
		    0)
			return -1;
		p->layers[p->count - 1].check_plain = true;
		diff = json_next(diff);
	}
	return 0;
}

static int
add_manifest(struct finder *d, const struct json_value *m, struct fault *f)
{
	struct image_plan *p = d->plan;
	const struct json_value *config;
	const struct json_value *layers;
	uint8_t digest[DIGEST_SIZE];
	char path[96];

	if (json_need(m, "config", JSON_OBJECT, &config, f) < 0 ||
	    json_need(m, "layers", JSON_ARRAY, &layers, f) < 0)
		return fault_prefix(f, "image manifest");
	if (blob_path(config, digest, path, f) < 0 ||
	    read_config(d, path, digest, &config, f) < 0)
		return -1;
	for (const struct json_value *l = json_first(layers); l;
	     l = json_next(l)) {
		struct span type = { 0 };

		if (json_str(json_get(l, "mediaType"), &type) &&
		    type.len > 10 &&
		    span_is(span_from(type, type.len - 10), "+encrypted"))
			return fault_set(f, FAULT_UNIMPLEMENTED,
			    "encrypted layers are not taken");
		if (blob_path(l, digest, path, f) < 0 ||
		    add_layer(d, path, f) < 0)
			return -1;
		memcpy(p->layers[p->count - 1].want, digest, sizeof(digest));
		p->layers[p->count - 1].check_raw = true;
	}
	return 0;
}

/* 0: not ours, 1: says nothing, 2: ours. */
static int
platform_rank(const struct json_value *descriptor)
{
	const struct json_value *p = json_get(descriptor, "platform");
	struct span s;

	if (!json_is(p, JSON_OBJECT))
		return 1;
	if (json_str(json_get(p, "os"), &s) && !span_is(s, "linux"))
		return 0;
	if (json_str(json_get(p, "architecture"), &s) && !span_is(s, IMAGE_CPU))
		return 0;
	return 2;
}

static int
choose_oci(struct finder *d, const struct json_value *index, bool top,
    const struct json_value **out, struct fault *f)
{
	const struct json_value *found = NULL;
	const struct json_value *list;
	int best = 0;
	int equals = 0;

	if (json_need(index, "manifests", JSON_ARRAY, &list, f) < 0)
		return fault_prefix(f, "image index");
	for (const struct json_value *i = json_first(list); i;
	     i = json_next(i)) {
		const struct json_value *notes = json_get(i, "annotations");
		int rank = platform_rank(i);

		if (json_get(notes, "vnd.docker.reference.type"))
			continue;
		if (top && d->ref &&
		    !ref_matches(
			json_get(notes, "org.opencontainers.image.ref.name"),
			d->ref) &&
		    !ref_matches(json_get(notes, "io.containerd.image.name"),
			d->ref))
			continue;
		equals += rank == best && rank > 0;
		if (rank > best) {
			best = rank;
			found = i;
			equals = 0;
		}
	}
	if (!found)
		return fault_field(f, d->ref ? "ref" : "path",
		    "the layout has no image%s%s for linux/%s",
		    d->ref ? " " : "", d->ref ? d->ref : "", IMAGE_CPU);
	if (equals > 0)
		return fault_field(f, "ref",
		    "the layout holds several images: name one of them with "
		    "--ref");
	*out = found;
	return 0;
}

int
image_plan_oci(struct image_plan *p, image_member find, void *arg,
    const char *ref, struct fault *f)
{
	struct finder d = { p, find, arg, ref };
	const struct json_value *at;
	uint8_t digest[DIGEST_SIZE];
	char path[96];

	p->kind = "oci";
	if (parse_member(&d, "index.json", NULL, &at, f) < 0)
		return -1;
	for (int depth = 0; depth < NESTED; depth++) {
		if (choose_oci(&d, at, depth == 0, &at, f) < 0 ||
		    blob_path(at, digest, path, f) < 0 ||
		    parse_member(&d, path, digest, &at, f) < 0)
			return -1;
		if (!json_get(at, "manifests"))
			return add_manifest(&d, at, f);
	}
	return fault_set(f, FAULT_INVALID, "image indexes are nested too deep");
}
