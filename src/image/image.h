/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images. A store is a folder of content-addressed root file systems:
 *
 *	blobs/SHA256.sqfs  squashfs, lz4, 128 KiB blocks, mode 0400
 *	blobs/SHA256.json  what follows from its content (users, sizes)
 *	blobs/SHA256.idx   its symlinks and programs (PROTOCOL.md)
 *	names/NAME.json    which blob a name means, and how to run it
 *
 * image_import() makes one from a tar, a folder, a `docker save` archive or an
 * OCI layout. It creates no file of the image on the host, and leaves nothing
 * behind when it fails. Everything else here reads the store.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "digest/digest.h"

enum {
	IMAGE_USERS = 4096, /* of one image; also groups */
	IMAGE_NAMES = 4096, /* in one store */
	IMAGE_META =
	    4 << 20, /* bytes of a JSON file, of ours or in an archive */
	/* Bytes of an index, which is parsed between two ticks. A whole host with
	 * compilers and desktops has 2 MiB. */
	IMAGE_INDEX = 8 << 20,
	IMAGE_INDEX_READ = 64 << 20, /* of one that an older gateway wrote */
};

#define IMAGE_BYTES_MAX (UINT64_C(16) << 30) /* content of one image */
#define IMAGE_HOLES_MAX (UINT64_C(4) << 30)  /* of them in sparse files */

struct image_store {
	int dir;
	int blobs;
	int names;
};

/* Opens the store, making its folders (0700) where missing. */
int image_store_open(struct image_store *s, const char *path,
    struct fault *f) MUST_CHECK;
void image_store_close(struct image_store *s);

/* How an image wants to be run. Lists end with NULL; texts are never NULL. */
struct image_config {
	const char *const *env;
	const char *const *entrypoint;
	const char *const *cmd;
	const char *user;
	const char *workdir;
	const char *created;
	const char *const *labels; /* key, value, key, value */
};

struct image_account {
	const char *name;
	const char *home; /* of a user */
	uint32_t uid;     /* of a user */
	uint32_t gid;
};

/* All of it lives in the arena it was read into. */
struct image_info {
	const char *name;
	char digest[DIGEST_HEX];   /* sha256 of the squashfs */
	const char *blob;          /* "blobs/SHA256.sqfs", inside the store */
	const char *index;         /* "blobs/SHA256.idx" */
	const char *source;        /* "rootfs", "folder", "docker", "oci" */
	const char *source_digest; /* of the image config, or empty */
	struct image_config config;
	int64_t imported_ms;
	uint64_t size_bytes;    /* of the squashfs */
	uint64_t content_bytes; /* of the files in it */
	uint64_t entries;
	const struct image_account *users;
	size_t user_count;
	const struct image_account *groups;
	size_t group_count;
};

/* FAULT_NOT_FOUND when no image has that name. */
int image_find(const struct image_store *s, const char *name, struct arena *a,
    struct image_info *out, struct fault *f) MUST_CHECK;
/* The same by hex digest, whatever its names mean now: accounts and sizes, an
 * empty config. */
int image_find_blob(const struct image_store *s, const char *digest,
    struct arena *a, struct image_info *out, struct fault *f) MUST_CHECK;
/*
 * A page of all images, by name; without accounts, environment and labels. It
 * ends early where commands are long: one page fits a message. A damaged image
 * is logged and left out.
 */
struct image_page {
	const char *after; /* the names behind this one; empty: all */
	size_t most;
	struct image_info *list; /* in the arena, as all of it */
	size_t count;
	bool has_more;
};
int image_list(const struct image_store *s, struct image_page *p,
    struct arena *a, struct fault *f) MUST_CHECK;
/* Which blob a name means, alone. */
int image_name_digest(const struct image_store *s, const char *name,
    char digest[DIGEST_HEX], struct fault *f) MUST_CHECK;
/* Read-only descriptor of the squashfs, by hex digest. */
int image_open_blob(const struct image_store *s, const char *digest, int *fd,
    struct fault *f) MUST_CHECK;

/* Says whether something (a sandbox) still needs the blob of that digest. */
typedef bool (*image_in_use)(void *arg, const char *digest);
/*
 * Removes blobs that neither a name nor in_use (which may be NULL) needs, and
 * what a killed import may have left; *freed is what that gave back. in_use is
 * asked right before what it does not need is unlinked. Does not wait:
 * FAULT_BUSY while an import is being published.
 */
int image_sweep(const struct image_store *s, image_in_use in_use, void *arg,
    uint64_t *freed, struct fault *f) MUST_CHECK;
/* Removes the name, then sweeps as image_sweep() does. */
int image_delete(const struct image_store *s, const char *name,
    image_in_use in_use, void *arg, uint64_t *freed,
    struct fault *f) MUST_CHECK;

/*
 * "name", "uid", "name:group", "uid:gid"; empty means root. Names are those of
 * the image's own /etc/passwd and /etc/group. FAULT_INVALID (field "user") for
 * names it does not have. home is "/" when unknown.
 */
int image_user_resolve(const struct image_info *i, const char *user,
    struct image_account *out, struct fault *f) MUST_CHECK;

/*
 * Who runs under run_as_user and run_as_group of a policy: "", "sandbox" or an
 * id that is not 0 (a number is the id, whatever names it resembles). Unset:
 * the image's own user, unless that is root. "sandbox", and the user of images
 * that want root: the image's account of that name, else its uid 1000, else
 * ours. The group is the user's own, or the uid where that is 0. FAULT_INVALID
 * when the image's own user is not in it.
 */
int image_run_as(const struct image_info *i, const char *user,
    const char *group, struct image_account *out, struct fault *f) MUST_CHECK;
/*
 * Where who begins, and what include_workdir of a policy means: the image's
 * WORKDIR, else the home of who, else /sandbox; never "/".
 */
const char *image_workdir(const struct image_info *i,
    const struct image_account *who);

struct image_symlink {
	struct span path; /* absolute */
	struct span target;
};

struct image_program {
	struct span path; /* absolute */
	uint8_t digest[DIGEST_SIZE];
};

/* Both sorted by image_path_order(). */
struct image_index {
	const struct image_symlink *symlinks;
	size_t symlink_count;
	const struct image_program *programs;
	size_t program_count;
};

int image_index_read(const struct image_store *s, const char *digest,
    struct arena *a, struct image_index *out, struct fault *f) MUST_CHECK;
/*
 * One program of it alone, found on the disk; *found is false for what is no
 * program of the image, digest is then left.
 */
int image_index_find(const struct image_store *s, const char *image,
    struct span path, uint8_t digest[DIGEST_SIZE], bool *found,
    struct fault *f) MUST_CHECK;
/* As bytes, but '/' comes before all others: parents before siblings. */
int image_path_order(struct span a, struct span b);
const struct image_symlink *image_index_symlink(const struct image_index *i,
    struct span path); /* or NULL */
const struct image_program *image_index_program(const struct image_index *i,
    struct span path); /* or NULL */

/* Told often; the receiver thins it out. */
typedef void (*image_progress)(void *arg, const char *phase, uint64_t bytes,
    uint64_t entries);

struct image_import {
	const char *name;
	const char *path; /* file or folder */
	const char *ref;  /* which image of an archive of several, or NULL */
	bool is_new;      /* FAULT_EXISTS when the name is there by then */
	uint64_t bytes_max;
	image_progress progress; /* may be NULL */
	void *arg;
};

struct image_result {
	char digest[DIGEST_HEX];
	char source_digest[DIGEST_HEX + 7]; /* "sha256:..." or empty */
	const char *source;
	uint64_t size_bytes;
	uint64_t content_bytes;
	uint64_t entries;
	uint64_t layers;
	uint64_t devices_dropped; /* and sockets */
	uint64_t xattrs_dropped;
	bool known; /* the blob was there already */
};

/*
 * The whole import. On failure f->field is "path", "name" or "ref" when one of
 * these is at fault. SIGPIPE must be ignored.
 */
int image_import(const struct image_store *s, const struct image_import *ask,
    struct image_result *out, struct fault *f) MUST_CHECK;

/*
 * The programs an import runs, as absolute paths, for whoever confines it
 * first; found along PATH. FAULT_SYSTEM names what is missing; gzip and zstd
 * may be missing (empty) until an archive needs them.
 */
struct image_tools {
	char tar2sqfs[LIMIT_PATH];
	char gzip[LIMIT_PATH];
	char zstd[LIMIT_PATH];
};
int image_tools_find(struct image_tools *t, struct fault *f) MUST_CHECK;

#endif
