/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka with what it wants before it, in an order no formatter changes. */
#ifndef TESTS_LIB_UNIT_H
#define TESTS_LIB_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
