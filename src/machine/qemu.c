/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one driver: QEMU's microvm machine. Everything goes in by descriptors;
 * what it is told after its start goes by QMP. Sets of descriptors: 1 and 2
 * are the disks of the start, 3 and 4 those of the assignment, 5 the state.
 */
#include <sys/socket.h>

#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "machine/inner.h"

enum {
	SET_IMAGE = 3,
	SET_DISK = 4,
	SET_STATE = 5,
	PATHS = 16,
	PATH_TEXT = 320,
};

/*
 * What the VMM may open: itself, libraries, firmware; /dev/kvm when it is
 * used. Its disks, memory, kernel and state come as descriptors.
 */
static struct confine_program *
make_jail(const char *vmm, bool kvm, struct fault *f)
{
	const unsigned read = CONFINE_READ | CONFINE_OPTIONAL;
	const unsigned load = read | CONFINE_EXECUTE;
	char beside[2][PATH_TEXT] = { "", "" };
	char folder[PATH_TEXT] = "";
	struct confine_path paths[PATHS] = {
		{ vmm, CONFINE_READ | CONFINE_EXECUTE },
		{ "/lib", load },
		{ "/lib64", load },
		{ "/usr/lib", load },
		{ "/usr/lib64", load },
		{ "/etc/ld.so.cache", read },
		{ "/usr/share/qemu", read },
		{ "/usr/share/seabios", read },
	};
	size_t n = 8;

	/* A VMM of its own tree: /opt/qemu/bin beside lib and share. */
	(void)text_copy(folder, sizeof(folder), span_str(vmm));
	if (strncmp(vmm, "/usr/bin/", 9) != 0 &&
	    text_fmt(beside[0], PATH_TEXT, "%s/../lib", dirname(folder)) &&
	    text_fmt(beside[1], PATH_TEXT, "%s/../share/qemu", folder)) {
		paths[n++] = (struct confine_path){ beside[0], load };
		paths[n++] = (struct confine_path){ beside[1], read };
	}
	if (kvm)
		paths[n++] = (struct confine_path){ "/dev/kvm",
			CONFINE_READ | CONFINE_WRITE | CONFINE_DEVICE };
	return confine_vmm(paths, n, f);
}

/* The VMM's end of four socketpairs, and ours. */
struct ends {
	int ours[4];
	int theirs[4];
};
enum {
	END_PORT,
	END_QMP,
	END_CONSOLE,
	END_STDERR,
	ENDS
};

static void
ends_close(int fds[ENDS])
{
	for (int i = 0; i < ENDS; i++)
		fd_close(&fds[i]);
}

static int
ends_make(struct ends *e, struct fault *f)
{
	for (int i = 0; i < ENDS; i++)
		e->ours[i] = e->theirs[i] = -1;
	for (int i = 0; i < ENDS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) !=
		    0) {
			(void)fault_sys(f, "cannot make a socketpair");
			ends_close(e->ours);
			ends_close(e->theirs);
			return -1;
		}
		e->ours[i] = pair[0];
		e->theirs[i] = pair[1];
	}
	return 0;
}

static int
spawn(struct machine *m, struct ends *e, struct fault *f)
{
	const struct machine_config *c = &m->config;
	const struct qemu_fds fds = { e->theirs[END_PORT], e->theirs[END_QMP],
		e->theirs[END_CONSOLE] };
	const int keep[] = { fds.port, fds.qmp, fds.console, c->memory_fd,
		c->kernel_fd, c->initramfs_fd, c->image_fd, c->disk_fd };
	struct machine_exec x = { .path = c->vmm,
		.keep = keep,
		.keep_n = NELEM(keep),
		.in = -1,
		.out = -1,
		.err = e->theirs[END_STDERR] };
	struct confine_program *jail =
	    make_jail(c->vmm, c->shape.accel == MACHINE_KVM, f);
	struct qemu_line line;
	int r;

	if (!jail)
		return -1;
	r = qemu_line_make(&line, c, &fds, f);
	x.argv = line.argv;
	x.jail = jail;
	if (r == 0)
		r = machine_exec(&x, &m->pid, f);
	qemu_line_release(&line);
	confine_program_free(jail);
	return r;
}

static void
told(struct qmp *q, const struct fault *f)
{
	struct machine *m = CONTAINER_OF(q, struct machine, qmp);

	machine_driver_done(m, f);
}

static int
start(struct machine *m, struct fault *f)
{
	struct ends e;
	int r;

	if (ends_make(&e, f) != 0)
		return -1;
	r = spawn(m, &e, f);
	ends_close(e.theirs);
	if (r != 0) {
		ends_close(e.ours);
		return -1;
	}
	m->port_fd = e.ours[END_PORT];
	m->qmp.idle = told;
	if (qmp_open(&m->qmp, m->loop, e.ours[END_QMP], f) != 0)
		r = -1;
	if (console_open(&m->console, m->loop, e.ours[END_CONSOLE], f) != 0)
		r = -1;
	if (console_open(&m->stderr_tail, m->loop, e.ours[END_STDERR], f) != 0)
		r = -1;
	qmp_push(&m->qmp, QMP_REPLY, -1, "{\"execute\":\"qmp_capabilities\"}");
	/* Shared memory is not in the stream; the end is told by an event. */
	qmp_push(&m->qmp, QMP_REPLY, -1,
	    "{\"execute\":\"migrate-set-capabilities\",\"arguments\":"
	    "{\"capabilities\":[{\"capability\":\"x-ignore-shared\","
	    "\"state\":true},{\"capability\":\"events\",\"state\":true}]}}");
	return r;
}

/* Hand the stream's descriptor over, then start it. */
static void
move_state(struct machine *m, int fd, const char *verb)
{
	bool by_fd = qemu_is_before(m->config.vmm_version, 8, 2);

	if (by_fd)
		qmp_push(&m->qmp, QMP_REPLY, fd,
		    "{\"execute\":\"getfd\",\"arguments\":"
		    "{\"fdname\":\"state\"}}");
	else
		qmp_push(&m->qmp, QMP_REPLY, fd,
		    "{\"execute\":\"add-fd\",\"arguments\":"
		    "{\"fdset-id\":%d}}",
		    SET_STATE);
	qmp_push(&m->qmp, QMP_MIGRATED, -1,
	    "{\"execute\":\"%s\",\"arguments\":{\"uri\":\"%s\"}}", verb,
	    by_fd ? "fd:state" : "file:/dev/fdset/5");
}

static void
restore(struct machine *m, int state_fd)
{
	move_state(m, state_fd, "migrate-incoming");
	qmp_push(&m->qmp, QMP_REPLY, -1, "{\"execute\":\"cont\"}");
}

static void
save(struct machine *m, int fd)
{
	qmp_push(&m->qmp, QMP_REPLY, -1, "{\"execute\":\"stop\"}");
	move_state(m, fd, "migrate");
}

static void
hold(struct machine *m, bool pause)
{
	qmp_push(&m->qmp, QMP_REPLY, -1, "{\"execute\":\"%s\"}",
	    pause ? "stop" : "cont");
}

static void
add_disk(struct machine *m, int set, int node, int fd, bool read_only)
{
	qmp_push(&m->qmp, QMP_REPLY, fd,
	    "{\"execute\":\"add-fd\",\"arguments\":{\"fdset-id\":%d}}", set);
	qmp_push(&m->qmp, QMP_REPLY, -1,
	    "{\"execute\":\"blockdev-add\",\"arguments\":{\"driver\":\"file\","
	    "\"node-name\":\"n%d\",\"filename\":\"/dev/fdset/%d\","
	    "\"read-only\":%s,\"locking\":\"off\"%s}}",
	    node, set, read_only ? "true" : "false",
	    read_only ? "" : ",\"discard\":\"unmap\"");
}

static void
attach_disks(struct machine *m, int image_fd, int disk_fd)
{
	add_disk(m, SET_IMAGE, 0, image_fd, true);
	add_disk(m, SET_DISK, 1, disk_fd, false);
	qmp_push(&m->qmp, QMP_REPLY, -1,
	    "{\"execute\":\"blockdev-reopen\",\"arguments\":{\"options\":["
	    "{\"driver\":\"raw\",\"node-name\":\"d0\",\"file\":\"n0\","
	    "\"read-only\":true},"
	    "{\"driver\":\"raw\",\"node-name\":\"d1\",\"file\":\"n1\","
	    "\"read-only\":false,\"discard\":\"unmap\"}]}}");
	/* The scrap disks go, with their sets of the command line. */
	for (int node = 0; node < 2; node++) {
		qmp_push(&m->qmp, QMP_REPLY, -1,
		    "{\"execute\":\"blockdev-del\",\"arguments\":"
		    "{\"node-name\":\"f%d\"}}",
		    node);
		qmp_push(&m->qmp, QMP_REPLY, -1,
		    "{\"execute\":\"remove-fd\",\"arguments\":"
		    "{\"fdset-id\":%d}}",
		    node + 1);
	}
}

static void
stop(struct machine *m)
{
	qmp_quit(&m->qmp);
}

static void
release(struct machine *m)
{
	qmp_close(&m->qmp);
	console_release(&m->console);
	console_release(&m->stderr_tail);
}

const struct machine_driver machine_qemu = {
	.name = "qemu",
	.start = start,
	.restore = restore,
	.pause = hold,
	.save = save,
	.attach_disks = attach_disks,
	.stop = stop,
	.stat = machine_smaps,
	.release = release,
};
