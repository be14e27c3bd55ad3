/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of grants by the clock. It is written down when it comes, so that a
 * clock which is set back later brings none to life again, not even in the
 * next gateway; and who still waits for a start under it leaves.
 */
#ifndef GATEWAY_LAPSE_H
#define GATEWAY_LAPSE_H

#include "gateway/inner.h"

/* From here on the deadlines of all live grants run. */
int lapse_open(struct gateway *g, struct fault *f) MUST_CHECK;
/* A deadline was set. */
void lapse_changed(struct gateway *g);
void lapse_close(struct gateway *g);

#endif
