/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of sandboxes and images that are gone. Giving a large file back to the
 * file system takes long, so it comes into STATE/trash at once and a child
 * process empties that.
 */
#ifndef GATEWAY_TRASH_H
#define GATEWAY_TRASH_H

#include "gateway/inner.h"

/* What an earlier gateway left goes too. */
int trash_open(struct gateway *g, struct fault *f) MUST_CHECK;
/* The sandbox has no files from now on; fine when it had none. */
int trash_put(struct gateway *g, const char *id, struct fault *f) MUST_CHECK;
/* What unlinks that file next shall not wait: the trash has a link of it, in a
 * folder of that name, until trash_empty(). Without one it only takes longer. */
void trash_hold(struct gateway *g, const char *name, const char *path);
void trash_empty(struct gateway *g);
/* The child goes on without us. */
void trash_close(struct gateway *g);

#endif
