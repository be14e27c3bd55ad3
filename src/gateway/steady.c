/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept as the boot it belongs to and what is to be added to its clock; of
 * another boot it says nothing, and no machine has outlived that.
 */
#include <fcntl.h>
#include <string.h>

#include "gateway/steady.h"

#define SETTING "clock"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

enum {
	TEXT = LIMIT_ID + 32, /* "ID MS" */
};

static int
read_boot(char id[LIMIT_ID + 1], struct fault *f)
{
	struct span text;
	struct buf b;
	int rc;

	buf_init(&b, 2 * LIMIT_ID);
	rc = file_read(AT_FDCWD, BOOT_ID, &b, f);
	text = buf_span(&b);
	text.len = span_find(text, '\n');
	if (rc == 0 &&
	    (!identity_is_id(text) || !text_copy(id, LIMIT_ID + 1, text)))
		rc = fault_set(f, FAULT_SYSTEM, "'%s' names no boot", BOOT_ID);
	buf_release(&b);
	return rc;
}

/* False: there is none of this boot. */
static bool
read_kept(const char *boot, struct span kept, int64_t *ms)
{
	uint64_t n;

	if (!span_starts(kept, boot) ||
	    !span_starts(span_from(kept, LIMIT_ID), " ") ||
	    !num_parse(span_from(kept, LIMIT_ID + 1), INT64_MAX / 2, &n))
		return false;
	*ms = (int64_t)n;
	return true;
}

static int
keep(struct gateway *g, const char *boot, struct fault *f)
{
	char text[TEXT];

	(void)text_fmt(text, sizeof(text), "%s %lld", boot,
	    (long long)g->steady_ms);
	if (store_setting_put(g->store, SETTING, span_str(text), f) < 0)
		return -1;
	return store_commit(g->store, f);
}

int
steady_open(struct gateway *g, struct fault *f)
{
	int64_t since_ms = clock_wall_ms() - clock_mono_ms();
	char boot[LIMIT_ID + 1];
	struct span kept;
	struct arena a;
	bool found;
	int rc;

	if (read_boot(boot, f) < 0)
		return -1;
	arena_init(&a, 4096);
	rc = store_setting_get(g->store, SETTING, &a, &kept, f);
	found = rc == 0 && read_kept(boot, kept, &g->steady_ms);
	arena_release(&a);
	if (found)
		return 0;
	if (rc < 0 && f->code != FAULT_NOT_FOUND)
		return -1;
	fault_clear(f);
	g->steady_ms = since_ms > 0 ? since_ms : 0;
	return keep(g, boot, f);
}

int64_t
steady_now_s(const struct gateway *g)
{
	return (g->steady_ms + clock_mono_ms()) / 1000;
}
