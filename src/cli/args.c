/* SPDX-License-Identifier: Apache-2.0 */
/* Options and words of a command line: a parse that only fills a struct. */
#include <stdio.h>
#include <string.h>

#include "cli/inner.h"

static int
take_value(const struct cli_option *o, const char *value, struct fault *f)
{
	struct cli_list *list;

	switch (o->kind) {
	case CLI_TEXT:
		*(const char **)o->to = value;
		return 0;
	case CLI_NUMBER:
		if (!num_parse(span_str(value), o->max, (uint64_t *)o->to))
			return fault_field(f, o->name,
			    "'%s' wants a number up to %llu, not '%s'", o->name,
			    (unsigned long long)o->max, value);
		return 0;
	case CLI_TEXTS:
		list = o->to;
		if (list->n == CLI_LIST)
			return fault_field(f, o->name,
			    "'%s' is given more than %d times", o->name,
			    CLI_LIST);
		list->items[list->n++] = value;
		return 0;
	case CLI_FLAG:
	default:
		return fault_field(f, o->name, "'%s' takes no value", o->name);
	}
}

/* One option at argv[*i]; moves *i past its value. */
static int
take_option(const struct cli_option *o, char **argv, int *i,
    const char *inline_value, struct fault *f)
{
	if (o->kind == CLI_FLAG) {
		if (inline_value)
			return fault_field(f, o->name, "'%s' takes no value",
			    o->name);
		*(bool *)o->to = true;
		return 0;
	}
	if (inline_value)
		return take_value(o, inline_value, f);
	if (!argv[*i + 1])
		return fault_field(f, o->name, "'%s' wants a value", o->name);
	(*i)++;
	return take_value(o, argv[*i], f);
}

static int
take_global(struct cli *c, const char *name, const char *value, struct fault *f)
{
	if (strcmp(name, "--state") == 0) {
		c->state = value;
		return 0;
	}
	if (strcmp(value, "json") != 0 && strcmp(value, "table") != 0)
		return fault_field(f, "-o",
		    "'-o' wants json or table, not '%s'", value);
	c->json = strcmp(value, "json") == 0;
	return 0;
}

static const struct cli_option *
find_option(const struct cli_option *o, size_t n, const char *word,
    const char **inline_value)
{
	const char *equals = strchr(word, '=');

	*inline_value = NULL;
	for (size_t k = 0; k < n; k++) {
		size_t len = strlen(o[k].name);

		if (strcmp(word, o[k].name) == 0)
			return &o[k];
		if (equals && (size_t)(equals - word) == len && len > 2 &&
		    strncmp(word, o[k].name, len) == 0) {
			*inline_value = equals + 1;
			return &o[k];
		}
	}
	return NULL;
}

int
cli_parse(struct cli *c, char **argv, const struct cli_option *o, size_t n,
    struct cli_words *w, struct fault *f)
{
	const char *output = NULL;
	const char *state = NULL;
	const struct cli_option global[] = {
		{ "-o", CLI_TEXT, &output, 0 },
		{ "--output", CLI_TEXT, &output, 0 },
		{ "--state", CLI_TEXT, &state, 0 },
		{ "--quiet", CLI_FLAG, &c->quiet, 0 },
	};

	*w = (struct cli_words){ 0 };
	for (int i = 1; argv[i]; i++) {
		const char *value;
		const struct cli_option *hit;

		if (strcmp(argv[i], "--") == 0) {
			w->command = argv + i + 1;
			while (w->command[w->command_n])
				w->command_n++;
			break;
		}
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (w->n == NELEM(w->word))
				return fault_set(f, FAULT_INVALID,
				    "too many words at '%s'", argv[i]);
			w->word[w->n++] = argv[i];
			continue;
		}
		hit = find_option(o, n, argv[i], &value);
		if (!hit)
			hit =
			    find_option(global, NELEM(global), argv[i], &value);
		if (!hit)
			return fault_field(f, argv[i], "unknown option '%s'",
			    argv[i]);
		if (take_option(hit, argv, &i, value, f) != 0)
			return -1;
	}
	if (output && take_global(c, "-o", output, f) != 0)
		return -1;
	if (state && take_global(c, "--state", state, f) != 0)
		return -1;
	if (!text_fmt(c->socket, sizeof(c->socket), "%s/gateway.sock",
		c->state))
		return fault_field(f, "--state", "state folder is too long");
	return 0;
}

int
cli_want(const struct cli_words *w, size_t n, const char *usage,
    struct fault *f)
{
	if (w->n != n)
		return fault_set(f, FAULT_INVALID, "usage: nacre %s", usage);
	return 0;
}

int
cli_pair(struct cli *c, const char *text, char **name, char **value,
    struct fault *f)
{
	struct span pair = span_str(text);
	size_t at = span_find(pair, '=');

	if (at == 0 || at == pair.len)
		return fault_field(f, "--env",
		    "'--env' wants NAME=VALUE, not '%s'", text);
	*name = arena_str(&c->arena, span_of(pair.ptr, at));
	*value = arena_str(&c->arena, span_from(pair, at + 1));
	if (*name == NULL || *value == NULL)
		return fault_set(f, FAULT_LIMIT, "too many '--env'");
	return 0;
}
