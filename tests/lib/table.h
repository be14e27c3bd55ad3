/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of cases in tests/data: a line a case, cells between " | ", lines
 * that begin with '#' are for readers.
 */
#ifndef TESTS_LIB_TABLE_H
#define TESTS_LIB_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum {
	TABLE_CELLS = 4
};

struct table {
	char *text;
	char *next;
	size_t line;
	char *cell[TABLE_CELLS]; /* of the current case; "" past its end */
};

/* tests/data/NAME; ends the test when it cannot be read. */
void table_open(struct table *t, const char *name);
/* 1: cell[] holds a case. 0: no more, and the table is closed. */
int table_next(struct table *t);

#endif
