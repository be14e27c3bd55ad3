/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: wire */
/* A guest that speaks lines on the port itself. */
#include "guest.h"

static void
put(const void *p, size_t n)
{
	port_put(p, n);
}

static size_t
get(void *p, size_t n)
{
	return port_get(p, n);
}

static bool
obey_more(const char *line)
{
	(void)line;
	return false;
}

static _Noreturn void
launched(void)
{
	obey_lines();
}
