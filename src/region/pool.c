/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the solver takes: steps; memory of the caller's arena, counted, lists
 * that grow in it, and their sorting. Nothing is given back before the end;
 * what cannot be had sets `spent`.
 */
#include <string.h>

#include "region/inner.h"

bool
region_step(struct region_solver *p, uint64_t n)
{
	if (p->spent)
		return false;
	p->steps += n;
	if (p->steps >= p->most || p->steps >= p->once)
		p->spent = true;
	return !p->spent;
}

bool
region_pauses(struct region_solver *p)
{
	p->once = p->steps + REGION_ONCE;
	return p->spent || p->steps >= p->until;
}

void *
region_take(struct region_solver *p, size_t n, size_t size)
{
	size_t used = p->arena->used - p->arena_from;
	void *got = NULL;

	if (n <= p->arena_most / size && used + n * size <= p->arena_most)
		got = arena_get(p->arena, n * size + 1);
	if (!got)
		p->spent = true;
	return got;
}

bool
region_pool_reserve(struct region_solver *p, struct region_pool *to,
    size_t more)
{
	void *items;

	if (more <= to->room - to->n)
		return true;
	items = region_take(p, to->n + more, to->size);
	if (!items)
		return false;
	if (to->n > 0)
		memcpy(items, to->items, (size_t)to->n * to->size);
	to->items = items;
	to->room = to->n + (uint32_t)more;
	return true;
}

void *
region_pool_add(struct region_solver *p, struct region_pool *to)
{
	if (to->n == to->room &&
	    !region_pool_reserve(p, to, to->room ? to->room : 8))
		return NULL;
	return (char *)to->items + (size_t)to->n++ * to->size;
}

void
region_sort(const void **list, const void **room, size_t n,
    int (*compare)(const void *a, const void *b))
{
	size_t half = n / 2;
	size_t i = 0;
	size_t k = half;

	if (n < 2)
		return;
	region_sort(list, room, half, compare);
	region_sort(list + half, room, n - half, compare);
	memcpy(room, list, n * sizeof(*list));
	for (size_t to = 0; to < n; to++)
		if (k == n || (i < half && compare(room[i], room[k]) <= 0))
			list[to] = room[i++];
		else
			list[to] = room[k++];
}
