/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses as headers and back ("gRPC over HTTP2", Responses and Errors).
 * The number alone loses which refusal it was, so ours travels beside it as
 * nacre-reason and nacre-field; other peers ignore them. Pure.
 */
#include <string.h>

#include "rpc/inner.h"

static const char base64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Unpadded, as the paper wants it sent. */
static struct span
base64_format(struct span s, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len; i += 3) {
		size_t left = s.len - i;
		uint32_t v = (uint32_t)s.ptr[i] << 16;

		v |= left > 1 ? (uint32_t)s.ptr[i + 1] << 8 : 0;
		v |= left > 2 ? (uint32_t)s.ptr[i + 2] : 0;
		out[n++] = base64[v >> 18];
		out[n++] = base64[v >> 12 & 63];
		if (left > 1)
			out[n++] = base64[v >> 6 & 63];
		if (left > 2)
			out[n++] = base64[v & 63];
	}
	return span_of(out, n);
}

/* Padded or not; false when it is neither. */
static bool
base64_parse(struct span s, struct buf *out)
{
	struct fault f = { 0 };
	uint32_t v = 0;
	unsigned bits = 0;

	while (s.len > 0 && s.ptr[s.len - 1] == '=')
		s.len--;
	for (size_t i = 0; i < s.len; i++) {
		const char *at =
		    s.ptr[i] ? strchr(base64, (char)s.ptr[i]) : NULL;
		uint8_t byte;

		if (!at)
			return false;
		v = v << 6 | (uint32_t)(at - base64);
		bits += 6;
		if (bits < 8)
			continue;
		bits -= 8;
		byte = (uint8_t)(v >> bits);
		if (buf_add(out, &byte, 1, &f) != 0)
			return false;
	}
	return s.len % 4 != 1;
}

/* Only '%' and what is not printable ASCII: clients differ in the rest. */
static struct span
percent_format(const char *text, char out[STATUS_TEXT])
{
	static const char hex[] = "0123456789ABCDEF";
	size_t n = 0;

	for (const uint8_t *p = (const uint8_t *)text; *p; p++) {
		if (n + 3 >= STATUS_TEXT)
			break;
		if (*p >= 0x20 && *p <= 0x7e && *p != '%') {
			out[n++] = (char)*p;
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[*p >> 4];
		out[n++] = hex[*p & 15];
	}
	return span_of(out, n);
}

/* Blanks at the ends are no part of a header's value. */
static struct span
trim(struct span s)
{
	while (s.len > 0 && s.ptr[0] == ' ')
		s = span_from(s, 1);
	while (s.len > 0 && s.ptr[s.len - 1] == ' ')
		s.len--;
	return s;
}

static void
percent_parse(struct span s, char *out, size_t size)
{
	size_t n = 0;
	uint8_t byte;

	for (size_t i = 0; i < s.len && n + 1 < size; i++) {
		byte = s.ptr[i];
		if (byte == '%' && s.len - i > 2 &&
		    hex_parse(span_of(s.ptr + i + 1, 2), &byte, 1))
			i += 2;
		if (byte != 0)
			out[n++] = (char)byte;
	}
	out[n] = '\0';
}

size_t
status_headers(const struct fault *f, struct span detail, struct status_text *t,
    struct h2_header *hs)
{
	size_t n = 0;

	(void)text_fmt(t->number, sizeof(t->number), "%d", fault_grpc(f->code));
	if (f->code == FAULT_NONE)
		(void)text_copy(t->number, sizeof(t->number), SPAN_LIT("0"));
	hs[n++] = HEADER("grpc-status", span_str(t->number));
	if (f->code == FAULT_NONE)
		return n;
	hs[n++] =
	    HEADER("grpc-message", trim(percent_format(f->text, t->message)));
	hs[n++] = HEADER("nacre-reason", span_str(fault_reason(f->code)));
	if (f->field[0]) {
		text_escape(span_str(f->field), t->field, sizeof(t->field));
		hs[n++] = HEADER("nacre-field", trim(span_str(t->field)));
	}
	if (detail.len > 0 && detail.len <= STATUS_DETAIL)
		hs[n++] = HEADER("grpc-status-details-bin",
		    base64_format(detail, t->detail));
	return n;
}

/* The code that the reason names, if it belongs to that status. */
static enum fault_code
code_of(uint64_t status, struct span reason)
{
	char text[32];

	if (status == 0)
		return FAULT_NONE;
	if (reason.len > 0 && text_copy(text, sizeof(text), reason)) {
		enum fault_code code = fault_from_reason(text);

		if (code != FAULT_NONE && fault_grpc(code) == (int)status)
			return code;
	}
	if (status == 13)
		return FAULT_SYSTEM; /* INTERNAL of a stranger */
	return fault_from_grpc((int)status);
}

bool
status_parse(const struct h2_header *hs, size_t n, struct fault *f,
    struct buf *detail)
{
	struct span number = h2_find(hs, n, "grpc-status");
	struct span bin = h2_find(hs, n, "grpc-status-details-bin");
	uint64_t status;

	fault_clear(f);
	if (!number.ptr)
		return false;
	if (!num_parse(number, 1000, &status))
		status = 2;
	f->code = code_of(status, h2_find(hs, n, "nacre-reason"));
	if (f->code == FAULT_NONE)
		return true;
	percent_parse(h2_find(hs, n, "grpc-message"), f->text, sizeof(f->text));
	(void)text_copy(f->field, sizeof(f->field),
	    h2_find(hs, n, "nacre-field"));
	if (f->text[0] == '\0')
		(void)text_fmt(f->text, sizeof(f->text),
		    "the peer answered with status %u", (unsigned)status);
	if (!base64_parse(bin, detail))
		buf_clear(detail);
	return true;
}

void
status_from_http(int http, struct fault *f)
{
	enum fault_code code = FAULT_PROTOCOL;

	if (http == 401)
		code = FAULT_UNAUTHENTICATED;
	else if (http == 403)
		code = FAULT_REFUSED;
	else if (http == 404)
		code = FAULT_UNIMPLEMENTED;
	else if (http == 429 || (http >= 502 && http <= 504))
		code = FAULT_BUSY;
	(void)fault_set(f, code, "the peer answered with HTTP status %d", http);
}

void
status_from_reset(uint32_t error, struct fault *f)
{
	enum fault_code code = FAULT_PROTOCOL;

	if (error == H2_REFUSED_STREAM)
		code = FAULT_BUSY;
	else if (error == H2_CANCEL)
		code = FAULT_CANCELLED;
	else if (error == H2_ENHANCE_YOUR_CALM)
		code = FAULT_LIMIT;
	(void)fault_set(f, code, "the peer reset the stream (%u)", error);
}

/* 1 to 8 digits and a unit. */
bool
timeout_parse(struct span s, int64_t *ms)
{
	static const struct {
		char unit;
		int64_t ns;
	} units[] = {
		{ 'H', 3600000000000 },
		{ 'M', 60000000000 },
		{ 'S', 1000000000 },
		{ 'm', 1000000 },
		{ 'u', 1000 },
		{ 'n', 1 },
	};
	uint64_t value = 0;

	if (s.len < 2 || s.len > 9)
		return false;
	for (size_t i = 0; i + 1 < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(s.ptr[i] - '0');
	}
	for (size_t i = 0; i < NELEM(units); i++) {
		if (s.ptr[s.len - 1] != (uint8_t)units[i].unit)
			continue;
		if (units[i].ns >= 1000000)
			*ms = (int64_t)value * (units[i].ns / 1000000);
		else
			*ms = (int64_t)value * units[i].ns / 1000000;
		return true;
	}
	return false;
}

void
timeout_format(int64_t ms, char out[12])
{
	if (ms < 0)
		ms = 0;
	if (ms < 100000000)
		(void)text_fmt(out, 12, "%dm", (int)ms);
	else if (ms / 1000 < 100000000)
		(void)text_fmt(out, 12, "%dS", (int)(ms / 1000));
	else
		(void)text_fmt(out, 12, "99999999S");
}
