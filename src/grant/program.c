/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of a grant: how they are written, and whether the caller is one.
 * The match is on bytes: whoever looked at the process has resolved the path
 * and hashed the file; nothing is looked up here.
 */
#include <string.h>

#include "grant/inner.h"

#define PIN "@sha256:"

static bool
is_path_byte(uint8_t c)
{
	return c >= 0x20 && c != 0x7f && !strchr("*?[]{}\\", c);
}

/* Absolute, no component empty, "." or "..", not the root itself. */
static bool
is_plain_path(struct span s)
{
	size_t from = 1;

	if (s.len < 2 || s.len >= LIMIT_PATH || s.ptr[0] != '/' ||
	    !utf8_valid(s))
		return false;
	for (size_t i = 1; i <= s.len; i++) {
		struct span part = span_of(s.ptr + from, i - from);

		if (i < s.len && s.ptr[i] != '/') {
			if (!is_path_byte(s.ptr[i]))
				return false;
			continue;
		}
		if (part.len == 0 || span_is(part, ".") || span_is(part, ".."))
			return false;
		from = i + 1;
	}
	return true;
}

/* Where the pin begins, or s.len: the last one, for a path may hold '@'. */
static size_t
find_pin(struct span s)
{
	for (size_t i = s.len; i-- > 0;)
		if (s.ptr[i] == '@' && span_starts(span_from(s, i), PIN))
			return i;
	return s.len;
}

int
grant_program_parse(struct span s, const char *field, struct grant_program *p,
    struct fault *f)
{
	size_t pin = find_pin(s);
	struct span hex = span_from(s, pin + strlen(PIN));

	*p = (struct grant_program){ .path = span_of(s.ptr, pin) };
	if (!is_plain_path(p->path))
		return fault_field(f, field,
		    "%s must be an absolute path of a program, without '.', "
		    "'..' and globs",
		    field);
	if (pin == s.len)
		return 0;
	if (!hex_parse(hex, p->sha256, sizeof(p->sha256)))
		return fault_field(f, field,
		    "%s must have 64 hex digits after " PIN, field);
	p->is_pinned = true;
	p->has_sha256 = true;
	return 0;
}

int
grant_wish_resolve(struct grant_wish *w, size_t i,
    const struct grant_image_program *image, struct fault *f)
{
	struct grant_program *p = &w->programs[i];
	char field[32];

	BUG_IF(i >= w->programs_n);
	(void)text_fmt(field, sizeof(field), "programs[%zu]", i);
	if (!image->is_found && !p->is_pinned)
		return fault_field(f, field,
		    "%s: '%.*s' is not in the image; give its digest as "
		    "PATH" PIN "HEX",
		    field, SHOWN(p->path));
	if (!image->is_found)
		return 0;
	p->resolved = image->resolved;
	if (!p->is_pinned)
		memcpy(p->sha256, image->sha256, sizeof(p->sha256));
	p->has_sha256 = true;
	return 0;
}

static bool
is_same_executable(const struct grant_executable *a,
    const struct grant_executable *b)
{
	return a->flags == 0 && b->flags == 0 && span_equal(a->path, b->path) &&
	    memcmp(a->sha256, b->sha256, DIGEST_SIZE) == 0;
}

static enum grant_match
match_flags(unsigned flags)
{
	if (flags & GRANT_EXE_MEMFD)
		return GRANT_MATCH_MEMFD;
	if (flags & GRANT_EXE_DELETED)
		return GRANT_MATCH_DELETED;
	if (flags & GRANT_EXE_CHANGED)
		return GRANT_MATCH_CHANGED;
	return flags ? GRANT_MATCH_UNREADABLE : GRANT_MATCH;
}

static enum grant_match
match_one(const struct grant_program *p, const struct grant_executable *e)
{
	bool named = span_equal(e->path, p->path) ||
	    (p->resolved.len > 0 && span_equal(e->path, p->resolved));

	if (!named)
		return GRANT_MATCH_PATH;
	if (!p->has_sha256 || memcmp(p->sha256, e->sha256, DIGEST_SIZE) != 0)
		return GRANT_MATCH_CONTENT;
	return GRANT_MATCH;
}

enum grant_match
grant_program_match(const struct grant_program *programs, size_t n,
    const struct grant_evidence *e)
{
	enum grant_match found = match_flags(e->self.flags);

	if (found != GRANT_MATCH)
		return found;
	for (size_t i = 0; i < e->holders_n; i++)
		if (!is_same_executable(&e->self, &e->holders[i]))
			return GRANT_MATCH_SHARED;
	found = GRANT_MATCH_PATH;
	for (size_t i = 0; i < n; i++) {
		enum grant_match m = match_one(&programs[i], &e->self);

		if (m == GRANT_MATCH)
			return m;
		if (m == GRANT_MATCH_CONTENT)
			found = m;
	}
	return found;
}

const char *
grant_match_text(enum grant_match m)
{
	static const char *const texts[] = {
		[GRANT_MATCH] = "the program is in the grant",
		[GRANT_MATCH_MEMFD] = "the program was run from memory, not "
				      "from a file",
		[GRANT_MATCH_DELETED] = "the program's file was deleted",
		[GRANT_MATCH_CHANGED] = "the program's file has changed since "
					"it was started",
		[GRANT_MATCH_UNREADABLE] = "the program's file cannot be read",
		[GRANT_MATCH_SHARED] = "another program holds this connection "
				       "too",
		[GRANT_MATCH_PATH] = "the program is not in the grant",
		[GRANT_MATCH_CONTENT] = "the program's file is not the one in "
					"the grant",
	};

	return texts[m];
}
