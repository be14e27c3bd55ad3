/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests of executables that no import knows: a slice a tick, so that the
 * loop never waits for a file, and once for each (inode, ctime, size).
 *
 * The bytes are under a lease from the look at the process until they are
 * hashed (evidence.c), so nobody writes to them meanwhile. What a digest is
 * kept by is another matter. ctime moves in steps of a timer tick (10 ms in
 * our guest), and two writes in one tick give one key: so a key counts only
 * when it was read in a later tick than its own (git calls an entry that is
 * not like that racily clean). A clock that is set back does not come by the
 * same nanosecond again. tmpfs gives no new ctime to what is written through
 * a mapping: nothing of it is kept.
 */
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/evidence.h"

enum {
	AHEAD_S = 1 /* a change so far ahead: the clock was set back since */
};

bool
hash_key_settled(const struct hash_key *k, const struct timespec *then)
{
	if (k->ctime_s - then->tv_sec > AHEAD_S)
		return true;
	return then->tv_sec != k->ctime_s ? then->tv_sec > k->ctime_s
					  : then->tv_nsec > k->ctime_ns;
}

bool
hash_key_read(int fd, struct hash_key *k)
{
	struct stat st;

	memset(k, 0, sizeof(*k)); /* it is compared whole */
	if (fstat(fd, &st) != 0)
		return false;
	k->device = st.st_dev;
	k->inode = st.st_ino;
	k->size = (uint64_t)st.st_size;
	k->ctime_s = st.st_ctim.tv_sec;
	k->ctime_ns = st.st_ctim.tv_nsec;
	return true;
}

static bool
is_key(const struct hash_key *a, const struct hash_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

static bool
find_cached(struct hasher *h, const struct hash_key *k, struct program *p)
{
	for (size_t i = 0; i < EVIDENCE_CACHE; i++) {
		if (h->cache[i].used == 0 || !is_key(&h->cache[i].key, k))
			continue;
		h->cache[i].used = ++h->uses;
		memcpy(p->digest, h->cache[i].digest, DIGEST_SIZE);
		p->has_digest = true;
		return true;
	}
	return false;
}

static void
keep(struct hasher *h, const struct hash_key *k, const uint8_t *digest)
{
	size_t oldest = 0;

	for (size_t i = 1; i < EVIDENCE_CACHE; i++)
		if (h->cache[i].used < h->cache[oldest].used)
			oldest = i;
	h->cache[oldest].key = *k;
	h->cache[oldest].used = ++h->uses;
	memcpy(h->cache[oldest].digest, digest, DIGEST_SIZE);
}

static void
begin(struct hasher *h)
{
	digest_init(&h->sum);
	h->at = 0;
	memset(&h->key, 0, sizeof(h->key));
	if (h->first)
		loop_later(h->loop, &h->turn);
}

/* The first job is over. */
static void
finish(struct hasher *h, enum program_state state)
{
	struct hash_job *j = h->first;
	struct evidence *e = j->of;

	e->program.state = state;
	h->first = j->next;
	j->is_queued = false;
	evidence_let_go(e);
	begin(h);
	j->done(j);
}

static void
finish_whole(struct hasher *h)
{
	struct program *p = &h->first->of->program;
	int file = h->first->of->file;
	struct hash_key now;
	struct statfs fs;

	/* Still the bytes that were begun with, and nobody waits to write? */
	if (!hash_key_read(file, &now) || !is_key(&now, &h->key) ||
	    fcntl(file, F_GETLEASE) != F_RDLCK || fstatfs(file, &fs) != 0) {
		finish(h, PROGRAM_CHANGED);
		return;
	}
	digest_final(&h->sum, p->digest);
	p->has_digest = true;
	if (fs.f_type != TMPFS_MAGIC)
		keep(h, &now, p->digest);
	finish(h, PROGRAM_FILE);
}

static void
hash_slice(struct deferred *d)
{
	struct hasher *h = CONTAINER_OF(d, struct hasher, turn);
	static uint8_t bytes[EVIDENCE_SLICE];
	struct hash_job *j = h->first;
	ssize_t n;

	if (!j)
		return;
	if (h->at == 0) {
		if (!hash_key_read(j->of->file, &h->key) ||
		    h->key.size > EVIDENCE_FILE) {
			finish(h, PROGRAM_UNREADABLE);
			return;
		}
		/* What nobody runs any more can be truncated. */
		if (!is_key(&h->key, &j->of->key)) {
			finish(h, PROGRAM_CHANGED);
			return;
		}
		/* Another job may have hashed the same file meanwhile. */
		if (find_cached(h, &h->key, &j->of->program)) {
			finish(h, PROGRAM_FILE);
			return;
		}
	}
	n = pread(j->of->file, bytes, sizeof(bytes), (off_t)h->at);
	if (n < 0 || h->at > EVIDENCE_FILE) {
		finish(h, PROGRAM_UNREADABLE);
		return;
	}
	if (n == 0) {
		finish_whole(h);
		return;
	}
	digest_update(&h->sum, span_of(bytes, (size_t)n));
	h->at += (uint64_t)n;
	loop_later(h->loop, &h->turn);
}

void
hasher_init(struct hasher *h, struct loop *l)
{
	*h = (struct hasher){ .loop = l, .turn = { .run = hash_slice } };
}

void
hasher_release(struct hasher *h)
{
	loop_deferred_drop(h->loop, &h->turn);
}

bool
hasher_add(struct hasher *h, struct hash_job *j)
{
	struct evidence *e = j->of;
	struct hash_job **last = &h->first;

	if (e->file < 0)
		return true;
	if (find_cached(h, &e->key, &e->program)) {
		evidence_let_go(e);
		return true;
	}
	j->next = NULL;
	j->is_queued = true;
	while (*last)
		last = &(*last)->next;
	*last = j;
	if (h->first == j)
		begin(h);
	return false;
}

void
hasher_drop(struct hasher *h, struct hash_job *j)
{
	struct hash_job **at = &h->first;
	bool was_first = h->first == j;

	if (!j->is_queued)
		return;
	while (*at && *at != j)
		at = &(*at)->next;
	if (*at)
		*at = j->next;
	j->is_queued = false;
	if (was_first)
		begin(h);
}
