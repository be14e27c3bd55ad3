/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of sandboxes that are gone. Giving a large disk back to the file
 * system takes long, so the folder is renamed into STATE/trash at once and a
 * child process empties that.
 */
#ifndef GATEWAY_TRASH_H
#define GATEWAY_TRASH_H

#include "gateway/inner.h"

/* What an earlier gateway left goes too. */
int trash_open(struct gateway *g, struct fault *f) MUST_CHECK;
/* The sandbox has no files from now on; fine when it had none. */
int trash_put(struct gateway *g, const char *id, struct fault *f) MUST_CHECK;
/* The child goes on without us. */
void trash_close(struct gateway *g);

#endif
