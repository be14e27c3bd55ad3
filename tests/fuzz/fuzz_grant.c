/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: grant json digest */
/*
 * Words of strangers for src/grant. The first byte says what the rest is: the
 * end of a grant, a limit, a program, the arguments of a create, those of a
 * grant. What is taken must be within its bounds, be taken again as it is
 * told, and a refusal must always be one JSON object.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "grant/grant.h"
#include "json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const int64_t now = 1795953600000;

static void
must(bool truth)
{
	if (!truth)
		abort();
}

/* Told as JSON, and read back. */
static void
tell(const struct fault *f)
{
	const struct json_value *v;
	struct grant_refusal r;
	struct fault ours = { 0 };
	struct json_out o;
	struct arena a;
	struct buf b;

	must(f->text[0] != '\0');
	if (!grant_refuse_fault(&r, f))
		return;
	buf_init(&b, 1 << 16);
	arena_init(&a, 1 << 16);
	json_out_init(&o, &b);
	grant_refusal_write(&r, &o);
	must(json_out_done(&o, &ours) == 0);
	must(json_parse(buf_span(&b), &a, &v, &ours) == 0);
	must(json_is(json_get(v, "hint"), JSON_STRING));
	arena_release(&a);
	buf_release(&b);
}

static void
fuzz_expiry(struct span in)
{
	struct grant_wish w = { 0 };
	struct fault f = { 0 };
	char text[32];

	if (grant_wish_expires(&w, in, now, &f) < 0) {
		tell(&f);
		return;
	}
	must(w.expires_ms > now);
	must(w.expires_ms - now <= 30LL * 24 * 3600 * 1000);
	time_format(w.expires_ms + 999, text);
	must(grant_wish_expires(&w, span_str(text), now, &f) == 0 ||
	    w.expires_ms + 999 - now > 30LL * 24 * 3600 * 1000 - 1000);
}

static void
fuzz_limit(struct span in)
{
	static const uint32_t most[] = { 16, 256, 4096 };

	for (int l = 0; l < GRANT_LIMITS; l++) {
		struct grant_wish w = { 0 };
		struct fault f = { 0 };

		if (grant_wish_limit_text(&w, (enum grant_limit)l, in, &f) < 0)
			tell(&f);
		else
			must(w.has[l] && w.max[l] <= most[l]);
	}
}

static void
fuzz_program(struct span in)
{
	struct grant_wish w = { 0 };
	struct grant_evidence e = { 0 };
	struct fault f = { 0 };
	const struct grant_program *p = &w.programs[0];

	if (grant_wish_program(&w, in, &f) < 0) {
		tell(&f);
		return;
	}
	must(w.programs_n == 1 && p->path.len > 1 && p->path.ptr[0] == '/');
	must(utf8_valid(p->path));
	e.self.path = p->path;
	memcpy(e.self.sha256, p->sha256, sizeof(p->sha256));
	must(grant_program_match(p, 1, &e) ==
	    (p->is_pinned ? GRANT_MATCH : GRANT_MATCH_CONTENT));
	/* The path alone is a program too, and the same one. */
	must(grant_wish_program(&w, p->path, &f) == 0 ||
	    span_find(p->path, '@') < p->path.len);
}

static void
fuzz_create(const struct json_value *v, struct arena *a)
{
	static const uint8_t policy[DIGEST_SIZE];
	uint8_t digest[2][DIGEST_SIZE];
	struct grant_create c;
	struct fault f = { 0 };

	if (grant_create_read(&c, v, a, &f) < 0) {
		tell(&f);
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (grant_create_check(&c, i == 0, &f) < 0) {
			tell(&f);
			continue;
		}
		must(c.wait_ms >= 0 && c.wait_ms <= GRANT_WAIT_MS);
		must(c.kind == GRANT_TOOL || c.command_n > 0);
		must(c.environment_n <= LIMIT_ENV);
		grant_create_digest(&c, c.has_policy ? policy : NULL,
		    digest[0]);
		c.has_request_id = false;
		c.wait_ms = 0;
		grant_create_digest(&c, c.has_policy ? policy : NULL,
		    digest[1]);
		must(memcmp(digest[0], digest[1], DIGEST_SIZE) == 0);
	}
}

static void
fuzz_wish(const struct json_value *v)
{
	struct grant_wish w;
	struct fault f = { 0 };

	if (grant_wish_read(&w, v, now, &f) < 0 ||
	    grant_wish_check_create(&w, now, &f) < 0) {
		tell(&f);
		return;
	}
	must(w.has[GRANT_DEPTH] && w.has[GRANT_BREADTH] && w.has[GRANT_TOTAL]);
	must(w.programs_n > 0 && w.programs_n <= GRANT_PROGRAMS);
	must(w.expires_ms > now);
	must(grant_wish_check_update(&w, &f) == 0);
}

static void
fuzz_json(struct span in, bool is_create)
{
	const struct json_value *v;
	struct fault f = { 0 };
	struct arena a;

	arena_init(&a, 1 << 20);
	if (json_parse(in, &a, &v, &f) == 0) {
		if (is_create)
			fuzz_create(v, &a);
		else
			fuzz_wish(v);
	}
	arena_release(&a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span in;

	if (size == 0)
		return 0;
	in = span_of(data + 1, size - 1);
	switch (data[0]) {
	case 'e':
		fuzz_expiry(in);
		break;
	case 'l':
		fuzz_limit(in);
		break;
	case 'p':
		fuzz_program(in);
		break;
	case 'c':
		fuzz_json(in, true);
		break;
	default:
		fuzz_json(in, false);
	}
	return 0;
}
