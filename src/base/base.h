/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ground floor: what every room may use. One include brings all of it.
 *   fault.h  the error object        bytes.h  spans, capped buffers, arenas
 *   text.h   numbers, hex, names     log.h    one line an event, to stderr
 *   sys.h    descriptors, clock, random, whole-file reads
 *   pace.h   how often a stranger may, how late one tries again
 *   limits.h every hard limit of the product, in one place
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/fault.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/pace.h"
#include "base/sys.h"
#include "base/text.h"

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(p, type, member) \
 ((type *)(void *)((char *)(p)-offsetof(type, member)))

#endif
