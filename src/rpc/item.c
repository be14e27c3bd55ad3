/* SPDX-License-Identifier: Apache-2.0 */
/* What calls and CONNECT streams share: the place on a link, and the end. */
#include "rpc/inner.h"

void
item_init(struct item *it, struct rpc_link *l, int32_t stream,
    void (*later)(struct deferred *d))
{
	it->link = l;
	it->stream = stream;
	it->later.run = later;
	it->next = l->items;
	if (it->next)
		it->next->prev = it;
	l->items = it;
	h2_set_user(l->h2, stream, it);
}

void
item_end(struct item *it)
{
	it->is_ended = true;
	loop_later(it->link->loop, &it->later);
}

void
item_detach(struct item *it)
{
	if (it->stream)
		h2_set_user(it->link->h2, it->stream, NULL);
	it->stream = 0;
}

void
item_bury(struct item *it, void (*release)(void *p))
{
	struct rpc_link *l = it->link;

	item_detach(it);
	loop_deferred_drop(l->loop, &it->later);
	if (it->prev)
		it->prev->next = it->next;
	else
		l->items = it->next;
	if (it->next)
		it->next->prev = it->prev;
	loop_bury(l->loop, it, release);
}

struct item *
item_of(struct rpc_link *l, int32_t stream)
{
	return h2_user(l->h2, stream);
}
