/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roles of the supervisor's file: the boot, the rehearsal, the launch. PID 1
 * never returns: when it cannot go on the machine ends.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"
#include "supervisor/supervisor.h"

static int
boot(struct fault *f)
{
	struct boot b = { .port = -1 };

	if (boot_mounts(f) != 0 || boot_digest(b.digest, f) != 0 ||
	    boot_port(&b.port, f) != 0)
		return -1;
	b.tsc = boot_is_tsc();
	return wake_wait(&b, f);
}

static int
launch(struct supervisor *sv, char **argv, struct fault *f)
{
	uint64_t port;
	uint64_t at_us;

	if (!num_parse(span_str(argv[2]), 1023, &port) ||
	    !num_parse(span_str(argv[3]), INT64_MAX, &at_us) ||
	    !text_copy(sv->digest, sizeof(sv->digest), span_str(argv[4])))
		return fault_set(f, FAULT_INVALID,
		    "arguments are not understood");
	sv->launch_us = (int64_t)at_us;
	if (fd_cloexec((int)port, true, f) != 0)
		return -1;
	return launch_run(sv, (int)port, f);
}

int
supervisor_main(int argc, char **argv)
{
	static struct supervisor supervisor;
	struct fault f = { 0 };
	const char *role = argc > 1 ? argv[1] : "";

	log_start("supervisor", LOG_INFO);
	(void)signal(SIGPIPE, SIG_IGN);
	if (strcmp(role, "rehearse") == 0) {
		(void)(rehearse_run(&supervisor, &f) == 0);
		log_warn(&f, "rehearsal failed");
		rehearse_end(&supervisor);
	}
	if (getpid() != 1)
		return 125;
	if (strcmp(role, "launch") == 0 && argc == 5)
		(void)(launch(&supervisor, argv, &f) == 0);
	else
		(void)(boot(&f) == 0);
	log_warn(&f, "cannot go on");
	machine_end();
}
