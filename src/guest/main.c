/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file of the guest. Its name says which program it is: /init is the
 * supervisor, /sandbox the sandbox. Processes of one file share translated
 * code under TCG, so the second role starts warm. As "true" it does nothing:
 * what a rehearsal runs.
 */
#include <string.h>

#include "base/base.h"
#include "sandbox/sandbox.h"
#include "supervisor/supervisor.h"

int
main(int argc, char **argv)
{
	const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";

	if (strcmp(name, "init") == 0)
		return supervisor_main(argc, argv);
	if (strcmp(name, "sandbox") == 0)
		return sandbox_main(argc, argv);
	return strcmp(name, "true") == 0 ? 0 : 125;
}
