/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts: the pattern of an endpoint and the name in a request. Both are in
 * lower case; an address has one text; a name that ends in a number, which a
 * resolver might take for an address, is neither.
 */
#include <string.h>

#include "policy/inner.h"

enum {
	LABEL = 63,
};

bool
policy_host_never(struct span host)
{
	return span_is(host, "localhost") ||
	    span_is(host, "metadata.google.internal");
}

static uint8_t
lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? c | 0x20 : c;
}

static bool
is_label_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
	    c == '_';
}

/* "7", "0x7f", "0x": what the URL standard reads as part of an IPv4. */
static bool
is_number(struct span label)
{
	bool hex = span_starts(label, "0x");

	for (size_t i = hex ? 2 : 0; i < label.len; i++) {
		uint8_t c = label.ptr[i];

		if (!(c >= '0' && c <= '9') && !(hex && c >= 'a' && c <= 'f'))
			return false;
	}
	return true;
}

static struct span
unbracketed(struct span s)
{
	if (s.len > 2 && s.ptr[0] == '[' && s.ptr[s.len - 1] == ']')
		return span_of(s.ptr + 1, s.len - 2);
	return s;
}

static bool
is_name(struct span s)
{
	for (;;) {
		size_t dot = span_find(s, '.');
		struct span label = span_of(s.ptr, dot);

		if (dot == 0 || dot > LABEL)
			return false;
		for (size_t i = 0; i < dot; i++)
			if (!is_label_byte(label.ptr[i]))
				return false;
		if (dot == s.len)
			return !is_number(label);
		s = span_from(s, dot + 1);
	}
}

bool
policy_host_canonical(struct span host, char *out, struct span *s)
{
	struct policy_address a;

	host = unbracketed(host);
	if (host.len == 0 || host.len > POLICY_HOST)
		return false;
	if (policy_address_parse(host, &a)) {
		policy_address_format(a, out);
		*s = span_str(out);
		return true;
	}
	for (size_t i = 0; i < host.len; i++)
		out[i] = (char)lower(host.ptr[i]);
	out[host.len] = '\0';
	*s = span_str(out);
	return s->len == host.len && is_name(*s);
}

/* --- patterns */

struct pattern {
	struct span text; /* lower case */
	bool wild;
	size_t after; /* labels after the last one with a wildcard */
};

static int
label_check(struct pattern *p, struct span label, bool is_first,
    struct fault *f)
{
	size_t stars = 0;

	if (label.len == 0)
		return fault_set(f, FAULT_INVALID,
		    "host has an empty label: a dot too many");
	for (size_t i = 0; i < label.len; i++)
		stars += label.ptr[i] == '*';
	p->after++;
	if (label.len - stars > LABEL)
		return fault_set(f, FAULT_INVALID,
		    "a label of a host has at most %d bytes", LABEL);
	if (stars == 0)
		return 0;
	p->wild = true;
	p->after = 0;
	if (span_is(label, "**") && !is_first)
		return fault_set(f, FAULT_INVALID,
		    "'**' may only be the first label of a host");
	if (!is_first && label.len > 1)
		return fault_set(f, FAULT_INVALID,
		    "'*' in a later label must be all of it");
	return 0;
}

static int
bytes_check(struct span s, struct fault *f)
{
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (is_label_byte(c) || c == '.' || c == '*')
			continue;
		if (c > ' ' && c <= '~')
			return fault_set(f, FAULT_INVALID,
			    "'%c' cannot be in a host: write a name or an "
			    "address without scheme, port or path",
			    c);
		return fault_set(f, FAULT_INVALID,
		    "byte \\x%02x cannot be in a host: write an "
		    "international name as xn--",
		    c);
	}
	return 0;
}

static int
pattern_check(struct pattern *p, struct fault *f)
{
	struct span left = p->text;
	struct span label;
	bool is_first = true;

	if (bytes_check(p->text, f) != 0)
		return -1;
	if (span_is(p->text, "*") || span_is(p->text, "**"))
		return fault_set(f, FAULT_INVALID,
		    "host '%.*s' is everything: name a domain, or leave host "
		    "out and write allowed_ips",
		    (int)p->text.len, (const char *)p->text.ptr);
	if (p->text.ptr[p->text.len - 1] == '.')
		return fault_set(f, FAULT_INVALID,
		    "host ends in a dot: remove it");
	for (;; is_first = false) {
		label = span_of(left.ptr, span_find(left, '.'));
		if (label_check(p, label, is_first, f) != 0)
			return -1;
		if (label.len == left.len)
			break;
		left = span_from(left, label.len + 1);
	}
	if (p->wild && p->after < 2)
		return fault_set(f, FAULT_INVALID,
		    "at least two labels must follow a wildcard: "
		    "'*.example.com'");
	if (is_number(label))
		return fault_set(f, FAULT_INVALID,
		    "host ends in a number but is no address: write four "
		    "decimal parts without leading zeros");
	return 0;
}

static int
address_read(struct policy_host *h, struct policy_address a, struct arena *m,
    struct fault *f)
{
	char text[POLICY_ADDRESS];
	struct span s;

	policy_address_format(a, text);
	if (policy_address_class(a) == POLICY_BLOCKED)
		return fault_set(f, FAULT_INVALID,
		    "%s is never reachable: remove it", text);
	s = span_str(text);
	h->kind = POLICY_HOST_ADDRESS;
	h->address = a;
	return policy_glob_read(&h->glob, POLICY_GLOB_HOST, s, m, f);
}

int
policy_host_read(struct policy_host *h, struct span text, struct arena *a,
    struct fault *f)
{
	uint8_t room[POLICY_HOST];
	struct pattern p = { .wild = false };
	struct policy_address address;

	text = unbracketed(text);
	if (text.len == 0 || text.len > POLICY_HOST)
		return fault_set(f, FAULT_INVALID, "host must have 1..%d bytes",
		    POLICY_HOST);
	if (policy_address_parse(text, &address))
		return address_read(h, address, a, f);
	for (size_t i = 0; i < text.len; i++)
		room[i] = lower(text.ptr[i]);
	p.text = span_of(room, text.len);
	if (pattern_check(&p, f) != 0)
		return -1;
	if (policy_host_never(p.text))
		return fault_set(f, FAULT_INVALID,
		    "'%.*s' is never reachable: remove it", (int)p.text.len,
		    (const char *)p.text.ptr);
	h->kind = p.wild ? POLICY_HOST_GLOB : POLICY_HOST_NAME;
	return policy_glob_read(&h->glob, POLICY_GLOB_HOST, p.text, a, f);
}

bool
policy_host_match(const struct policy_host *h, struct span host)
{
	struct policy_address a;

	if (h->kind == POLICY_HOST_NONE)
		return true;
	if (h->kind == POLICY_HOST_GLOB && policy_address_parse(host, &a))
		return false;
	return policy_glob_match(&h->glob, host);
}

bool
policy_hosts_meet(const struct policy_host *a, const struct policy_host *b,
    uint64_t *steps)
{
	if (a->kind == POLICY_HOST_NONE || b->kind == POLICY_HOST_NONE)
		return true;
	if (a->kind != b->kind &&
	    (a->kind == POLICY_HOST_ADDRESS || b->kind == POLICY_HOST_ADDRESS))
		return false;
	return policy_globs_meet(&a->glob, &b->glob, steps);
}
