/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the JSON room share; json/json.h is the door. */
#ifndef JSON_INNER_H
#define JSON_INNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "json/json.h"

/* What a valid text holds: enough to size the tree before it is built. */
struct json_count {
	size_t values;
	size_t keys;
	size_t string_bytes; /* all strings decoded, with a NUL each, at most */
};

/* json_check() that also counts. *count is complete on 0 only. */
int json_scan(struct span text, struct json_count *count,
    struct fault *f) MUST_CHECK;
/*
 * Pass the string whose opening quote is at *at: *at is then behind its closing
 * quote, or on -1 at the byte that is wrong.
 */
int json_string_scan(struct span text, size_t *at, struct fault *f) MUST_CHECK;
/* Decode the inside of a string that was scanned; out holds s.len bytes. */
size_t json_string_decode(struct span s, uint8_t *out);
/* Length of the UTF-8 sequence s (not empty) begins with, 0 when it is none. */
size_t json_utf8_step(struct span s);
/* FAULT_INVALID, "what at byte N". Returns -1. */
int json_wrong(size_t at, const char *what, struct fault *f);

#endif
