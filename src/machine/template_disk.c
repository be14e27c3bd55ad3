/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy of a template on disk: CACHE/templates/<key>/{memory,state,sum},
 * 0400. `memory` holds only the parts that are not zero:
 *
 *    "nacremm1" | bytes of memory | runs n | n x { offset, length } | data
 *
 * numbers of 8 bytes, little-endian (there is no other host). `sum` is JSON
 * with the SHA-256 of both files; a copy that does not fit it is damaged and
 * made anew. The folder appears whole, by a rename.
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/inner.h"

enum {
	PAGE = 4096,
	DIR_PATH = 512,
	STATE_BYTES = 64 << 20,
};
static const char magic[8] = { 'n', 'a', 'c', 'r', 'e', 'm', 'm', '1' };

struct run {
	uint64_t offset;
	uint64_t length;
};
struct head {
	char magic[8];
	uint64_t bytes;
	uint64_t runs;
};

static bool
is_zero(const uint8_t *page)
{
	return page[0] == 0 && memcmp(page, page + 1, PAGE - 1) == 0;
}

/* Runs of pages that are not zero within [from, to). */
static void
find_runs(const uint8_t *memory, uint64_t from, uint64_t to, struct run *runs,
    uint64_t *n)
{
	for (uint64_t at = from; at < to; at += PAGE) {
		if (is_zero(memory + at))
			continue;
		if (*n > 0 && runs[*n - 1].offset + runs[*n - 1].length == at)
			runs[*n - 1].length += PAGE;
		else
			runs[(*n)++] = (struct run){ at, PAGE };
	}
}

static uint64_t
find_all_runs(int fd, const uint8_t *memory, uint64_t bytes, struct run *runs)
{
	uint64_t n = 0;
	off_t at = 0;

	while ((uint64_t)at < bytes) {
		off_t data = lseek(fd, at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (hole < 0)
			return n;
		find_runs(memory, (uint64_t)data, (uint64_t)hole, runs, &n);
		at = hole;
	}
	return n;
}

static int
put(int fd, struct digest *d, const void *p, size_t n, struct fault *f)
{
	digest_update(d, span_of(p, n));
	return fd_write_all(fd, p, n, f);
}

static int
write_memory(int fd, const uint8_t *memory, const struct head *h,
    const struct run *runs, struct digest *d, struct fault *f)
{
	if (put(fd, d, h, sizeof(*h), f) != 0 ||
	    put(fd, d, runs, h->runs * sizeof(*runs), f) != 0)
		return -1;
	for (uint64_t i = 0; i < h->runs; i++)
		if (put(fd, d, memory + runs[i].offset, runs[i].length, f) != 0)
			return -1;
	return 0;
}

static void *
map(int fd, uint64_t bytes, int prot, struct fault *f)
{
	void *p = mmap(NULL, bytes, prot, MAP_SHARED, fd, 0);

	if (p != MAP_FAILED)
		return p;
	(void)fault_sys(f, "cannot map a template");
	return NULL;
}

static int
store_memory(int dir, const struct machine_template *t, char sum[MACHINE_KEY],
    struct fault *f)
{
	uint64_t bytes = (uint64_t)t->shape.memory_mib << 20;
	struct head h = { .bytes = bytes };
	with_fd out = openat(dir, "memory",
	    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	uint8_t raw[DIGEST_SIZE];
	struct digest d;
	struct run *runs;
	uint8_t *memory;
	int r;

	if (out < 0)
		return fault_sys(f, "cannot make 'memory'");
	memory = map(t->memory_fd, bytes, PROT_READ, f);
	if (!memory)
		return -1;
	/* At worst every other page is a run of its own. */
	runs = must_alloc((bytes / PAGE / 2 + 1) * sizeof(*runs));
	memcpy(h.magic, magic, sizeof(magic));
	h.runs = find_all_runs(t->memory_fd, memory, bytes, runs);
	digest_init(&d);
	r = write_memory(out, memory, &h, runs, &d, f);
	digest_final(&d, raw);
	hex_format(raw, sizeof(raw), sum);
	free(runs);
	(void)munmap(memory, bytes);
	return r;
}

/* A whole descriptor from its start. */
static int
read_state(int fd, struct buf *b, char sum[MACHINE_KEY], struct fault *f)
{
	uint8_t raw[DIGEST_SIZE];
	off_t at = 0;

	for (;;) {
		uint8_t *to = buf_room(b, 65536);
		ssize_t n;

		if (!to)
			return fault_set(f, FAULT_LIMIT, "a state is too long");
		n = pread(fd, to, 65536, at);
		if (n < 0)
			return fault_sys(f, "cannot read a state");
		if (n == 0)
			break;
		buf_grew(b, (size_t)n);
		at += n;
	}
	digest_of(buf_span(b), raw);
	hex_format(raw, sizeof(raw), sum);
	return 0;
}

static int
store_into(int dir, const struct machine_template *t, struct fault *f)
{
	char memory_sum[MACHINE_KEY];
	char state_sum[MACHINE_KEY];
	char text[256];
	struct buf state;
	with_fd out = -1;
	int r;

	if (store_memory(dir, t, memory_sum, f) != 0)
		return -1;
	buf_init(&state, STATE_BYTES);
	r = read_state(t->state_fd, &state, state_sum, f);
	out =
	    openat(dir, "state", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (r == 0 && out < 0)
		r = fault_sys(f, "cannot make 'state'");
	if (r == 0)
		r = fd_write_all(out, buf_ptr(&state), state.len, f);
	buf_release(&state);
	if (r != 0 ||
	    !text_fmt(text, sizeof(text),
		"{\"memory\":\"%s\",\"state\":\"%s\"}", memory_sum, state_sum))
		return -1;
	return file_write_atomic(dir, "sum", span_str(text), 0400, f);
}

static void
remove_folder(const char *path)
{
	static const char *const files[] = { "memory", "state", "sum" };
	with_fd dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	for (size_t i = 0; i < NELEM(files); i++)
		(void)unlinkat(dir, files[i], 0);
	(void)rmdir(path);
}

static bool
folder_path(const char *cache, const char *key, char out[DIR_PATH])
{
	return text_fmt(out, DIR_PATH, "%s/templates/%s", cache, key);
}

int
template_store(const char *cache, const struct machine_template *t,
    struct fault *f)
{
	char path[DIR_PATH];
	char part[DIR_PATH + 16];
	with_fd dir = -1;
	int r;

	if (!folder_path(cache, t->key, path))
		return fault_set(f, FAULT_INVALID,
		    "the cache path is too long");
	(void)text_fmt(part, sizeof(part), "%s.%d", path, (int)getpid());
	remove_folder(part);
	if (mkdir(part, 0700) != 0)
		return fault_sys(f, "cannot make '%s'", part);
	dir = open(part, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? fault_sys(f, "cannot open '%s'", part)
		    : store_into(dir, t, f);
	/* Somebody else's copy of the same is as good. */
	if (r == 0 && rename(part, path) != 0 && errno != EEXIST &&
	    errno != ENOTEMPTY)
		r = fault_sys(f, "cannot keep a template");
	remove_folder(part);
	return r;
}

void
machine_template_forget(const char *cache, const char *key)
{
	char path[DIR_PATH];

	if (folder_path(cache, key, path))
		remove_folder(path);
}

/* The runs ascend, lie inside and hold as much as the file has left. */
static int
check_runs(const struct head *h, const struct run *runs, uint64_t left,
    struct fault *f)
{
	uint64_t end = 0;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < h->runs; i++) {
		if (runs[i].offset < end || runs[i].offset > h->bytes ||
		    runs[i].length > h->bytes - runs[i].offset)
			return fault_set(f, FAULT_INVALID,
			    "the template's memory is damaged");
		end = runs[i].offset + runs[i].length;
		sum += runs[i].length;
	}
	if (sum != left)
		return fault_set(f, FAULT_INVALID,
		    "the template's memory is cut short");
	return 0;
}

static int
take(int fd, struct digest *d, void *p, size_t n, struct fault *f)
{
	if (fd_read_all(fd, p, n, f) != 0)
		return -1;
	digest_update(d, span_of(p, n));
	return 0;
}

static int
read_runs(int in, uint64_t size, int out, struct digest *d, struct fault *f)
{
	struct head h;
	struct run *runs;
	uint8_t *memory;
	uint64_t table;
	struct stat st;
	int r;

	if (take(in, d, &h, sizeof(h), f) != 0)
		return -1;
	if (memcmp(h.magic, magic, sizeof(magic)) != 0 || h.bytes != size ||
	    h.runs > size / PAGE || fstat(in, &st) != 0)
		return fault_set(f, FAULT_INVALID,
		    "the template's memory is damaged");
	table = h.runs * sizeof(*runs);
	runs = must_alloc(table + 1);
	r = take(in, d, runs, table, f);
	if (r == 0)
		r = check_runs(&h, runs,
		    (uint64_t)st.st_size - sizeof(h) - table, f);
	memory = r == 0 ? map(out, size, PROT_READ | PROT_WRITE, f) : NULL;
	if (!memory)
		r = -1;
	for (uint64_t i = 0; r == 0 && i < h.runs; i++)
		r = take(in, d, memory + runs[i].offset, runs[i].length, f);
	if (memory)
		(void)munmap(memory, size);
	free(runs);
	return r;
}

static int
load_memory(int dir, uint64_t size, int out, char sum[MACHINE_KEY],
    struct fault *f)
{
	with_fd in = openat(dir, "memory", O_RDONLY | O_CLOEXEC);
	uint8_t raw[DIGEST_SIZE];
	struct digest d;

	if (in < 0)
		return fault_sys(f, "cannot open 'memory'");
	digest_init(&d);
	if (read_runs(in, size, out, &d, f) != 0)
		return -1;
	digest_final(&d, raw);
	hex_format(raw, sizeof(raw), sum);
	return 0;
}

static int
load_state(int dir, int out, char sum[MACHINE_KEY], struct fault *f)
{
	with_fd in = openat(dir, "state", O_RDONLY | O_CLOEXEC);
	struct buf b;
	int r;

	if (in < 0)
		return fault_sys(f, "cannot open 'state'");
	buf_init(&b, STATE_BYTES);
	r = read_state(in, &b, sum, f);
	if (r == 0)
		r = fd_write_all(out, buf_ptr(&b), b.len, f);
	buf_release(&b);
	return r;
}

static int
check_sums(const char *path, const char *memory, const char *state,
    struct fault *f)
{
	char want_memory[MACHINE_KEY];
	char want_state[MACHINE_KEY];

	if (facts_get(path, "sum", "memory", want_memory, MACHINE_KEY) &&
	    facts_get(path, "sum", "state", want_state, MACHINE_KEY) &&
	    strcmp(memory, want_memory) == 0 && strcmp(state, want_state) == 0)
		return 0;
	return fault_set(f, FAULT_INVALID,
	    "the template on disk is not what was written");
}

int
template_load(const char *cache, struct machine_template *t, struct fault *f)
{
	uint64_t size = (uint64_t)t->shape.memory_mib << 20;
	char memory_sum[MACHINE_KEY];
	char state_sum[MACHINE_KEY];
	char path[DIR_PATH];
	with_fd dir = -1;
	with_fd memory = -1;
	with_fd state = -1;

	if (folder_path(cache, t->key, path))
		dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return fault_set(f, FAULT_NOT_FOUND, "no such template");
	if (dir < 0)
		return fault_sys(f, "cannot open '%s'", path);
	memory = memfd_new("nacre-template", size, f);
	if (memory < 0)
		return -1;
	state = memfd_new("nacre-state", 0, f);
	if (state < 0 || load_memory(dir, size, memory, memory_sum, f) != 0 ||
	    load_state(dir, state, state_sum, f) != 0 ||
	    check_sums(path, memory_sum, state_sum, f) != 0 ||
	    memfd_seal(memory, f) != 0 || memfd_seal(state, f) != 0)
		return -1;
	template_touch(dir);
	t->memory_fd = fd_take(&memory);
	t->state_fd = fd_take(&state);
	return 0;
}
