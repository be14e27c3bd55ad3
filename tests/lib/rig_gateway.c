/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's program, for a test program to be it too. */
#include "rig.h"
#include "unit.h"

static int gateway_main(int argc, char **argv);

#define main gateway_main
/* NOLINTNEXTLINE(bugprone-suspicious-include) */
#include "../../src/gateway/main.c"
#undef main

static struct rig *shared;

static int
open_rig(void **state)
{
	(void)state;
	rig_init(shared);
	rig_start(shared, NULL);
	return 0;
}

static int
close_rig(void **state)
{
	(void)state;
	rig_stop(shared);
	rig_clear(shared);
	return 0;
}

static bool
is_gateway(char **argv)
{
	const char *slash = strrchr(argv[0], '/');

	return strcmp(slash != NULL ? slash + 1 : argv[0], "nacre-gateway") ==
	    0;
}

int
rig_main(int argc, char **argv, struct rig *r, const struct CMUnitTest *tests,
    size_t n)
{
	if (is_gateway(argv))
		return gateway_main(argc, argv);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	shared = r;
	return _cmocka_run_group_tests("tests", tests, n,
	    r != NULL ? open_rig : NULL, r != NULL ? close_rig : NULL);
}
