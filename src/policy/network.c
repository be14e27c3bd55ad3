/* SPDX-License-Identifier: Apache-2.0 */
/* network_policies: entries, each with its programs and its endpoints. */
#include <string.h>

#include "policy/inner.h"

static bool
program_read(struct reader *r, const struct yaml_node *node,
    struct policy_program *to)
{
	static const char *const keys[] = { "path", "harness" };
	struct fault f = { 0 };
	const struct yaml_node *at = yaml_get(node, "path");
	struct span path;
	bool ignored;
	bool ok;

	to->place = place_of(node);
	if (!read_map(r, node, keys, NELEM(keys)))
		return false;
	(void)read_flag(r, node, "harness", &ignored);
	if (!at || (yaml_str(at, &path) && path.len == 0))
		read_error(r, node, "path is missing: '/**' is any program");
	if (!read_text(r, node, "path", &path))
		return false;
	enter(r, "path");
	ok = path.ptr[0] == '/' || span_starts(path, "**");
	if (!ok)
		read_error(r, at, "must begin with '/'");
	else if (policy_glob_read(&to->glob, POLICY_GLOB_PATH, path, r->a,
		     &f) != 0)
		read_fault(r, at, &f);
	leave(r);
	return ok;
}

/* One more of what is counted; past the limit that is said once. */
static bool
count(struct reader *r, const struct yaml_node *node, size_t *n, size_t most,
    const char *what)
{
	if (*n == most)
		read_error(r, node, "over %zu %s in one policy", most, what);
	return ++*n <= most;
}

static void
programs_read(struct reader *r, const struct yaml_node *entry,
    struct policy_entry *to)
{
	const struct yaml_node *node = yaml_get(entry, "binaries");
	struct policy_program *list;
	uint32_t i = 0;
	size_t n = 0;

	if (!node || (node->kind == YAML_LIST && node->count == 0)) {
		read_error(r, node ? node : entry,
		    "binaries is empty: write 'binaries: [{path: /**}]' for "
		    "any program");
		return;
	}
	enter(r, "binaries");
	list = read_list(r, node) ? read_room(r, node->count, sizeof(*list))
				  : NULL;
	for (node = node->first; node && list; node = node->next) {
		enter_index(r, i);
		list[n].index = i++;
		if (count(r, node, &r->programs, POLICY_PROGRAMS, "programs"))
			n += program_read(r, node, &list[n]);
		leave(r);
	}
	leave(r);
	to->programs = list;
	to->programs_n = n;
}

static void
endpoints_read(struct reader *r, const struct yaml_node *entry,
    struct policy_entry *to)
{
	const struct yaml_node *node = yaml_get(entry, "endpoints");
	struct policy_endpoint *list;
	uint32_t i = 0;
	size_t n = 0;

	if (!node)
		return;
	enter(r, "endpoints");
	list = read_list(r, node) ? read_room(r, node->count, sizeof(*list))
				  : NULL;
	for (node = node->first; node && list; node = node->next) {
		enter_index(r, i);
		list[n].index = i++;
		if (count(r, node, &r->endpoints, POLICY_ENDPOINTS,
			"endpoints"))
			endpoint_read(r, node, &list[n++]);
		leave(r);
	}
	leave(r);
	to->endpoints = list;
	to->endpoints_n = n;
}

static void
key_check(struct reader *r, const struct yaml_node *node)
{
	struct yaml_node at = { .line = node->key_line,
		.column = node->key_column };

	if (node->key.len == 0 || node->key.len > POLICY_PATTERN)
		read_error(r, &at, "a name has 1..%d bytes", POLICY_PATTERN);
	else if (span_starts(node->key, "_provider_") &&
	    !(r->flags & POLICY_READ_PROVIDER))
		read_error(r, &at,
		    "names beginning with _provider_ are reserved: rename it");
	for (size_t i = 0; i < node->key.len; i++)
		if (node->key.ptr[i] < ' ' || node->key.ptr[i] == 0x7f) {
			read_error(r, &at, "a name has no control bytes");
			return;
		}
	if (!utf8_valid(node->key))
		read_error(r, &at, "a name is UTF-8");
}

static void
entry_read(struct reader *r, const struct yaml_node *node,
    struct policy_entry *to)
{
	static const char *const keys[] = { "name", "endpoints", "binaries" };

	key_check(r, node);
	to->place = (struct policy_place){ node->key_line, node->key_column };
	to->key = arena_dup(r->a, node->key);
	to->name = to->key;
	if (!to->key.ptr)
		r->spent = true;
	if (!read_map(r, node, keys, NELEM(keys)))
		return;
	(void)read_text(r, node, "name", &to->name);
	programs_read(r, node, to);
	endpoints_read(r, node, to);
}

/* The texts' own readers refuse it; a decoded message may have it. */
static bool
is_repeated(const struct policy_entry *list, size_t n, struct span key)
{
	for (size_t i = 0; i < n; i++)
		if (span_equal(list[i].key, key))
			return true;
	return false;
}

void
network_read(struct reader *r, const struct yaml_node *node)
{
	struct policy_entry *list;
	size_t n = 0;

	if (node->kind != YAML_MAP) {
		(void)read_map(r, node, NULL, 0);
		return;
	}
	list = read_room(r, node->count, sizeof(*list));
	for (node = node->first; node && list; node = node->next) {
		if (n == POLICY_ENTRIES) {
			read_error(r, node, "over %d rules", POLICY_ENTRIES);
			break;
		}
		enter_key(r, node->key);
		if (r->source == READ_MESSAGE &&
		    is_repeated(list, n, node->key))
			read_error(r, node, "the same key twice");
		entry_read(r, node, &list[n++]);
		leave(r);
	}
	r->p->entries = list;
	r->p->entries_n = n;
	overlap_check(r);
}
