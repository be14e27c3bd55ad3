/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about shapes, phases and the console's text. */
#include "machine/inner.h"

const char *
machine_accel_name(enum machine_accel a)
{
	switch (a) {
	case MACHINE_AUTO:
		return "auto";
	case MACHINE_TCG:
		return "tcg";
	case MACHINE_KVM:
		return "kvm";
	}
	return "?";
}

bool
machine_accel_parse(struct span s, enum machine_accel *out)
{
	static const enum machine_accel all[] = { MACHINE_AUTO, MACHINE_TCG,
		MACHINE_KVM };

	for (size_t i = 0; i < NELEM(all); i++)
		if (span_is(s, machine_accel_name(all[i]))) {
			*out = all[i];
			return true;
		}
	return false;
}

const char *
machine_phase_name(enum machine_phase p)
{
	switch (p) {
	case MACHINE_STARTING:
		return "starting";
	case MACHINE_WAITING:
		return "waiting";
	case MACHINE_PARKED:
		return "parked";
	case MACHINE_ASSIGNED:
		return "assigned";
	case MACHINE_CONNECTED:
		return "connected";
	case MACHINE_ENDED:
		return "ended";
	}
	return "?";
}

int
machine_shape_check(const struct machine_shape *s, struct fault *f)
{
	bool power = s->memory_mib && !(s->memory_mib & (s->memory_mib - 1));

	if (!power || s->memory_mib < LIMIT_MEMORY_LEAST_MIB ||
	    s->memory_mib > LIMIT_MEMORY_MIB)
		return fault_field(f, "memory",
		    "memory is %d, %d ... %d MiB: a power of two",
		    LIMIT_MEMORY_LEAST_MIB, 2 * LIMIT_MEMORY_LEAST_MIB,
		    LIMIT_MEMORY_MIB);
	if (s->vcpus < 1 || s->vcpus > LIMIT_CPUS)
		return fault_field(f, "cpus", "cpus is 1 to %d", LIMIT_CPUS);
	return 0;
}

/* Lines stay lines; everything else that is not text is escaped. */
int
machine_console(struct machine *m, struct buf *b, uint64_t *dropped,
    struct fault *f)
{
	static uint8_t raw[CONSOLE_RING];
	static char shown[4 * CONSOLE_RING];
	struct span left =
	    span_of(raw, console_tail(&m->console, raw, sizeof(raw)));

	*dropped = m->console.dropped;
	while (left.len > 0) {
		size_t n = span_find(left, '\n');
		struct span line = span_of(left.ptr, n);

		if (n > 0 && left.ptr[n - 1] == '\r')
			line.len--;
		text_escape(line, shown, sizeof(shown));
		if (buf_add(b, shown, span_str(shown).len, f) != 0)
			return -1;
		if (n < left.len && buf_add(b, "\n", 1, f) != 0)
			return -1;
		left = span_from(left, n + 1);
	}
	return 0;
}
