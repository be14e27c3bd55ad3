/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre gateway start | stop | status, and nacre doctor: programs beside
 * this one are started by path, never searched.
 */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"
#include "json/json.h"
#include "proto/nacre_v1.pb.h"
#include "wire/wire.h"

enum {
	START_DEADLINE_MS = 30000,
	STOP_DEADLINE_MS = 30000
};

/* The program of that name in the folder of this one. */
static int
sibling(const char *name, char *out, size_t size, struct fault *f)
{
	char self[LIMIT_PATH];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return fault_sys(f, "cannot find this program's folder");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return fault_set(f, FAULT_SYSTEM, "odd program path '%s'",
		    self);
	*slash = '\0';
	if (!text_fmt(out, size, "%s/%s", self, name))
		return fault_set(f, FAULT_SYSTEM, "program path is too long");
	if (access(out, X_OK) != 0)
		return fault_sys(f, "cannot run '%s'", out);
	return 0;
}

/* The folders above the last one are the user's; ours is 0700. */
static int
make_state(const char *path, struct fault *f)
{
	char part[LIMIT_PATH];

	if (!text_copy(part, sizeof(part), span_str(path)))
		return fault_set(f, FAULT_INVALID, "state folder is too long");
	for (char *p = part + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(part, 0755) != 0 && errno != EEXIST)
			return fault_sys(f, "cannot make folder '%s'", part);
		*p = '/';
	}
	return dir_make(path, 0700, f);
}

/* In the child: become the gateway. Only raw calls until exec. */
static void
become_gateway(char *const argv[], int ready, int log)
{
	(void)setsid();
	if (log >= 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		(void)dup2(null, STDIN_FILENO);
		(void)dup2(log, STDOUT_FILENO);
		(void)dup2(log, STDERR_FILENO);
	}
	(void)fcntl(ready, F_SETFD, 0);
	(void)execv(argv[0], argv);
	_exit(fault_exit(FAULT_SYSTEM));
}

/* The last line of the log, as the reason why a start failed. */
static void
last_line(const char *path, char *out, size_t size)
{
	struct buf b;
	struct fault ignored = { 0 };

	out[0] = '\0';
	buf_init(&b, 4 << 20);
	if (file_read(AT_FDCWD, path, &b, &ignored) == 0 && b.len > 0) {
		struct span s = buf_span(&b);
		size_t end = s.len;
		size_t from;

		while (end > 0 && s.ptr[end - 1] == '\n')
			end--;
		from = end;
		while (from > 0 && s.ptr[from - 1] != '\n')
			from--;
		(void)text_copy(out, size, span_of(s.ptr + from, end - from));
	}
	buf_release(&b);
}

/* Wait for the gateway's word on the pipe: one byte when it listens. */
static int
wait_ready(int fd, pid_t pid, const char *log, struct fault *f)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char line[200];
	char word;
	int status;

	if (poll(&p, 1, START_DEADLINE_MS) > 0 && read(fd, &word, 1) == 1)
		return 0;
	if (waitpid(pid, &status, WNOHANG) == 0 && !(p.revents & POLLHUP))
		return fault_set(f, FAULT_TIMEOUT,
		    "the gateway did not answer within %d s",
		    START_DEADLINE_MS / 1000);
	last_line(log, line, sizeof(line));
	return fault_set(f, FAULT_START_FAILED, "the gateway ended: %s", line);
}

static int
start_background(struct cli *c, char *const argv[], const char *log_path,
    int pipe_fds[2], struct fault *f)
{
	with_fd log =
	    open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid_t pid;

	if (log < 0)
		return fault_sys(f, "cannot open '%s'", log_path);
	pid = fork();
	if (pid < 0)
		return fault_sys(f, "cannot start the gateway");
	if (pid == 0)
		become_gateway(argv, pipe_fds[1], log);
	(void)close(pipe_fds[1]);
	if (wait_ready(pipe_fds[0], pid, log_path, f) != 0)
		return -1;
	if (c->json)
		(void)printf("{\"pid\":%d,\"socket\":\"%s\"}\n", (int)pid,
		    c->socket);
	else
		(void)printf("gateway %d listens on %s\n", (int)pid, c->socket);
	return 0;
}

int
cmd_gateway_start(struct cli *c, char **argv)
{
	bool foreground = false;
	const char *config = NULL;
	const struct cli_option options[] = {
		{ "--foreground", CLI_FLAG, &foreground, 0 },
		{ "--config", CLI_TEXT, &config, 0 },
	};
	struct cli_words w;
	struct fault f = { 0 };
	char program[LIMIT_PATH];
	char log_path[LIMIT_PATH];
	char ready[16];
	int fds[2];
	int n = 0;
	char *args[9];

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "gateway start", &f) != 0 ||
	    make_state(c->state, &f) != 0 ||
	    sibling("nacre-gateway", program, sizeof(program), &f) != 0)
		return cli_fail(&f, NULL);
	if (pipe2(fds, O_CLOEXEC) != 0) {
		(void)fault_sys(&f, "cannot make a pipe");
		return cli_fail(&f, NULL);
	}
	(void)snprintf(ready, sizeof(ready), "%d", fds[1]);
	(void)snprintf(log_path, sizeof(log_path), "%s/gateway.log", c->state);
	args[n++] = program;
	args[n++] = must_dup("--state");
	args[n++] = must_dup(c->state);
	if (config) {
		args[n++] = must_dup("--config");
		args[n++] = must_dup(config);
	}
	if (!foreground) {
		args[n++] = must_dup("--ready-fd");
		args[n++] = ready;
	}
	args[n] = NULL;
	if (foreground) {
		(void)execv(program, args);
		(void)fault_sys(&f, "cannot run '%s'", program);
		return cli_fail(&f, NULL);
	}
	if (start_background(c, args, log_path, fds, &f) != 0)
		return cli_fail(&f, "'nacre doctor' checks what it needs");
	return 0;
}

/* A descriptor that tells when the gateway's process has ended. */
static int
open_process(struct client *cl, int *fd, struct fault *f)
{
	nacre_v1_GatewayStatusRequest ask =
	    nacre_v1_GatewayStatusRequest_init_zero;
	nacre_v1_GatewayStatusReply a = nacre_v1_GatewayStatusReply_init_zero;

	if (CLIENT_UNARY(cl, "/nacre.v1.Nacre/GatewayStatus",
		nacre_v1_GatewayStatusRequest, &ask,
		nacre_v1_GatewayStatusReply, &a, f) != 0)
		return -1;
	*fd = (int)syscall(SYS_pidfd_open, a.pid, 0);
	return *fd >= 0 ? 0 : fault_sys(f, "cannot watch process %d", a.pid);
}

/*
 * Until the connection and then the process have ended, in one time. Machines
 * that end too take theirs, which the gateway bounds, however many they are.
 */
static int
wait_end(struct client *cl, int process, bool sandboxes, struct fault *f)
{
	int64_t until = clock_mono_ms() + STOP_DEADLINE_MS;
	struct pollfd p = { .fd = process, .events = POLLIN };
	int64_t left = STOP_DEADLINE_MS;

	while (!cl->down && left > 0) {
		if (loop_tick(cl->loop, (int)left, f) != 0)
			return -1;
		if (!sandboxes)
			left = until - clock_mono_ms();
	}
	if (cl->down && poll(&p, 1, left > 0 ? (int)left : 0) > 0)
		return 0;
	return fault_set(f, FAULT_TIMEOUT,
	    "the gateway does not end: see its log");
}

/* Answered first, then gone: only then its lock on the state is free. */
static int
stop_gateway(struct client *cl, bool sandboxes, struct fault *f)
{
	nacre_v1_StopGatewayRequest ask = { .stop_sandboxes = sandboxes };
	nacre_v1_StopGatewayReply a = nacre_v1_StopGatewayReply_init_zero;
	with_fd process = -1;

	if (open_process(cl, &process, f) != 0 ||
	    CLIENT_UNARY(cl, "/nacre.v1.Nacre/StopGateway",
		nacre_v1_StopGatewayRequest, &ask, nacre_v1_StopGatewayReply,
		&a, f) != 0)
		return -1;
	return wait_end(cl, process, sandboxes, f);
}

int
cmd_gateway_stop(struct cli *c, char **argv)
{
	bool sandboxes = false;
	const struct cli_option options[] = {
		{ "--sandboxes", CLI_FLAG, &sandboxes, 0 },
	};
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, options, NELEM(options), &w, &f) != 0 ||
	    cli_want(&w, 0, "gateway stop [--sandboxes]", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	client_doing(&cl, "waiting for the gateway to stop");
	rc = stop_gateway(&cl, sandboxes, &f);
	client_close(&cl);
	if (rc != 0)
		return cli_fail(&f, cl.hint);
	if (!c->json)
		(void)puts("gateway stopped");
	return 0;
}

static void
print_status(const nacre_v1_GatewayStatusReply *a)
{
	char when[32];

	time_format(a->started_ms, when);
	(void)printf("gateway     %s, pid %d, since %s\n", cli_text(a->version),
	    a->pid, when);
	(void)printf("state       %s\n", cli_text(a->state_dir));
	(void)printf("sandboxes   %u (%u running, %u clones parked)\n",
	    a->sandboxes, a->running, a->parked);
	(void)printf("accelerator %s%s%s\n", cli_text(a->accelerator),
	    a->accelerator_why && *a->accelerator_why ? ": " : "",
	    cli_text(a->accelerator_why));
	(void)printf("vmm         %s\n", cli_text(a->vmm_version));
	(void)printf("kernel      %s%ssha256:%s\n", cli_text(a->kernel_release),
	    a->kernel_release && *a->kernel_release ? " " : "",
	    cli_text(a->kernel_digest));
	(void)printf("supervisor  sha256:%s\n", cli_text(a->supervisor_digest));
	(void)printf("mcp         %s\n", cli_text(a->mcp));
	(void)printf("audit key   %s\n", cli_text(a->audit_pin));
	(void)printf("loop        longest tick %lld us\n",
	    (long long)a->longest_tick_us);
}

static int
print_status_json(const nacre_v1_GatewayStatusReply *a, struct fault *f)
{
	const struct cli_text_member texts[] = {
		{ "version", a->version },
		{ "state_dir", a->state_dir },
		{ "accelerator", a->accelerator },
		{ "accelerator_why", a->accelerator_why },
		{ "vmm_version", a->vmm_version },
		{ "kernel_release", a->kernel_release },
		{ "kernel_digest", a->kernel_digest },
		{ "supervisor_digest", a->supervisor_digest },
		{ "audit_pin", a->audit_pin },
		{ "audit_key", a->audit_key },
		{ "mcp", a->mcp },
	};
	const struct cli_number_member numbers[] = {
		{ "pid", a->pid },
		{ "started_ms", a->started_ms },
		{ "sandboxes", a->sandboxes },
		{ "running", a->running },
		{ "parked", a->parked },
		{ "longest_tick_us", a->longest_tick_us },
	};
	struct buf b;
	struct json_out o;

	buf_init(&b, CLI_OUTPUT);
	json_out_init(&o, &b);
	json_out_object(&o);
	cli_json_texts(&o, texts, NELEM(texts));
	cli_json_numbers(&o, numbers, NELEM(numbers));
	json_out_end(&o);
	return cli_json_print(&b, &o, f);
}

int
cmd_gateway_status(struct cli *c, char **argv)
{
	nacre_v1_GatewayStatusRequest ask =
	    nacre_v1_GatewayStatusRequest_init_zero;
	nacre_v1_GatewayStatusReply a = nacre_v1_GatewayStatusReply_init_zero;
	struct cli_words w;
	struct client cl;
	struct fault f = { 0 };
	int rc;

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "gateway status", &f) != 0 ||
	    client_open(&cl, c, &f) != 0)
		return cli_fail(&f, NULL);
	rc = CLIENT_UNARY(&cl, "/nacre.v1.Nacre/GatewayStatus",
	    nacre_v1_GatewayStatusRequest, &ask, nacre_v1_GatewayStatusReply,
	    &a, &f);
	if (rc == 0 && c->json)
		rc = print_status_json(&a, &f);
	else if (rc == 0)
		print_status(&a);
	client_close(&cl);
	return rc == 0 ? 0 : cli_fail(&f, cl.hint);
}

int
cmd_doctor(struct cli *c, char **argv)
{
	struct cli_words w;
	struct fault f = { 0 };
	char program[LIMIT_PATH];
	char verb[] = "doctor";
	char json[] = "--json";
	char *args[] = { program, verb, NULL, NULL };

	if (cli_parse(c, argv, NULL, 0, &w, &f) != 0 ||
	    cli_want(&w, 0, "doctor", &f) != 0 ||
	    sibling("nacre-keeper", program, sizeof(program), &f) != 0)
		return cli_fail(&f, NULL);
	if (c->json)
		args[2] = json;
	(void)execv(program, args);
	(void)fault_sys(&f, "cannot run '%s'", program);
	return cli_fail(&f, NULL);
}
