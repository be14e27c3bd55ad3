/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The image that a proof runs in, as the prover asks for it: its symlinks, its
 * accounts, and where it works.
 */
#ifndef GATEWAY_SCENE_H
#define GATEWAY_SCENE_H

#include "gateway/inner.h"
#include "prover/prover.h"

struct scene {
	struct image_info info;
	struct prover_image image; /* points to info */
};

/* Of an image as a name means it now: info is set. workdir is that of whoever
 * is judged (image_workdir(), and what the machine is told). All in a. */
int scene_of_image(struct gateway *g, const char *workdir, struct arena *a,
    struct scene *s, struct fault *f) MUST_CHECK;
/* Of a sandbox, whatever has become of its image's name. */
int scene_of_sandbox(struct gateway *g, const struct store_sandbox *row,
    struct arena *a, struct scene *s, struct fault *f) MUST_CHECK;

#endif
