/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the record's room. */
#ifndef AUDIT_INNER_H
#define AUDIT_INNER_H

#include "audit/audit.h"

/* Fill in point and signature, and keep it. */
int audit_sign(struct store *s, const struct tls_key *key,
    struct store_checkpoint *c, struct fault *f) MUST_CHECK;

#endif
