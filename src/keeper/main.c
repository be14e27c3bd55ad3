/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre-keeper: the host side of one VM.
 *
 *   run       hold one VM and serve nacre.keeper.v1 on DIR/ID.sock
 *   template  find or make a template, answer with it, exit
 *   doctor    say what this host has and lacks
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "keeper/inner.h"

static const struct {
	const char *name;
	int (*run)(const struct machine_args *a);
} modes[] = {
	{ "run", keeper_run },
	{ "template", keeper_template },
	{ "doctor", keeper_doctor },
};

static int
usage(void)
{
	(void)fputs(
	    "usage: nacre-keeper doctor [--json] [--vmm PATH]\n"
	    "       nacre-keeper template --cache DIR --kernel FILE"
	    " --initramfs FILE --guest FILE\n"
	    "           [--vmm PATH] [--accelerator auto|tcg|kvm]"
	    " [--memory MIB] [--cpus N]\n"
	    "       nacre-keeper run ...   (started by nacre-gateway)\n",
	    stderr);
	return 2;
}

int
main(int argc, char **argv)
{
	struct machine_args a;
	struct fault f = { 0 };

	fd_standard();
	(void)signal(SIGPIPE, SIG_IGN);
	log_start("keeper", LOG_INFO);
	if (argc < 2)
		return usage();
	if (machine_args_parse(argc - 2, argv + 2, &a, &f) != 0) {
		log_warn(&f, "cannot start");
		return usage();
	}
	for (size_t i = 0; i < NELEM(modes); i++)
		if (strcmp(argv[1], modes[i].name) == 0)
			return modes[i].run(&a);
	return usage();
}
