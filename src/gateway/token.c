/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tokens of a session: issued for one launch and epoch, good on the
 * channel of that machine only. A newer set kills the older one, but for half
 * a minute, for calls that were under way.
 */
#include <string.h>

#include "gateway/session_inner.h"
#include "gateway/steady.h"

enum {
	LEFTOVER_MS = IDENTITY_LEEWAY_S * 1000,
};

static int
issue(struct session *s, struct arena *a, enum identity_audience audience,
    const struct identity_claims *like, char **out, struct fault *f)
{
	struct identity_claims c = *like;

	c.audience = audience;
	*out = arena_get(a, IDENTITY_TOKEN);
	if (*out == NULL)
		return fault_set(f, FAULT_LIMIT, "no room for tokens");
	return identity_issue(&s->g->token_key, s->g->config.trust_domain, &c,
	    *out, f);
}

int
session_tokens(struct session *s, struct arena *a, nacre_session_v1_Tokens *out,
    struct fault *f)
{
	struct identity_claims c = {
		.epoch = s->epoch,
		.issued_s = steady_now_s(s->g),
	};

	c.expires_s = c.issued_s + s->g->config.token_life_s;
	(void)text_copy(c.sandbox_id, sizeof(c.sandbox_id),
	    span_str(s->vm->sandbox_id));
	(void)text_copy(c.launch, sizeof(c.launch), span_str(s->launch));
	if (issue(s, a, IDENTITY_GATEWAY, &c, &out->gateway, f) < 0 ||
	    issue(s, a, IDENTITY_SANDBOX, &c, &out->sandbox, f) < 0 ||
	    issue(s, a, IDENTITY_DOOR, &c, &out->door, f) < 0)
		return -1;
	out->life_ms = (int64_t)s->g->config.token_life_s * 1000;
	s->until_ms = clock_mono_ms() + out->life_ms;
	memcpy(s->token_before, s->token, sizeof(s->token));
	s->before_until_ms = clock_mono_ms() + LEFTOVER_MS;
	s->half_life_ms =
	    clock_mono_ms() + (int64_t)s->g->config.token_life_s * 1000 / 2;
	digest_of(span_str(out->gateway), s->token);
	memcpy(s->door_before, s->door, sizeof(s->door));
	digest_of(span_str(out->door), s->door);
	c.audience = IDENTITY_GATEWAY;
	s->issued = c;
	attach_drop_spare(s->vm);
	return 0;
}

/* The very token that was issued last needs no signature checked: it is who it
 * says it is until its life is over, by a clock that nobody sets. */
static bool
is_last(const struct session *s, struct span token, const uint8_t *last)
{
	uint8_t digest[DIGEST_SIZE];

	if (!s->accepted || s->vm == NULL || clock_mono_ms() >= s->until_ms)
		return false;
	digest_of(token, digest);
	return secret_equal(digest, last, sizeof(digest));
}

static int
verify(struct session *s, enum identity_audience audience, struct span token,
    struct identity_claims *out, struct fault *f)
{
	const struct identity_expect expect = {
		.point = s->g->token_key.point,
		.domain = s->g->config.trust_domain,
		.audience = audience,
		.now_s = steady_now_s(s->g),
	};

	if (identity_verify(&expect, token, out, f) < 0)
		return -1;
	if (s->vm == NULL || strcmp(out->sandbox_id, s->vm->sandbox_id) != 0)
		return fault_set(f, FAULT_UNAUTHENTICATED,
		    "the token is another sandbox's");
	return 0;
}

/* The last one (within the leeway), or for a while the one before. */
static int
check_current(const struct session *s, struct span token, const uint8_t *last,
    const uint8_t *before, struct fault *f)
{
	uint8_t digest[DIGEST_SIZE];

	digest_of(token, digest);
	if (secret_equal(digest, last, sizeof(digest)))
		return 0;
	if (clock_mono_ms() < s->before_until_ms &&
	    secret_equal(digest, before, sizeof(digest)))
		return 0;
	return fault_set(f, FAULT_UNAUTHENTICATED, "the token is superseded");
}

int
session_authorise(struct session *s, struct span authorization,
    struct identity_claims *out, struct fault *f)
{
	struct span token = span_from(authorization, strlen("Bearer "));

	if (!span_starts(authorization, "Bearer "))
		return fault_set(f, FAULT_UNAUTHENTICATED, "a token is needed");
	if (is_last(s, token, s->token)) {
		*out = s->issued;
		return 0;
	}
	if (verify(s, IDENTITY_GATEWAY, token, out, f) < 0)
		return -1;
	if (!s->accepted)
		return 0; /* control.c compares it with the row */
	return check_current(s, token, s->token, s->token_before, f);
}

int
session_authorise_door(struct session *s, struct span token, struct fault *f)
{
	struct identity_claims claims;

	if (is_last(s, token, s->door))
		return 0;
	if (!s->accepted)
		return fault_set(f, FAULT_UNAUTHENTICATED, "no session yet");
	if (verify(s, IDENTITY_DOOR, token, &claims, f) < 0)
		return -1;
	return check_current(s, token, s->door, s->door_before, f);
}
