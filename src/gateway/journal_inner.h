/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of the journal share. */
#ifndef GATEWAY_JOURNAL_INNER_H
#define GATEWAY_JOURNAL_INNER_H

#include "gateway/journal.h"

enum {
	JOURNAL_MAGIC = 0x474f4c4e, /* "NLOG" */
	JOURNAL_HEAD = 40,
	JOURNAL_DATA = 64 << 10,
	JOURNAL_SEGMENT = 1 << 20,
};

/* The numbers of a head; all zero when it is none. */
void journal_parse_head(const uint8_t head[JOURNAL_HEAD],
    struct journal_record *r);
/* One whole record at the front of s. */
bool journal_parse(struct span s, struct journal_record *r, size_t *used);
/* For reading; *fd is -1 when there is no such file. */
int journal_segment(const struct gateway *g, const char *id, const char *name,
    int *fd, struct fault *f) MUST_CHECK;

#endif
