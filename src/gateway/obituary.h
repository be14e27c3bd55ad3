/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes whose first launch failed leave no row. Whoever created one may
 * only now come to ask how it is: for a minute the gateway can still say why.
 */
#ifndef GATEWAY_OBITUARY_H
#define GATEWAY_OBITUARY_H

#include "gateway/inner.h"

struct obituary;

void obituary_note(struct gateway *g, const struct store_sandbox *row);
/* By name or id; the row says FAILED and its spans live in a. */
bool obituary_find(const struct gateway *g, const char *name_or_id,
    struct arena *a, struct store_sandbox *row);
/* The name is in use again, or was asked to be deleted. */
void obituary_forget(struct gateway *g, const char *name);
void obituary_close(struct gateway *g);

#endif
