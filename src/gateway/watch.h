/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that follow a sandbox: its status, its output, its end. */
#ifndef GATEWAY_WATCH_H
#define GATEWAY_WATCH_H

#include "gateway/call.h"

/* Its row was changed or removed in this tick. */
void watch_changed(struct gateway *g, const char *id);
void watch_removed(struct gateway *g, const struct store_sandbox *row);
/* There is more in its log. */
void watch_logs(struct gateway *g, const char *id);
/* An answer: end the call with `deleted` when the sandbox of c->sandbox_id is
 * gone. */
void watch_deleted(struct call *c);

#endif
