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
/* After the commit: is it still there? An import holds the store; it goes as
 * soon as that is over. */
bool image_gone_waits(struct gateway *g, const char *name);
/* What an earlier gateway had decided, and files that nothing needs. */
int image_gone_open(struct gateway *g, struct fault *f) MUST_CHECK;
void image_gone_close(struct gateway *g);

#endif
