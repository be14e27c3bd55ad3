/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for secrets wherever a process can look: environment, command line,
 * descriptors, memory maps and memory of every process, all files, what the
 * kernel prints about sockets. Prints where one was found, and what could be
 * opened at all, a line a kind of place.
 *
 *   hunt MASKED...     each secret as hex of its bytes xor 0x5a, so that this
 *                      process and what started it do not hold it
 */
#include <sys/stat.h>
#include <sys/types.h>

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	MASK = 0x5a,
	SECRETS = 16,
	LONGEST = 128,
	STEP = 65536,
	DEPTH = 24
};

static struct secret {
	uint8_t masked[LONGEST];
	size_t n;
} secrets[SECRETS];
static size_t secrets_n;

static struct tally {
	const char *kind;
	unsigned opened;
	unsigned refused;
	unsigned found;
} tallies[] = { { "environ", 0, 0, 0 }, { "cmdline", 0, 0, 0 },
	{ "descriptors", 0, 0, 0 }, { "maps", 0, 0, 0 }, { "memory", 0, 0, 0 },
	{ "files", 0, 0, 0 }, { "kernel", 0, 0, 0 }, { "runtime", 0, 0, 0 } };

enum {
	ENVIRON,
	CMDLINE,
	DESCRIPTORS,
	MAPS,
	MEMORY,
	FILES,
	KERNEL,
	RUNTIME /* of process 1: all but its command line */
};

static void
read_secret(const char *hex)
{
	struct secret *s = &secrets[secrets_n++];

	for (; isxdigit((unsigned char)hex[0]) && s->n < LONGEST; hex += 2) {
		char pair[3] = { hex[0], hex[1], 0 };

		s->masked[s->n++] = (uint8_t)strtoul(pair, NULL, 16);
	}
}

/* Compared byte by byte in its masked form: it is never whole anywhere. */
static bool
holds(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < secrets_n; i++) {
		const struct secret *s = &secrets[i];
		uint8_t first = s->masked[0] ^ MASK;

		for (size_t at = 0; at + s->n <= n; at++) {
			size_t k = 0;
			const uint8_t *hit =
			    memchr(p + at, first, n - at - s->n + 1);

			if (!hit)
				break;
			at = (size_t)(hit - p);
			while (k < s->n && (hit[k] ^ MASK) == s->masked[k])
				k++;
			if (k == s->n)
				return true;
		}
	}
	return false;
}

static void
count(int kind, bool opened)
{
	if (opened)
		tallies[kind].opened++;
	else
		tallies[kind].refused++;
}

static void
found(int kind, const char *place)
{
	tallies[kind].found++;
	printf("found: %s: %s\n", tallies[kind].kind, place);
}

/* Bytes from..to of fd, steps overlapping by the longest secret. */
static bool
scan(int fd, uint64_t from, uint64_t to)
{
	static uint8_t bytes[STEP + LONGEST];
	size_t kept = 0;

	while (from < to) {
		size_t want = to - from < STEP ? (size_t)(to - from) : STEP;
		ssize_t n = pread(fd, bytes + kept, want, (off_t)from);

		if (n <= 0)
			return false;
		if (holds(bytes, kept + (size_t)n))
			return true;
		from += (uint64_t)n;
		n += (ssize_t)kept;
		kept = (size_t)n < LONGEST ? (size_t)n : LONGEST;
		memmove(bytes, bytes + n - kept, kept);
	}
	return false;
}

static void
scan_file(int kind, const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);

	count(kind, fd >= 0);
	if (fd < 0)
		return;
	if (scan(fd, 0, INT64_MAX))
		found(kind, path);
	(void)close(fd);
}

static void
scan_memory(int kind, const char *maps, const char *mem)
{
	FILE *in = fopen(maps, "re");
	int fd = open(mem, O_RDONLY);
	char line[512];

	count(kind, fd >= 0);
	while (in && fd >= 0 && fgets(line, sizeof(line), in)) {
		unsigned long from;
		unsigned long to;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%lx-%lx r", &from, &to) == 2 &&
		    scan(fd, from, to))
			found(kind, line);
	}
	if (in)
		(void)fclose(in);
	if (fd >= 0)
		(void)close(fd);
}

static void
scan_descriptors(int kind, const char *folder)
{
	DIR *d = opendir(folder);
	const struct dirent *e;

	if (!d)
		count(kind, false);
	while (d && (e = readdir(d))) {
		char path[700];
		char link[512];
		ssize_t n;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		n = readlink(path, link, sizeof(link));
		/* Root may list the numbers. */
		count(kind, n > 0);
		if (n > 0 && holds((uint8_t *)link, (size_t)n))
			found(kind, path);
		/* What it is open on, when that is a file. */
		if (n > 0 && link[0] == '/' && strncmp(link, "/dev/", 5) != 0)
			scan_file(kind, path);
	}
	if (d)
		(void)closedir(d);
}

static void
scan_process(const char *pid)
{
	bool one = strcmp(pid, "1") == 0;
	char path[300];
	char maps[300];

	(void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	scan_file(one ? RUNTIME : ENVIRON, path);
	(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
	scan_file(CMDLINE, path);
	(void)snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	scan_descriptors(one ? RUNTIME : DESCRIPTORS, path);
	(void)snprintf(maps, sizeof(maps), "/proc/%s/maps", pid);
	scan_file(one ? RUNTIME : MAPS, maps);
	(void)snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	scan_memory(one ? RUNTIME : MEMORY, maps, path);
}

static void
scan_tree(int kind, const char *folder, int depth)
{
	DIR *d = depth < DEPTH ? opendir(folder) : NULL;
	const struct dirent *e;

	if (!d)
		count(kind, false);
	while (d && (e = readdir(d))) {
		struct stat st;
		char path[4096];

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		if (lstat(path, &st) != 0)
			continue;
		if (S_ISDIR(st.st_mode)) {
			/* Processes are another matter. */
			if (kind != KERNEL ||
			    !isdigit((unsigned char)e->d_name[0]))
				scan_tree(kind, path, depth + 1);
		} else if (S_ISREG(st.st_mode)) {
			scan_file(kind, path);
		}
	}
	if (d)
		(void)closedir(d);
}

int
main(int argc, char **argv)
{
	static const char *const trees[] = { "/bin", "/etc", "/home", "/made",
		"/open", "/given", "/work", "/tmp", "/dev", "/run", "/usr",
		"/var", "/root" };
	DIR *d = opendir("/proc");
	const struct dirent *e;

	for (int i = 1; i < argc && i <= SECRETS; i++)
		read_secret(argv[i]);
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]))
			scan_process(e->d_name);
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++)
		scan_tree(FILES, trees[i], 0);
	scan_tree(KERNEL, "/proc", 0);
	scan_tree(KERNEL, "/sys", 0);
	for (size_t i = 0; i < sizeof(tallies) / sizeof(tallies[0]); i++)
		printf("%s: %s, found %u\n", tallies[i].kind,
		    tallies[i].opened ? "opened" : "nothing opened",
		    tallies[i].found);
	return 0;
}
