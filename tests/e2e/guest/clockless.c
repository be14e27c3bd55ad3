/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: wire */
/* A guest that says its clock source is not tsc. */
#define GUEST_HAS_TSC false
#include "raw.c"
