/* SPDX-License-Identifier: Apache-2.0 */
/* rooms: rpc digest */
/*
 * The host's side of one guest, for tests of the guest alone: a VMM, the
 * keeper's end of the port and a small gateway, in one process. It reads a
 * script on stdin, one act a line, and prints what the guest says.
 *
 *   guest_host VMLINUX INITRAMFS IMAGE DISK|- MEMORY TSC_KHZ
 *
 *   rehearse                    one rehearsal; must come first
 *   launch [KEY=VALUE...] -- ARGV...   uid, gid, tmpfs, memory, pids, no_main,
 *                               dir, ro, rw, best_effort, secret (of tokens)
 *   exec ID [tty|timeout=MS|in=TEXT|open|dir=D|stall]... -- ARGV...
 *   take ID                     read on after a stall
 *   input ID TEXT | end ID | signal ID N | size ID COLS ROWS | cancel ID
 *   put ID PATH NAME FILE | get ID PATH | get ID PATH > FILE | get ID PATH stall
 *   wait ID | exit | stopped | ready | session | lost | away | refreshed
 *                               of a get that stalls: until its file is open
 *   break                       drop the tunnel, let it come back
 *   refresh on|off|MS           answer Refresh, MS: with tokens of that life
 *   session on|off|drop         answer Session, refuse its token, or be gone
 *   until idle|busy             look at the VMM's work until it is that, 20 times
 *   hangup                      drop the port, wait for the machine to end
 *   hold N                      acknowledge no log for N lines of script
 *   stop GRACE | quit | sleep MS
 *   kill PID N                  a signal to a process of the host
 *   clock +S|-S                 set the guest's clock so far ahead or back
 */
#include "guest_tunnel.h"

#define UNTIL_MS 1000

/* --- wake frames and the VMM */
static void
read_woke(struct wire_woke *w)
{
	uint8_t frame[WIRE_WOKE_SIZE];
	struct fault f = { 0 };

	if (fd_read_all(host.port, frame, sizeof(frame), &f) != 0 ||
	    wire_woke_decode(frame, w, &f) != 0)
		die(&f, "woke frame");
	printf("woke op=%d stage=%u value=%u tsc=%d\n", (int)w->op, w->stage,
	    w->value, w->tsc);
}

static void
send_wake(enum wire_wake_op op)
{
	struct wire_wake w = { .op = op, .time_ns = clock_wall_ns() };
	uint8_t frame[WIRE_WAKE_SIZE];
	struct fault f = { 0 };

	random_bytes(w.seed, sizeof(w.seed));
	wire_wake_encode(&w, frame);
	if (fd_write_all(host.port, frame, sizeof(frame), &f) != 0)
		die(&f, "wake frame");
}

static void
start_vmm(char **argv)
{
	static char append[400];
	static char drive[2][600];
	static char chardev[64];
	int pair[2];
	char *args[64];
	size_t n = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		die(NULL, "socketpair");
	(void)fcntl(pair[0], F_SETFD, FD_CLOEXEC);
	(void)text_fmt(append, sizeof(append),
	    "console=ttyS0 reboot=t panic=-1 quiet tsc=reliable "
	    "tsc_early_khz=%s mitigations=off %s",
	    argv[6], getenv("GUEST_APPEND") ? getenv("GUEST_APPEND") : "");
	(void)text_fmt(chardev, sizeof(chardev), "socket,id=c0,fd=%d", pair[1]);
	(void)text_fmt(drive[0], sizeof(drive[0]),
	    "if=none,id=d0,file=%s,format=raw,readonly=on", argv[3]);
	(void)text_fmt(drive[1], sizeof(drive[1]),
	    "if=none,id=d1,file=%s,format=raw", argv[4]);
	const char *fixed[] = { "qemu-system-x86_64", "-M",
		"microvm,rtc=on,acpi=off,pit=on,pic=on,isa-serial=on", "-accel",
		"tcg,tb-size=128", "-cpu",
		getenv("GUEST_CPU") ? getenv("GUEST_CPU") : "max", "-m",
		argv[5], "-smp", "1", "-no-reboot", "-nodefaults",
		"-no-user-config", "-display", "none", "-serial", "stdio",
		"-kernel", argv[1], "-initrd", argv[2], "-append", append,
		"-global", "virtio-mmio.force-legacy=false", "-drive", drive[0],
		"-device", "virtio-blk-device,drive=d0", "-device",
		"virtio-serial-device,max_ports=2", "-chardev", chardev,
		"-device", "virtserialport,chardev=c0,name=nacre", "-device",
		"virtio-rng-device" };
	for (size_t i = 0; i < NELEM(fixed); i++)
		args[n++] = (char *)(uintptr_t)fixed[i];
	if (strcmp(argv[4], "-") != 0) {
		args[n++] = (char *)(uintptr_t) "-drive";
		args[n++] = drive[1];
		args[n++] = (char *)(uintptr_t) "-device";
		args[n++] = (char *)(uintptr_t) "virtio-blk-device,drive=d1";
	}
	args[n] = NULL;
	host.vmm = fork();
	if (host.vmm == 0) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(null, 0);
		(void)dup2(2, 1);
		(void)execvp(args[0], args);
		_exit(127);
	}
	(void)close(pair[1]);
	host.port = pair[0];
}

/* --- the script */
static struct stream *
new_stream(char kind, const char *id)
{
	for (size_t i = 0; i < STREAMS; i++) {
		struct stream *s = &host.streams[i];

		if (s->kind && !s->is_done)
			continue;
		*s = (struct stream){ .kind = kind, .fd = -1 };
		(void)text_copy(s->id, sizeof(s->id), span_str(id));
		s->began_us = clock_mono_us();
		s->began_vmm_us = vmm_us();
		return s;
	}
	die(NULL, "too many streams");
	return NULL;
}

static void
do_exec(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	nacre_session_v1_Exec *e = &d.kind.open.kind.exec;
	struct stream *s = new_stream('x', w[1]);

	for (size_t i = 2; i < n && strcmp(w[i], "--") != 0; i++) {
		if (option(w[i], "timeout"))
			e->timeout_ms = number(option(w[i], "timeout"));
		if (option(w[i], "in"))
			(void)text_fmt(s->input, sizeof(s->input), "%s\n",
			    option(w[i], "in"));
		if (strcmp(w[i], "open") == 0)
			s->keeps_open = true;
		if (strcmp(w[i], "stall") == 0)
			s->stalls = true;
	}
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_exec_tag;
	e->has_command = true;
	fill_command(&e->command, w + 2, n - 2);
	(void)send_down(&d);
}

static void
do_put(char **w)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct stream *s = new_stream('p', w[1]);

	(void)text_copy(s->file, sizeof(s->file), span_str(w[4]));
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_put_tag;
	d.kind.open.kind.put.path = w[2];
	d.kind.open.kind.put.name = w[3];
	(void)send_down(&d);
}

static void
do_get(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct stream *s = new_stream('g', w[1]);

	s->stalls = n > 3 && strcmp(w[3], "stall") == 0;
	if (n > 4)
		s->fd =
		    open(w[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	d.which_kind = nacre_session_v1_Down_open_tag;
	d.kind.open.attach_id = w[1];
	d.kind.open.which_kind = nacre_session_v1_Open_get_tag;
	d.kind.open.kind.get.path = w[2];
	(void)send_down(&d);
}

static bool
has_come(const char *what)
{
	struct stream *s;

	if (strcmp(what, "exit") == 0)
		return host.has_exited;
	if (strcmp(what, "ready") == 0)
		return host.is_ready;
	if (strcmp(what, "stopped") == 0)
		return host.is_stopped;
	if (strcmp(what, "lost") == 0)
		return host.is_lost;
	if (strcmp(what, "away") == 0)
		return host.was_turned_away;
	if (strcmp(what, "refreshed") == 0)
		return host.has_refreshed;
	if (strcmp(what, "session") == 0)
		return host.session != NULL;
	s = find(what);
	/* A get that stalls has come when its file is open. */
	return !s || s->is_done || (s->kind == 'g' && s->unread > 0);
}

static void
do_wait(const char *what)
{
	int64_t end = clock_mono_ms() + 180000;

	while (!has_come(what) && clock_mono_ms() < end) {
		if (host.is_lost && strcmp(what, "lost") != 0) {
			printf("gone while waiting for %s\n", what);
			return;
		}
		tick(100);
	}
	if (!has_come(what))
		printf("timeout waiting for %s, %llu bytes\n", what,
		    find(what) ? (unsigned long long)find(what)->out_bytes : 0);
}

static void
do_control(char **w)
{
	nacre_session_v1_AttachDown d = nacre_session_v1_AttachDown_init_zero;
	struct stream *s = find(w[1]);

	for (int i = 0; s && !s->call && !s->is_done && i < 200; i++)
		tick(50);
	if (!s || !s->call) {
		printf("no stream %s\n", w[1]);
		return;
	}
	if (strcmp(w[0], "input") == 0) {
		char text[4096];

		(void)text_fmt(text, sizeof(text), "%s\n", w[2]);
		send_text(s, text);
	} else if (strcmp(w[0], "end") == 0) {
		send_end(s);
	} else if (strcmp(w[0], "take") == 0) {
		s->stalls = false;
		rpc_consume(s->call, s->unread);
		s->unread = 0;
	} else if (strcmp(w[0], "cancel") == 0) {
		struct fault f = { 0 };

		(void)fault_set(&f, FAULT_CANCELLED, "gone");
		rpc_finish(s->call, &f, span_of(NULL, 0));
	} else if (strcmp(w[0], "signal") == 0) {
		d.which_kind = nacre_session_v1_AttachDown_signal_tag;
		d.kind.signal = (int32_t)number(w[2]);
		(void)send_attach(s, &d);
	} else if (strcmp(w[0], "size") == 0) {
		d.which_kind = nacre_session_v1_AttachDown_size_tag;
		d.kind.size.cols = (uint32_t)number(w[2]);
		d.kind.size.rows = (uint32_t)number(w[3]);
		(void)send_attach(s, &d);
	}
}

static void
do_launch(char **w, size_t n)
{
	struct fault f = { 0 };

	for (size_t i = 1; i < n; i++) {
		host.launch[i - 1] = must_dup(w[i]);
		host.launch_n = i;
	}
	host.launch_us = clock_mono_us();
	host.launch_vmm_us = vmm_us();
	send_wake(WIRE_WAKE_LAUNCH);
	if (fd_nonblock(host.port, &f) != 0)
		die(&f, "port");
	port_open();
}

/*
 * A frozen agent leaves the VMM's processor alone. On a host that is busy too a
 * busy one gets a small part only, and at times less: so look again.
 */
static void
do_until(const char *want)
{
	for (int i = 0; i < 20 && !host.is_lost; i++) {
		int64_t from_us = vmm_us();
		int64_t end = clock_mono_ms() + UNTIL_MS;
		int64_t used_us;

		while (clock_mono_ms() < end && !host.is_lost)
			tick((int)(end - clock_mono_ms()));
		used_us = vmm_us() - from_us;
		fprintf(stderr, "# vmm: %lld of %d ms\n",
		    (long long)used_us / 1000, UNTIL_MS);
		if (strcmp(used_us < UNTIL_MS * 1000 / 8 ? "idle" : "busy",
			want) == 0) {
			printf("vmm %s\n", want);
			return;
		}
	}
	printf("vmm never %s\n", want);
}

static bool
act(char **w, size_t n)
{
	nacre_session_v1_Down d = nacre_session_v1_Down_init_zero;
	struct fault lost = { .code = FAULT_LOST };
	struct wire_woke woke;
	int64_t end;

	if (strcmp(w[0], "rehearse") == 0) {
		int64_t cpu_us = vmm_us();

		end = clock_mono_us();
		send_wake(WIRE_WAKE_REHEARSE);
		read_woke(&woke);
		fprintf(stderr, "# rehearsal %lld us, %lld us of the VMM\n",
		    (long long)(clock_mono_us() - end),
		    (long long)(vmm_us() - cpu_us));
	} else if (strcmp(w[0], "launch") == 0) {
		do_launch(w, n);
	} else if (strcmp(w[0], "exec") == 0) {
		do_exec(w, n);
	} else if (strcmp(w[0], "put") == 0 && n == 5) {
		do_put(w);
	} else if (strcmp(w[0], "get") == 0) {
		do_get(w, n);
	} else if (strcmp(w[0], "wait") == 0) {
		do_wait(w[1]);
	} else if (strcmp(w[0], "hold") == 0) {
		host.no_ack = strcmp(w[1], "on") == 0;
	} else if (strcmp(w[0], "break") == 0) {
		if (host.inner)
			rpc_link_drop(host.inner, &lost);
		host.session = NULL;
	} else if (strcmp(w[0], "hangup") == 0) {
		rpc_link_drop(host.link, &lost);
		do_wait("lost");
		end = clock_mono_ms() + 10000;
		while (waitpid(host.vmm, NULL, WNOHANG) == 0 &&
		    clock_mono_ms() < end)
			tick(50);
		printf("machine %s\n",
		    clock_mono_ms() < end ? "ended" : "runs on");
	} else if (strcmp(w[0], "stop") == 0) {
		d.which_kind = nacre_session_v1_Down_stop_tag;
		d.kind.stop.grace_ms = (uint32_t)number(w[1]);
		(void)send_down(&d);
	} else if (strcmp(w[0], "sleep") == 0) {
		end = clock_mono_ms() + (int64_t)number(w[1]);
		while (clock_mono_ms() < end)
			tick((int)(end - clock_mono_ms()));
	} else if (strcmp(w[0], "refresh") == 0) {
		host.refuses_refresh = strcmp(w[1], "off") == 0;
		host.refresh_ms = w[1][0] != 'o' ? (int64_t)number(w[1]) : 0;
		host.has_refreshed = false;
	} else if (strcmp(w[0], "session") == 0) {
		host.refuses_session = strcmp(w[1], "off") == 0;
		host.refuses_tunnel = strcmp(w[1], "drop") == 0;
		host.was_turned_away = false;
	} else if (strcmp(w[0], "kill") == 0) {
		if (kill((pid_t)number(w[1]), (int)number(w[2])) != 0)
			die(NULL, "kill");
	} else if (strcmp(w[0], "clock") == 0) {
		int64_t s = (int64_t)number(w[1] + 1);

		tell_time(w[1][0] == '-' ? -s : s);
	} else if (strcmp(w[0], "until") == 0) {
		do_until(w[1]);
	} else if (strcmp(w[0], "say") == 0) {
		printf("== %s\n", n > 1 ? w[1] : "");
	} else if (strcmp(w[0], "quit") == 0) {
		return false;
	} else {
		do_control(w);
	}
	return true;
}

/* Blanks part words; '...' keeps them together. */
static size_t
split(char *line, char **w)
{
	size_t n = 0;

	while (*line && n < WORDS) {
		while (*line == ' ' || *line == '\n')
			line++;
		if (!*line)
			break;
		if (*line == '\'') {
			w[n++] = ++line;
			while (*line && *line != '\'')
				line++;
		} else {
			w[n++] = line;
			while (*line && *line != ' ' && *line != '\n')
				line++;
		}
		if (*line)
			*line++ = '\0';
	}
	return n;
}

int
main(int argc, char **argv)
{
	static char line[LINE];
	uint8_t random[TLS_ENTROPY];
	struct wire_woke woke;
	struct fault f = { 0 };
	char *words[WORDS];
	size_t n;

	if (argc != 7)
		die(NULL, "wants VMLINUX INITRAMFS IMAGE DISK MEMORY TSC");
	(void)signal(SIGPIPE, SIG_IGN);
	host.loop = loop_new(&f);
	random_bytes(random, sizeof(random));
	if (!host.loop ||
	    tls_key_make(&host.key, random, "gateway.nacre", &f) != 0)
		die(&f, "start");
	start_vmm(argv);
	read_woke(&woke);
	while (fgets(line, sizeof(line), stdin)) {
		n = split(line, words);
		words[n] = NULL;
		if (n > 0 && words[0][0] != '#' && !act(words, n))
			break;
	}
	print_kept("log", "out", &log_said[0]);
	print_kept("log", "err", &log_said[1]);
	fflush(stdout);
	(void)kill(host.vmm, SIGKILL);
	(void)waitpid(host.vmm, NULL, 0);
	return 0;
}
