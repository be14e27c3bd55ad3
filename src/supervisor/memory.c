/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are kept in memory. What we write there is not counted in the
 * agent's cgroup, so its limit does not hold for a put. So a put is refused
 * when all memory files of the machine, and what else the agent has, would be
 * over the agent's limit; and when the machine has none to give.
 */
#include <linux/magic.h>
#include <sys/vfs.h>

#include <fcntl.h>
#include <string.h>

#include "supervisor/inner.h"

enum {
	SPARE_KIB = 8 << 10, /* that no put may take */
	MEMORY_TEXT = 16384
};

uint64_t
memory_number(struct span text, const char *key)
{
	while (text.len > 0) {
		size_t n = span_find(text, '\n');
		struct span line = span_of(text.ptr, n);
		uint64_t number;

		text = span_from(text, n < text.len ? n + 1 : n);
		if (!span_starts(line, key))
			continue;
		line = span_from(line, strlen(key));
		while (line.len > 0 && line.ptr[0] == ' ')
			line = span_from(line, 1);
		line.len = span_find(line, ' ');
		return num_parse(line, UINT64_MAX, &number) ? number : 0;
	}
	return 0;
}

static int
read_number(const char *path, const char *key, uint64_t *out, struct fault *f)
{
	struct buf b;
	int r;

	buf_init(&b, MEMORY_TEXT);
	r = file_read(AT_FDCWD, path, &b, f);
	*out = r == 0 ? memory_number(buf_span(&b), key) : 0;
	buf_release(&b);
	return r;
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
memory_check(uint64_t most, struct fault *f)
{
	static const char host[] = "/proc/meminfo";
	static const char agent[] = "/sys/fs/cgroup/agent/memory.stat";
	static const char all[] = "/sys/fs/cgroup/agent/memory.current";
	uint64_t available;
	uint64_t files;
	uint64_t agents;
	uint64_t its_files;

	if (read_number(host, "MemAvailable:", &available, f) != 0 ||
	    read_number(host, "Shmem:", &files, f) != 0 ||
	    read_number(all, "", &agents, f) != 0 ||
	    read_number(agent, "file ", &its_files, f) != 0)
		return -1;
	/* Its memory files are in both sums; the rest of its files is cache,
	 * which goes when it is in the way. */
	agents -= its_files < agents ? its_files : agents;
	if (available < SPARE_KIB || files * 1024 + agents > most)
		return fault_set(f, FAULT_LIMIT,
		    "the sandbox's memory is full: %llu of %llu MiB",
		    (unsigned long long)((files * 1024 + agents) >> 20),
		    (unsigned long long)(most >> 20));
	return 0;
}
