/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a user asks of a grant, option by option. Everything is checked here,
 * so that a grant that exists is one that may.
 */
#include "grant/inner.h"

static const struct option {
	const char *field;
	uint32_t most;
} options[GRANT_LIMITS] = {
	[GRANT_DEPTH] = { "max_depth", GRANT_MAX_DEPTH },
	[GRANT_BREADTH] = { "max_breadth", GRANT_MAX_BREADTH },
	[GRANT_TOTAL] = { "max_total", GRANT_MAX_TOTAL },
};

static int
bad_limit(enum grant_limit l, struct fault *f)
{
	return fault_field(f, options[l].field,
	    "%s must be a whole number from 0 to %u", options[l].field,
	    options[l].most);
}

int
grant_wish_limit(struct grant_wish *w, enum grant_limit l, int64_t value,
    struct fault *f)
{
	BUG_IF(l >= GRANT_LIMITS);
	if (value < 0 || value > options[l].most)
		return bad_limit(l, f);
	w->has[l] = true;
	w->max[l] = (uint32_t)value;
	return 0;
}

int
grant_wish_limit_text(struct grant_wish *w, enum grant_limit l,
    struct span text, struct fault *f)
{
	uint64_t value;

	BUG_IF(l >= GRANT_LIMITS);
	if (!num_parse(text, options[l].most, &value))
		return bad_limit(l, f);
	return grant_wish_limit(w, l, (int64_t)value, f);
}

int
grant_wish_expires(struct grant_wish *w, struct span text, int64_t wall_ms,
    struct fault *f)
{
	if (grant_expiry_parse(text, wall_ms, &w->expires_ms, f) < 0)
		return -1;
	w->has_expiry = true;
	return 0;
}

int
grant_wish_program(struct grant_wish *w, struct span text, struct fault *f)
{
	char field[32];

	(void)text_fmt(field, sizeof(field), "programs[%zu]", w->programs_n);
	if (w->programs_n == GRANT_PROGRAMS)
		return fault_field(f, "programs", "over %d programs",
		    GRANT_PROGRAMS);
	if (grant_program_parse(text, field, &w->programs[w->programs_n], f) <
	    0)
		return -1;
	w->programs_n++;
	return 0;
}

static int
read_programs(struct grant_wish *w, const struct json_value *list,
    struct fault *f)
{
	struct span text;

	if (list->count == 0)
		return fault_field(f, "programs",
		    "programs must have 1 to %d items", GRANT_PROGRAMS);
	for (const struct json_value *v = json_first(list); v;
	     v = json_next(v)) {
		if (!json_str(v, &text))
			return fault_field(f, "programs",
			    "programs must be texts, not %s",
			    json_kind_name(v->kind));
		if (grant_wish_program(w, text, f) < 0)
			return -1;
	}
	return 0;
}

static int
read_limits(struct grant_wish *w, const struct json_value *v, struct fault *f)
{
	int64_t value;

	for (int l = 0; l < GRANT_LIMITS; l++) {
		const struct json_value *m = json_get(v, options[l].field);

		if (!m)
			continue;
		if (!json_int(m, 0, options[l].most, &value))
			return bad_limit((enum grant_limit)l, f);
		if (grant_wish_limit(w, (enum grant_limit)l, value, f) < 0)
			return -1;
	}
	return 0;
}

int
grant_wish_read(struct grant_wish *w, const struct json_value *v,
    int64_t wall_ms, struct fault *f)
{
	static const char *const keys[] = { "sandbox", "max_depth",
		"max_breadth", "max_total", "expires", "programs" };
	const struct json_value *expires;
	const struct json_value *programs;

	*w = (struct grant_wish){ 0 };
	if (json_only(v, keys, NELEM(keys), f) < 0 ||
	    json_want(v, "expires", JSON_STRING, &expires, f) < 0 ||
	    json_want(v, "programs", JSON_ARRAY, &programs, f) < 0 ||
	    read_limits(w, v, f) < 0)
		return -1;
	if (expires && grant_wish_expires(w, expires->text, wall_ms, f) < 0)
		return -1;
	return programs ? read_programs(w, programs, f) : 0;
}

int
grant_wish_check_create(struct grant_wish *w, int64_t wall_ms, struct fault *f)
{
	for (int l = 0; l < GRANT_LIMITS; l++)
		if (!w->has[l])
			return fault_field(f, options[l].field,
			    "%s must be given: 0 to %u, 0 means none",
			    options[l].field, options[l].most);
	if (w->programs_n == 0)
		return fault_field(f, "programs",
		    "programs must name 1 to %d programs", GRANT_PROGRAMS);
	if (!w->has_expiry)
		w->expires_ms = wall_ms + (int64_t)GRANT_EXPIRY_S * 1000;
	w->has_expiry = true;
	return 0;
}

int
grant_wish_check_update(const struct grant_wish *w, struct fault *f)
{
	for (int l = 0; l < GRANT_LIMITS; l++)
		if (w->has[l])
			return 0;
	if (w->has_expiry || w->programs_n > 0)
		return 0;
	return fault_set(f, FAULT_INVALID,
	    "nothing to change: give a limit, expires or programs");
}
