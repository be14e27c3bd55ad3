/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: store */
/*
 * Many sandboxes at no cost, for what must be measured or tried with a full
 * store: copies of a stopped one's row, and of its lineage where it has any,
 * under ids and names of their own. No gateway runs on that file meanwhile.
 *
 *   rows STATE/gateway.db NAME COUNT     copies NAME to row-1 ... row-COUNT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "store/store.h"

enum {
	MOST = 4000,
	ARENA = 8 << 20,
};

static _Noreturn void
die(const char *what, const struct fault *f)
{
	(void)fprintf(stderr, "rows: %s: %s\n", what, f->text);
	exit(1);
}

/* A version 4 UUID. */
static void
make_id(char out[LIMIT_ID + 1])
{
	uint8_t r[16];
	char hex[33];

	random_bytes(r, sizeof(r));
	r[6] = (uint8_t)((r[6] & 0x0f) | 0x40);
	r[8] = (uint8_t)((r[8] & 0x3f) | 0x80);
	hex_format(r, sizeof(r), hex);
	(void)text_fmt(out, LIMIT_ID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
	    hex + 8, hex + 12, hex + 16, hex + 20);
}

static int
copy(struct store *s, struct store_sandbox *row, struct store_lineage *kin,
    unsigned n, struct fault *f)
{
	bool has_kin = kin->id[0] != '\0';

	make_id(row->id);
	(void)text_fmt(row->name, sizeof(row->name), "row-%u", n);
	row->created_ms++;
	row->machine[0] = '\0';
	memcpy(kin->id, row->id, sizeof(kin->id));
	memcpy(kin->root, row->id, sizeof(kin->root));
	memcpy(kin->name, row->name, sizeof(kin->name));
	kin->created_ms = row->created_ms;
	if (store_sandbox_insert(s, row, f) < 0)
		return -1;
	return has_kin ? store_lineage_insert(s, kin, f) : 0;
}

int
main(int argc, char **argv)
{
	struct store_sandbox row;
	struct store_lineage kin = { 0 };
	struct fault f = { 0 };
	struct store *s;
	struct arena a;
	uint64_t count = 0;

	if (argc != 4 || !num_parse(span_str(argv[3]), MOST, &count)) {
		(void)fprintf(stderr, "usage: rows FILE NAME COUNT\n");
		return 2;
	}
	arena_init(&a, ARENA);
	s = store_open(argv[1], &f);
	if (s == NULL || store_sandbox_by_name(s, argv[2], &a, &row, &f) < 0)
		die("cannot read the row", &f);
	if (store_lineage_by_id(s, row.id, &a, &kin, &f) < 0 &&
	    f.code != FAULT_NOT_FOUND)
		die("cannot read the lineage", &f);
	fault_clear(&f);
	for (unsigned i = 1; i <= count; i++)
		if (copy(s, &row, &kin, i, &f) < 0)
			die("cannot copy the row", &f);
	if (store_commit(s, &f) < 0)
		die("cannot commit", &f);
	store_close(s);
	arena_release(&a);
	return 0;
}
