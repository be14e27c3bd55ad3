/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings file: YAML, every key optional, an unknown one refused with
 * its place.
 *   parked: 1                     clones kept for each template in use
 *   prewarm: true                 the default size is always in use
 *   templates: true               false: every machine boots cold
 *   accelerator: auto             auto, tcg, kvm
 *   memory_reserve_mib: 256       of the host, never given away
 *   token_life_s: 3600
 *   trust_domain: nacre.local
 *   audit_days: 90                how long the record is kept
 *   audit_mib: 1024               and how large it may be
 *   mcp: on                       off: no MCP, here and in sandboxes
 *   mcp_port: auto                on 127.0.0.1: auto (kept), off, or a number
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "gateway/inner.h"
#include "yaml/yaml.h"

enum {
	PARKED_MOST = 16,
};

void
config_defaults(struct config *c)
{
	memset(c, 0, sizeof(*c));
	c->parked = 1;
	c->prewarm = true;
	c->templates = true;
	c->memory_reserve_mib = 256;
	c->token_life_s = IDENTITY_LIFE_MOST_S;
	c->audit_days = 90;
	c->audit_mib = 1024;
	(void)text_copy(c->accelerator, sizeof(c->accelerator),
	    SPAN_LIT("auto"));
	(void)text_copy(c->trust_domain, sizeof(c->trust_domain),
	    SPAN_LIT("nacre.local"));
}

static bool
take_number(const struct yaml_node *n, uint64_t least, uint64_t most,
    uint32_t *out)
{
	uint64_t v;

	if (!yaml_uint(n, most, &v) || v < least)
		return false;
	*out = (uint32_t)v;
	return true;
}

static bool
take_accelerator(const struct yaml_node *n, struct config *c)
{
	struct span s;

	return yaml_str(n, &s) &&
	    (span_is(s, "auto") || span_is(s, "tcg") || span_is(s, "kvm")) &&
	    text_copy(c->accelerator, sizeof(c->accelerator), s);
}

static bool
take_domain(const struct yaml_node *n, struct config *c)
{
	struct span s;

	return yaml_str(n, &s) && identity_is_domain(s) &&
	    text_copy(c->trust_domain, sizeof(c->trust_domain), s);
}

static bool
take_switch(const struct yaml_node *n, bool *is_off)
{
	struct span s;
	bool on;

	if (yaml_bool(n, &on)) {
		*is_off = !on;
		return true;
	}
	if (!yaml_str(n, &s) || (!span_is(s, "on") && !span_is(s, "off")))
		return false;
	*is_off = span_is(s, "off");
	return true;
}

static bool
take_port(const struct yaml_node *n, struct config *c)
{
	uint32_t port = 0;
	struct span s;

	c->mcp_no_port = false;
	if (take_number(n, 1, 65535, &port)) {
		c->mcp_port = (uint16_t)port;
		return true;
	}
	if (!yaml_str(n, &s) || (!span_is(s, "auto") && !span_is(s, "off")))
		return false;
	c->mcp_no_port = span_is(s, "off");
	return true;
}

/* NULL: taken; else what the key wants, "" when there is no such key. */
static const char *
take_numbers(const struct yaml_node *n, struct config *c)
{
	const struct {
		const char *key;
		uint64_t least;
		uint64_t most;
		uint32_t *to;
		const char *want;
	} rows[] = {
		{ "parked", 0, PARKED_MOST, &c->parked, "0 to 16" },
		{ "memory_reserve_mib", 0, 1 << 24, &c->memory_reserve_mib,
		    "a number of MiB" },
		{ "audit_days", 1, 36500, &c->audit_days, "1 to 36500" },
		{ "audit_mib", 1, 1 << 20, &c->audit_mib, "1 to 1048576" },
		{ "token_life_s", IDENTITY_LIFE_LEAST_S, IDENTITY_LIFE_MOST_S,
		    &c->token_life_s, "60 to 3600" },
	};

	for (size_t i = 0; i < NELEM(rows); i++) {
		if (!span_is(n->key, rows[i].key))
			continue;
		return take_number(n, rows[i].least, rows[i].most, rows[i].to)
		    ? NULL
		    : rows[i].want;
	}
	return "";
}

static const char *
take(const struct yaml_node *n, struct config *c)
{
	if (span_is(n->key, "prewarm"))
		return yaml_bool(n, &c->prewarm) ? NULL : "true or false";
	if (span_is(n->key, "templates"))
		return yaml_bool(n, &c->templates) ? NULL : "true or false";
	if (span_is(n->key, "accelerator"))
		return take_accelerator(n, c) ? NULL : "auto, tcg or kvm";
	if (span_is(n->key, "trust_domain"))
		return take_domain(n, c) ? NULL : "1 to 64 of a-z 0-9 . _ -";
	if (span_is(n->key, "mcp"))
		return take_switch(n, &c->mcp_off) ? NULL : "on or off";
	if (span_is(n->key, "mcp_port"))
		return take_port(n, c) ? NULL : "auto, off, or 1 to 65535";
	return take_numbers(n, c);
}

static int
take_all(const struct yaml_node *root, struct config *c,
    struct yaml_errors *errors, struct fault *f)
{
	const struct yaml_node *n;

	if (!yaml_is(root, YAML_MAP))
		return fault_set(f, FAULT_INVALID, "it is not a map of keys");
	for (n = yaml_first(root); n != NULL; n = yaml_next(n)) {
		const char *want = take(n, c);

		if (want == NULL)
			continue;
		if (*want == '\0')
			yaml_error(errors, n->key_line, n->key_column,
			    "unknown key '%.*s'", (int)n->key.len,
			    (const char *)n->key.ptr);
		else
			yaml_error(errors, n->line, n->column,
			    "'%.*s' must be %s", (int)n->key.len,
			    (const char *)n->key.ptr, want);
	}
	return errors->count > 0 ? yaml_fault(errors, FAULT_INVALID, f) : 0;
}

int
config_read(struct config *c, const char *path, struct fault *f)
{
	struct yaml_errors *errors = must_alloc(sizeof(*errors));
	const struct yaml_node *root = NULL;
	struct arena a;
	struct buf b;
	int rc;

	yaml_errors_init(errors);
	arena_init(&a, 8 << 20);
	buf_init(&b, YAML_BYTES);
	rc = file_read(AT_FDCWD, path, &b, f);
	if (rc == 0)
		rc = yaml_parse(buf_span(&b), &a, &root, errors, f);
	if (rc == 0)
		rc = take_all(root, c, errors, f);
	buf_release(&b);
	arena_release(&a);
	free(errors);
	return rc < 0 ? fault_prefix(f, "config '%s'", path) : 0;
}
