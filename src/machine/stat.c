/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a VMM has for itself, from /proc/PID/smaps: anonymous pages
 * (guest pages count once they were written to: "Private_Dirty" would also
 * count the template's while only one clone maps them), and among them
 * translated code (executable, without a file). The host's memory that is
 * still to be had.
 */
#include <stdio.h>
#include <string.h>

#include "machine/inner.h"

/* "Private_Dirty:   12 kB": the bytes; 0 for other lines. */
static uint64_t
field(const char *line, const char *name)
{
	size_t n = strlen(name);
	struct span s;
	uint64_t kib = 0;

	if (strncmp(line, name, n) != 0)
		return 0;
	s = span_str(line + n);
	s = span_from(s, strspn(line + n, " "));
	if (!num_parse(span_of(s.ptr, span_find(s, ' ')), 1ULL << 40, &kib))
		return 0;
	return kib << 10;
}

/* A mapping's first line begins with an address, a field's with a capital. */
static bool
is_mapping(const char *line)
{
	return (line[0] >= '0' && line[0] <= '9') ||
	    (line[0] >= 'a' && line[0] <= 'f');
}

/* "7f..-7f.. rwxp 00000000 00:00 0": executable and without a name. */
static bool
is_code(const char *line)
{
	char perms[5] = "";
	char name[8] = "";

	return sscanf(line, "%*s %4s %*s %*s %*s %7s", perms, name) == 1 &&
	    strchr(perms, 'x');
}

void
machine_smaps(struct machine *m, struct machine_stat *out)
{
	char path[64];
	char line[512];
	bool code = false;
	FILE *file;

	out->private_bytes = out->code_bytes = 0;
	if (m->pid == 0)
		return;
	(void)text_fmt(path, sizeof(path), "/proc/%d/smaps", (int)m->pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		uint64_t bytes;

		if (is_mapping(line)) {
			code = is_code(line);
			continue;
		}
		bytes = field(line, "Anonymous:");
		out->private_bytes += bytes;
		if (code)
			out->code_bytes += bytes;
	}
	(void)fclose(file);
}

uint64_t
machine_host_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t bytes = 0;
	char line[256];

	while (file && bytes == 0 && fgets(line, sizeof(line), file))
		bytes = field(line, "MemAvailable:");
	if (file)
		(void)fclose(file);
	return bytes;
}
