/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that come out of a sandbox, written below one folder of ours and
 * nowhere else. Start with UNPACK_NONE, unpack_open(), one unpack_take() a
 * chunk, unpack_finish() when all have come; unpack_close() in any case.
 */
#ifndef CLI_UNPACK_H
#define CLI_UNPACK_H

#include "cli/inner.h"
#include "proto/nacre_v1.pb.h"

struct unpack {
	int base;                /* folder that everything stays below */
	char target[LIMIT_PATH]; /* name of the copy in it; "": base itself */
	bool wants_folder;       /* "NAME/": a folder or nothing */
	int file;                /* being written, -1 none */
	uint32_t mode;
	int64_t mtime_ms;
	uint64_t bytes;
	uint64_t entries;
};

#define UNPACK_NONE      \
 {                       \
  .base = -1, .file = -1 \
 }

/*
 * The name that a copy of path gets in a folder, as cp -r gives it: the last
 * part, or nothing for "/", "." and "..", of which only what is in them goes.
 */
int unpack_name(const char *path, char *out, size_t size,
    struct fault *f) MUST_CHECK;
/* Where the copy of `from` goes: into an existing folder `to`, or under that
 * name. */
int unpack_open(struct unpack *u, const char *to, const char *from,
    struct fault *f) MUST_CHECK;
int unpack_take(struct unpack *u, const nacre_v1_FileChunk *m,
    struct fault *f) MUST_CHECK;
/* Close the file being written; give it its mode and time. */
void unpack_finish(struct unpack *u);
void unpack_close(struct unpack *u);

#endif
