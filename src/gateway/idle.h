/* SPDX-License-Identifier: Apache-2.0 */
/* Tool children that nobody uses for their idle_seconds are stopped. */
#ifndef GATEWAY_IDLE_H
#define GATEWAY_IDLE_H

#include "gateway/inner.h"

void idle_open(struct gateway *g);
void idle_close(struct gateway *g);

#endif
