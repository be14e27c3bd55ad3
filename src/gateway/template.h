/* SPDX-License-Identifier: Apache-2.0 */
/* Templates, one a machine size, made in the background one at a time. */
#ifndef GATEWAY_TEMPLATE_H
#define GATEWAY_TEMPLATE_H

#include "gateway/inner.h"
#include "machine/machine.h"

/* NULL while it is not there. */
const struct machine_template *template_find(const struct gateway *g,
    const struct machine_shape *s);
/* Make it, unless it is on its way; all sandboxes are settled when it is
 * there. -1: it was tried a moment ago and failed, and why. */
int template_want(struct gateway *g, const struct machine_shape *s,
    struct fault *f) MUST_CHECK;
/* All that are there; is_in_use: by a sandbox, or as the default. */
void template_each(struct gateway *g,
    void (*each)(struct gateway *g, const struct machine_template *t,
	bool is_in_use));
/* Start what is due of those in use: one that could not be made, one that only
 * boots cold. How long until the next look; 0: none is needed. */
int64_t template_tend(struct gateway *g);
/* A clone ended before it could be used. The next one is parked later each
 * time (for template_pause_ms()); after some the template is made anew. */
void template_dud(struct gateway *g, const struct machine_shape *s);
/* One could not be begun, for want of something: the next one later. */
void template_pause(struct gateway *g, const struct machine_shape *s);
void template_parked(struct gateway *g, const struct machine_shape *s);
int64_t template_pause_ms(const struct gateway *g,
    const struct machine_shape *s);
const struct machine_template *template_any(const struct gateway *g);
void template_close_all(struct gateway *g);

#endif
