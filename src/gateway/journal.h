/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the main process of a sandbox said: a file of records in its folder,
 * in two segments of 1 MiB ("log", before it "log.1"), kept until delete
 * (PROTOCOL.md). Bytes are in the file, and survive this process, before they
 * are acknowledged to the supervisor.
 */
#ifndef GATEWAY_JOURNAL_H
#define GATEWAY_JOURNAL_H

#include "gateway/inner.h"

struct journal {
	int fd; /* of "log", while is_open */
	bool is_open;
	char id[LIMIT_ID + 1];
	uint64_t launch;
	uint64_t size; /* whole records */
	uint64_t end;  /* offset after that launch's last byte */
};

struct journal_record {
	uint64_t launch;
	uint64_t offset; /* of its first byte, since that launch */
	int64_t time_ms;
	bool is_error;
	struct span data;
};

/* For writing; finds where that launch's bytes end (0: none are there). */
int journal_open(const struct gateway *g, struct journal *j, const char *id,
    uint64_t launch, struct fault *f) MUST_CHECK;
void journal_close(struct journal *j); /* fine when not open */
/* Append what comes after what is there; bytes that are there already (sent
 * again after a reconnect) are passed over. r->launch is the journal's. */
int journal_append(const struct gateway *g, struct journal *j,
    const struct journal_record *r, struct fault *f) MUST_CHECK;

/*
 * Lines out of it. A reader has a place in the file and goes on from there;
 * it can be kept open while the file grows. Lines of stdout and stderr are
 * put together apart; a line over 8 KiB is cut in pieces.
 */
#define JOURNAL_LINE 8192
struct journal_line {
	int64_t time_ms;
	bool is_error;
	struct span text; /* UTF-8, without its newline */
};
struct journal_reader {
	char id[LIMIT_ID + 1];
	/* First record of the segment being read; launch 0: not begun. */
	uint64_t launch;
	uint64_t offset;
	uint64_t at;    /* of the record being read */
	uint64_t taken; /* bytes of that record that were used */
	/* The line of each stream so far; whole: it waits to be told. */
	struct {
		struct buf text;
		int64_t time_ms;
		bool whole;
	} line[2];
};
void journal_reader_init(struct journal_reader *r, const char *id);
void journal_reader_release(struct journal_reader *r);
/*
 * Hand out all lines that are there, until each returns false (the line it
 * refused is told again, first). finish: also what has no newline yet.
 */
int journal_read(const struct gateway *g, struct journal_reader *r, bool finish,
    bool (*each)(void *owner, const struct journal_line *line), void *owner,
    struct fault *f) MUST_CHECK;

/*
 * The same without lines: the bytes of each record that were not taken yet.
 * `each` says how many it takes; 0 ends the walk.
 */
int journal_bytes(const struct gateway *g, struct journal_reader *r,
    size_t (*each)(void *owner, const struct journal_record *rec), void *owner,
    struct fault *f) MUST_CHECK;

#endif
