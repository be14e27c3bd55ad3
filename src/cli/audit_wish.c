/* SPDX-License-Identifier: Apache-2.0 */
/* Which rows of the record are wanted: the filter of its commands. */
#include <string.h>
#include <time.h>

#include "cli/audit.h"

enum {
	YEARS_S = 315360000, /* ten: nobody asks for more */
};

/* "90s 15m 4h 7d": that long ago. */
static bool
parse_ago(struct span s, int64_t *ms)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint64_t n;

	if (s.len < 2 || !num_parse(span_of(s.ptr, s.len - 1), YEARS_S, &n))
		return false;
	for (size_t i = 0; i < NELEM(units); i++) {
		if (s.ptr[s.len - 1] == (uint8_t)units[i].unit &&
		    n * units[i].seconds <= YEARS_S) {
			*ms = (int64_t)(n * units[i].seconds) * 1000;
			return true;
		}
	}
	return false;
}

static bool
two(const char **p, int most, char end, int *out)
{
	int tens = (*p)[0] - '0';
	int ones = (*p)[1] - '0';

	if (tens < 0 || tens > 9 || ones < 0 || ones > 9 ||
	    tens * 10 + ones > most || (end != '\0' && (*p)[2] != end))
		return false;
	*out = tens * 10 + ones;
	*p += end == '\0' ? 2 : 3;
	return true;
}

/* "Z" or "+02:00", in seconds. */
static bool
parse_zone(const char *p, int64_t *seconds)
{
	int hours = 0;
	int minutes = 0;
	bool east = *p == '+';

	*seconds = 0;
	if (strcmp(p, "Z") == 0)
		return true;
	if ((*p != '+' && *p != '-') || strlen(p) != 6)
		return false;
	p++;
	if (!two(&p, 23, ':', &hours) || !two(&p, 59, '\0', &minutes))
		return false;
	*seconds = (hours * 3600 + minutes * 60) * (east ? 1 : -1);
	return true;
}

/* RFC 3339 without parts of a second. */
static bool
parse_date(const char *text, int64_t *ms)
{
	struct tm t = { 0 };
	const char *p = text + 5;
	int64_t zone;
	uint64_t year;
	time_t s;

	if (strlen(text) < 20 || text[4] != '-' ||
	    !num_parse(span_of(text, 4), 9999, &year) || year < 1970)
		return false;
	t.tm_year = (int)year - 1900;
	if (!two(&p, 12, '-', &t.tm_mon) || !two(&p, 31, 'T', &t.tm_mday) ||
	    !two(&p, 23, ':', &t.tm_hour) || !two(&p, 59, ':', &t.tm_min) ||
	    !two(&p, 59, '\0', &t.tm_sec) || !parse_zone(p, &zone) ||
	    t.tm_mon == 0 || t.tm_mday == 0)
		return false;
	t.tm_mon--;
	s = timegm(&t);
	*ms = ((int64_t)s - zone) * 1000;
	return true;
}

int
audit_time_parse(const char *text, int64_t now_ms, int64_t *out)
{
	int64_t ms;

	if (parse_ago(span_str(text), &ms))
		*out = now_ms - ms;
	else if (parse_date(text, &ms))
		*out = ms;
	else
		return -1;
	return 0;
}

static int
take_time(const char *option, const char *text, int64_t *out, struct fault *f)
{
	if (text == NULL)
		return 0;
	if (audit_time_parse(text, clock_wall_ms(), out) < 0)
		return fault_field(f, option,
		    "'%s': %s is a time as 2026-01-31T12:00:00Z, or how long "
		    "ago as 15m",
		    text, option);
	return 0;
}

int
audit_wish_take(struct cli *c, const struct audit_wish *w,
    nacre_v1_AuditFilter *out, struct fault *f)
{
	const struct {
		const char *from;
		char **to;
	} texts[] = {
		{ w->sandbox, &out->sandbox },
		{ w->verb, &out->verb },
		{ w->caller, &out->caller },
		{ w->verdict, &out->verdict },
		{ w->root, &out->root },
	};

	for (size_t i = 0; i < NELEM(texts); i++) {
		if (texts[i].from != NULL)
			*texts[i].to =
			    arena_str(&c->arena, span_str(texts[i].from));
	}
	if (take_time("--since", w->since, &out->since_ms, f) < 0)
		return -1;
	return take_time("--until", w->until, &out->until_ms, f);
}
