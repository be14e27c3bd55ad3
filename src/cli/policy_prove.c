/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre policy prove and diff: containment of policy files, without a gateway.
 * With --image, paths and names mean what they mean in that image of the
 * state folder. Exit codes: 0 within (equal), 1 exceeds (differ), 2 invalid, 3
 * not decided.
 */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"
#include "image/image.h"
#include "json/json.h"
#include "prover/prover.h"

enum {
	ARENA = 160 << 20, /* of some policies, an image's index, a proof */
	OUTPUT = 4 << 20,
};

static int
exit_of(enum prover_verdict v)
{
	switch (v) {
	case PROVER_WITHIN:
		return 0;
	case PROVER_EXCEEDS:
		return fault_exit(FAULT_REFUSED);
	case PROVER_INVALID:
		return fault_exit(FAULT_INVALID);
	case PROVER_UNSUPPORTED:
	case PROVER_OUT_OF_BUDGET:
		break;
	}
	return 3;
}

/* --- the image */

struct scene {
	struct image_info info;
	struct prover_image image;
	bool known;
};

static bool
identify(const void *arg, const char *user, const char *group, uint32_t *uid,
    uint32_t *gid)
{
	struct image_account who;
	struct fault ignored = { 0 };

	if (image_run_as(arg, user, group, &who, &ignored) != 0)
		return false;
	*uid = who.uid;
	*gid = who.gid;
	return true;
}

static int
scene_load(struct cli *c, struct arena *a, const char *name, struct scene *s,
    struct fault *f)
{
	struct image_store store;
	struct image_index index;
	struct prover_link *links;
	char path[LIMIT_PATH];
	int rc;

	if (!name)
		return 0;
	if (!text_fmt(path, sizeof(path), "%s/images", c->state))
		return fault_field(f, "--state", "is too long");
	if (image_store_open(&store, path, f) != 0)
		return -1;
	rc = image_find(&store, name, a, &s->info, f);
	if (rc == 0)
		rc = image_index_read(&store, s->info.digest, a, &index, f);
	image_store_close(&store);
	if (rc != 0)
		return -1;
	links = arena_get(a, (index.symlink_count + 1) * sizeof(*links));
	if (!links)
		return fault_set(f, FAULT_LIMIT,
		    "the image has too many links");
	for (size_t i = 0; i < index.symlink_count; i++)
		links[i] = (struct prover_link){ index.symlinks[i].path,
			index.symlinks[i].target };
	s->image = (struct prover_image){ .links = links,
		.links_n = index.symlink_count,
		.identify = identify,
		.arg = &s->info };
	s->known = true;
	return 0;
}

/* --- answers */

static void
put_span(struct json_out *o, const char *key, struct span s)
{
	if (s.len == 0)
		return;
	json_out_key(o, key);
	json_out_str(o, s);
}

static void
put_request(struct json_out *o, const struct prover_witness *w)
{
	char address[POLICY_ADDRESS];

	put_span(o, "program", w->program);
	put_span(o, "host", w->host);
	json_out_key(o, "port");
	json_out_uint(o, w->port);
	policy_address_format(w->address, address);
	json_out_key(o, "address");
	json_out_text(o, address);
	json_out_key(o, "act");
	json_out_text(o, prover_act_name(w->act));
	put_span(o, "method", w->method);
	put_span(o, "path", w->path);
	put_span(o, "tool", w->tool);
	json_out_key(o, "query");
	json_out_array(o);
	for (size_t i = 0; i < w->query_n; i++) {
		json_out_array(o);
		json_out_str(o, w->query[i].key);
		json_out_str(o, w->query[i].value);
		json_out_end(o);
	}
	json_out_end(o);
}

static void
put_excess(struct json_out *o, const struct prover_result *r)
{
	const struct prover_witness *w = &r->witness;

	json_out_key(o, "witness");
	json_out_object(o);
	if (r->section == POLICY_NETWORK)
		put_request(o, w);
	if (r->section == POLICY_FILESYSTEM) {
		json_out_key(o, "file");
		json_out_str(o, w->file.len ? w->file : SPAN_LIT("(workdir)"));
		json_out_key(o, "access");
		json_out_text(o, w->write ? "write" : "read");
	}
	json_out_end(o);
	json_out_key(o, "child");
	json_out_text(o, r->child);
	json_out_key(o, "parent");
	json_out_text(o, r->parent);
	json_out_key(o, "hint");
	json_out_text(o, r->hint);
}

static void
put_result(struct json_out *o, const char *link, const struct prover_result *r)
{
	json_out_key(o, "verdict");
	json_out_text(o, prover_verdict_name(r->verdict));
	if (r->verdict == PROVER_WITHIN)
		return;
	json_out_key(o, "link");
	json_out_text(o, link);
	json_out_key(o, "section");
	json_out_text(o, prover_section_name(r->section));
	if (r->verdict == PROVER_EXCEEDS)
		put_excess(o, r);
	if (r->verdict != PROVER_UNSUPPORTED)
		return;
	json_out_key(o, "code");
	json_out_text(o, prover_code_name(r->code));
	json_out_key(o, "place");
	json_out_text(o, r->place);
}

static void
print_text(const char *link, const struct prover_result *r)
{
	char text[4096];
	const char *parent;

	prover_result_format(r, text, sizeof(text));
	parent = strstr(text, "the parent");
	if (parent && strcmp(link, "maximum") == 0)
		(void)printf("%.*sthe maximum%s", (int)(parent - text), text,
		    parent + strlen("the parent"));
	else
		(void)printf("%s", text);
}

/* --- prove */

struct asked {
	const char *image;
	const char *maximum;
	struct scene scene;
};

/* As cli_policy_load(), telling what is wrong. >0: the exit code. */
static int
load(struct arena *a, const char *path, unsigned flags, struct policy *p,
    struct fault *f)
{
	struct yaml_errors *errors = must_alloc(sizeof(*errors));

	if (cli_policy_load(a, path, flags, p, errors, f) == 0)
		return 0;
	if (errors->count == 0)
		return fault_prefix(f, "%s", path);
	cli_policy_errors(path, errors);
	return fault_exit(FAULT_INVALID);
}

/* The child works where its user does. */
static struct prover_result
judge(struct arena *a, const struct scene *s, const struct policy *child,
    const struct policy *parent)
{
	struct prover_image image = s->image;
	struct prover_question q = { .child = child, .parent = parent };
	struct image_account who;
	struct prover_result r;
	struct fault ignored = { 0 };

	if (s->known) {
		if (image_run_as(&s->info, child->user, child->group, &who,
			&ignored) == 0)
			image.workdir = span_str(image_workdir(&s->info, &who));
		q.image = &image;
	}
	prover_prove(&q, a, &r);
	return r;
}

static int
answer(struct cli *c, const char *link, const struct prover_result *r,
    const struct policy *child, struct fault *f)
{
	struct json_out o;
	struct buf b;
	int rc;

	if (!c->json) {
		print_text(link, r);
		return exit_of(r->verdict);
	}
	buf_init(&b, OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	put_result(&o, link, r);
	json_out_key(&o, "completed");
	json_out_text(&o, policy_format(child));
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc == 0 ? exit_of(r->verdict) : -1;
}

static int
prove(struct cli *c, struct arena *a, struct asked *q, const char *const *file,
    struct fault *f)
{
	struct policy written;
	struct policy parent;
	struct policy maximum;
	struct policy child;
	struct prover_result r;
	const char *link = "parent";
	int rc = load(a, file[0], POLICY_READ_CHILD, &written, f);

	if (rc == 0)
		rc = load(a, file[1], 0, &parent, f);
	if (rc == 0 && q->maximum)
		rc = load(a, q->maximum, POLICY_READ_MAXIMUM, &maximum, f);
	if (rc == 0)
		rc = scene_load(c, a, q->image, &q->scene, f);
	if (rc == 0)
		rc = policy_complete(&written, &parent, 0, a, &child, f);
	if (rc != 0)
		return rc;
	r = judge(a, &q->scene, &child, &parent);
	if (r.verdict == PROVER_WITHIN && q->maximum) {
		link = "maximum";
		r = judge(a, &q->scene, &child, &maximum);
	}
	return answer(c, link, &r, &child, f);
}

int
cmd_policy_prove(struct cli *c, char **argv)
{
	struct asked q = { NULL };
	const struct cli_option options[] = {
		{ "--image", CLI_TEXT, &q.image, 0 },
		{ "--maximum", CLI_TEXT, &q.maximum, 0 },
	};
	struct cli_words w;
	struct arena a;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 2,
		"policy prove [--image NAME] [--maximum FILE] CHILD PARENT",
		&f) != 0)
		return cli_fail(&f, NULL);
	arena_init(&a, ARENA);
	rc = prove(c, &a, &q, w.word, &f);
	arena_release(&a);
	return rc >= 0 ? rc : cli_fail(&f, NULL);
}

/* --- diff */

static void
print_side(const char *only, const struct prover_result *r)
{
	char text[1024];

	switch (r->verdict) {
	case PROVER_EXCEEDS:
		prover_witness_format(r, text, sizeof(text));
		(void)printf("only %s allows (%s):\n  %s\n  %s\n", only,
		    prover_section_name(r->section), text, r->child);
		break;
	case PROVER_UNSUPPORTED:
	case PROVER_OUT_OF_BUDGET:
		prover_result_format(r, text, sizeof(text));
		(void)printf("beyond the other, %s is %s", only, text);
		break;
	case PROVER_INVALID:
	case PROVER_WITHIN:
		break;
	}
}

static int
diff_json(const struct prover_result *r, const char *verdict, struct fault *f)
{
	static const char *const sides[] = { "a", "b" };
	struct json_out o;
	struct buf b;
	int rc;

	buf_init(&b, OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "verdict");
	json_out_text(&o, verdict);
	for (size_t i = 0; i < 2; i++) {
		json_out_key(&o, sides[i]);
		json_out_object(&o);
		put_result(&o, sides[1 - i], &r[i]);
		json_out_end(&o);
	}
	json_out_end(&o);
	rc = cli_json_print(&b, &o, f);
	buf_release(&b);
	return rc;
}

static int
diff(struct cli *c, struct arena *a, struct asked *q, const char *const *file,
    struct fault *f)
{
	struct policy p[2];
	struct prover_result r[2];
	enum prover_verdict worst;
	int rc = load(a, file[0], 0, &p[0], f);

	if (rc == 0)
		rc = load(a, file[1], 0, &p[1], f);
	if (rc == 0)
		rc = scene_load(c, a, q->image, &q->scene, f);
	if (rc != 0)
		return rc;
	r[0] = judge(a, &q->scene, &p[0], &p[1]);
	r[1] = judge(a, &q->scene, &p[1], &p[0]);
	worst = r[0].verdict < r[1].verdict ? r[0].verdict : r[1].verdict;
	if (c->json) {
		if (diff_json(r,
			worst == PROVER_WITHIN        ? "equal"
			    : worst == PROVER_EXCEEDS ? "differ"
						      : "undecided",
			f) != 0)
			return -1;
		return exit_of(worst);
	}
	if (worst == PROVER_WITHIN)
		(void)printf("equal\n");
	print_side(file[0], &r[0]);
	print_side(file[1], &r[1]);
	return exit_of(worst);
}

int
cmd_policy_diff(struct cli *c, char **argv)
{
	struct asked q = { NULL };
	const struct cli_option options[] = {
		{ "--image", CLI_TEXT, &q.image, 0 },
	};
	struct cli_words w;
	struct arena a;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 2, "policy diff [--image NAME] A B", &f) != 0)
		return cli_fail(&f, NULL);
	arena_init(&a, ARENA);
	rc = diff(c, &a, &q, w.word, &f);
	arena_release(&a);
	return rc >= 0 ? rc : cli_fail(&f, NULL);
}
