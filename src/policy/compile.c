/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of every reader: tree, validated form, boxes, canonical text, hash.
 * What is wrong is collected; a policy with a mistake is no policy.
 */
#include <string.h>

#include "digest/digest.h"
#include "policy/inner.h"

_Static_assert((int)POLICY_HASH == DIGEST_SIZE, "the hash is SHA-256");

int
policy_settle(struct policy *p, struct arena *a, struct fault *f)
{
	return boxes_make(p, a, f) != 0 ? -1 : policy_print(p, a, f);
}

/* As yaml_fault(), with the places of this source. */
static int
errors_fault(const struct yaml_errors *e, struct fault *f)
{
	enum {
		TAIL = 32
	}; /* "; and N more" */
	char text[sizeof(f->text)] = "";
	char one[YAML_ERROR_TEXT + 32];
	size_t used = 0;
	size_t shown = 0;

	for (; shown < e->count && shown < YAML_ERRORS; shown++) {
		size_t room = sizeof(text) - used - TAIL;

		policy_error_format(e, shown, one, sizeof(one));
		if (shown > 0 && strlen(one) + 2 >= room)
			break;
		(void)text_fmt(text + used, room, "%s%s", shown ? "; " : "",
		    one);
		used = strlen(text);
	}
	if (shown < e->count)
		(void)text_fmt(text + used, sizeof(text) - used,
		    "; and %zu more", e->count - shown);
	return fault_set(f, FAULT_INVALID, "%s", text);
}

int
policy_compile(struct reader *r, const struct yaml_node *root, struct policy *p,
    struct fault *f)
{
	r->p = read_room(r, 1, sizeof(*r->p));
	if (r->p)
		sections_read(r, root);
	if (!r->p || r->spent) {
		yaml_errors_init(r->errors);
		return fault_set(f, FAULT_LIMIT, "policy is too large");
	}
	if (r->errors->count > 0)
		return errors_fault(r->errors, f);
	if (policy_settle(r->p, r->a, f) != 0)
		return -1;
	*p = *r->p;
	return 0;
}

void
policy_error_format(const struct yaml_errors *errors, size_t i, char *out,
    size_t size)
{
	const struct yaml_error *e = &errors->list[i];

	if (e->line > 0)
		(void)text_fmt(out, size, "%u:%u: %s", (unsigned)e->line,
		    (unsigned)e->column, e->text);
	else if (e->column > 0)
		(void)text_fmt(out, size, "byte %u: %s",
		    (unsigned)e->column - 1, e->text);
	else
		(void)text_fmt(out, size, "%s", e->text);
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

/* --- YAML */

int
policy_read_yaml(struct span text, unsigned flags, struct arena *a,
    struct policy *p, struct yaml_errors *errors, struct fault *f)
{
	struct reader r = { .a = a,
		.errors = errors,
		.source = READ_YAML,
		.flags = flags };
	const struct yaml_node *root;

	if (yaml_parse(text, a, &root, errors, f) != 0)
		return -1;
	return policy_compile(&r, root, p, f);
}

int
policy_parse(struct span text, struct arena *a, struct policy *p,
    struct yaml_errors *errors, struct fault *f)
{
	return policy_read_yaml(text, 0, a, p, errors, f);
}
