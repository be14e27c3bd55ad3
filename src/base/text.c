/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, hex, names, escapes; base/text.h has the contracts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

bool
num_parse(struct span s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (s.len == 0 || (s.len > 1 && s.ptr[0] == '0'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint64_t digit = (uint64_t)s.ptr[i] - '0';

		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		if (v > (UINT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (v > max)
		return false;
	*out = v;
	return true;
}

void
hex_format(const void *p, size_t n, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[b[i] >> 4];
		out[2 * i + 1] = digits[b[i] & 15];
	}
	out[2 * n] = '\0';
}

static int
hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
hex_parse(struct span s, uint8_t *out, size_t n)
{
	if (s.len != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		int hi = hex_digit(s.ptr[2 * i]);
		int lo = hex_digit(s.ptr[2 * i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		out[i] = (uint8_t)(hi << 4 | lo);
	}
	return true;
}

bool
text_fmt(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(out, size, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < size)
		return true;
	if (n >= 0 && size > 0)
		out[utf8_whole(span_of(out, size - 1))] = '\0';
	return false;
}

bool
text_copy(char *out, size_t size, struct span s)
{
	size_t n = s.len < size ? s.len : size - 1;

	BUG_IF(size == 0);
	if (n < s.len)
		n = utf8_whole(span_of(s.ptr, n));
	if (n)
		memcpy(out, s.ptr, n);
	out[n] = '\0';
	return n == s.len;
}

/* Length of the UTF-8 sequence at s, 0 when it is not one. */
static size_t
utf8_length(struct span s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint8_t c = s.ptr[0];
	size_t n = c < 0x80      ? 1
	    : (c & 0xe0) == 0xc0 ? 2
	    : (c & 0xf0) == 0xe0 ? 3
	    : (c & 0xf8) == 0xf0 ? 4
				 : 0;
	uint32_t v = n == 1 ? c : (uint32_t)(c & (0x7fU >> n));

	if (n == 0 || n > s.len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s.ptr[i] & 0xc0) != 0x80)
			return 0;
		v = v << 6 | (uint32_t)(s.ptr[i] & 0x3f);
	}
	if (v < least[n] || v > 0x10ffff || (v >= 0xd800 && v <= 0xdfff))
		return 0;
	return n;
}

bool
utf8_valid(struct span s)
{
	for (size_t at = 0; at < s.len;) {
		size_t n = s.ptr[at] < 0x80 ? 1 : utf8_length(span_from(s, at));

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

size_t
utf8_whole(struct span s)
{
	size_t more = 0; /* continuation bytes at the end */
	uint8_t first;
	size_t want;

	while (more < 3 && more < s.len &&
	    (s.ptr[s.len - 1 - more] & 0xc0) == 0x80)
		more++;
	if (more == s.len)
		return s.len;
	first = s.ptr[s.len - 1 - more];
	want = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc0 ? 1 : 0;
	return more < want ? s.len - 1 - more : s.len;
}

void
utf8_mend(char *text)
{
	for (char *at = text; *at != '\0';) {
		size_t n = utf8_length(span_str(at));

		if (n == 0)
			*at = '?';
		at += n ? n : 1;
	}
}

/* Bytes of the character in front that a terminal shows and does not obey; 0:
 * it is a control of either set (C0, DEL, C1), or not UTF-8. */
static size_t
printable_length(struct span s)
{
	size_t n = utf8_length(s);

	if (n == 1 && (s.ptr[0] < 0x20 || s.ptr[0] == 0x7f))
		return 0;
	if (n == 2 && s.ptr[0] == 0xc2 && s.ptr[1] < 0xa0)
		return 0;
	return n;
}

bool
text_is_printable(struct span s)
{
	size_t n;

	while (s.len > 0 && (n = printable_length(s)) > 0)
		s = span_from(s, n);
	return s.len == 0;
}

void
text_escape(struct span s, char *out, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t used = 0;

	BUG_IF(size == 0);
	while (s.len > 0) {
		size_t n = printable_length(s);
		uint8_t c = s.ptr[0];

		if (n > 0 && c != '\\') {
			if (used + n >= size)
				break;
			memcpy(out + used, s.ptr, n);
			used += n;
			s = span_from(s, n);
			continue;
		}
		if (c == '\\') {
			if (used + 2 >= size)
				break;
			out[used++] = '\\';
			out[used++] = '\\';
		} else {
			if (used + 4 >= size)
				break;
			out[used++] = '\\';
			out[used++] = 'x';
			out[used++] = digits[c >> 4];
			out[used++] = digits[c & 15];
		}
		s = span_from(s, 1);
	}
	out[used] = '\0';
}

bool
name_valid(struct span s, size_t max)
{
	if (s.len == 0 || s.len > max)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		bool dash = c == '-';

		if (!dash && !(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9'))
			return false;
		if (dash && (i == 0 || i + 1 == s.len || s.ptr[i + 1] == '-'))
			return false;
	}
	return true;
}

/* Days since 1970-01-01 to a civil date (proleptic Gregorian). */
static void
civil_from_days(int64_t days, int64_t *year, unsigned *month, unsigned *day)
{
	int64_t z = days + 719468;
	int64_t era = (z >= 0 ? z : z - 146096) / 146097;
	unsigned doe = (unsigned)(z - era * 146097);
	unsigned yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	unsigned doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	unsigned mp = (5 * doy + 2) / 153;

	*day = doy - (153 * mp + 2) / 5 + 1;
	*month = mp < 10 ? mp + 3 : mp - 9;
	*year = (int64_t)yoe + era * 400 + (*month <= 2 ? 1 : 0);
}

size_t
num_format(uint64_t n, char out[21])
{
	char digits[20];
	size_t left = sizeof(digits);
	size_t len;

	do {
		digits[--left] = (char)('0' + n % 10);
		n /= 10;
	} while (n > 0);
	len = sizeof(digits) - left;
	memcpy(out, digits + left, len);
	out[len] = '\0';
	return len;
}

/* n, modulo what so many digits hold. */
static char *
put_digits(char *to, uint64_t n, size_t width)
{
	for (size_t i = width; i-- > 0; n /= 10)
		to[i] = (char)('0' + n % 10);
	return to + width;
}

static char *
put_part(char *to, char before, uint64_t n)
{
	*to = before;
	return put_digits(to + 1, n, 2);
}

void
time_format(int64_t ms, char *out)
{
	int64_t secs = ms >= 0 ? ms / 1000 : (ms - 999) / 1000;
	int64_t days = secs >= 0 ? secs / 86400 : (secs - 86399) / 86400;
	int64_t rest = secs - days * 86400;
	int64_t year;
	unsigned month;
	unsigned day;

	civil_from_days(days, &year, &month, &day);
	out = put_digits(out, year > 0 ? (uint64_t)year : 0, 4);
	out = put_part(out, '-', month);
	out = put_part(out, '-', day);
	out = put_part(out, 'T', (uint64_t)rest / 3600);
	out = put_part(out, ':', (uint64_t)rest / 60 % 60);
	out = put_part(out, ':', (uint64_t)rest % 60);
	memcpy(out, "Z", 2);
}

size_t
base64url_format(struct span s, char *out, size_t size)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_";
	size_t used = 0;

	if (size < (s.len * 4 + 2) / 3 + 1)
		return 0;
	for (size_t i = 0; i < s.len; i += 3) {
		size_t left = s.len - i;
		size_t n = left < 3 ? left : 3;
		uint32_t v = (uint32_t)s.ptr[i] << 16;

		if (left > 1)
			v |= (uint32_t)s.ptr[i + 1] << 8;
		if (left > 2)
			v |= s.ptr[i + 2];
		for (size_t k = 0; k <= n; k++)
			out[used++] = digits[v >> (18 - 6 * k) & 63];
	}
	out[used] = '\0';
	return used;
}

static int
base64url_digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '-' ? 62 : c == '_' ? 63 : -1;
}

bool
base64url_parse(struct span s, uint8_t *out, size_t size, size_t *n)
{
	uint32_t v = 0;
	unsigned bits = 0;
	size_t used = 0;

	if (s.len % 4 == 1)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		int digit = base64url_digit(s.ptr[i]);

		if (digit < 0)
			return false;
		v = v << 6 | (uint32_t)digit;
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		if (used == size)
			return false;
		out[used++] = (uint8_t)(v >> bits);
		v &= (1U << bits) - 1;
	}
	if (v != 0)
		return false;
	*n = used;
	return true;
}
