/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs expect to find and an image may lack: names that resolve, a
 * home, a work folder, a loopback that is up. Runs inside the new root before
 * any agent program. What is there is kept; nothing is written through a
 * link.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include "sandbox/inner.h"

enum {
	HOSTS_MAX = 16 << 10
};

/* Write when the file is missing or is an empty plain file. Best effort: an
 * image that brings something else there has its reasons. */
static void
write_missing(int etc, const char *name, const char *text)
{
	struct stat st;
	struct fault f = { 0 };
	with_fd fd = openat(etc, name,
	    O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > 0)
		return;
	if (fd_write_all(fd, text, strlen(text), &f) != 0)
		log_warn(&f, "cannot write '/etc/%s'", name);
}

/*
 * A line that must be there whatever the image or the kept disk has: at the
 * end of a plain file, once.
 */
static void
add_name(int etc, const char *line)
{
	char text[HOSTS_MAX + 1];
	struct stat st;
	struct fault f = { 0 };
	with_fd fd = openat(etc, "hosts",
	    O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, text, HOSTS_MAX);
	if (n < 0 || n == HOSTS_MAX) {
		log_info("/etc/hosts stays as it is");
		return;
	}
	text[n] = '\0';
	if (strstr(text, line))
		return;
	if ((n > 0 && text[n - 1] != '\n' &&
		fd_write_all(fd, "\n", 1, &f) != 0) ||
	    fd_write_all(fd, line, strlen(line), &f) != 0)
		log_warn(&f, "cannot write '/etc/hosts'");
}

static void
write_names(const char *host)
{
	char text[160];
	with_fd etc = -1;

	(void)mkdir("/etc", 0755);
	etc = open("/etc", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (etc < 0)
		return;
	(void)text_fmt(text, sizeof(text),
	    "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\t%s\n", host);
	write_missing(etc, "hosts", text);
	add_name(etc, BROKER_DOOR_TEXT "\t" BROKER_DOOR_NAME "\n");
	write_missing(etc, "resolv.conf", "nameserver 127.0.0.53\n");
	(void)text_fmt(text, sizeof(text), "%s\n", host);
	write_missing(etc, "hostname", text);
}

/*
 * Make the folders of an absolute path; the last one is the agent's. What
 * exists keeps its owner. On a kept disk the agent may have left links here:
 * one on the way ends the work, and the agent's own exec will say so.
 */
int
root_folder(const char *path, const nacre_sandbox_v1_ConfirmRequest *q,
    struct fault *f)
{
	struct span rest = span_str(path);
	struct stat st;
	with_fd at = -1;

	if (rest.len == 0 || stat(path, &st) == 0)
		return 0;
	if (path[0] != '/' || rest.len >= LIMIT_PATH)
		return fault_field(f, "workdir", "is no absolute path");
	at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (at >= 0 && rest.len > 0) {
		size_t n = span_find(rest, '/');
		char part[256];
		bool is_new;
		int next;

		if (!text_copy(part, sizeof(part), span_of(rest.ptr, n)))
			return fault_field(f, "workdir", "is too long");
		rest = span_from(rest, n + 1);
		if (n == 0)
			continue;
		is_new = mkdirat(at, part, 0755) == 0;
		next = openat(at, part,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (is_new && rest.len == 0 &&
		    fchownat(at, part, q->uid, q->gid, AT_SYMLINK_NOFOLLOW) !=
			0)
			(void)fault_sys(f, "cannot give away '%s'", path);
		fd_close(&at);
		at = next;
	}
	return f->code == FAULT_NONE ? 0 : -1;
}

int
root_furnish(const nacre_sandbox_v1_ConfirmRequest *q, struct fault *f)
{
	if (confine_lo_up() != 0)
		return fault_sys(f, "cannot raise the loopback");
	write_names(q->host_name);
	if (root_folder(q->home, q, f) != 0)
		return -1;
	return root_folder(q->workdir, q, f);
}
