/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nacre-gateway: the control plane, one unprivileged process, one loop.
 *
 *   nacre-gateway [--state DIR] [--listen PATH] [--config FILE]
 *       [--ready-fd N] [--foreground]
 *
 * It stays in the foreground always; whoever starts it decides what that
 * means. One byte is written to --ready-fd when it listens. SIGTERM and SIGINT
 * end it; sandboxes go on under their keepers.
 *
 *   STATE/gateway.sock  the API       STATE/keepers/    their sockets
 *   STATE/gateway.db    the store     STATE/sandboxes/  disk and log of each
 *   STATE/gateway.pid   STATE/NAME.key   STATE/images/     STATE/cache/ templates
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digest/digest.h"
#include "gateway/call.h"
#include "gateway/fleet.h"
#include "gateway/idle.h"
#include "gateway/image_gone.h"
#include "gateway/lapse.h"
#include "gateway/line.h"
#include "gateway/mcp.h"
#include "gateway/obituary.h"
#include "gateway/record.h"
#include "gateway/settle.h"
#include "gateway/stale.h"
#include "gateway/steady.h"
#include "gateway/tally.h"
#include "gateway/tree.h"

enum {
	PATH_ROOM = 128, /* what is put behind the state folder */
	GUEST_MAX = 8 << 20,
	FILES = 4096,
	SLOW_TICK_US = 20000, /* told in the log */
	/* Begun work of a tick: a few calls, whose answers share a commit.
	 * Who comes next waits for no more. */
	TICK_US = 200,
	ARENAS = 64, /* blocks of memory kept for the next calls */
};

struct options {
	const char *state;
	const char *listen;
	const char *config;
	int ready_fd;
};

static int
parse_number(const char *text, int *out, struct fault *f)
{
	uint64_t n;

	if (!num_parse(span_str(text), INT_MAX, &n))
		return fault_field(f, "--ready-fd", "'%s' is no descriptor",
		    text);
	*out = (int)n;
	return 0;
}

static int
parse_options(int argc, char **argv, struct options *o, struct fault *f)
{
	o->ready_fd = -1;
	for (int i = 1; i < argc; i++) {
		struct span name = span_str(argv[i]);
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;

		if (span_is(name, "--foreground"))
			continue;
		if (value == NULL)
			return fault_field(f, argv[i],
			    "'%s' is unknown or lacks its value", argv[i]);
		i++;
		if (span_is(name, "--state"))
			o->state = value;
		else if (span_is(name, "--listen"))
			o->listen = value;
		else if (span_is(name, "--config"))
			o->config = value;
		else if (!span_is(name, "--ready-fd"))
			return fault_field(f, argv[i - 1],
			    "unknown option '%s'", argv[i - 1]);
		else if (parse_number(value, &o->ready_fd, f) < 0)
			return -1;
	}
	return 0;
}

/* $XDG_STATE_HOME/nacre, else ~/.local/state/nacre. */
static int
default_state(char *out, size_t size, struct fault *f)
{
	/* One thread; nobody changes the environment. */
	const char *xdg = getenv("XDG_STATE_HOME"); /* NOLINT */
	const char *home = getenv("HOME");          /* NOLINT */

	if (xdg != NULL && xdg[0] == '/' &&
	    text_fmt(out, size, "%s/nacre", xdg))
		return 0;
	if (home != NULL && home[0] == '/' &&
	    text_fmt(out, size, "%s/.local/state/nacre", home))
		return 0;
	return fault_field(f, "--state", "say where: --state FOLDER");
}

static int
open_state(struct gateway *g, const struct options *o, struct fault *f)
{
	char path[LIMIT_PATH - PATH_ROOM];
	char real[PATH_MAX];

	if (o->state == NULL) {
		if (default_state(path, sizeof(path), f) < 0)
			return -1;
	} else if (!text_copy(path, sizeof(path), span_str(o->state))) {
		return fault_field(f, "--state",
		    "the folder's path is too long");
	}
	if (dir_make(path, 0700, f) < 0)
		return -1;
	if (realpath(path, real) == NULL)
		return fault_sys(f, "cannot open '%s'", path);
	if (!text_copy(g->state, sizeof(path), span_str(real)))
		return fault_field(f, "--state",
		    "the folder's path is too long");
	if (chmod(g->state, 0700) < 0)
		return fault_sys(f, "cannot close '%s' to others", g->state);
	if (o->listen != NULL)
		return text_copy(g->socket, sizeof(g->socket),
			   span_str(o->listen))
		    ? 0
		    : fault_field(f, "--listen", "the path is too long");
	return text_fmt(g->socket, sizeof(g->socket), "%s/gateway.sock",
		   g->state)
	    ? 0
	    : fault_field(f, "--state", "the folder's path is too long");
}

/* The programs beside this one, and the guest's files. */
static int
find_programs(struct gateway *g, struct fault *f)
{
	const char *guest = getenv("NACRE_GUEST"); /* NOLINT: one thread */
	char self[LIMIT_PATH - PATH_ROOM];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return fault_sys(f, "cannot find this program's folder");
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash == NULL)
		return fault_set(f, FAULT_SYSTEM, "odd path '%s'", self);
	*slash = '\0';
	(void)text_copy(g->bin, sizeof(g->bin), span_str(self));
	if (guest != NULL && guest[0] == '/')
		(void)text_copy(g->guest, sizeof(self), span_str(guest));
	else
		(void)text_fmt(g->guest, sizeof(g->guest), "%s/../guest",
		    g->bin);
	return 0;
}

static void
measure_guest(struct gateway *g)
{
	struct fault f = { 0 };
	struct fleet_paths p;
	struct buf b;

	fleet_paths(g, &p);
	buf_init(&b, GUEST_MAX);
	if (file_read(AT_FDCWD, p.guest, &b, &f) == 0) {
		uint8_t digest[DIGEST_SIZE];

		digest_of(buf_span(&b), digest);
		hex_format(digest, sizeof(digest), g->supervisor_digest);
	} else {
		log_warn(&f, "no guest: images work, sandboxes will not start");
	}
	buf_release(&b);
}

/* One gateway a state folder: the lock is this process's until it ends. One of
 * flock() would be its children's too, until they have come to their exec. */
static int
take_lock(struct gateway *g, struct fault *f)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[LIMIT_PATH];

	if (!text_fmt(path, sizeof(path), "%s/gateway.lock", g->state))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	g->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (g->lock < 0)
		return fault_sys(f, "cannot open '%s'", path);
	if (fcntl(g->lock, F_SETLK, &all) < 0)
		return fault_set(f, FAULT_EXISTS,
		    "another gateway runs on the state folder '%s'", g->state);
	return 0;
}

/* The lock says that nobody listens in its folder: a socket there is a dead
 * gateway's, though a child of that one, not yet at its exec, still holds it
 * and an accept queue that looks alive. */
static int
drop_old_socket(const struct gateway *g, const struct options *o,
    struct fault *f)
{
	struct stat st;

	if (o->listen != NULL || lstat(g->socket, &st) < 0 ||
	    !S_ISSOCK(st.st_mode))
		return 0;
	if (unlink(g->socket) < 0 && errno != ENOENT)
		return fault_sys(f, "cannot remove '%s'", g->socket);
	return 0;
}

static int
write_pid(const struct gateway *g, struct fault *f)
{
	char path[LIMIT_PATH];
	char text[32];

	if (!text_fmt(path, sizeof(path), "%s/gateway.pid", g->state) ||
	    !text_fmt(text, sizeof(text), "%d\n", (int)getpid()))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	return file_write_atomic(AT_FDCWD, path, span_str(text), 0600, f);
}

/*
 * What this process gives up: being read by others of its user, and leaving
 * memory on the disk. It needs: files of its state folder, its socket, and to
 * start the programs beside it.
 */
static int
lock_down(struct fault *f)
{
	const struct rlimit none = { 0, 0 };
	struct rlimit files;

	(void)umask(077);
	if (setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fault_sys(f, "cannot lock the process");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES) {
		files.rlim_cur =
		    files.rlim_max < FILES ? files.rlim_max : FILES;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)signal(SIGPIPE, SIG_IGN);
	return 0;
}

static void
on_signal(void *owner, int sig)
{
	log_info("signal %d", sig);
	stop_begin(owner, false);
}

static int
open_stores(struct gateway *g, struct fault *f)
{
	char path[LIMIT_PATH];

	if (!text_fmt(path, sizeof(path), "%s/images", g->state))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	if (image_store_open(&g->images, path, f) < 0)
		return -1;
	if (!text_fmt(path, sizeof(path), "%s/gateway.db", g->state))
		return fault_set(f, FAULT_SYSTEM, "the path is too long");
	g->store = store_open(path, f);
	return g->store == NULL ? -1 : 0;
}

static int
open_gateway(struct gateway *g, const struct options *o, struct fault *f)
{
	config_defaults(&g->config);
	if (o->config != NULL && config_read(&g->config, o->config, f) < 0)
		return -1;
	if (open_state(g, o, f) < 0 || take_lock(g, f) < 0 ||
	    drop_old_socket(g, o, f) < 0 || find_programs(g, f) < 0 ||
	    keys_open(g, f) < 0 || open_stores(g, f) < 0 ||
	    steady_open(g, f) < 0)
		return -1;
	g->loop = loop_new(f);
	if (g->loop == NULL ||
	    loop_signal(g->loop, SIGTERM, on_signal, g, f) < 0 ||
	    loop_signal(g->loop, SIGINT, on_signal, g, f) < 0)
		return -1;
	loop_tell_slow(g->loop, SLOW_TICK_US);
	loop_set_budget(g->loop, TICK_US);
	g->started_ms = clock_wall_ms();
	measure_guest(g);
	settle_init(g);
	loop_on_commit(g->loop, call_is_pending, call_commit, g);
	g->ready_fd = o->ready_fd;
	g->listener.fd = -1;
	if (record_open(g, f) < 0)
		return -1;
	image_gone_open(g);
	if (lapse_open(g, f) < 0 || line_open(g, f) < 0 || fleet_open(g, f) < 0)
		return -1;
	return write_pid(g, f);
}

/* What runs is known: calls can be answered. */
static void
serve(struct gateway *g)
{
	struct fault f = { 0 };

	g->adopted = NULL;
	if (mcp_open(g, &g->failed) < 0 || server_open(g, &g->failed) < 0) {
		loop_stop(g->loop);
		return;
	}
	log_info("listening on %s", g->socket);
	stale_begin(g);
	idle_open(g);
	if (g->ready_fd >= 0 && fd_write_all(g->ready_fd, "1", 1, &f) < 0)
		log_warn(&f, "nobody waits for the gateway");
	fd_close(&g->ready_fd);
}

static void
close_gateway(struct gateway *g)
{
	char path[LIMIT_PATH];

	tally_close(g);
	record_close(g);
	server_close(g);
	mcp_close(g);
	fleet_close(g);
	image_gone_close(g);
	if (text_fmt(path, sizeof(path), "%s/gateway.pid", g->state))
		(void)unlink(path);
	obituary_close(g);
	stale_close(g);
	idle_close(g);
	lapse_close(g);
	line_close(g);
	tree_close(g);
	store_close(g->store);
	image_store_close(&g->images);
	tls_key_wipe(&g->tunnel_key);
	tls_key_wipe(&g->token_key);
	tls_key_wipe(&g->audit_key);
	secret_wipe(g->mcp_key, sizeof(g->mcp_key));
}

int
main(int argc, char **argv)
{
	struct gateway *g = must_alloc(sizeof(*g));
	struct options o = { 0 };
	struct fault f = { 0 };

	fd_standard();
	arena_keep(ARENAS);
	log_start("gateway", LOG_INFO);
	if (parse_options(argc, argv, &o, &f) < 0 || lock_down(&f) < 0 ||
	    open_gateway(g, &o, &f) < 0) {
		log_error("cannot start: %s", f.text);
		free(g);
		return fault_exit(f.code);
	}
	if (g->adopting == 0)
		serve(g);
	else
		g->adopted = serve;
	if (loop_run(g->loop, &g->failed) < 0)
		fault_prefix(&g->failed, "the loop");
	f = g->failed;
	close_gateway(g);
	if (f.code == FAULT_NONE)
		log_info("ended");
	else
		log_error("ended: %s", f.text);
	return f.code == FAULT_NONE ? 0 : fault_exit(f.code);
}
