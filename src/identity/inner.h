/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of identity: what both ways agree on. */
#ifndef IDENTITY_INNER_H
#define IDENTITY_INNER_H

#include "identity/identity.h"

#define IDENTITY_ISSUER "nacre-gateway"
#define IDENTITY_SUB    "/openshell/sandbox/"

/* First 16 hex digits of the SHA-256 of the public point. */
#define IDENTITY_KID 16
void identity_kid(const uint8_t *point, char out[IDENTITY_KID + 1]);

#endif
