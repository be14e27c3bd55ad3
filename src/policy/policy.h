/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of a sandbox. A file is accepted only if it asks for nothing that
 * is not enforced; what is not is refused by name (FAULT_UNIMPLEMENTED), what
 * is wrong is FAULT_INVALID with line and column. Enforced: version, process,
 * and no network, which is what every sandbox has.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "yaml/yaml.h"

enum {
	POLICY_BYTES = YAML_BYTES, /* of a policy file */
	POLICY_USER = 32,          /* bytes of a user or group name */
	POLICY_CANONICAL = 512,    /* room for the canonical text */
	POLICY_HASH = 32,          /* SHA-256 */
};

/*
 * user and group: a name, which the image resolves (and whoever resolves it
 * refuses id 0), or 1..4294967294 in decimal; empty when not said.
 */
struct policy {
	bool has_process; /* the section is present, even if empty */
	bool has_network; /* network_policies is present: no network */
	bool has_middlewares;
	char user[POLICY_USER + 1];
	char group[POLICY_USER + 1];
};

/*
 * Read a policy file. a is for the time of the call; *p borrows nothing and is
 * set on 0 only. On -1 errors has every place, unless the text is over a cap.
 */
int policy_parse(struct span text, struct arena *a, struct policy *p,
    struct yaml_errors *errors, struct fault *f) MUST_CHECK;
/*
 * The one text of all files that say the same: YAML that policy_parse() reads
 * back. out holds POLICY_CANONICAL bytes and is NUL-terminated.
 */
void policy_format(const struct policy *p, char *out);
/* SHA-256 of the canonical text. */
void policy_hash(const struct policy *p, uint8_t out[POLICY_HASH]);

#endif
