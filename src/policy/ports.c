/* SPDX-License-Identifier: Apache-2.0 */
/* Ports: a list of numbers into sorted ranges, and the ports of no policy. */
#include <string.h>

#include "policy/inner.h"

static const uint16_t never[] = { 2379, 2380, 6443, 10250, 10255 };

bool
policy_port_never(uint16_t port)
{
	for (size_t i = 0; i < NELEM(never); i++)
		if (never[i] == port)
			return true;
	return false;
}

bool
policy_ports_hold(const struct policy_ports *s, uint16_t port)
{
	for (size_t i = 0; i < s->n; i++)
		if (port >= s->range[i].first && port <= s->range[i].last)
			return true;
	return false;
}

bool
policy_ports_meet(const struct policy_ports *a, const struct policy_ports *b)
{
	size_t i = 0;
	size_t k = 0;

	while (i < a->n && k < b->n) {
		if (a->range[i].last < b->range[k].first)
			i++;
		else if (b->range[k].last < a->range[i].first)
			k++;
		else
			return true;
	}
	return false;
}

static bool
port_read(struct reader *r, const struct yaml_node *node, uint16_t *out)
{
	uint64_t port;

	if (!yaml_uint(node, UINT16_MAX, &port) || port == 0) {
		read_error(r, node, "must be a number 1..65535");
		return false;
	}
	if (policy_port_never((uint16_t)port)) {
		read_error(r, node,
		    "port %u is never reachable (control plane): remove it",
		    (unsigned)port);
		return false;
	}
	*out = (uint16_t)port;
	return true;
}

static int
by_number(const void *x, const void *y)
{
	return *(const uint16_t *)x - *(const uint16_t *)y;
}

static void
settle(struct reader *r, uint16_t *port, size_t n, struct policy_ports *out)
{
	struct policy_port_range *range = read_room(r, n, sizeof(*range));
	size_t used = 0;

	if (!range)
		return;
	qsort(port, n, sizeof(*port), by_number);
	for (size_t i = 0; i < n; i++)
		if (used && port[i] <= range[used - 1].last + 1)
			range[used - 1].last = port[i];
		else
			range[used++] =
			    (struct policy_port_range){ port[i], port[i] };
	*out = (struct policy_ports){ range, used };
}

static size_t
list_read(struct reader *r, const struct yaml_node *node, uint16_t *port)
{
	size_t n = 0;
	uint32_t i = 0;

	for (; node; node = node->next) {
		enter_index(r, i++);
		n += port_read(r, node, &port[n]);
		leave(r);
	}
	return n;
}

/*
 * Clients of the wire send the first port in both fields; a file that says
 * both may mean either.
 */
static void
both_check(struct reader *r, const struct yaml_node *one, uint16_t port,
    const struct policy_ports *ports)
{
	if (r->source != READ_MESSAGE)
		read_error(r, one,
		    "port and ports are both there: write ports only");
	else if (port && !policy_ports_hold(ports, port))
		read_error(r, one, "port is not one of ports");
}

void
ports_read(struct reader *r, const struct yaml_node *endpoint,
    struct policy_ports *out)
{
	const struct yaml_node *one = yaml_get(endpoint, "port");
	const struct yaml_node *list = yaml_get(endpoint, "ports");
	uint16_t first = 0;
	uint16_t *port;

	if (!one && !list) {
		read_error(r, endpoint,
		    "port is missing: there is no default, write "
		    "'port: 443' or another");
		return;
	}
	port = read_room(r, 1 + (list ? list->count : 0), sizeof(*port));
	if (!port)
		return;
	if (list) {
		size_t n = 0;

		enter(r, "ports");
		if (read_list(r, list)) {
			n = list_read(r, list->first, port);
			if (list->count == 0)
				read_error(r, list, "at least one is needed");
		}
		leave(r);
		settle(r, port, n, out);
	}
	if (!one)
		return;
	enter(r, "port");
	(void)port_read(r, one, &first);
	if (list)
		both_check(r, one, first, out);
	else if (first)
		settle(r, &first, 1, out);
	leave(r);
}
