/* SPDX-License-Identifier: Apache-2.0 */
/* For the program alone: its modes and its parts. */
#ifndef KEEPER_INNER_H
#define KEEPER_INNER_H

#include "base/base.h"
#include "machine/machine.h"

/* Each mode returns the exit code: 0, 1 failed, 2 usage. */
int keeper_run(const struct machine_args *a);
int keeper_template(const struct machine_args *a);
int keeper_doctor(const struct machine_args *a);

#endif
