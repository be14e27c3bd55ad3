/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template.resources. A google.protobuf.Struct may nest without bound, so it
 * is walked here to the three levels that mean something, and no further.
 *   Struct { map<string, Value> fields = 1 }; an entry is { key = 1, value = 2 }
 *   Value { number = 2 (double), string = 3, struct = 5, others }
 */
#include <string.h>

#include "gateway/check.h"

enum {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
	VALUE_NUMBER = 2,
	VALUE_STRING = 3,
	VALUE_STRUCT = 5,
	DEFAULT_CPUS = 1,
	DEFAULT_MEMORY_MIB = 512,
};

struct field {
	uint64_t number;
	unsigned type;
	uint64_t n;        /* of a varint or a fixed one */
	struct span bytes; /* of a length-delimited one */
};

static bool
take_varint(struct span *s, uint64_t *out)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && s->len > 0; shift += 7) {
		uint8_t byte = s->ptr[0];

		*s = span_from(*s, 1);
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*out = v;
			return true;
		}
	}
	return false;
}

static bool
take_fixed(struct span *s, size_t n, uint64_t *out)
{
	uint64_t v = 0;

	if (s->len < n)
		return false;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)s->ptr[i] << (8 * i);
	*s = span_from(*s, n);
	*out = v;
	return true;
}

static bool
take_field(struct span *s, struct field *out)
{
	uint64_t tag;
	uint64_t len;

	memset(out, 0, sizeof(*out));
	if (!take_varint(s, &tag))
		return false;
	out->number = tag >> 3;
	out->type = (unsigned)(tag & 7);
	if (out->type == WIRE_VARINT)
		return take_varint(s, &out->n);
	if (out->type == WIRE_FIXED64)
		return take_fixed(s, 8, &out->n);
	if (out->type == WIRE_FIXED32)
		return take_fixed(s, 4, &out->n);
	if (out->type != WIRE_BYTES || !take_varint(s, &len) || len > s->len)
		return false;
	out->bytes = span_of(s->ptr, (size_t)len);
	*s = span_from(*s, (size_t)len);
	return true;
}

static int
malformed(struct fault *f)
{
	return fault_field(f, "resources", "resources are not well formed");
}

/* Take the next entry of a Struct: 1, 0 at its end, -1. */
static int
next_entry(struct span *fields, struct span *key, struct span *value,
    struct fault *f)
{
	struct field entry;
	struct field part;
	struct span rest;

	if (fields->len == 0)
		return 0;
	if (!take_field(fields, &entry) || entry.number != 1 ||
	    entry.type != WIRE_BYTES)
		return malformed(f);
	rest = entry.bytes;
	*key = *value = span_of(NULL, 0);
	while (rest.len > 0) {
		if (!take_field(&rest, &part) || part.type != WIRE_BYTES)
			return malformed(f);
		if (part.number == 1)
			*key = part.bytes;
		else if (part.number == 2)
			*value = part.bytes;
	}
	return 1;
}

/* The last member of a Value that is there counts, as protobuf has it. */
static int
read_value(struct span value, struct field *out, struct fault *f)
{
	memset(out, 0, sizeof(*out));
	while (value.len > 0) {
		if (!take_field(&value, out))
			return malformed(f);
	}
	return 0;
}

/* Decimal digits, then at most one dot and digits: value in thousandths. */
static bool
parse_milli(struct span s, uint64_t *milli)
{
	size_t dot = span_find(s, '.');
	struct span fraction = span_from(s, dot + 1);
	uint64_t whole = 0;
	uint64_t part = 0;

	if (!num_parse(span_of(s.ptr, dot), UINT64_C(1) << 50, &whole))
		return false;
	if (dot < s.len && (fraction.len == 0 || fraction.len > 3))
		return false;
	for (size_t i = 0; i < 3; i++) {
		uint8_t c = i < fraction.len ? fraction.ptr[i] : '0';

		if (c < '0' || c > '9')
			return false;
		part = part * 10 + (uint64_t)(c - '0');
	}
	*milli = whole * 1000 + part;
	return true;
}

/* "2", "1.5", "500m": whole cpus, rounded up. */
static bool
parse_cpu(struct span s, uint64_t *cpus)
{
	uint64_t milli;

	if (s.len > 1 && s.ptr[s.len - 1] == 'm') {
		if (!num_parse(span_of(s.ptr, s.len - 1), 1 << 20, &milli))
			return false;
	} else if (!parse_milli(s, &milli)) {
		return false;
	}
	*cpus = (milli + 999) / 1000;
	return true;
}

/* "512Mi", "1.5Gi", "1G", bytes: MiB, rounded up. */
static bool
parse_memory(struct span s, uint64_t *mib)
{
	static const struct {
		const char *suffix;
		uint64_t bytes;
	} units[] = {
		{ "Ki", UINT64_C(1) << 10 },
		{ "Mi", UINT64_C(1) << 20 },
		{ "Gi", UINT64_C(1) << 30 },
		{ "k", UINT64_C(1000) },
		{ "M", UINT64_C(1000000) },
		{ "G", UINT64_C(1000000000) },
		{ "", 1 },
	};

	for (size_t i = 0; i < NELEM(units); i++) {
		size_t n = strlen(units[i].suffix);
		uint64_t milli;

		if (s.len <= n ||
		    memcmp(s.ptr + s.len - n, units[i].suffix, n) != 0)
			continue;
		if (!parse_milli(span_of(s.ptr, s.len - n), &milli) ||
		    milli > (UINT64_C(1) << 53) / units[i].bytes)
			return false;
		*mib = (milli * units[i].bytes / 1000 + (1 << 20) - 1) >> 20;
		return true;
	}
	return false;
}

/* A quantity may also be a JSON number. */
static bool
quantity_text(const struct field *v, char *out, size_t size)
{
	double d;

	if (v->number == VALUE_STRING && v->type == WIRE_BYTES)
		return text_copy(out, size, v->bytes);
	if (v->number != VALUE_NUMBER || v->type != WIRE_FIXED64)
		return false;
	memcpy(&d, &v->n, sizeof(d));
	if (!(d >= 0) || d > 1e15)
		return false;
	return text_fmt(out, size, "%llu.%03u", (unsigned long long)d,
	    (unsigned)((d - (double)(unsigned long long)d) * 1000));
}

static int
read_limit(struct span key, struct span value, struct resources *r,
    struct fault *f)
{
	bool is_cpu = span_is(key, "cpu");
	struct field v;
	char text[64];
	uint64_t n = 0;

	if (!is_cpu && !span_is(key, "memory"))
		return fault_field(f, "resources",
		    "resources: only cpu and memory can be limited");
	if (read_value(value, &v, f) < 0)
		return -1;
	if (!quantity_text(&v, text, sizeof(text)) ||
	    !(is_cpu ? parse_cpu(span_str(text), &n)
		     : parse_memory(span_str(text), &n)))
		return fault_field(f, is_cpu ? "cpus" : "memory",
		    "%s is not a quantity like '2' or '512Mi'",
		    is_cpu ? "cpu" : "memory");
	if (n == 0 || n > UINT32_MAX)
		n = UINT32_MAX;
	if (is_cpu)
		r->cpus = (uint32_t)n;
	else
		r->memory_mib = (uint32_t)n;
	return 0;
}

static int
read_limits(struct span value, struct resources *r, struct fault *f)
{
	struct span entry_value = { 0 };
	struct span key = { 0 };
	struct field v;
	int got;

	if (read_value(value, &v, f) < 0)
		return -1;
	if (v.number != VALUE_STRUCT || v.type != WIRE_BYTES)
		return fault_field(f, "resources",
		    "resources: limits and requests are objects");
	while ((got = next_entry(&v.bytes, &key, &entry_value, f)) > 0) {
		if (read_limit(key, entry_value, r, f) < 0)
			return -1;
	}
	return got;
}

int
check_resources(struct span bytes, struct resources *r, struct fault *f)
{
	struct resources requests = { 0 };
	struct span value = { 0 };
	struct span key = { 0 };
	int got;

	memset(r, 0, sizeof(*r));
	while ((got = next_entry(&bytes, &key, &value, f)) > 0) {
		if (span_is(key, "limits")) {
			if (read_limits(value, r, f) < 0)
				return -1;
		} else if (span_is(key, "requests")) {
			if (read_limits(value, &requests, f) < 0)
				return -1;
		} else {
			return fault_field(f, "resources",
			    "resources: only limits and requests are known");
		}
	}
	if (r->cpus == 0)
		r->cpus = requests.cpus;
	if (r->memory_mib == 0)
		r->memory_mib = requests.memory_mib;
	return got;
}

int
check_size(struct resources *r, struct fault *f)
{
	uint32_t memory = LIMIT_MEMORY_LEAST_MIB;

	if (r->cpus == 0)
		r->cpus = DEFAULT_CPUS;
	if (r->memory_mib == 0)
		r->memory_mib = DEFAULT_MEMORY_MIB;
	if (r->cpus > LIMIT_CPUS)
		return fault_field(f, "cpus", "cpus must be 1 to %d",
		    LIMIT_CPUS);
	if (r->memory_mib < LIMIT_MEMORY_LEAST_MIB ||
	    r->memory_mib > LIMIT_MEMORY_MIB)
		return fault_field(f, "memory", "memory must be %d to %d MiB",
		    LIMIT_MEMORY_LEAST_MIB, LIMIT_MEMORY_MIB);
	while (memory < r->memory_mib)
		memory *= 2;
	r->memory_mib = memory;
	return 0;
}
