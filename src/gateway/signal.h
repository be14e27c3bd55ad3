/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by name. */
#ifndef GATEWAY_SIGNAL_H
#define GATEWAY_SIGNAL_H

#include "base/base.h"

/* "TERM" or "SIGTERM" to its number; -1 for a name that is none. */
int signal_find(const char *name, struct fault *f) MUST_CHECK;

#endif
