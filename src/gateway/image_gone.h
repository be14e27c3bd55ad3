/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images that are to go. That one goes is a row, durable together with its
 * audit row; its files go after that commit. What a crash leaves in between
 * is done at the next start.
 */
#ifndef GATEWAY_IMAGE_GONE_H
#define GATEWAY_IMAGE_GONE_H

#include "gateway/inner.h"

/* In this tick's commit; LIMIT when too many wait already. */
int image_gone_note(struct gateway *g, const char *name, const char *digest,
    struct fault *f) MUST_CHECK;
/* After the commit: 0 when it is gone. Else why not: BUSY while an import is
 * published, or what the host says. It is tried again until it is. */
int image_gone_check(struct gateway *g, const char *name,
    struct fault *f) MUST_CHECK;
/* The name means a new image: what was decided before is no more. */
void image_gone_forget(struct gateway *g, const char *name);
/* At this tick's end: blobs that neither a name nor a sandbox needs. */
void image_gone_sweep(struct gateway *g);
/* The same when a sandbox of that image is removed, if it was the last that
 * needed it. */
void image_gone_unused(struct gateway *g, const char *name, const char *digest);
/* What an earlier gateway had decided, and files that nothing needs. */
void image_gone_open(struct gateway *g);
void image_gone_close(struct gateway *g);

#endif
