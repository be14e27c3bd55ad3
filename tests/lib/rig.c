/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway's process, its time and its API; rig.h says what for. */
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "image/image.h"
#include "machine/machine.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"
#include "rig.h"
#include "unit.h"
#include "wire/wire.h"

enum {
	PATIENCE_MS = 60000, /* of a busy machine; nothing takes that */
	TICK_MS = 50,
	ARENA = 4 << 20,
	MUTE_STEP_MS = 50, /* or its start would wait for them for good */
	STOP_STEP_MS = 100,
};

#define CLOCK "NACRE_TEST_CLOCK"

uint64_t
rig_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtoull(text, NULL, 0) : otherwise;
}

uint32_t
rig_chance(uint64_t *seed, uint32_t n)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return (uint32_t)(*seed >> 33) % n;
}

/* --- time */

static struct rig_clock *
map_clock(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
	void *at;

	if (fd < 0 || ftruncate(fd, sizeof(struct rig_clock)) != 0)
		abort();
	at = mmap(NULL, sizeof(struct rig_clock), PROT_READ | PROT_WRITE,
	    MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		abort();
	(void)close(fd);
	return at;
}

static struct rig_clock *the_clock;

__attribute__((constructor)) static void
find_clock(void)
{
	const char *path = getenv(CLOCK);

	if (path != NULL)
		the_clock = map_clock(path, 0);
}

const struct rig_clock *
rig_clock(void)
{
	return the_clock;
}

int64_t
rig_real_ms(void)
{
	struct timespec t;

	if (syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t) != 0)
		abort();
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void
rig_tick(struct rig *r)
{
	struct fault f = { 0 };

	if (loop_tick(r->loop, TICK_MS, &f) != 0)
		fail_msg("loop: %s", f.text);
}

void
rig_until(struct rig *r, const bool *flag, const char *what)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;

	while (!*flag) {
		if (rig_real_ms() > end_ms)
			fail_msg("no end of: %s", what);
		rig_tick(r);
	}
}

void
rig_pass(struct rig *r, int64_t ms, int64_t jump_ms)
{
	r->clock->mono_ms += ms;
	r->clock->wall_ms += ms + jump_ms;
	if (r->api != NULL)
		rig_barrier(r);
}

/* --- the state folder */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	(void)remove(path); /* or what empties the trash has */
	return 0;
}

static void
copy_program(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	static char part[1 << 20];
	struct fault f = { 0 };
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, part, sizeof(part))) > 0)
		assert_int_equal(fd_write_all(out, part, (size_t)n, &f), 0);
	(void)close(in);
	(void)close(out);
}

static void
write_file(const char *folder, const char *name, const char *text)
{
	char path[2 * RIG_PATH];
	struct fault f = { 0 };

	assert_true(text_fmt(path, sizeof(path), "%s/%s", folder, name));
	if (file_write_atomic(AT_FDCWD, path, span_str(text), 0755, &f) != 0)
		fail_msg("%s", f.text);
}

static void
make_folder(const char *format, const char *folder)
{
	char path[2 * RIG_PATH];
	struct fault f = { 0 };

	assert_true(text_fmt(path, sizeof(path), "%s/%s", folder, format));
	if (dir_make(path, 0700, &f) != 0)
		fail_msg("%s", f.text);
}

void
rig_file(const struct rig *r, const char *name, const char *text)
{
	char path[2 * RIG_PATH];

	if (text != NULL) {
		write_file(r->work, name, text);
		return;
	}
	assert_true(text_fmt(path, sizeof(path), "%s/%s", r->work, name));
	assert_int_equal(unlink(path), 0);
}

unsigned
rig_jobs(const struct rig *r, const char *what)
{
	char path[2 * RIG_PATH];
	struct fault f = { 0 };
	unsigned n = 0;
	struct buf b;

	buf_init(&b, 1 << 20);
	assert_true(text_fmt(path, sizeof(path), "%s/jobs", r->work));
	if (access(path, F_OK) == 0) {
		assert_int_equal(file_read(AT_FDCWD, path, &b, &f), 0);
		assert_int_equal(buf_add(&b, "", 1, &f), 0);
		for (const char *at = (const char *)buf_ptr(&b);
		     (at = strstr(at, what)) != NULL; at++)
			n++;
	}
	buf_release(&b);
	return n;
}

/* What nothing runs needs no content. */
static void
make_image(const struct rig *r)
{
	char folder[RIG_PATH + 32];
	char path[RIG_PATH + 32];
	struct image_import ask = { .name = "tiny",
		.path = folder,
		.bytes_max = 1 << 20 };
	struct image_result result;
	struct image_store s;
	struct fault f = { 0 };

	assert_true(text_fmt(folder, sizeof(folder), "%s/tiny", r->work));
	assert_true(text_fmt(path, sizeof(path), "%s/images", r->state));
	make_folder("tiny", r->work);
	make_folder("tiny/bin", r->work);
	make_folder("tiny/etc", r->work);
	write_file(folder, "bin/sh", "not a program");
	write_file(folder, "etc/passwd",
	    "root:x:0:0::/root:/bin/sh\nagent:x:1000:1000::/home:/bin/sh\n");
	write_file(folder, "etc/group", "root:x:0:\nagent:x:1000:\n");
	if (image_store_open(&s, path, &f) != 0 ||
	    image_import(&s, &ask, &result, &f) != 0)
		fail_msg("cannot make an image: %s", f.text);
	image_store_close(&s);
}

/* A disk that nothing mounts is a hole, with what says that it is none. */
static void
make_disk(const struct rig *r)
{
	char path[RIG_PATH + 80];
	int fd;

	assert_true(text_fmt(path, sizeof(path), "%s/cache/blank-2-%llu.ext4",
	    r->state, (unsigned long long)MACHINE_DISK_BYTES));
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, MACHINE_DISK_BYTES), 0);
	assert_int_equal(pwrite(fd, "\x53\xef", 2, 1024 + 56), 2);
	(void)close(fd);
}

static void
hall_ready(struct watch *w, unsigned events)
{
	struct rig *r = CONTAINER_OF(w, struct rig, watch);
	int fd = accept4(r->hall, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (fd >= 0)
		rig_guest_come(r, fd);
}

static void
open_hall(struct rig *r)
{
	char path[RIG_PATH + 16];
	struct fault f = { 0 };

	assert_true(text_fmt(path, sizeof(path), "%s/hall", r->work));
	r->watch.ready = hall_ready;
	if (rpc_listen_unix(path, &r->hall, &f) != 0 ||
	    loop_watch(r->loop, &r->watch, r->hall, LOOP_IN, &f) != 0)
		fail_msg("%s", f.text);
}

/* In memory where there is such a folder: a walk commits often. */
static const char *
place(void)
{
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

void
rig_init(struct rig *r)
{
	char path[RIG_PATH + 32];
	struct fault f = { 0 };

	memset(r, 0, sizeof(*r));
	(void)signal(SIGPIPE, SIG_IGN);
	assert_true(
	    text_fmt(r->work, sizeof(r->work), "%s/nacre-rig.XXXXXX", place()));
	assert_non_null(mkdtemp(r->work));
	assert_true(text_fmt(r->state, sizeof(r->state), "%s/state", r->work));
	make_folder("state", r->work);
	make_folder("state/images", r->work);
	make_folder("state/cache", r->work);
	make_folder("bin", r->work);
	assert_true(text_fmt(r->program, sizeof(r->program),
	    "%s/bin/nacre-gateway", r->work));
	copy_program(r->program);
	write_file(r->work, "config",
	    "parked: 0\nprewarm: false\nmemory_reserve_mib: 0\n"
	    "accelerator: tcg\nmcp_port: off\n");
	make_image(r);
	make_disk(r);
	assert_true(text_fmt(path, sizeof(path), "%s/clock", r->work));
	r->clock = map_clock(path, O_CREAT);
	r->clock->wall_ms = INT64_C(1800000000000);
	r->clock->mono_ms = INT64_C(1000000000);
	the_clock = r->clock;
	r->loop = loop_new(&f);
	assert_non_null(r->loop);
	open_hall(r);
}

void
rig_clear(struct rig *r)
{
	if (r->gateway > 0)
		rig_kill(r);
	for (size_t i = 0; i < RIG_GUESTS; i++)
		if (r->guest[i].is_used)
			rig_guest_end(&r->guest[i]);
	for (int i = 0; i < 3; i++)
		rig_tick(r);
	loop_unwatch(&r->watch);
	fd_close(&r->hall);
	loop_free(r->loop);
	the_clock = NULL;
	(void)munmap(r->clock, sizeof(*r->clock));
	(void)nftw(r->work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* --- the gateway */

static _Noreturn void
become_gateway(const struct rig *r, int ready, const char *crash)
{
	char config[RIG_PATH + 16];
	char clock[RIG_PATH + 32];
	char at[64];
	char number[16];
	char log[RIG_PATH + 16];
	static const char asan[] = "ASAN_OPTIONS=detect_leaks=0";
	static const char path[] =
	    "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
	const char *const argv[] = { r->program, "--state", r->state,
		"--config", config, "--ready-fd", number, NULL };
	const char *const env[] = { clock, asan, path,
		crash != NULL ? at : NULL, NULL };
	int fd;

	(void)text_fmt(config, sizeof(config), "%s/config", r->work);
	(void)text_fmt(clock, sizeof(clock), CLOCK "=%s/clock", r->work);
	(void)text_fmt(at, sizeof(at), "NACRE_CRASH_AT=%s",
	    crash != NULL ? crash : "");
	(void)text_fmt(number, sizeof(number), "%d", ready);
	(void)text_fmt(log, sizeof(log), "%s/log", r->work);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)dup2(fd, STDERR_FILENO);
	(void)fcntl(ready, F_SETFD, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)syscall(SYS_execve, r->program, argv, env);
	_exit(127);
}

static void
api_down(struct rpc_link *l, void *owner, const struct fault *f)
{
	struct rig *r = owner;

	(void)f;
	if (r->api == l)
		r->api = NULL;
}

static void
connect_api(struct rig *r)
{
	static const struct rpc_link_events events = { .down = api_down };
	const struct rpc_link_options o = { .events = &events, .owner = r };
	char path[RIG_PATH + 32];
	struct fault f = { 0 };
	int fd = -1;

	assert_true(text_fmt(path, sizeof(path), "%s/gateway.sock", r->state));
	if (rpc_connect_unix(path, &fd, &f) != 0 ||
	    (r->api = rpc_link_open_fd(r->loop, fd, &o, &f)) == NULL)
		fail_msg("%s", f.text);
}

void
rig_start(struct rig *r, const char *crash)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	int ends[2];
	char one;
	ssize_t n;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	r->gateway = fork();
	assert_true(r->gateway >= 0);
	if (r->gateway == 0)
		become_gateway(r, ends[1], crash);
	(void)close(ends[1]);
	/* It asks the keepers that it finds, and those are ours. */
	while ((n = read(ends[0], &one, 1)) < 0) {
		if (rig_real_ms() > end_ms)
			fail_msg("the gateway does not come up");
		if (r->is_mute)
			rig_pass(r, MUTE_STEP_MS, 0);
		rig_tick(r);
	}
	(void)close(ends[0]);
	if (n == 0 && crash == NULL)
		fail_msg("the gateway ended at its start");
	if (n > 0)
		connect_api(r);
}

static void
leave(struct rig *r)
{
	r->gateway = 0;
	if (r->api != NULL)
		rpc_link_drop(r->api, NULL);
	rig_tick(r);
}

void
rig_kill(struct rig *r)
{
	if (r->gateway <= 0)
		return;
	(void)kill(r->gateway, SIGKILL);
	(void)waitpid(r->gateway, NULL, 0);
	leave(r);
}

bool
rig_is_dead(struct rig *r)
{
	if (r->gateway > 0 && waitpid(r->gateway, NULL, WNOHANG) == 0)
		return false;
	if (r->gateway > 0)
		leave(r);
	return true;
}

void
rig_stop(struct rig *r)
{
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	int status = 0;

	/* Its last answers have their time; each signal is a tick. */
	while (waitpid(r->gateway, &status, WNOHANG) == 0) {
		if (rig_real_ms() > end_ms)
			fail_msg("the gateway does not end");
		(void)kill(r->gateway, SIGTERM);
		r->clock->mono_ms += STOP_STEP_MS;
		r->clock->wall_ms += STOP_STEP_MS;
		rig_tick(r);
	}
	leave(r);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("the gateway ended with status %x", status);
}

/* --- its API */

void
rig_answer_child(struct rig_answer *a)
{
	nacre_v1_ChildReply r = nacre_v1_ChildReply_init_zero;
	struct fault f = { 0 };
	struct arena arena;

	arena_init(&arena, ARENA);
	if (WIRE_DECODE(nacre_v1_ChildReply, &r, buf_span(&a->bytes), &arena,
		&f) != 0)
		fail_msg("a reply: %s", f.text);
	(void)text_copy(a->id, sizeof(a->id), span_str(r.sandbox.id));
	(void)text_copy(a->state, sizeof(a->state), span_str(r.sandbox.state));
	a->has_exit = r.sandbox.has_exit;
	arena_release(&arena);
}

const struct rig_member rig_members[] = {
	{ "NOT_ALLOWED", "why" },
	{ "LIMIT_REACHED", "limit" },
	{ "LIMIT_REACHED", "raised_by" },
	{ "GRANT_EXPIRED", "at" },
	{ "GRANT_REVOKED", "at" },
	{ "POLICY_EXCEEDS_PARENT", "counterexample" },
	{ "POLICY_EXCEEDS_MAXIMUM", "counterexample" },
	{ "ALREADY_EXISTS", "name" },
	{ "IN_PROGRESS", "sandbox_id" },
	{ "NOT_READY", "state" },
	{ "RATE_LIMITED", "retry_after_ms" },
	{ "BUSY", "retry_after_ms" },
	{ "START_FAILED", "stage" },
	{ NULL, NULL },
};

static bool
has_member(const nacre_v1_Refusal *r, const char *member)
{
	const struct {
		const char *member;
		bool is_there;
	} all[] = {
		{ "why", span_str(r->why).len > 0 },
		{ "limit", span_str(r->limit).len > 0 },
		{ "raised_by", span_str(r->raised_by).len > 0 },
		{ "at", r->at_ms > 0 },
		{ "counterexample", r->has_counterexample },
		{ "name", span_str(r->name).len > 0 },
		{ "sandbox_id", span_str(r->sandbox_id).len > 0 },
		{ "state", span_str(r->state).len > 0 },
		{ "retry_after_ms", r->retry_after_ms > 0 },
		{ "stage", span_str(r->stage).len > 0 },
	};

	for (size_t i = 0; i < NELEM(all); i++)
		if (strcmp(all[i].member, member) == 0)
			return all[i].is_there;
	return false;
}

static void
explain(struct rig_answer *a, const nacre_v1_Refusal *r)
{
	struct span why = span_str(r->why);
	char more[64] = "";

	for (const struct rig_member *m = rig_members; m->code != NULL; m++)
		if (strcmp(m->code, r->code) == 0 && !has_member(r, m->member))
			fail_msg("%s without %s: %s", r->code, m->member,
			    r->message);

	(void)text_copy(a->word, sizeof(a->word), span_str(r->code));
	a->retry_ms = r->retry_after_ms;
	if (strcmp(a->word, "NOT_ALLOWED") == 0)
		(void)text_copy(more, sizeof(more), why);
	else if (strcmp(a->word, "LIMIT_REACHED") == 0)
		(void)text_fmt(more, sizeof(more), "%s %llu/%llu", r->limit,
		    (unsigned long long)r->used, (unsigned long long)r->max);
	else if (strcmp(a->word, "NOT_READY") == 0)
		(void)text_copy(more, sizeof(more), span_str(r->state));
	else if (strcmp(a->word, "INVALID_ARGUMENT") == 0)
		(void)text_copy(more, sizeof(more), span_str(r->field));
	else if (strcmp(a->word, "IN_PROGRESS") == 0)
		(void)text_copy(a->id, sizeof(a->id), span_str(r->sandbox_id));
	if (*more != '\0')
		(void)text_fmt(a->word, sizeof(a->word), "%s %s", r->code,
		    more);
}

void
rig_take_refusal(struct rig_answer *a, struct span detail,
    const struct fault *why)
{
	nacre_v1_Refusal r = nacre_v1_Refusal_init_zero;
	struct fault f = { 0 };
	struct arena arena;

	a->is_lost = why->code == FAULT_LOST;
	(void)text_copy(a->word, sizeof(a->word),
	    span_str(fault_reason(why->code)));
	(void)text_copy(a->text, sizeof(a->text), span_str(why->text));
	arena_init(&arena, ARENA);
	if (detail.len > 0 &&
	    WIRE_DECODE(nacre_v1_Refusal, &r, detail, &arena, &f) == 0)
		explain(a, &r);
	arena_release(&arena);
}

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	struct rig_answer *a = owner;
	struct fault f = { 0 };

	rpc_consume(c, m.len);
	assert_int_equal(buf_add(&a->bytes, m.ptr, m.len, &f), 0);
}

static void
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct rig_answer *a = owner;

	(void)c;
	a->call = NULL;
	a->is_done = true;
	a->is_yes = f->code == FAULT_NONE;
	if (a->is_yes)
		(void)text_copy(a->word, sizeof(a->word), SPAN_LIT("ok"));
	else
		rig_take_refusal(a, detail, f);
}

void
rig_call(struct rig *r, struct rig_answer *a, const char *path,
    const struct pb_msgdesc_s *fields, const void *message)
{
	static const struct rpc_call_events events = {
		.message = on_message,
		.closed = on_closed,
	};
	struct fault f = { 0 };
	struct buf b;

	memset(a, 0, sizeof(*a));
	buf_init(&a->bytes, 2 * LIMIT_MESSAGE);
	buf_init(&b, LIMIT_MESSAGE);
	if (wire_encode(fields, message, &b, &f) != 0)
		fail_msg("%s", f.text);
	if (r->api != NULL)
		a->call = rpc_call(r->api, path, span_of(NULL, 0), -1, &events,
		    a, &f);
	if (a->call == NULL || rpc_call_unary(a->call, buf_span(&b), &f) != 0)
		a->is_done = a->is_lost = true;
	buf_release(&b);
}

void
rig_ask(struct rig *r, struct rig_answer *a, const char *path,
    const struct pb_msgdesc_s *fields, const void *message)
{
	rig_call(r, a, path, fields, message);
	rig_until(r, &a->is_done, path);
}

void
rig_answer_release(struct rig_answer *a)
{
	buf_release(&a->bytes);
}

void
rig_barrier(struct rig *r)
{
	const openshell_v1_HealthRequest ask =
	    openshell_v1_HealthRequest_init_zero;
	struct rig_answer a;

	rig_ask(r, &a, "/openshell.v1.OpenShell/Health",
	    openshell_v1_HealthRequest_fields, &ask);
	rig_answer_release(&a);
}
