/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre: the user's tool. Finds the command in one table and runs it. It
 * never decides anything about sandboxes: the gateway does.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"

struct command {
	const char *group; /* NULL: the verb stands alone */
	const char *verb;
	int (*run)(struct cli *c, char **argv);
	const char *usage;
};

static const struct command commands[] = {
	{ "gateway", "start", cmd_gateway_start,
	    "[--foreground] [--config FILE]" },
	{ "gateway", "stop", cmd_gateway_stop, "[--sandboxes]" },
	{ "gateway", "status", cmd_gateway_status, "" },
	{ NULL, "doctor", cmd_doctor, "" },
	{ "image", "import", cmd_image_import, "[--replace] NAME PATH" },
	{ "image", "list", cmd_image_list, "" },
	{ "image", "delete", cmd_image_delete, "NAME" },
	{ "sandbox", "create", cmd_create,
	    "--name NAME --from IMAGE [--policy FILE] [--cpus N] [--memory MIB] "
	    "[--env K=V]... [--tty] [--attach] [--grant-max-depth N "
	    "--grant-max-breadth N --grant-max-total N --grant-program PATH... "
	    "[--grant-expires TIME]] [-- CMD...]" },
	{ "sandbox", "create", cmd_create,
	    "--parent NAME [--name NAME] [--kind agent|tool] [--policy FILE] "
	    "[--env K=V]... [--idle SECONDS] [--request-id ID] [--wait-ms N] "
	    "[-- CMD...]" },
	{ "sandbox", "children", cmd_children, "NAME" },
	{ "sandbox", "lineage", cmd_lineage, "NAME" },
	{ "sandbox", "list", cmd_list, "[--stale]" },
	{ "sandbox", "get", cmd_get, "NAME" },
	{ "sandbox", "exec", cmd_exec,
	    "NAME [--workdir DIR] [--env K=V]... [--timeout SECONDS] [-it] "
	    "-- CMD..." },
	{ "sandbox", "connect", cmd_connect, "NAME [-- SHELL...]" },
	{ "sandbox", "top", cmd_top, "NAME" },
	{ "sandbox", "attach", cmd_attach, "NAME [--read-only]" },
	{ "sandbox", "logs", cmd_logs, "NAME [-f] [-n LINES]" },
	{ "sandbox", "console", cmd_console, "NAME" },
	{ "sandbox", "cp", cmd_cp, "FROM TO   (one of them NAME:PATH)" },
	{ "sandbox", "ls", cmd_ls, "[-d] NAME:PATH" },
	{ "sandbox", "rm", cmd_rm, "[-r] NAME:PATH" },
	{ "sandbox", "stop", cmd_stop, "NAME..." },
	{ "sandbox", "start", cmd_start, "NAME..." },
	{ "sandbox", "delete", cmd_delete, "NAME..." },
	{ "grant", "create", cmd_grant_create,
	    "NAME --max-depth N --max-breadth N --max-total N --program "
	    "PATH[@sha256:HEX]... [--expires TIME]" },
	{ "grant", "get", cmd_grant_get, "NAME" },
	{ "grant", "list", cmd_grant_list, "" },
	{ "grant", "update", cmd_grant_update,
	    "NAME [--max-depth N] [--max-breadth N] [--max-total N] [--program "
	    "PATH]... [--expires TIME]" },
	{ "grant", "revoke", cmd_grant_revoke, "NAME [--stop-children]" },
	{ "policy", "check", cmd_policy_check, "FILE" },
	{ "policy", "explain", cmd_policy_explain,
	    "[--address IP] [--tool NAME] FILE -- PROGRAM METHOD URL" },
	{ "policy", "prove", cmd_policy_prove,
	    "[--image NAME] [--maximum FILE] CHILD PARENT" },
	{ "policy", "diff", cmd_policy_diff, "[--image NAME] A B" },
	{ "policy", "set", cmd_policy_set, "NAME FILE" },
	{ "policy", "set-maximum", cmd_policy_set_maximum, "FILE | --none" },
	{ "policy", "get-maximum", cmd_policy_get_maximum, "" },
	{ "mcp", "call", cmd_mcp_call, "TOOL [JSON]" },
	{ "token", "create", cmd_token_create,
	    "[NAME] [--scope SCOPE]... [--expires 30d]" },
	{ "token", "list", cmd_token_list, "" },
	{ "token", "revoke", cmd_token_revoke, "NAME" },
	{ "audit", "list", cmd_audit_list,
	    "[--limit N] [--after ROW | --from-start] [FILTER]..." },
	{ "audit", "follow", cmd_audit_follow,
	    "[--after ROW | --from-start] [--json] [FILTER]..." },
	{ "audit", "verify", cmd_audit_verify, "[--head HEX] [--key PIN]" },
	{ "audit", "export", cmd_audit_export,
	    "--json [--after ROW] [FILTER]..." },
};

static void
usage(FILE *to)
{
	(void)fputs("nacre: AI agents in microVMs\n\n", to);
	for (size_t i = 0; i < NELEM(commands); i++)
		(void)fprintf(to, "  nacre %s%s%s %s\n",
		    commands[i].group ? commands[i].group : "",
		    commands[i].group ? " " : "", commands[i].verb,
		    commands[i].usage);
	(void)fputs("\nFILTER of the audit: --sandbox NAME, --verb VERB, "
		    "--caller WHO, --verdict ok|refused|failed,\n"
		    "--root NAME, --since TIME, --until TIME "
		    "(2026-01-31T12:00:00Z, or 15m: ago)\n",
	    to);
	(void)fputs("\noptions of every command: -o json|table, --state DIR "
		    "(NACRE_STATE), --quiet\n"
		    "exit codes: a command's own; 1 refused, 2 invalid, 3 not "
		    "proved, 4 not found, 75 try again,\n"
		    "124 timeout, 125 nacre failed, 126 not executable, 127 "
		    "not found, 137 out of memory\n",
	    to);
}

static bool
is_group(const char *word, const char *group)
{
	static const char *const aliases[][2] = {
		{ "sb", "sandbox" },
		{ "gw", "gateway" },
		{ "img", "image" },
	};

	for (size_t i = 0; i < NELEM(aliases); i++)
		if (strcmp(word, aliases[i][0]) == 0)
			word = aliases[i][1];
	return strcmp(word, group) == 0;
}

/* State folder: --state, NACRE_STATE, XDG_STATE_HOME, HOME. */
static void
find_state(struct cli *c)
{
	const char *given = getenv("NACRE_STATE");
	const char *xdg = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *to = c->state_room;
	size_t size = sizeof(c->state_room);
	bool fits;

	if (given && *given)
		fits = text_fmt(to, size, "%s", given);
	else if (xdg && *xdg)
		fits = text_fmt(to, size, "%s/nacre", xdg);
	else
		fits = text_fmt(to, size, "%s/.local/state/nacre",
		    home && *home ? home : "");
	c->state = fits ? to : "";
}

static int
run(int argc, char **argv)
{
	struct cli c = { 0 };
	bool known = false;

	find_state(&c);
	arena_init(&c.arena, CLI_ARENA);
	for (size_t i = 0; i < NELEM(commands); i++) {
		const struct command *k = &commands[i];
		int at = k->group ? 2 : 1;

		if (k->group && !is_group(argv[1], k->group))
			continue;
		known = known || k->group;
		if (argc > at && strcmp(argv[at], k->verb) == 0) {
			int code = k->run(&c, argv + at);

			arena_release(&c.arena);
			return code;
		}
	}
	(void)fprintf(stderr, "nacre: unknown command '%s%s%s'%s\n", argv[1],
	    known && argc > 2 ? " " : "", known && argc > 2 ? argv[2] : "",
	    ": 'nacre help' lists them");
	return fault_exit(FAULT_INVALID);
}

/* What was printed must have gone out, or the command has failed. */
static int
end(int code)
{
	struct fault f = { 0 };

	return code == 0 && cli_flush(&f) != 0 ? cli_fail(&f, NULL) : code;
}

int
main(int argc, char **argv)
{
	fd_standard();
	log_start("nacre", LOG_WARN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2 || strcmp(argv[1], "help") == 0 ||
	    strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		usage(argc < 2 ? stderr : stdout);
		return end(argc < 2 ? fault_exit(FAULT_INVALID) : 0);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		(void)puts("nacre " NACRE_VERSION);
		return end(0);
	}
	return end(run(argc, argv));
}
