/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confirm: build the root, enter it, jail the agents, give up rights, prove
 * it. Once. The same
 * request again gets the same answer; another one is refused. A failure on
 * the way leaves the sandbox broken: it serves nothing but Stop.
 */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

static int
write_limit(int cgroup, const char *file, const char *value, struct fault *f)
{
	with_fd fd = openat(cgroup, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return fault_sys(f, "cannot open '%s'", file);
	if (fd_write_all(fd, value, strlen(value), f) != 0)
		return fault_prefix(f, "%s", file);
	return 0;
}

/* As many processes as the policy of the machine lets; 0: any number. */
static int
limit_pids(struct sandbox *sb, uint32_t most, struct fault *f)
{
	char text[32] = "max";

	if (sb->cgroup < 0)
		return 0;
	if (most)
		(void)text_fmt(text, sizeof(text), "%u", most);
	return write_limit(sb->cgroup, "pids.max", text, f);
}

static int
limit_memory(struct sandbox *sb, uint64_t most, struct fault *f)
{
	char text[32];

	if (most == 0)
		return 0;
	(void)text_fmt(text, sizeof(text), "%llu", (unsigned long long)most);
	return write_limit(sb->cgroup, "memory.max", text, f);
}

/* With room for one: the probes try that it holds. */
static int
set_limits(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	if (limit_pids(sb, 1, f) != 0)
		return -1;
	return limit_memory(sb, q->memory_max, f);
}

static int
answer_probes(struct sandbox *sb, struct fault *f)
{
	nacre_sandbox_v1_ConfirmReply reply =
	    nacre_sandbox_v1_ConfirmReply_init_zero;
	nacre_sandbox_v1_Probe rows[PROBE_MAX];
	struct probe probes[PROBE_MAX];
	size_t n = 0;

	if (probe_run(sb, probes, &n, f) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		rows[i] = (nacre_sandbox_v1_Probe){ .name = probes[i].name,
			.passed = probes[i].passed,
			.detail = probes[i].detail };
		if (!probes[i].passed && f->code == FAULT_NONE)
			(void)fault_set(f, FAULT_START_FAILED,
			    "probe '%s' failed: %s", probes[i].name,
			    probes[i].detail);
	}
	reply.probes = rows;
	reply.probes_count = (pb_size_t)n;
	if (f->code != FAULT_NONE)
		return -1;
	return wire_encode(nacre_sandbox_v1_ConfirmReply_fields, &reply,
	    &sb->confirm_reply, f);
}

static int
confirm(struct sandbox *sb, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	if (identity_take(&sb->who, q, f) != 0)
		return -1;
	/* From here on half of it may have happened. */
	sb->state = SANDBOX_BROKEN;
	if (set_limits(sb, q, f) != 0 || jail_image(sb, f) != 0 ||
	    broker_prepare(&sb->broker, "/up/u", "/low", f) != 0 ||
	    root_build(sb, q, f) != 0 || root_furnish(q, f) != 0 ||
	    jail_make(sb, q, f) != 0 || rights_reduce(f) != 0 ||
	    broker_open(&sb->broker, sb, f) != 0 || answer_probes(sb, f) != 0 ||
	    limit_pids(sb, q->pids_max, f) != 0 ||
	    leaf_limit_pids(sb, q->pids_max, f) != 0)
		return -1;
	sb->state = SANDBOX_READY;
	return 0;
}

void
confirm_serve(struct serving *s, struct span m)
{
	nacre_sandbox_v1_ConfirmRequest q =
	    nacre_sandbox_v1_ConfirmRequest_init_zero;
	struct sandbox *sb = s->sb;
	struct fault f = { 0 };
	uint8_t sum[DIGEST_SIZE];
	struct arena a;

	digest_of(m, sum);
	if (sb->state == SANDBOX_READY &&
	    memcmp(sum, sb->confirm_digest, sizeof(sum)) != 0)
		(void)fault_set(&f, FAULT_REFUSED,
		    "the sandbox is confirmed with other values");
	if (sb->state == SANDBOX_BOUND) {
		arena_init(&a, SANDBOX_ARENA);
		memcpy(sb->confirm_digest, sum, sizeof(sum));
		if (WIRE_DECODE(nacre_sandbox_v1_ConfirmRequest, &q, m, &a,
			&f) == 0 &&
		    confirm(sb, &q, &f) != 0)
			log_warn(&f, "cannot confirm");
		arena_release(&a);
	}
	if (f.code == FAULT_NONE &&
	    rpc_send(s->call, buf_span(&sb->confirm_reply), &f) == 0)
		rpc_finish(s->call, NULL, span_of(NULL, 0));
	else
		sandbox_refuse(s->call, &f);
}
