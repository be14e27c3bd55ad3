/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain. The head is read from the store each time, never remembered
 * here: a call's writes may be taken back, and then so is its row.
 */
#include <string.h>

#include "audit/audit.h"
#include "digest/digest.h"

static void
feed(struct digest *d, struct span s)
{
	uint8_t length[8];

	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)s.len >> (56 - 8 * i));
	digest_update(d, span_of(length, sizeof(length)));
	digest_update(d, s);
}

static void
feed_number(struct digest *d, uint64_t n)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(n >> (56 - 8 * i));
	feed(d, span_of(bytes, sizeof(bytes)));
}

void
audit_hash(const struct store_audit *row, const uint8_t before[STORE_HASH],
    uint8_t out[STORE_HASH])
{
	const char *const texts[] = {
		row->caller,
		row->program,
		row->parent,
		row->root,
		row->verb,
		row->sandbox_id,
		row->sandbox,
		row->request_id,
		row->verdict,
		row->reason,
		row->detail,
	};
	struct digest d;

	digest_init(&d);
	feed(&d, SPAN_LIT("nacre.audit.1"));
	feed(&d, span_of(before, STORE_HASH));
	feed_number(&d, row->row);
	feed_number(&d, (uint64_t)row->time_ms);
	for (size_t i = 0; i < NELEM(texts); i++)
		feed(&d, span_str(texts[i]));
	digest_final(&d, out);
}

enum audit_verdict
audit_verdict_of(const struct fault *f)
{
	if (f == NULL || f->code == FAULT_NONE)
		return AUDIT_OK;
	return fault_kind(f->code) == FAULT_KIND_SYSTEM ? AUDIT_FAILED
							: AUDIT_REFUSED;
}

const char *
audit_verdict_name(enum audit_verdict v)
{
	static const char *const names[] = {
		[AUDIT_OK] = "ok",
		[AUDIT_REFUSED] = "refused",
		[AUDIT_FAILED] = "failed",
	};

	return names[v];
}

static const char *
printable(struct arena *a, const char *text, size_t max)
{
	struct span s = span_str(text);
	char *out;

	if (s.len <= max && utf8_valid(s))
		return text == NULL ? "" : text;
	out = arena_get(a, max + 1);
	BUG_IF(out == NULL);
	text_escape(s, out, max + 1);
	return out;
}

int
audit_append(struct store *s, const struct audit_row *row, struct fault *f)
{
	enum {
		SHORT = 512,
	};
	uint8_t before[STORE_HASH];
	struct store_audit out = { .time_ms = row->time_ms };
	struct arena a;
	int rc;

	if (store_audit_head(s, &out.row, before, f) < 0)
		return -1;
	arena_init(&a, 64 << 10);
	out.row++;
	out.caller = printable(&a, row->caller, SHORT);
	out.program = printable(&a, row->program, SHORT);
	out.parent = printable(&a, row->parent, SHORT);
	out.root = printable(&a, row->root, SHORT);
	out.verb = printable(&a, row->verb, SHORT);
	out.sandbox_id = printable(&a, row->sandbox_id, SHORT);
	out.sandbox = printable(&a, row->sandbox, SHORT);
	out.request_id = printable(&a, row->request_id, SHORT);
	out.verdict = audit_verdict_name(row->verdict);
	out.reason = printable(&a, row->reason, SHORT);
	out.detail = printable(&a, row->detail, AUDIT_DETAIL);
	audit_hash(&out, before, out.hash);
	rc = store_audit_append(s, &out, f);
	arena_release(&a);
	return rc;
}
