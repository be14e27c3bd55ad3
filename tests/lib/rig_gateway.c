/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's program, for a test program to be it too. */
#include "rig.h"

#define main rig_gateway_main
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../../src/gateway/main.c"
