/* rooms: image */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The documents of an image. The input is cut at NUL bytes into documents;
 * "@N" in one stands for the digest of document N, so that the fuzzer gets
 * past the digests. Read as an OCI layout (document 0 is the index) and as a
 * `docker save` archive (document 0 is the manifest, other paths are numbers);
 * then as a configuration, as users, and as an index of symlinks.
 */
#include <sys/mman.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/inner.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

enum {
	DOCUMENTS = 8
};

struct archive {
	int fd;
	size_t count;
	uint64_t at[DOCUMENTS];
	uint64_t size[DOCUMENTS];
	char name[DOCUMENTS][96]; /* "blobs/sha256/HEX" */
};

/* Document i with its references filled in, appended to the file. */
static void
add_document(struct archive *a, size_t i, struct span text)
{
	uint8_t value[DIGEST_SIZE];
	char hex[DIGEST_HEX];
	struct buf b;
	struct fault f;

	buf_init(&b, 1 << 20);
	for (size_t k = 0; k < text.len; k++) {
		size_t to = k + 1 < text.len ? (size_t)text.ptr[k + 1] - '0'
					     : DOCUMENTS;
		const void *from = text.ptr + k;
		size_t len = 1;

		if (text.ptr[k] == '@' && to > i && to < a->count) {
			from = a->name[to] + strlen("blobs/sha256/");
			len = 64;
			k++;
		}
		BUG_IF(buf_add(&b, from, len, &f) < 0);
	}
	digest_of(buf_span(&b), value);
	hex_format(value, sizeof(value), hex);
	BUG_IF(
	    !text_fmt(a->name[i], sizeof(a->name[i]), "blobs/sha256/%s", hex));
	a->at[i] = (uint64_t)lseek(a->fd, 0, SEEK_END);
	a->size[i] = b.len;
	BUG_IF(fd_write_all(a->fd, buf_ptr(&b), b.len, &f) < 0);
	buf_release(&b);
}

static int
member(void *arg, const char *path, struct image_blob *out, int *owned,
    struct fault *f)
{
	struct archive *a = arg;
	size_t i = 0;

	*owned = -1;
	if (strcmp(path, "index.json") != 0 &&
	    strcmp(path, "manifest.json") != 0)
		for (i = 1; i < a->count; i++)
			if (strcmp(path, a->name[i]) == 0 ||
			    (path[0] == (char)('0' + i) && path[1] == '\0'))
				break;
	if (i >= a->count)
		return fault_set(f, FAULT_INVALID, "no such member");
	*out = (struct image_blob){ .fd = a->fd,
		.at = a->at[i],
		.size = a->size[i] };
	return 0;
}

static void
read_plans(struct archive *a)
{
	struct image_plan p;
	struct fault f;

	image_plan_init(&p);
	if (image_plan_oci(&p, member, a, NULL, &f) == 0)
		BUG_IF(p.count > IMAGE_LAYERS || !p.config.user);
	image_plan_release(&p);
	image_plan_init(&p);
	if (image_plan_docker(&p, member, a, "x", &f) == 0)
		BUG_IF(p.count > IMAGE_LAYERS || !p.config.workdir);
	image_plan_release(&p);
}

static void
read_texts(struct span text)
{
	struct image_info info = { 0 };
	const struct json_value *root;
	struct image_index index;
	struct image_account who;
	struct image_config c;
	struct arena a;
	struct fault f;

	arena_init(&a, 4 << 20);
	if (image_config_parse(text, &a, &c, &root, &f) == 0)
		BUG_IF(!c.env || !c.user);
	if (image_users_parse(text, &a, &info.users, &info.user_count, &f) ==
		0 &&
	    info.user_count > 0 &&
	    image_user_resolve(&info, info.users[0].name, &who, &f) == 0)
		BUG_IF(who.home[0] != '/');
	if (image_index_parse(text, &a, &index, &f) == 0 &&
	    index.symlink_count > 0)
		(void)image_index_symlink(&index, index.symlinks[0].path);
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct archive a = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	struct span text[DOCUMENTS];
	struct span rest = span_of(p, n);

	BUG_IF(a.fd < 0);
	while (a.count < DOCUMENTS && rest.len > 0) {
		text[a.count] = rest;
		text[a.count].len = span_find(rest, '\0');
		rest = span_from(rest, text[a.count].len + 1);
		a.count++;
	}
	for (size_t i = a.count; i-- > 0;) {
		add_document(&a, i, text[i]);
		read_texts(text[i]);
	}
	if (a.count > 0)
		read_plans(&a);
	(void)close(a.fd);
	return 0;
}
