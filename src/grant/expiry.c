/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a grant as text: a count of s, m, h or d from now, or RFC 3339.
 * Only forms that cannot be misread: no blanks, no capitals of units, and a
 * time of day always has its zone.
 */
#include "grant/inner.h"

enum {
	DAY_S = 86400,
	UNIT_MOST = 1000000000, /* of any unit: longer ones are no number */
};

/* n digits as a number. */
static bool
digits(struct span s, size_t at, size_t n, int64_t *out)
{
	int64_t v = 0;

	if (at + n > s.len)
		return false;
	for (size_t i = at; i < at + n; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		v = v * 10 + (s.ptr[i] - '0');
	}
	*out = v;
	return true;
}

static bool
is_at(struct span s, size_t at, const char *any)
{
	for (; at < s.len && *any; any++)
		if (s.ptr[at] == (uint8_t)*any)
			return true;
	return false;
}

static int64_t
month_days(int64_t year, int64_t month)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01, by the count of leap days of years that begin in
 * March. */
static int64_t
days_of(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month > 2 ? year : year - 1;
	int64_t m = month > 2 ? month - 3 : month + 9;
	int64_t leaps = y / 4 - y / 100 + y / 400;

	return 365 * y + leaps + (153 * m + 2) / 5 + day - 1 - 719468;
}

static bool
date_parse(struct span s, int64_t *days)
{
	int64_t year;
	int64_t month;
	int64_t day;

	if (!digits(s, 0, 4, &year) || !is_at(s, 4, "-") ||
	    !digits(s, 5, 2, &month) || !is_at(s, 7, "-") ||
	    !digits(s, 8, 2, &day))
		return false;
	/* Year 0 begins in the year before it by the count of days_of(). */
	if (year < 1 || month < 1 || month > 12 || day < 1 ||
	    day > month_days(year, month))
		return false;
	*days = days_of(year, month, day);
	return true;
}

static bool
clock_parse(struct span s, int64_t *secs)
{
	int64_t hour;
	int64_t minute;
	int64_t second;

	if (!digits(s, 11, 2, &hour) || !is_at(s, 13, ":") ||
	    !digits(s, 14, 2, &minute) || !is_at(s, 16, ":") ||
	    !digits(s, 17, 2, &second))
		return false;
	if (hour > 23 || minute > 59 || second > 59)
		return false;
	*secs = hour * 3600 + minute * 60 + second;
	return true;
}

/* Digits after the point; what is finer than a millisecond is dropped. */
static bool
fraction_parse(struct span s, size_t *at, int64_t *ms)
{
	static const int64_t weight[] = { 100, 10, 1 };
	size_t n = 0;

	*ms = 0;
	if (!is_at(s, *at, "."))
		return true;
	for (++*at; is_at(s, *at, "0123456789"); ++*at, n++)
		if (n < NELEM(weight))
			*ms += (s.ptr[*at] - '0') * weight[n];
	return n > 0;
}

static bool
zone_parse(struct span s, size_t at, int64_t *secs)
{
	int64_t hour;
	int64_t minute;

	*secs = 0;
	if (is_at(s, at, "Zz"))
		return at + 1 == s.len;
	if (!is_at(s, at, "+-") || !digits(s, at + 1, 2, &hour) ||
	    !is_at(s, at + 3, ":") || !digits(s, at + 4, 2, &minute) ||
	    at + 6 != s.len || hour > 23 || minute > 59)
		return false;
	*secs = hour * 3600 + minute * 60;
	if (s.ptr[at] == '-')
		*secs = -*secs;
	return true;
}

/* Milliseconds since the epoch; false when it is no RFC 3339. */
static bool
rfc3339_parse(struct span s, int64_t *ms)
{
	int64_t days;
	int64_t secs;
	int64_t zone;
	int64_t part;
	size_t at = 19;

	if (!date_parse(s, &days) || !is_at(s, 10, "Tt") ||
	    !clock_parse(s, &secs) || !fraction_parse(s, &at, &part) ||
	    !zone_parse(s, at, &zone))
		return false;
	*ms = (days * DAY_S + secs - zone) * 1000 + part;
	return true;
}

static bool
span_parse(struct span s, int64_t *secs)
{
	static const struct {
		char letter;
		int64_t secs;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY_S } };
	uint64_t n;

	if (s.len < 2 || !num_parse(span_of(s.ptr, s.len - 1), UNIT_MOST, &n))
		return false;
	for (size_t i = 0; i < NELEM(units); i++) {
		if (s.ptr[s.len - 1] != (uint8_t)units[i].letter)
			continue;
		*secs = (int64_t)n * units[i].secs;
		return true;
	}
	return false;
}

int
grant_expiry_parse(struct span s, int64_t wall_ms, int64_t *ms, struct fault *f)
{
	int64_t end;
	int64_t secs;

	if (span_parse(s, &secs))
		end = wall_ms + secs * 1000;
	else if (!rfc3339_parse(s, &end))
		return fault_field(f, "expires",
		    "expires must be like 90s, 15m, 4h or 7d, or a time with "
		    "its zone like 2030-01-31T12:00:00Z");
	if (end <= wall_ms)
		return fault_field(f, "expires",
		    "expires must be in the future");
	if (end - wall_ms > (int64_t)GRANT_EXPIRY_MOST_S * 1000)
		return fault_field(f, "expires",
		    "expires must be at most 30 days from now");
	*ms = end;
	return 0;
}
