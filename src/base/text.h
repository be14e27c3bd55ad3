/* SPDX-License-Identifier: Apache-2.0 */
/* Text that crosses rooms: numbers with bounds, hex, names, escapes. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Plain decimal, no sign, no blanks, no leading zero but "0" itself. */
bool num_parse(struct span s, uint64_t max, uint64_t *out);
/* The same, terminated; its length, at most 20. */
size_t num_format(uint64_t n, char out[21]);
/* Lower case; out holds 2*n+1 bytes. */
void hex_format(const void *p, size_t n, char *out);
/* Exactly 2*n hex digits, else false. */
bool hex_parse(struct span s, uint8_t *out, size_t n);
/* snprintf that says whether all of it fitted; cut like text_copy(). */
bool text_fmt(char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Copy and terminate; false (and cut between characters) when it does not
 * fit. */
bool text_copy(char *out, size_t size, struct span s);
/* Valid UTF-8 (no surrogates, no overlong forms, <= U+10FFFF). */
bool utf8_valid(struct span s);
/* Length of s without a UTF-8 sequence that a cut has left unfinished. */
size_t utf8_whole(struct span s);
/* Make text valid UTF-8 in place: '?' for each byte that is not part of it. */
void utf8_mend(char *text);
/*
 * Make bytes of a stranger printable: controls (C0, DEL, and C1, which some
 * terminals obey too) and bytes that are not UTF-8 become \xNN, the backslash
 * doubles. Cut at size.
 */
void text_escape(struct span s, char *out, size_t size);
/* Nothing of it would become \xNN. */
bool text_is_printable(struct span s);
/* A sandbox name: 1..max of [a-z0-9-], no '-' at the ends, no "--". */
bool name_valid(struct span s, size_t max);
/* "2026-11-29T14:02:46Z" for ms since the epoch; out holds 32 bytes. */
void time_format(int64_t ms, char *out);
/* Unpadded base64url (RFC 4648 5). Length written, or 0 when it lacks room. */
size_t base64url_format(struct span s, char *out, size_t size);
bool base64url_parse(struct span s, uint8_t *out, size_t size, size_t *n);

#endif
