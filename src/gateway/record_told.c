/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and checkpoints as the messages that clients get, and what they ask. */
#include <string.h>

#include "gateway/check.h"
#include "gateway/record.h"
#include "proto/nacre_v1.pb.h"

enum {
	FILTER_TEXT = 512, /* no text of a row but the detail is longer */
};

/* Texts that somebody changed may be no UTF-8: those are escaped. */
static char *
told(struct arena *a, const char *text)
{
	struct span s = span_str(text);
	char *out;

	if (utf8_valid(s))
		return arena_str(a, s);
	out = arena_get(a, 4 * s.len + 1);
	if (out != NULL)
		text_escape(s, out, 4 * s.len + 1);
	return out;
}

static char *
told_hex(struct arena *a, const uint8_t *bytes, size_t n)
{
	char *out = arena_get(a, 2 * n + 1);

	if (out != NULL)
		hex_format(bytes, n, out);
	return out;
}

int
record_row(const struct store_audit *row, struct arena *a,
    nacre_v1_AuditRow *out, struct fault *f)
{
	*out = (nacre_v1_AuditRow)nacre_v1_AuditRow_init_zero;
	out->row = row->row;
	out->time_ms = row->time_ms;
	out->caller = told(a, row->caller);
	out->program = told(a, row->program);
	out->parent = told(a, row->parent);
	out->root = told(a, row->root);
	out->verb = told(a, row->verb);
	out->sandbox_id = told(a, row->sandbox_id);
	out->sandbox = told(a, row->sandbox);
	out->request_id = told(a, row->request_id);
	out->verdict = told(a, row->verdict);
	out->reason = told(a, row->reason);
	out->detail = told(a, row->detail);
	out->hash = told_hex(a, row->hash, sizeof(row->hash));
	/* The largest last but one, and the last. */
	if (out->detail == NULL || out->hash == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return 0;
}

int
record_checkpoint(const struct store_checkpoint *c, struct arena *a,
    nacre_v1_AuditCheckpoint *out, struct fault *f)
{
	*out = (nacre_v1_AuditCheckpoint)nacre_v1_AuditCheckpoint_init_zero;
	out->row = c->row;
	out->time_ms = c->time_ms;
	out->kind = arena_str(a, span_str(audit_kind_name(c->kind)));
	out->bytes = c->bytes;
	out->hash = told_hex(a, c->hash, sizeof(c->hash));
	out->key = told_hex(a, c->point, sizeof(c->point));
	out->signature = told_hex(a, c->signature, sizeof(c->signature));
	if (out->signature == NULL)
		return fault_set(f, FAULT_LIMIT, "the answer is too long");
	return 0;
}

/* The root of a tree by a name in it, while that is there. */
static int
root_of(struct gateway *g, const char *name, struct arena *a, const char **root,
    struct fault *f)
{
	struct store_lineage row;
	struct fault none = { 0 };

	*root = name;
	if (store_lineage_by_name(g->store, name, a, &row, &none) < 0) {
		if (none.code == FAULT_NOT_FOUND)
			return 0;
		*f = none;
		return -1;
	}
	*root = arena_str(a, span_str(row.root));
	return *root != NULL ? 0 : fault_set(f, FAULT_LIMIT, "out of room");
}

int
record_filter(struct gateway *g, const nacre_v1_AuditFilter *ask,
    struct arena *a, struct store_audit_filter *out, bool *is_all,
    struct fault *f)
{
	const char *const texts[] = { ask->sandbox, ask->verb, ask->caller,
		ask->verdict, ask->root };

	*is_all = ask->since_ms == 0 && ask->until_ms == 0;
	for (size_t i = 0; i < NELEM(texts); i++) {
		size_t n = span_str(texts[i]).len;

		*is_all = *is_all && n == 0;
		if (n > FILTER_TEXT)
			return fault_field(f, "filter",
			    "a text to look for is over %d bytes", FILTER_TEXT);
	}
	if (ask->since_ms < 0 || ask->until_ms < 0)
		return fault_field(f, "filter", "times are since 1970");
	out->sandbox = ask->sandbox;
	out->verb = ask->verb;
	out->caller = ask->caller;
	out->verdict = ask->verdict;
	out->since_ms = ask->since_ms;
	out->until_ms = ask->until_ms;
	if (span_str(ask->root).len == 0)
		return 0;
	return root_of(g, ask->root, a, &out->root, f);
}
