/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of a grant as an image has them. */
#ifndef GATEWAY_PROGRAMS_H
#define GATEWAY_PROGRAMS_H

#include "gateway/inner.h"
#include "grant/grant.h"

/* Resolve every program of w in that image; what it tells lives in a. INVALID
 * names a program that the image lacks and that is not pinned. */
int programs_resolve(struct gateway *g, const char *image_digest,
    struct arena *a, struct grant_wish *w, struct fault *f) MUST_CHECK;

#endif
