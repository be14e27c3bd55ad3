/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files, identities, landlock.
 *
 * A grant is (path, read) or (path, write); write holds read. It reaches what
 * is below the file that the path leads to when the sandbox starts, links of
 * the image followed. With the image both sides are resolved and
 *
 *	child's g is within  iff  a grant of the parent, or of the baseline, of
 *	as much access leads to a folder of g's resolved path, or to it
 *
 * Without it only equal texts, and a parent's "/", are known to hold (the
 * child runs in its parent's image); a parent that grants no such access at
 * all is known not to. Below /proc a path may lead anywhere, and depends on who
 * looks: there only equal texts hold.
 */
#include <string.h>

#include "prover/inner.h"

enum {
	LINKS_MOST = 40, /* followed for one path; as the kernel */
};

/* --- links */

/* In every sandbox, whatever the image says. */
static const char *const house_links[][2] = { { "/dev/ptmx", "pts/ptmx" },
	{ "/dev/fd", "/proc/self/fd" }, { "/dev/stdin", "/proc/self/fd/0" },
	{ "/dev/stdout", "/proc/self/fd/1" },
	{ "/dev/stderr", "/proc/self/fd/2" } };

/* '/' comes before all other bytes. */
static int
path_compare(struct span a, struct span b)
{
	for (size_t i = 0; i < a.len && i < b.len; i++)
		if (a.ptr[i] != b.ptr[i])
			return (a.ptr[i] == '/' ? -1 : a.ptr[i]) -
			    (b.ptr[i] == '/' ? -1 : b.ptr[i]);
	return (a.len > b.len) - (a.len < b.len);
}

/* Mounts of ours cover what the image has there. */
static bool
is_covered(struct span path)
{
	return span_starts(path, "/dev/") || span_starts(path, "/proc/") ||
	    span_starts(path, "/sys/");
}

static bool
link_at(const struct prover_image *image, struct span path, struct span *target)
{
	size_t low = 0;
	size_t high = is_covered(path) ? 0 : image->links_n;

	for (size_t i = 0; i < NELEM(house_links); i++)
		if (span_is(path, house_links[i][0])) {
			*target = span_str(house_links[i][1]);
			return true;
		}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int c = path_compare(image->links[middle].path, path);

		*target = image->links[middle].target;
		if (c == 0)
			return true;
		if (c < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

struct walk {
	const struct prover_image *image;
	char *out; /* resolved so far: "" or "/a/b" */
	size_t n;
	size_t size;
	char left[2 * LIMIT_PATH]; /* from `at` on still to go */
	size_t at;
	int links;
};

static void
climb(struct walk *w)
{
	while (w->n > 0 && w->out[w->n - 1] != '/')
		w->n--;
	w->n -= w->n > 0;
}

/* The link at out, in its place; false: one too many, or too long. */
static bool
walk_link(struct walk *w, struct span target)
{
	char next[sizeof(w->left)];

	if (++w->links > LINKS_MOST ||
	    !text_fmt(next, sizeof(next), "%.*s%s", (int)target.len,
		(const char *)target.ptr, w->left + w->at))
		return false;
	climb(w);
	if (next[0] == '/')
		w->n = 0;
	memcpy(w->left, next, sizeof(next));
	w->at = 0;
	return true;
}

static bool
walk_component(struct walk *w, const char *name, size_t n)
{
	struct span target;

	if (n == 2 && memcmp(name, "..", 2) == 0) {
		climb(w);
		return true;
	}
	if (w->n + n + 2 > w->size)
		return false;
	w->out[w->n++] = '/';
	memcpy(w->out + w->n, name, n);
	w->n += n;
	return !link_at(w->image, span_of(w->out, w->n), &target) ||
	    walk_link(w, target);
}

bool
links_resolve(const struct prover_image *image, struct span path, char *out,
    size_t size, struct span *to)
{
	struct walk w = { .image = image, .out = out, .size = size };

	if (!text_copy(w.left, sizeof(w.left), path))
		return false;
	for (;;) {
		const char *name = w.left + w.at + strspn(w.left + w.at, "/");
		size_t n = strcspn(name, "/");

		if (n == 0)
			break;
		w.at = (size_t)(name - w.left) + n;
		if (n == 1 && name[0] == '.')
			continue;
		if (!walk_component(&w, name, n))
			return false;
	}
	if (w.n == 0)
		out[w.n++] = '/';
	*to = span_of(out, w.n);
	return true;
}

/* --- grants */

struct grant {
	struct span text;
	struct span to; /* resolved; empty: it leads nowhere */
	bool write;
	bool house; /* of the baseline */
};

struct grants {
	struct grant *grant;
	size_t n;
	bool workdir; /* granted, but not known where */
};

static bool
is_below(struct span path, struct span folder)
{
	if (folder.len == 1)
		return true;
	return path.len >= folder.len &&
	    memcmp(path.ptr, folder.ptr, folder.len) == 0 &&
	    (path.len == folder.len || path.ptr[folder.len] == '/');
}

static void
grant_add(struct prover *p, struct grants *g, struct span text, bool write,
    bool house)
{
	char room[LIMIT_PATH];
	struct grant *to = &g->grant[g->n++];

	*to = (struct grant){ text, { NULL, 0 }, write, house };
	p->s.steps += p->q.image ? text.len : 1;
	if (!p->q.image ||
	    !links_resolve(p->q.image, text, room, sizeof(room), &to->to))
		return;
	to->to = arena_dup(p->s.arena, to->to);
	p->s.spent = p->s.spent || !to->to.ptr;
}

static bool
grants_make(struct prover *p, const struct policy *of, bool house,
    struct grants *g)
{
	g->grant = region_take(&p->s,
	    of->read_only.n + of->read_write.n + POLICY_BASELINE + 1,
	    sizeof(*g->grant));
	if (!g->grant)
		return false;
	for (size_t i = 0; i < of->read_write.n; i++)
		grant_add(p, g, of->read_write.file[i].path, true, false);
	for (size_t i = 0; i < of->read_only.n; i++)
		grant_add(p, g, of->read_only.file[i].path, false, false);
	if (of->include_workdir && p->q.image && p->q.image->workdir.len > 0)
		grant_add(p, g, p->q.image->workdir, true, false);
	else
		g->workdir = of->include_workdir;
	for (size_t i = 0; house && i < POLICY_BASELINE; i++)
		grant_add(p, g, span_str(policy_baseline[i].path),
		    policy_baseline[i].write, true);
	return !p->s.spent;
}

/* --- files */

static void
exceeds(struct prover *p, struct span file, bool write)
{
	const struct policy *parent = p->q.parent;
	struct prover_result *r = &p->result;
	const struct policy_files *own =
	    parent->read_write.n ? &parent->read_write : &parent->read_only;
	char path[PROVER_CAUSE / 2];
	char other[PROVER_CAUSE / 2] = "";

	if (!tell(p, PROVER_EXCEEDS, POLICY_FILESYSTEM) ||
	    !replay_check(p,
		replay_file(replay_of(p, p->q.child), file, write) &&
		    !replay_file(replay_of(p, parent), file, write)))
		return;
	text_escape(file.len ? file : SPAN_LIT("the working directory"), path,
	    sizeof(path));
	r->witness.file = file;
	r->witness.write = write;
	(void)text_fmt(r->child, sizeof(r->child), "filesystem_policy %s",
	    file.len == 0 ? "include_workdir allows it"
		: write   ? "read_write allows it"
			  : "read_only allows it");
	(void)text_fmt(r->parent, sizeof(r->parent),
	    "filesystem_policy has nothing above it to %s",
	    write ? "write" : "read");
	if (own->n > 0 && (own == &parent->read_write || !write))
		text_escape(own->file[0].path, other, sizeof(other));
	(void)text_fmt(r->hint, sizeof(r->hint), "remove %s%s%s", path,
	    *other ? ", or narrow it to something below " : "", other);
}

/* True: it is an excess. */
static bool
judge_resolved(struct prover *p, const struct grants *parent,
    const struct grant *g)
{
	bool kernel = span_starts(g->to, "/proc/");

	if (g->to.len == 0) {
		tell_unsupported(p, POLICY_FILESYSTEM, PROVER_LINK_LOOP,
		    g->text);
		return false;
	}
	for (size_t i = 0; i < parent->n; i++) {
		const struct grant *h = &parent->grant[i];

		if (h->write < g->write || h->to.len == 0)
			continue;
		if (span_equal(h->text, g->text) ||
		    (!kernel && is_below(g->to, h->to)))
			return false;
	}
	p->s.steps += parent->n / 4;
	if (kernel)
		tell_unsupported(p, POLICY_FILESYSTEM, PROVER_KERNEL_PATH,
		    g->text);
	return !kernel;
}

/* Without an image. */
static bool
judge_text(struct prover *p, const struct grants *parent, struct span text,
    bool write)
{
	bool kernel = span_starts(text, "/proc/");
	bool some = write && parent->workdir;
	bool below = false;

	for (size_t i = 0; i < parent->n; i++) {
		const struct grant *h = &parent->grant[i];

		below = below || (h->house && is_below(text, h->text));
		if (h->write < write)
			continue;
		if (span_equal(h->text, text) || (h->text.len == 1 && !kernel))
			return false;
		some = some || !h->house;
	}
	p->s.steps += parent->n / 4;
	if (kernel)
		tell_unsupported(p, POLICY_FILESYSTEM, PROVER_KERNEL_PATH,
		    text);
	else if (some || below || (!write && parent->workdir))
		tell_unsupported(p, POLICY_FILESYSTEM, PROVER_NO_IMAGE, text);
	else
		return true;
	return false;
}

void
files_prove(struct prover *p)
{
	struct grants child = { 0 };
	struct grants parent = { 0 };
	const struct grant *least = NULL;

	if (!grants_make(p, p->q.child, false, &child) ||
	    !grants_make(p, p->q.parent, true, &parent))
		return;
	for (size_t i = 0; i < child.n; i++) {
		const struct grant *g = &child.grant[i];

		if ((p->q.image ? judge_resolved(p, &parent, g)
				: judge_text(p, &parent, g->text, g->write)) &&
		    (!least || g->text.len < least->text.len))
			least = g;
	}
	if (least)
		exceeds(p, least->text, least->write);
	else if (child.workdir && !parent.workdir &&
	    judge_text(p, &parent, span_of("", 0), true))
		exceeds(p, span_of("", 0), true);
}

/* --- process */

static bool
is_id(const char *who)
{
	return *who >= '0' && *who <= '9';
}

static void
differs(struct prover *p, enum policy_section section, const char *field,
    const char *child, const char *parent)
{
	struct prover_result *r = &p->result;

	if (!tell(p, PROVER_EXCEEDS, section))
		return;
	(void)text_fmt(r->child, sizeof(r->child), "%s is %s", field,
	    *child ? child : "the image's");
	(void)text_fmt(r->parent, sizeof(r->parent), "%s is %s", field,
	    *parent ? parent : "the image's");
	(void)text_fmt(r->hint, sizeof(r->hint),
	    "write the parent's value, or leave the section out");
}

/* Ids, where they are known. */
static void
judge_identity(struct prover *p, const char *field, const char *child,
    const char *parent, const uint32_t *ids)
{
	if (ids ? ids[0] == ids[2] : strcmp(child, parent) == 0)
		return;
	if (ids || (is_id(child) && is_id(parent)))
		differs(p, POLICY_PROCESS, field, child, parent);
	else
		tell_unsupported(p, POLICY_PROCESS, PROVER_NO_IMAGE,
		    span_str(field));
}

void
process_prove(struct prover *p)
{
	const struct policy *child = p->q.child;
	const struct policy *parent = p->q.parent;
	const struct prover_image *image = p->q.image;
	uint32_t id[4];
	bool known;

	p->s.steps++;
	if (strcmp(child->user, parent->user) == 0 &&
	    strcmp(child->group, parent->group) == 0)
		return;
	known = image && image->identify &&
	    image->identify(image->arg, child->user, child->group, &id[0],
		&id[1]) &&
	    image->identify(image->arg, parent->user, parent->group, &id[2],
		&id[3]);
	judge_identity(p, "process.run_as_user", child->user, parent->user,
	    known ? id : NULL);
	judge_identity(p, "process.run_as_group", child->group, parent->group,
	    known ? id + 1 : NULL);
}

/* --- landlock */

void
landlock_prove(struct prover *p)
{
	p->s.steps++;
	if (p->q.child->best_effort && !p->q.parent->best_effort)
		differs(p, POLICY_LANDLOCK, "landlock.compatibility",
		    "best_effort", "hard_requirement");
}
