/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may be addressed, and from which pages. The names are few and literal:
 * a browser that was tricked into resolving evil.example to 127.0.0.1 still
 * sends that name, in Host and in Origin. Ports do not matter, case neither.
 */
#include <string.h>

#include "mcp/inner.h"

static const char *const always[] = { "localhost", "127.0.0.1", "[::1]",
	"openshell.local" };

/* NAME or NAME:PORT; *name borrows. */
static bool
host_split(struct span s, struct span *name)
{
	size_t n = span_find(s, ':');
	struct span port;
	uint64_t number;

	if (s.len > 0 && s.ptr[0] == '[') {
		n = span_find(s, ']');
		if (n == s.len)
			return false;
		n++;
	}
	*name = span_of(s.ptr, n);
	if (n == s.len)
		return n > 0;
	port = span_from(s, n + 1);
	return s.ptr[n] == ':' && n > 0 &&
	    (port.len == 0 || num_parse(port, 65535, &number));
}

static bool
is_served(const struct mcp_server *s, struct span host)
{
	struct span name;

	if (!host_split(host, &name))
		return false;
	for (size_t i = 0; i < NELEM(always); i++)
		if (mcp_text_is_nocase(name, always[i]))
			return true;
	for (size_t i = 0; i < s->nhosts; i++)
		if (mcp_text_is_nocase(name, s->hosts[i]))
			return true;
	return false;
}

/* scheme://host[:port] and nothing behind it, as browsers write it. */
static bool
origin_is_served(const struct mcp_server *s, struct span origin)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < NELEM(schemes); i++) {
		size_t n = strlen(schemes[i]);

		if (origin.len > n &&
		    mcp_text_is_nocase(span_of(origin.ptr, n), schemes[i]))
			return is_served(s, span_from(origin, n));
	}
	return false;
}

bool
mcp_origin_allowed(const struct mcp_server *s, const struct mcp_head *h)
{
	struct span origin;

	if (!is_served(s, mcp_trim(h->host)))
		return false;
	if (!mcp_field(h, "origin", &origin))
		return true;
	return !mcp_field_is_twice(h, "origin") && origin_is_served(s, origin);
}
