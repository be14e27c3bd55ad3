/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bearer tokens of users: 32 random bytes that only their user has; the
 * gateway keeps a digest. A token is good for MCP on 127.0.0.1, within its
 * scopes.
 */
#ifndef GATEWAY_BEARER_H
#define GATEWAY_BEARER_H

#include "gateway/inner.h"

enum {
	BEARER_SECRET = 64, /* bytes of its text with the NUL */
};

/* What one is given that asks for no scope: all but grant:write. */
#define BEARER_SCOPES "sandbox:read sandbox:write policy:read grant:read"

/* Is it the name of one? */
bool bearer_is_scope(const char *scope);
/* A new secret and its digest. */
void bearer_make(char secret[BEARER_SECRET], uint8_t digest[STORE_HASH]);
/* Is it a launch token of this gateway, for whatever audience? Then whose. */
bool bearer_is_launch(const struct gateway *g, struct span secret,
    char sandbox_id[LIMIT_ID + 1]);

#endif
