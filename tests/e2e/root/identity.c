/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the place of sandbox/identity.c: an agent may be root, and the sandbox
 * dies as soon as there is a file DIE. Nothing else of the guest differs. What
 * root without capabilities finds inside the agent's namespaces, an agent that
 * became root by a fault would find; and nothing inside can kill the sandbox
 * of the guest that ships.
 */
#include <sys/time.h>

#include <signal.h>
#include <unistd.h>

#include "sandbox/inner.h"

#define DIE "/tmp/die"

static void
look(int sig)
{
	(void)sig;
	if (access(DIE, F_OK) == 0)
		_exit(1);
}

static void
look_often(void)
{
	const struct itimerval often = { .it_interval.tv_usec = 20000,
		.it_value.tv_usec = 20000 };
	struct sigaction a = { .sa_handler = look, .sa_flags = SA_RESTART };

	(void)sigaction(SIGALRM, &a, NULL);
	(void)setitimer(ITIMER_REAL, &often, NULL);
	look(0);
}

int
identity_take(struct identity *who, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	if (q->groups_count > SANDBOX_GROUPS)
		return fault_field(f, "groups", "are more than %d",
		    SANDBOX_GROUPS);
	look_often();
	who->uid = q->uid;
	who->gid = q->gid;
	who->groups_n = q->groups_count;
	for (size_t i = 0; i < who->groups_n; i++)
		who->groups[i] = q->groups[i];
	return 0;
}
