/* SPDX-License-Identifier: Apache-2.0 */
/* What a proof must know of an image; scene.h has the contracts. */
#include "gateway/sandbox.h"
#include "gateway/scene.h"

static bool
identify(const void *arg, const char *user, const char *group, uint32_t *uid,
    uint32_t *gid)
{
	struct fault ignored = { 0 };
	struct image_account who;

	if (image_run_as(arg, user, group, &who, &ignored) < 0)
		return false;
	*uid = who.uid;
	*gid = who.gid;
	return true;
}

int
scene_of_image(struct gateway *g, const char *workdir, struct arena *a,
    struct scene *s, struct fault *f)
{
	struct prover_link *links;
	struct image_index index;

	if (image_index_read(&g->images, s->info.digest, a, &index, f) < 0)
		return -1;
	links = arena_get(a, (index.symlink_count + 1) * sizeof(*links));
	if (links == NULL)
		return fault_set(f, FAULT_LIMIT,
		    "the image has too many links");
	for (size_t i = 0; i < index.symlink_count; i++) {
		links[i].path = index.symlinks[i].path;
		links[i].target = index.symlinks[i].target;
	}
	s->image = (struct prover_image){
		.links = links,
		.links_n = index.symlink_count,
		.workdir = span_str(workdir),
		.identify = identify,
		.arg = &s->info,
	};
	return 0;
}

/* With its NULL at the end, as images have it. */
static int
keep_env(const nacre_store_v1_Plan *plan, struct arena *a, struct scene *s,
    struct fault *f)
{
	const char **env =
	    arena_get(a, (plan->image_env_count + 1) * sizeof(*env));

	if (env == NULL)
		return fault_set(f, FAULT_LIMIT, "the environment is too big");
	for (pb_size_t i = 0; i < plan->image_env_count; i++)
		env[i] = plan->image_env[i];
	s->info.config.env = env;
	return 0;
}

int
scene_of_sandbox(struct gateway *g, const struct store_sandbox *row,
    struct arena *a, struct scene *s, struct fault *f)
{
	nacre_store_v1_Plan plan;

	if (sandbox_plan(row, a, &plan, f) < 0 ||
	    image_find_blob(&g->images, row->image_digest, a, &s->info, f) < 0)
		return fault_prefix(f, "image of '%s'", row->name);
	if (plan.image_user != NULL)
		s->info.config.user = plan.image_user;
	if (keep_env(&plan, a, s, f) < 0)
		return -1;
	return scene_of_image(g, plan.workdir, a, s, f);
}
