/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger: which Exec calls were served, so that none runs twice. A call
 * that is repeated byte for byte gets the first answer again, without its
 * descriptors, which are on their way already; the same id with other bytes
 * is refused. The last SANDBOX_LEDGER calls are remembered; their ids are the
 * caller's to keep unique, as UUIDs are.
 */
#include <string.h>

#include "sandbox/inner.h"

static struct ledger_row *
find(struct ledger *l, const char *id)
{
	for (size_t i = 0; i < SANDBOX_LEDGER; i++)
		if (l->rows[i].state != LEDGER_EMPTY &&
		    strcmp(l->rows[i].id, id) == 0)
			return &l->rows[i];
	return NULL;
}

enum ledger_verdict
ledger_enter(struct ledger *l, const char *id, struct span inputs,
    const struct ledger_row **out)
{
	struct ledger_row *row = find(l, id);
	uint8_t sum[DIGEST_SIZE];

	digest_of(inputs, sum);
	*out = row;
	if (row)
		return memcmp(row->inputs, sum, sizeof(sum)) != 0 ? LEDGER_OTHER
		    : row->state == LEDGER_ANSWERED               ? LEDGER_AGAIN
								  : LEDGER_SOON;
	row = &l->rows[l->next];
	l->next = (l->next + 1) % SANDBOX_LEDGER;
	*row = (struct ledger_row){ .state = LEDGER_OPEN };
	(void)text_copy(row->id, sizeof(row->id), span_str(id));
	memcpy(row->inputs, sum, sizeof(sum));
	*out = row;
	return LEDGER_NEW;
}

void
ledger_answer(struct ledger *l, const char *id,
    const struct ledger_answer *answer)
{
	struct ledger_row *row = find(l, id);

	if (!row)
		return;
	row->state = LEDGER_ANSWERED;
	row->answer = *answer;
}

void
ledger_strike(struct ledger *l, const char *id)
{
	struct ledger_row *row = find(l, id);

	if (row)
		row->state = LEDGER_EMPTY;
}
