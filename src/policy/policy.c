/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy file section by section. One row a section: what it may hold and
 * what it fills. What is wrong and what is not enforced yet are two lists, for
 * a file with a mistake is answered with the mistake.
 */
#include <string.h>

#include "base/base.h"
#include "digest/digest.h"
#include "policy/policy.h"
#include "yaml/yaml.h"

enum {
	POLICY_VERSION = 1,
	CANONICAL = 512,
};
static const uint64_t id_max = 4294967294; /* (uid_t)-1 means "no change" */

_Static_assert((int)POLICY_HASH == DIGEST_SIZE, "the hash is SHA-256");

struct reading {
	struct policy *p;
	struct yaml_errors *wrong;
	struct yaml_errors refused;
	const char *first_refused; /* name of the section */
};

/* A section of the file; the key's place stands for it in messages. */
struct section {
	const char *key;
	void (*read)(struct reading *r, const struct section *s,
	    const struct yaml_node *node);
};

static void
wrong_kind(struct reading *r, const struct yaml_node *node, const char *key,
    const char *expected)
{
	yaml_error(r->wrong, node->line, node->column,
	    "%s: expected %s, found %s", key, expected,
	    yaml_is_null(node) ? "nothing" : yaml_kind_name(node->kind));
}

static void
unknown_key(struct reading *r, const struct yaml_node *node, const char *where)
{
	char name[64];

	text_escape(node->key, name, sizeof(name));
	yaml_error(r->wrong, node->key_line, node->key_column,
	    "unknown key '%s'%s%s", name, *where ? " in " : "", where);
}

static void
version_read(struct reading *r, const struct section *s,
    const struct yaml_node *node)
{
	uint64_t version;

	if (!yaml_uint(node, UINT64_MAX, &version) || version != POLICY_VERSION)
		yaml_error(r->wrong, node->line, node->column, "%s must be %d",
		    s->key, POLICY_VERSION);
}

static bool
is_name(struct span s)
{
	if (s.len == 0 || s.len > POLICY_USER)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];
		bool first = (c >= 'a' && c <= 'z') || c == '_';
		bool later = (c >= '0' && c <= '9') || c == '-';

		if (!first && (i == 0 || !later))
			return false;
	}
	return true;
}

/* A name or an id into out; false when it is neither, or root. */
static bool
identity_read(const struct yaml_node *node, char out[POLICY_USER + 1])
{
	struct span s;
	uint64_t id;

	if (!yaml_str(node, &s))
		return false;
	if (num_parse(s, id_max, &id) ? id == 0
				      : !is_name(s) || span_is(s, "root"))
		return false;
	return text_copy(out, POLICY_USER + 1, s);
}

static void
process_read(struct reading *r, const struct section *s,
    const struct yaml_node *node)
{
	if (node->kind != YAML_MAP) {
		wrong_kind(r, node, s->key, "map");
		return;
	}
	r->p->has_process = true;
	for (node = node->first; node; node = node->next) {
		char *out = span_is(node->key, "run_as_user") ? r->p->user
		    : span_is(node->key, "run_as_group")      ? r->p->group
							      : NULL;

		if (!out)
			unknown_key(r, node, s->key);
		else if (!identity_read(node, out))
			yaml_error(r->wrong, node->line, node->column,
			    "%.*s must be a name or 1..%llu, not root",
			    (int)node->key.len, (const char *)node->key.ptr,
			    (unsigned long long)id_max);
	}
}

static void
refuse(struct reading *r, const struct section *s, const struct yaml_node *node)
{
	yaml_error(&r->refused, node->key_line, node->key_column,
	    "%s is not enforced yet: remove it", s->key);
	if (!r->first_refused)
		r->first_refused = s->key;
}

/* A section that is not enforced at all. */
static void
absent_read(struct reading *r, const struct section *s,
    const struct yaml_node *node)
{
	if (node->kind != YAML_MAP)
		wrong_kind(r, node, s->key, "map");
	else
		refuse(r, s, node);
}

/* A section that may be there but must be empty. */
static void
empty_read(struct reading *r, const struct section *s,
    const struct yaml_node *node)
{
	if (node->kind != YAML_MAP)
		wrong_kind(r, node, s->key, "map");
	else if (node->count > 0)
		refuse(r, s, node);
	else if (span_is(node->key, "network_policies"))
		r->p->has_network = true;
	else
		r->p->has_middlewares = true;
}

static const struct section sections[] = {
	{ "version", version_read },
	{ "filesystem_policy", absent_read },
	{ "landlock", absent_read },
	{ "process", process_read },
	{ "network_policies", empty_read },
	{ "network_middlewares", empty_read },
};

static void
section_read(struct reading *r, const struct yaml_node *node)
{
	for (size_t i = 0; i < NELEM(sections); i++)
		if (span_is(node->key, sections[i].key)) {
			sections[i].read(r, &sections[i], node);
			return;
		}
	unknown_key(r, node, "");
}

static void
root_read(struct reading *r, const struct yaml_node *root)
{
	if (root->kind != YAML_MAP) {
		wrong_kind(r, root, "policy", "map");
		return;
	}
	if (!yaml_get(root, "version"))
		yaml_error(r->wrong, root->line, root->column,
		    "version is missing: write 'version: %d'", POLICY_VERSION);
	for (const struct yaml_node *n = root->first; n; n = n->next)
		section_read(r, n);
}

/* Append "before value after" and a line end. */
static void
add(char *out, const char *before, const char *value, const char *after)
{
	size_t used = strlen(out);

	BUG_IF(!text_fmt(out + used, CANONICAL - used, "%s%s%s\n", before,
	    value, after));
}

/* Values are quoted: a user may well be called null. */
static void
print(const struct policy *p, char *out)
{
	bool named = p->user[0] || p->group[0];

	out[0] = '\0';
	add(out, "version: 1", "", "");
	if (p->has_process)
		add(out, "process:", named ? "" : " {}", "");
	if (p->user[0])
		add(out, "  run_as_user: \"", p->user, "\"");
	if (p->group[0])
		add(out, "  run_as_group: \"", p->group, "\"");
	if (p->has_network)
		add(out, "network_policies: {}", "", "");
	if (p->has_middlewares)
		add(out, "network_middlewares: {}", "", "");
}

int
policy_parse(struct span text, struct arena *a, struct policy *p,
    struct yaml_errors *errors, struct fault *f)
{
	struct policy found = { 0 };
	struct reading r = { .p = &found, .wrong = errors };
	const struct yaml_node *root;
	char out[CANONICAL];

	if (yaml_parse(text, a, &root, errors, f) != 0)
		return -1;
	root_read(&r, root);
	if (errors->count > 0)
		return yaml_fault(errors, FAULT_INVALID, f);
	if (r.refused.count > 0) {
		*errors = r.refused;
		(void)yaml_fault(errors, FAULT_UNIMPLEMENTED, f);
		(void)text_copy(f->field, sizeof(f->field),
		    span_str(r.first_refused));
		return -1;
	}
	print(&found, out);
	digest_of(span_str(out), found.hash);
	found.text.ptr = (const uint8_t *)arena_str(a, span_str(out));
	if (!found.text.ptr)
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	found.text.len = strlen(out);
	found.include_workdir = true;
	*p = found;
	return 0;
}

const char *
policy_format(const struct policy *p)
{
	return (const char *)p->text.ptr;
}

void
policy_hash(const struct policy *p, uint8_t out[POLICY_HASH])
{
	memcpy(out, p->hash, POLICY_HASH);
}

int
policy_enforced_today(const struct policy *p, struct fault *f)
{
	const char *section = p->has_filesystem ? "filesystem_policy"
	    : p->best_effort                    ? "landlock"
	    : p->entries_n > 0                  ? "network_policies"
						: NULL;

	if (!section)
		return 0;
	(void)fault_field(f, section, "%s is not enforced yet: remove it",
	    section);
	f->code = FAULT_UNIMPLEMENTED;
	return -1;
}
