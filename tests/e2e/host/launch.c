/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: identity */
/*
 * What a guest's root could bring out: a launch token, as the gateway issues
 * them, by its own key.
 *
 *   launch STATE/token.key SANDBOX_ID gateway|sandbox|door
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "identity/identity.h"
#include "tls/tls.h"

static int
issue(const struct tls_key *key, const char *id,
    enum identity_audience audience, struct fault *f)
{
	struct identity_claims c = { .audience = audience,
		.epoch = 1,
		.issued_s = clock_wall_ms() / 1000 };
	char token[IDENTITY_TOKEN];

	c.expires_s = c.issued_s + 600;
	(void)text_copy(c.sandbox_id, sizeof(c.sandbox_id), span_str(id));
	(void)text_copy(c.launch, sizeof(c.launch), span_str(id));
	if (identity_issue(key, "nacre.local", &c, token, f) < 0)
		return -1;
	printf("%s\n", token);
	return 0;
}

int
main(int argc, char **argv)
{
	static const char *const names[] = { "gateway", "sandbox", "door" };
	struct fault f = { 0 };
	struct tls_key key;
	struct buf b;

	buf_init(&b, sizeof(key.secret));
	if (argc != 4 || file_read(AT_FDCWD, argv[1], &b, &f) < 0 ||
	    b.len != sizeof(key.secret) ||
	    tls_key_from_secret(&key, buf_ptr(&b), "gateway.nacre", &f) < 0) {
		(void)fprintf(stderr, "launch: %s\n", f.text);
		return 1;
	}
	buf_release(&b);
	for (size_t i = 0; i < NELEM(names); i++)
		if (strcmp(argv[3], names[i]) == 0 &&
		    issue(&key, argv[2], (enum identity_audience)i, &f) == 0)
			return 0;
	(void)fprintf(stderr, "launch: %s\n", f.text);
	return 1;
}
