/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that are attached to a main process. */
#ifndef GATEWAY_VIEW_H
#define GATEWAY_VIEW_H

struct gateway;

/* There is more in its log, or its row has changed. */
void view_due(struct gateway *g, const char *id);

#endif
