/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who lives in an image: passwd(5) and group(5) of a stranger, and what a
 * user of an image configuration ("name:group") means in them. Pure.
 */
#include <string.h>

#include "image/inner.h"

enum {
	FIELDS = 7,
	HOUSE_ID = 1000, /* of "sandbox" where the image has none */
};

/* Split one line at its colons; how many fields there were, up to FIELDS. */
static size_t
split(struct span line, struct span field[FIELDS])
{
	size_t n = 0;

	while (n < FIELDS) {
		field[n] = line;
		field[n].len = span_find(line, ':');
		if (field[n].len == line.len)
			return n + 1;
		line = span_from(line, field[n].len + 1);
		n++;
	}
	return n;
}

static bool
parse_id(struct span s, uint32_t *out)
{
	uint64_t n;

	if (!num_parse(s, UINT32_MAX - 1, &n))
		return false;
	*out = (uint32_t)n;
	return true;
}

static bool
is_text(struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] < ' ' || s.ptr[i] == 0x7f)
			return false;
	return utf8_valid(s);
}

static bool
parse_user(struct span line, struct arena *a, struct image_account *out)
{
	struct span field[FIELDS];
	struct span home;

	if (split(line, field) < 6 || field[0].len == 0 || !is_text(line))
		return false;
	if (!parse_id(field[2], &out->uid) || !parse_id(field[3], &out->gid))
		return false;
	home = field[5].len > 0 && field[5].ptr[0] == '/' ? field[5]
							  : SPAN_LIT("/");
	out->name = arena_str(a, field[0]);
	out->home = arena_str(a, home);
	return out->name && out->home;
}

static bool
parse_group(struct span line, struct arena *a, struct image_account *out)
{
	struct span field[FIELDS];

	if (split(line, field) < 3 || field[0].len == 0 || !is_text(line))
		return false;
	if (!parse_id(field[2], &out->gid))
		return false;
	out->uid = 0;
	out->home = "";
	out->name = arena_str(a, field[0]);
	return out->name;
}

static int
parse_lines(struct span text, struct arena *a,
    bool (*line_of)(struct span, struct arena *, struct image_account *),
    const struct image_account **out, size_t *count, struct fault *f)
{
	struct image_account *list;
	size_t lines = 0;
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		lines += text.ptr[i] == '\n';
	if (lines >= IMAGE_USERS)
		lines = IMAGE_USERS - 1;
	list = arena_get(a, (lines + 1) * sizeof(*list));
	if (!list)
		return fault_set(f, FAULT_LIMIT, "too many users");
	while (text.len > 0 && n <= lines) {
		struct span line = text;

		line.len = span_find(text, '\n');
		text = span_from(text, line.len + 1);
		if (line_of(line, a, &list[n]))
			n++;
	}
	*out = list;
	*count = n;
	return 0;
}

int
image_users_parse(struct span text, struct arena *a,
    const struct image_account **out, size_t *count, struct fault *f)
{
	return parse_lines(text, a, parse_user, out, count, f);
}

int
image_groups_parse(struct span text, struct arena *a,
    const struct image_account **out, size_t *count, struct fault *f)
{
	return parse_lines(text, a, parse_group, out, count, f);
}

static const struct image_account *
by_name(const struct image_account *list, size_t n, struct span name)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(name, list[i].name))
			return &list[i];
	return NULL;
}

static int
resolve_user(const struct image_info *i, struct span who,
    struct image_account *out, struct fault *f)
{
	const struct image_account *known;
	char name[64];
	uint32_t uid;

	known = by_name(i->users, i->user_count, who);
	if (!known && parse_id(who, &uid)) {
		for (size_t k = 0; k < i->user_count && !known; k++)
			if (i->users[k].uid == uid)
				known = &i->users[k];
		*out = (struct image_account){ .name = "",
			.home = "/",
			.uid = uid };
		if (!known)
			return 0;
	}
	if (!known) {
		text_escape(who, name, sizeof(name));
		return fault_field(f, "user", "the image has no user '%s'",
		    name);
	}
	*out = *known;
	return 0;
}

int
image_user_resolve(const struct image_info *i, const char *user,
    struct image_account *out, struct fault *f)
{
	struct span who = span_str(user);
	struct span group;
	const struct image_account *known;
	char name[64];

	who.len = span_find(who, ':');
	group = span_from(span_str(user), who.len + 1);
	if (who.len == 0)
		who = SPAN_LIT("0");
	if (resolve_user(i, who, out, f) < 0)
		return -1;
	if (group.len == 0)
		return 0;
	known = by_name(i->groups, i->group_count, group);
	if (known) {
		out->gid = known->gid;
		return 0;
	}
	if (parse_id(group, &out->gid))
		return 0;
	text_escape(group, name, sizeof(name));
	return fault_field(f, "user", "the image has no group '%s'", name);
}

static const struct image_account *
by_uid(const struct image_info *i, uint32_t uid)
{
	for (size_t k = 0; k < i->user_count; k++)
		if (i->users[k].uid == uid)
			return &i->users[k];
	return NULL;
}

/* The user of those who name none that is not root. */
static struct image_account
house_user(const struct image_info *i)
{
	const struct image_account *known =
	    by_name(i->users, i->user_count, SPAN_LIT("sandbox"));

	if (!known || known->uid == 0)
		known = by_uid(i, HOUSE_ID);
	if (known)
		return *known;
	return (struct image_account){ .name = "sandbox",
		.home = "/sandbox",
		.uid = HOUSE_ID,
		.gid = HOUSE_ID };
}

int
image_run_as(const struct image_info *i, const char *user, const char *group,
    struct image_account *out, struct fault *f)
{
	const struct image_account *known;
	struct image_account own = { 0 };
	uint32_t id;

	*out = house_user(i);
	if (parse_id(span_str(user), &id)) {
		known = by_uid(i, id);
		*out = known ? *known
			     : (struct image_account){ .name = "",
				       .home = "/",
				       .uid = id };
	} else if (!*user && *i->config.user) {
		if (image_user_resolve(i, i->config.user, &own, f) < 0)
			return fault_prefix(f, "cannot run as '%s'",
			    i->config.user);
		if (own.uid != 0)
			*out = own;
	}
	if (out->gid == 0)
		out->gid = out->uid;
	if (parse_id(span_str(group), &id))
		out->gid = id;
	return 0;
}

static bool
is_folder(const char *path)
{
	return path[0] == '/' && path[1];
}

const char *
image_workdir(const struct image_info *i, const struct image_account *who)
{
	if (is_folder(i->config.workdir))
		return i->config.workdir;
	return is_folder(who->home) ? who->home : "/sandbox";
}
