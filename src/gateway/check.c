/* SPDX-License-Identifier: Apache-2.0 */
/* Names, environments, labels, commands; check.h has the contracts. */
#include <string.h>

#include "gateway/check.h"

enum {
	KEY_BYTES = 256,
	ENV_BYTES = 256 << 10,
	LABEL_PART = 63,
	LABEL_PREFIX = 253,
	PAIRS = 128,
};

static struct span
text(const char *s)
{
	return span_str(s);
}

static bool
is_word(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9');
}

int
check_name(const char *name, const char *field, struct fault *f)
{
	if (name_valid(text(name), LIMIT_NAME))
		return 0;
	return fault_field(f, field,
	    "%s must be 1 to %d of a-z, 0-9 and '-', without '-' at an end or "
	    "'--'",
	    field, LIMIT_NAME);
}

static bool
is_identifier(struct span s)
{
	if (s.len == 0 || s.len > KEY_BYTES ||
	    (s.ptr[0] >= '0' && s.ptr[0] <= '9'))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!is_word(s.ptr[i]) && s.ptr[i] != '_')
			return false;
	}
	return true;
}

static int
check_variable(const struct pair *p, const char *field, struct fault *f)
{
	struct span key = text(p->key);
	struct span value = text(p->value);

	if (!is_identifier(key))
		return fault_field(f, field,
		    "%s: an env name is 1 to %d of letters, digits and '_'",
		    field, KEY_BYTES);
	if ((span_starts(key, "OPENSHELL_") &&
		!span_is(key, "OPENSHELL_PYFUNC_B64")) ||
	    span_starts(key, "NACRE_"))
		return fault_field(f, field, "%s: env name '%.64s' is reserved",
		    field, p->key);
	if (value.len > LIMIT_ENV_VALUE)
		return fault_field(f, field,
		    "%s: the value of '%.64s' is over %d bytes", field, p->key,
		    LIMIT_ENV_VALUE);
	if (span_find(value, '\n') < value.len ||
	    span_find(value, '\r') < value.len)
		return fault_field(f, field,
		    "%s: the value of '%.64s' has a newline", field, p->key);
	return 0;
}

int
check_environment(const struct pair *env, size_t n, const char *field,
    struct fault *f)
{
	size_t bytes = 0;

	if (n > LIMIT_ENV)
		return fault_field(f, field, "%s: over %d entries", field,
		    LIMIT_ENV);
	for (size_t i = 0; i < n; i++) {
		if (check_variable(&env[i], field, f) < 0)
			return -1;
		bytes += text(env[i].key).len + text(env[i].value).len + 2;
	}
	if (bytes > ENV_BYTES)
		return fault_field(f, field, "%s: over %d bytes together",
		    field, ENV_BYTES);
	return 0;
}

static bool
is_label_part(struct span s)
{
	if (s.len == 0 || s.len > LABEL_PART || !is_word(s.ptr[0]) ||
	    !is_word(s.ptr[s.len - 1]))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.ptr[i];

		if (!is_word(c) && c != '-' && c != '_' && c != '.')
			return false;
	}
	return true;
}

/* "name" or "dns.prefix/name". */
static bool
is_label_key(struct span s)
{
	size_t slash = span_find(s, '/');

	if (slash == s.len)
		return is_label_part(s);
	if (slash == 0 || slash > LABEL_PREFIX)
		return false;
	for (size_t i = 0; i < slash; i++) {
		uint8_t c = s.ptr[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') &&
		    c != '-' && c != '.')
			return false;
	}
	return is_label_part(span_from(s, slash + 1));
}

int
check_labels(const struct pair *labels, size_t n, const char *field,
    struct fault *f)
{
	if (n > CHECK_SELECTORS)
		return fault_field(f, field, "%s: over %d entries", field,
		    CHECK_SELECTORS);
	for (size_t i = 0; i < n; i++) {
		struct span value = text(labels[i].value);

		if (!is_label_key(text(labels[i].key)))
			return fault_field(f, field, "%s: not a label key",
			    field);
		if (value.len > 0 && !is_label_part(value))
			return fault_field(f, field,
			    "%s: the value of '%.64s' is not a label value",
			    field, labels[i].key);
	}
	return 0;
}

int
check_annotations(const struct pair *notes, size_t n, const char *field,
    struct fault *f)
{
	if (n > PAIRS)
		return fault_field(f, field, "%s: over %d entries", field,
		    PAIRS);
	for (size_t i = 0; i < n; i++) {
		if (!is_label_key(text(notes[i].key)))
			return fault_field(f, field,
			    "%s: not an annotation key", field);
		if (text(notes[i].value).len > LIMIT_ENV_VALUE)
			return fault_field(f, field,
			    "%s: the value of '%.64s' is over %d bytes", field,
			    notes[i].key, LIMIT_ENV_VALUE);
	}
	return 0;
}

int
check_command(char *const *argv, size_t n, size_t max_args, const char *field,
    struct fault *f)
{
	size_t bytes = 0;

	if (n > max_args)
		return fault_field(f, field, "%s: over %zu arguments", field,
		    max_args);
	if (n > 0 && text(argv[0]).len == 0)
		return fault_field(f, field, "%s: the program is empty", field);
	for (size_t i = 0; i < n; i++)
		bytes += text(argv[i]).len + 1;
	if (bytes > LIMIT_ARGS_BYTES)
		return fault_field(f, field, "%s: over %d bytes", field,
		    LIMIT_ARGS_BYTES);
	return 0;
}

int
check_folder(const char *path, const char *field, struct fault *f)
{
	struct span s = text(path);

	if (s.len == 0)
		return 0;
	if (s.ptr[0] != '/')
		return fault_field(f, field, "%s must be an absolute path",
		    field);
	if (s.len >= LIMIT_PATH)
		return fault_field(f, field, "%s: over %d bytes", field,
		    LIMIT_PATH - 1);
	if (span_find(s, '\n') < s.len)
		return fault_field(f, field, "%s has a newline", field);
	return 0;
}

int
check_workspace(const char *workspace, struct fault *f)
{
	struct span s = text(workspace);

	if (s.len == 0 || span_is(s, "default"))
		return 0;
	fault_set(f, FAULT_NOT_FOUND,
	    "workspace '%.64s' not found: there is only 'default'", workspace);
	(void)text_copy(f->field, sizeof(f->field), span_str("workspace"));
	return -1;
}

int
check_selector(const char *selector, struct span out[CHECK_SELECTORS],
    size_t *n, struct fault *f)
{
	struct span rest = text(selector);

	*n = 0;
	while (rest.len > 0) {
		size_t end = span_find(rest, ',');
		struct span one = span_of(rest.ptr, end);
		size_t eq = span_find(one, '=');

		if (*n == CHECK_SELECTORS)
			return fault_field(f, "label_selector",
			    "label_selector: over %d pairs", CHECK_SELECTORS);
		if (eq == one.len || !is_label_key(span_of(one.ptr, eq)) ||
		    (eq + 1 < one.len &&
			!is_label_part(span_from(one, eq + 1))))
			return fault_field(f, "label_selector",
			    "label_selector must be key=value, joined by ','");
		out[(*n)++] = one;
		rest = span_from(rest, end + 1);
	}
	return 0;
}
