/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The top level and its small sections: version, filesystem_policy, landlock,
 * process. A section is set when its key is there, and then missing fields
 * take their defaults; an absent one has the values it means in a root.
 */
#include <string.h>

#include "policy/inner.h"

static const uint64_t id_max = 4294967294; /* (uid_t)-1 means "no change" */

static void
version_read(struct reader *r, const struct yaml_node *root)
{
	const struct yaml_node *node = yaml_get(root, "version");
	uint64_t version;

	if (!node) {
		if (!(r->flags & POLICY_READ_CHILD))
			read_error(r, root,
			    "version is missing: write 'version: 1'");
		return;
	}
	enter(r, "version");
	if (!yaml_uint(node, UINT64_MAX, &version) || version != 1)
		read_error(r, node, "must be 1");
	leave(r);
}

/* --- files */

/* path without ".", "//" and a trailing slash; false: it has a "..". */
static bool
normalise(struct span path, uint8_t *out, size_t *n)
{
	*n = 0;
	while (path.len > 0) {
		struct span part;

		path = span_from(path, 1);
		part = span_of(path.ptr, span_find(path, '/'));
		path = span_from(path, part.len);
		if (span_is(part, ".."))
			return false;
		if (part.len == 0 || span_is(part, "."))
			continue;
		out[(*n)++] = '/';
		memcpy(out + *n, part.ptr, part.len);
		*n += part.len;
	}
	if (*n == 0)
		out[(*n)++] = '/';
	return true;
}

static bool
file_path_read(struct reader *r, const struct yaml_node *node,
    struct policy_file *to)
{
	struct span s;
	uint8_t *out;
	size_t n;

	if (!read_string(r, node, &s))
		return false;
	if (s.len == 0 || s.ptr[0] != '/') {
		read_error(r, node, "must begin with '/'");
		return false;
	}
	out = read_room(r, s.len + 1, 1);
	if (!out)
		return false;
	if (!normalise(s, out, &n)) {
		read_error(r, node,
		    "'..' is not supported: write the path "
		    "it leads to");
		return false;
	}
	to->place = place_of(node);
	to->path = span_of(out, n);
	return true;
}

static void
files_read(struct reader *r, const struct yaml_node *map, const char *key,
    struct policy_files *to)
{
	const struct yaml_node *node = yaml_get(map, key);

	if (!node)
		return;
	enter(r, key);
	if (read_list(r, node)) {
		struct policy_file *file =
		    read_room(r, node->count, sizeof(*file));
		size_t n = 0;
		uint32_t i = 0;

		for (node = node->first; node && file; node = node->next) {
			enter_index(r, i);
			file[n].index = i++;
			n += file_path_read(r, node, &file[n]);
			leave(r);
		}
		*to = (struct policy_files){ file, n };
	}
	leave(r);
}

static void
filesystem_read(struct reader *r, const struct yaml_node *node)
{
	static const char *const keys[] = { "include_workdir", "read_only",
		"read_write" };
	struct policy *p = r->p;

	p->include_workdir = false;
	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	(void)read_flag(r, node, "include_workdir", &p->include_workdir);
	files_read(r, node, "read_only", &p->read_only);
	files_read(r, node, "read_write", &p->read_write);
	if (p->read_only.n + p->read_write.n > POLICY_FILES)
		read_error(r, node, "over %d paths", POLICY_FILES);
	for (size_t i = 0; i < p->read_write.n; i++) {
		const struct policy_file *file = &p->read_write.file[i];

		if (!span_is(file->path, "/"))
			continue;
		yaml_error(r->errors, file->place.line, file->place.column,
		    "filesystem_policy.read_write[%u]: '/' may be read_only "
		    "only: name the directories to write in",
		    (unsigned)file->index);
	}
}

static void
landlock_read(struct reader *r, const struct yaml_node *node)
{
	static const char *const keys[] = { "compatibility" };
	static const char *const words[] = { "hard_requirement",
		"best_effort" };
	unsigned word = 0;

	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	(void)read_word(r, node, "compatibility", words, NELEM(words), &word);
	r->p->best_effort = word == 1;
}

/* --- process */

static void
identity_read(struct reader *r, const struct yaml_node *map, const char *key,
    char out[POLICY_USER + 1])
{
	const struct yaml_node *node = yaml_get(map, key);
	struct span s;
	uint64_t id = 0;

	if (!node || (yaml_str(node, &s) && s.len == 0 && !node->plain))
		return;
	enter(r, key);
	if (!yaml_str(node, &s) ||
	    (!span_is(s, "sandbox") && (!num_parse(s, id_max, &id) || id == 0)))
		read_error(r, node, "must be 'sandbox' or 1..%llu, not root",
		    (unsigned long long)id_max);
	else
		BUG_IF(!text_copy(out, POLICY_USER + 1, s));
	leave(r);
}

static void
process_read(struct reader *r, const struct yaml_node *node)
{
	static const char *const keys[] = { "run_as_user", "run_as_group" };

	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	identity_read(r, node, "run_as_user", r->p->user);
	identity_read(r, node, "run_as_group", r->p->group);
}

static void
middlewares_read(struct reader *r, const struct yaml_node *node)
{
	if (node->kind != YAML_MAP)
		(void)read_map(r, node, NULL, 0);
	else if (node->count > 0)
		read_error(r, node->first,
		    "middlewares are not supported: "
		    "remove them");
}

/* --- the top */

static void
section_read(struct reader *r, const struct yaml_node *root, const char *key,
    bool *has, struct policy_place *place,
    void (*read)(struct reader *r, const struct yaml_node *node))
{
	const struct yaml_node *node = yaml_get(root, key);

	if (!node)
		return;
	*has = true;
	*place = (struct policy_place){ node->key_line, node->key_column };
	enter(r, key);
	read(r, node);
	leave(r);
}

static void
maximum_check(struct reader *r, const struct yaml_node *root)
{
	static const char *const all[] = { "filesystem_policy", "landlock",
		"process", "network_policies" };

	for (size_t i = 0; i < NELEM(all); i++)
		if (!yaml_get(root, all[i]))
			read_error(r, root,
			    "%s is missing: a maximum has all four sections",
			    all[i]);
}

void
sections_read(struct reader *r, const struct yaml_node *root)
{
	static const char *const keys[] = { "version", "filesystem_policy",
		"landlock", "process", "network_policies",
		"network_middlewares" };
	struct policy *p = r->p;
	struct policy_place unused;

	p->include_workdir = true;
	if (root->kind != YAML_MAP) {
		enter(r, "policy");
		(void)read_map(r, root, NULL, 0);
		leave(r);
		return;
	}
	(void)read_map(r, root, keys, NELEM(keys));
	version_read(r, root);
	section_read(r, root, "filesystem_policy", &p->has_filesystem,
	    &p->filesystem_place, filesystem_read);
	section_read(r, root, "landlock", &p->has_landlock, &p->landlock_place,
	    landlock_read);
	section_read(r, root, "process", &p->has_process, &p->process_place,
	    process_read);
	section_read(r, root, "network_policies", &p->has_network,
	    &p->network_place, network_read);
	section_read(r, root, "network_middlewares", &p->has_middlewares,
	    &unused, middlewares_read);
	if (r->flags & POLICY_READ_MAXIMUM)
		maximum_check(r, root);
}
