/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strings that requests may have, as automata. A state is a small number;
 * 0 is dead.
 *
 *	host     label ( "." label )*   label = [a-z0-9_-]{1,63}, at most 253
 *	         bytes, the last label no number: [0-9]+ or 0x[0-9a-f]*
 *	path     "/" ( segment "/" )* segment?   as policy_path_canonical()
 *	         writes it: segment = piece ( "%2F" piece )*, piece of plain
 *	         bytes and escapes of others, not "." or "..", not all empty
 *	program  ( "/" component )+   component no "." or "..", no NUL
 *	others   any bytes
 */
#include <string.h>

#include "region/inner.h"

enum {
	DEAD,
	START,
	EMPTY, /* label, segment or component begins */
	PIECE, /* after %2F */
	DOT,
	DOTS,
	BODY,
	PERCENT,   /* + AFTER_DOTS */
	HIGH = 16, /* + 4 bits of the high digit, + AFTER_DOTS */
	AFTER_DOTS = 64,
	ZERO = 8, /* labels that are numbers so far */
	DIGITS,
	HEX,
};

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool
is_alnum(uint8_t c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool
tool_byte_is_strict(uint8_t c)
{
	return is_alnum(c) || c == '_' || c == '.' || c == '-';
}

static unsigned
label_step(unsigned u, uint8_t c)
{
	if (!is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
		return DEAD;
	switch (u) {
	case EMPTY:
		return c == '0' ? ZERO : is_digit(c) ? DIGITS : BODY;
	case ZERO:
		return c == 'x' ? HEX : is_digit(c) ? DIGITS : BODY;
	case DIGITS:
		return is_digit(c) ? DIGITS : BODY;
	case HEX:
		return is_digit(c) || (c >= 'a' && c <= 'f') ? HEX : BODY;
	default:
		return BODY;
	}
}

static unsigned
host_step(unsigned u, uint8_t c)
{
	if (c == '.')
		return u == START || u == EMPTY ? DEAD : EMPTY;
	return label_step(u == START ? EMPTY : u, c);
}

static unsigned
component_step(unsigned u, uint8_t c)
{
	if (c == '\0' || u == START)
		return c == '/' ? EMPTY : DEAD;
	if (c == '/')
		return u == BODY ? EMPTY : DEAD;
	if (c == '.')
		return u == EMPTY ? DOT : u == DOT ? DOTS : BODY;
	return BODY;
}

static unsigned
hex_digit(uint8_t c)
{
	if (is_digit(c))
		return c - (unsigned)'0';
	return c >= 'A' && c <= 'F' ? c - (unsigned)'A' + 10 : 16;
}

static bool
is_plain(unsigned c)
{
	return c < 0x80 && c > 0 &&
	    (is_alnum((uint8_t)c) || strchr("-._~!$&'()*+,=:@", (int)c));
}

/* What an escape of c leads to. */
static unsigned
escape_step(unsigned c, bool after_dots)
{
	if (c == '/')
		return after_dots ? DEAD : PIECE;
	if (c < 0x20 || c == 0x7f || c == ';' || is_plain(c))
		return DEAD;
	return BODY;
}

static unsigned
path_step(unsigned u, uint8_t c)
{
	unsigned dots = u & AFTER_DOTS;
	unsigned at = u & ~(unsigned)AFTER_DOTS;
	unsigned digit = hex_digit(c);

	if (at == PERCENT)
		return digit < 16 ? (HIGH + digit) | dots : DEAD;
	if (at >= HIGH)
		return digit < 16 ? escape_step((at - HIGH) << 4 | digit, dots)
				  : DEAD;
	if (at == START)
		return c == '/' ? EMPTY : DEAD;
	if (c == '%')
		return PERCENT | (at == DOT || at == DOTS ? AFTER_DOTS : 0);
	if (c == '/')
		return at == BODY || at == PIECE ? EMPTY : DEAD;
	if (!is_plain(c))
		return DEAD;
	if (c == '.')
		return at == EMPTY || at == PIECE ? DOT
		    : at == DOT                   ? DOTS
						  : BODY;
	return BODY;
}

unsigned
universe_start(void)
{
	return START;
}

unsigned
universe_step(enum region_dim dim, unsigned u, uint8_t c)
{
	switch ((int)dim) {
	case REGION_HOST:
		return host_step(u, c);
	case REGION_PATH:
		return path_step(u, c);
	case REGION_PROGRAM:
		return component_step(u, c);
	default:
		return u;
	}
}

bool
universe_accepts(enum region_dim dim, unsigned u)
{
	switch ((int)dim) {
	case REGION_HOST:
	case REGION_PROGRAM:
		return u == BODY;
	case REGION_PATH:
		return u == BODY || u == EMPTY || u == PIECE;
	default:
		return true;
	}
}

bool
universe_after_slash(unsigned u)
{
	return u == PIECE;
}

size_t
universe_longest(enum region_dim dim)
{
	switch ((int)dim) {
	case REGION_HOST:
		return POLICY_HOST;
	case REGION_PATH:
		return POLICY_PATH;
	case REGION_PROGRAM:
		return POLICY_PATTERN - 1;
	default:
		return UINT16_MAX;
	}
}

bool
region_universe_holds(enum region_dim dim, struct span s)
{
	unsigned u = START;
	size_t label = 0;

	for (size_t i = 0; i < s.len && u != DEAD; i++) {
		u = universe_step(dim, u, s.ptr[i]);
		label = s.ptr[i] == '.' ? 0 : label + 1;
		if (dim == REGION_HOST && label > UNIVERSE_LABEL)
			return false;
	}
	return u != DEAD && universe_accepts(dim, u) &&
	    s.len <= universe_longest(dim);
}
