/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are kept in memory. What we write there is not counted in the
 * agent's cgroup, so its limit does not hold for a put: this asks whether the
 * machine has any to give.
 */
#include <linux/magic.h>
#include <sys/vfs.h>

#include <fcntl.h>

#include "supervisor/inner.h"

enum {
	SPARE_KIB = 8 << 10, /* that no put may take */
	MEMINFO = 8192
};

uint64_t
memory_available(struct span meminfo)
{
	static const char key[] = "MemAvailable:";

	while (meminfo.len > 0) {
		size_t n = span_find(meminfo, '\n');
		struct span line = span_of(meminfo.ptr, n);
		uint64_t kib;

		meminfo = span_from(meminfo, n < meminfo.len ? n + 1 : n);
		if (!span_starts(line, key))
			continue;
		line = span_from(line, sizeof(key) - 1);
		while (line.len > 0 && line.ptr[0] == ' ')
			line = span_from(line, 1);
		line.len = span_find(line, ' ');
		return num_parse(line, UINT64_MAX, &kib) ? kib : 0;
	}
	return 0;
}

bool
memory_holds(int fd, bool on_disk)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 &&
	    (fs.f_type == TMPFS_MAGIC ||
		(fs.f_type == OVERLAYFS_SUPER_MAGIC && !on_disk));
}

int
memory_check(struct fault *f)
{
	struct buf b;
	int r;

	buf_init(&b, MEMINFO);
	r = file_read(AT_FDCWD, "/proc/meminfo", &b, f);
	if (r == 0 && memory_available(buf_span(&b)) < SPARE_KIB)
		r = fault_set(f, FAULT_LIMIT, "the sandbox's memory is full");
	buf_release(&b);
	return r;
}
