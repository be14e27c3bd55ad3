/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header fields: ours into nghttp2's form, the peer's gathered one block at
 * a time. Both are bounded by LIMIT_HEADERS, counted as RFC 9113 6.5.2 does
 * (name + value + 32).
 *
 * Tokens are indexed like all else (RFC 7541 7.1.3 advises against it where a
 * stranger's fields share the connection): on our connections every field is
 * ours, no intermediary reads them, and a guest need not send 450 bytes of
 * token with every call.
 */
#include <string.h>

#include "http/inner.h"

#define FIELD_COST 32

static bool
is_sound(const struct h2_header *h)
{
	size_t colon = h->name.len > 0 && h->name.ptr[0] == ':';

	return nghttp2_check_header_name(h->name.ptr, h->name.len) &&
	    h->name.len > colon &&
	    nghttp2_check_header_value_rfc9113(h->value.ptr, h->value.len);
}

static int
measure(const struct h2_header *hs, size_t n, size_t *bytes, struct fault *f)
{
	size_t cost = 0;

	*bytes = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_sound(&hs[i]))
			return fault_field(f, "header",
			    "header %zu has a name or value that cannot be sent",
			    i);
		if (hs[i].name.len > LIMIT_HEADERS ||
		    hs[i].value.len > LIMIT_HEADERS)
			return fault_set(f, FAULT_LIMIT,
			    "a header is too long");
		*bytes += hs[i].name.len + hs[i].value.len;
		cost += hs[i].name.len + hs[i].value.len + FIELD_COST;
		if (cost > LIMIT_HEADERS)
			return fault_set(f, FAULT_LIMIT,
			    "headers are over %d bytes", LIMIT_HEADERS);
	}
	return 0;
}

static uint8_t *
put(uint8_t **at, struct span s)
{
	uint8_t *to = *at;

	if (s.len)
		memcpy(to, s.ptr, s.len);
	*at += s.len;
	return to;
}

nghttp2_nv *
h2_header_pack(const struct h2_header *hs, size_t n, struct fault *f)
{
	nghttp2_nv *nv;
	uint8_t *text;
	size_t bytes;

	if (measure(hs, n, &bytes, f) != 0)
		return NULL;
	nv = must_alloc(n * sizeof(*nv) + bytes);
	text = (uint8_t *)(nv + n);
	for (size_t i = 0; i < n; i++) {
		nv[i].name = put(&text, hs[i].name);
		nv[i].namelen = hs[i].name.len;
		nv[i].value = put(&text, hs[i].value);
		nv[i].valuelen = hs[i].value.len;
		nv[i].flags = NGHTTP2_NV_FLAG_NONE;
	}
	return nv;
}

bool
h2_header_take(struct h2 *h, struct span name, struct span value)
{
	struct fault f = { 0 };
	struct h2_piece *p = &h->pieces[h->pieces_n];
	size_t cost = h->block.len + h->pieces_n * FIELD_COST;

	if (h->pieces_n == H2_FIELDS ||
	    cost + name.len + value.len + FIELD_COST > LIMIT_HEADERS)
		return false;
	p->name = h->block.len;
	p->name_len = name.len;
	p->value = h->block.len + name.len;
	p->value_len = value.len;
	if (buf_add(&h->block, name.ptr, name.len, &f) != 0 ||
	    buf_add(&h->block, value.ptr, value.len, &f) != 0)
		return false;
	h->pieces_n++;
	return true;
}

struct span
h2_find(const struct h2_header *hs, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(hs[i].name, name))
			return hs[i].value.ptr ? hs[i].value : SPAN_LIT("");
	return (struct span){ NULL, 0 };
}
