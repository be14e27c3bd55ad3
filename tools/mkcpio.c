/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write the guest's initramfs from a list, as an uncompressed "newc" cpio
 * (Linux Documentation/driver-api/early-userspace/buffer-format.rst).
 * The same list and files give the same bytes for every user on every host:
 * owner 0, time 0, inode numbers counted from 1. Needs no privilege.
 *
 *   mkcpio LIST FOLDER > ARCHIVE       sources are looked up in FOLDER
 */
#include <sys/stat.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 64

struct entry {
	char kind[8];
	char path[128];
	char arg[3][128]; /* mode and numbers, mode and source, or target */
	unsigned inode;
	unsigned links;
};

static struct entry entries[MAX_ENTRIES];
static unsigned n_entries;

static unsigned
number(const char *text, int base)
{
	char *end;
	unsigned long n = strtoul(text, &end, base);

	if (*text == '\0' || *end != '\0' || n > 0xffffffffUL)
		errx(1, "not a number: '%s'", text);
	return (unsigned)n;
}

static void
pad(size_t written)
{
	for (; written % 4 != 0; written++)
		putchar(0);
}

static void
header(const struct entry *e, const char *path, unsigned mode, size_t size)
{
	unsigned major = 0, minor = 0;
	size_t len = strlen(path) + 1;

	if (strcmp(e->kind, "node") == 0) {
		major = number(e->arg[1], 10);
		minor = number(e->arg[2], 10);
	}
	printf("070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
	    e->inode, mode, 0U, 0U, e->links, 0U, (unsigned)size, 0U, 0U, major,
	    minor, (unsigned)len, 0U);
	fwrite(path, 1, len, stdout);
	pad(110 + len);
}

static void
file(const struct entry *e, const char *folder)
{
	char name[512], block[65536];
	struct stat st;
	size_t n, sum = 0;
	FILE *in;

	snprintf(name, sizeof(name), "%s/%s", folder, e->arg[1]);
	in = fopen(name, "rb");
	if (in == NULL || fstat(fileno(in), &st) == -1)
		err(1, "cannot open '%s'", name);
	header(e, e->path + 1, S_IFREG | number(e->arg[0], 8),
	    (size_t)st.st_size);
	while ((n = fread(block, 1, sizeof(block), in)) > 0) {
		fwrite(block, 1, n, stdout);
		sum += n;
	}
	if (ferror(in) || sum != (size_t)st.st_size)
		errx(1, "'%s' changed while it was read", name);
	fclose(in);
	pad(sum);
}

/* A further name for an earlier file: the same inode, no bytes of its own. */
static const struct entry *
target(const struct entry *e)
{
	for (unsigned i = 0; i < n_entries; i++)
		if (strcmp(entries[i].kind, "file") == 0 &&
		    strcmp(entries[i].path, e->arg[0]) == 0)
			return &entries[i];
	errx(1, "'%s' links to '%s', which is not a file above it", e->path,
	    e->arg[0]);
}

static void
read_list(const char *list)
{
	char line[512];
	FILE *in = fopen(list, "r");

	if (in == NULL)
		err(1, "cannot open '%s'", list);
	while (fgets(line, sizeof(line), in) != NULL) {
		struct entry *e = &entries[n_entries];

		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (n_entries == MAX_ENTRIES)
			errx(1, "'%s' has over %d entries", list, MAX_ENTRIES);
		if (sscanf(line, "%7s %127s %127s %127s %127s", e->kind,
			e->path, e->arg[0], e->arg[1], e->arg[2]) < 3 ||
		    e->path[0] != '/')
			errx(1, "cannot read this line of '%s': %s", list,
			    line);
		e->inode = ++n_entries;
		e->links = 1;
		if (strcmp(e->kind, "link") == 0)
			e->inode = target(e)->inode;
	}
	fclose(in);
	for (unsigned i = 0; i < n_entries; i++)
		for (unsigned j = 0; j < n_entries; j++)
			if (i != j && entries[i].inode == entries[j].inode)
				entries[i].links++;
}

int
main(int argc, char **argv)
{
	struct entry trailer = { .links = 1 };

	if (argc != 3)
		errx(1, "usage: mkcpio LIST FOLDER > ARCHIVE");
	read_list(argv[1]);
	for (unsigned i = 0; i < n_entries; i++) {
		const struct entry *e = &entries[i];

		if (strcmp(e->kind, "dir") == 0)
			header(e, e->path + 1, S_IFDIR | number(e->arg[0], 8),
			    0);
		else if (strcmp(e->kind, "node") == 0)
			header(e, e->path + 1, S_IFCHR | number(e->arg[0], 8),
			    0);
		else if (strcmp(e->kind, "link") == 0)
			header(e, e->path + 1,
			    S_IFREG | number(target(e)->arg[0], 8), 0);
		else if (strcmp(e->kind, "file") == 0)
			file(e, argv[2]);
		else
			errx(1, "unknown kind '%s'", e->kind);
	}
	header(&trailer, "TRAILER!!!", 0, 0);
	if (fflush(stdout) != 0 || ferror(stdout))
		err(1, "cannot write");
	return 0;
}
