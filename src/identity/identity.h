/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch tokens: compact JWS (RFC 7515) with ES256 (RFC 7518 3.4), strict
 * both ways (PROTOCOL.md). A token says which sandbox, which launch, which
 * epoch and for whom; whether that is the sandbox of the channel it came by
 * is the caller's question. Pure: the clock is passed in.
 */
#ifndef IDENTITY_IDENTITY_H
#define IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct tls_key;

enum {
	IDENTITY_DOMAIN = 64,  /* bytes of a trust domain */
	IDENTITY_TOKEN = 1024, /* room for a token with its NUL */
	IDENTITY_LIFE_LEAST_S = 60,
	IDENTITY_LIFE_MOST_S = 3600,
	IDENTITY_LEEWAY_S = 30,
};

enum identity_audience {
	IDENTITY_GATEWAY, /* supervisor to gateway */
	IDENTITY_SANDBOX, /* supervisor to sandbox, inside the guest */
	IDENTITY_DOOR,    /* the MCP door */
	IDENTITY_AUDIENCES
};

struct identity_claims {
	enum identity_audience audience;
	char sandbox_id[LIMIT_ID + 1];
	char launch[LIMIT_ID + 1]; /* launch session id */
	uint64_t epoch;            /* from 1 */
	int64_t issued_s;          /* since the epoch */
	int64_t expires_s;
};

/* A trust domain as SPIFFE writes it: 1..64 of [a-z0-9._-]. */
bool identity_is_domain(struct span s);
/* A UUID in its lower-case text form. */
bool identity_is_id(struct span s);
const char *identity_audience_name(enum identity_audience a);

/*
 * Sign c for that domain into out (IDENTITY_TOKEN bytes, NUL-terminated).
 * INVALID when a claim is out of form or the life is not 60..3600 s.
 */
int identity_issue(const struct tls_key *key, const char *domain,
    const struct identity_claims *c, char *out, struct fault *f) MUST_CHECK;
/* What a token must be. */
struct identity_expect {
	const uint8_t *point; /* 65 bytes: the key that signs */
	const char *domain;
	enum identity_audience audience;
	int64_t now_s;
};
/*
 * What a token says, if it is as expected. Else UNAUTHENTICATED, and *c
 * untouched; the sentence never quotes the token.
 */
int identity_verify(const struct identity_expect *e, struct span token,
    struct identity_claims *c, struct fault *f) MUST_CHECK;

#endif
