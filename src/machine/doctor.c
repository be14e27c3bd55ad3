/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host must have, one row a requirement, each looked at for real:
 * programs are found, a memory file is sealed, a counter is read. A row that
 * is not ok says what to do.
 */
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "confine/confine.h"
#include "machine/inner.h"

enum {
	DISK_LEAST_MIB = 2048,
	MEMORY_LEAST_MIB = 512,
};

struct visit {
	const struct machine_paths *paths;
	struct machine_check *check;
	struct vmm_facts vmm;
	bool has_vmm;
};

static void __attribute__((format(printf, 3, 4)))
say(struct visit *v, bool ok, const char *fmt, ...)
{
	va_list ap;

	v->check->ok = ok;
	va_start(ap, fmt);
	(void)vsnprintf(v->check->text, sizeof(v->check->text), fmt, ap);
	va_end(ap);
}

static void
check_qemu(struct visit *v)
{
	struct fault f = { 0 };
	const char *cache = v->paths->cache;

	v->has_vmm = facts_vmm(cache ? cache : "/nonexistent", v->paths->vmm,
			 &v->vmm, &f) == 0;
	if (!v->has_vmm)
		say(v, false, "%s", f.text);
	else if (qemu_is_before(v->vmm.version, 7, 2))
		say(v, false, "%s is %s: 7.2 or newer is needed", v->vmm.path,
		    v->vmm.version);
	else
		say(v, true, "%s, version %s", v->vmm.path, v->vmm.version);
}

/* The files that the microvm machine loads, in the folders of Debian's. */
static void
check_firmware(struct visit *v)
{
	static const char *const files[] = { "bios-microvm.bin", "pvh.bin" };
	static const char *const folders[] = { "/usr/share/qemu",
		"/usr/share/seabios", "/usr/local/share/qemu",
		"/usr/lib/ipxe/qemu" };
	char path[128];

	for (size_t i = 0; i < NELEM(files); i++) {
		bool found = false;

		for (size_t k = 0; k < NELEM(folders) && !found; k++)
			found = text_fmt(path, sizeof(path), "%s/%s",
				    folders[k], files[i]) &&
			    access(path, R_OK) == 0;
		if (!found) {
			say(v, false,
			    "%s is missing (apt-get install qemu-system-data "
			    "seabios)",
			    files[i]);
			return;
		}
	}
	say(v, true, "bios-microvm.bin and pvh.bin are there");
}

static void
check_kvm(struct visit *v)
{
	enum machine_accel a;
	char reason[200] = "";
	struct fault f = { 0 };

	if (facts_kvm(v->paths, &f) != 0)
		say(v, false, "%s%s: machines run under TCG", f.text,
		    f.sys == EACCES ? " (add the user to its group)" : "");
	else if (!v->paths->cache || !v->has_vmm ||
	    !facts_accel(v->paths->cache, &v->vmm, &a, reason, sizeof(reason)))
		say(v, true, "/dev/kvm may be opened; not tried yet");
	else if (a == MACHINE_KVM)
		say(v, true, "a guest booted under KVM");
	else
		say(v, false, "machines run under TCG%s: %s",
		    a == MACHINE_AUTO ? ", KVM is tried again" : "", reason);
}

static void
check_memory_files(struct visit *v)
{
	struct fault f = { 0 };
	uint64_t most = (uint64_t)LIMIT_MEMORY_MIB << 20;
	with_fd fd = memfd_new("nacre-doctor", most, &f);
	struct rlimit size = { 0 };

	(void)getrlimit(RLIMIT_FSIZE, &size);
	if (fd < 0 || memfd_seal(fd, &f) != 0)
		say(v, false, "%s", f.text);
	else if (fcntl(fd, F_GETFL) < 0 || ftruncate(fd, 0) == 0)
		say(v, false, "a sealed memory file can be changed");
	else
		say(v, true, "memory files up to %d MiB, sealed; file size %s",
		    LIMIT_MEMORY_MIB,
		    size.rlim_cur == RLIM_INFINITY ? "not limited" : "limited");
}

static void
check_landlock(struct visit *v)
{
	int abi = confine_landlock_abi();

	if (abi > 0)
		say(v, true, "ABI %d", abi);
	else
		say(v, false,
		    "the kernel has none (or lsm= leaves it out): a VMM's jail "
		    "does not guard paths");
}

static void
check_seccomp(struct visit *v)
{
	uint32_t kill = SECCOMP_RET_KILL_PROCESS;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &kill) == 0)
		say(v, true, "filters that end a process");
	else
		say(v, false, "the kernel has no seccomp filters: %s",
		    strerror(errno));
}

static void
check_pidfd(struct visit *v)
{
	with_fd fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		say(v, true, "processes are held by descriptors");
	else
		say(v, false, "a kernel of 5.10 or newer is needed");
}

static void
check_user_namespaces(struct visit *v)
{
	say(v, true, "not needed: no namespace is made on the host");
}

static void
check_tsc(struct visit *v)
{
	struct fault f = { 0 };
	struct buf b;
	bool constant;

	buf_init(&b, 1 << 20);
	constant = file_read(AT_FDCWD, "/proc/cpuinfo", &b, &f) == 0 &&
	    buf_add(&b, "", 1, &f) == 0 &&
	    strstr((const char *)buf_ptr(&b), " constant_tsc");
	buf_release(&b);
	if (constant)
		say(v, true, "constant");
	else
		say(v, false,
		    "the time stamp counter is not constant: clocks of guests "
		    "drift");
}

static void
check_program(struct visit *v, const char *package)
{
	char path[128];

	if (machine_find_program(v->check->name, path, sizeof(path)))
		say(v, true, "%s", path);
	else
		say(v, false, "not installed (apt-get install %s)", package);
}

static void
check_tar2sqfs(struct visit *v)
{
	check_program(v, "squashfs-tools-ng");
}

static void
check_mke2fs(struct visit *v)
{
	check_program(v, "e2fsprogs");
}

static void
check_gzip(struct visit *v)
{
	check_program(v, "gzip");
}

static void
check_zstd(struct visit *v)
{
	check_program(v, "zstd");
}

static void
check_space(struct visit *v)
{
	const char *path = v->paths->cache;
	struct statvfs st;
	uint64_t mib;

	if (!path || access(path, F_OK) != 0)
		path = "/var/tmp";
	if (statvfs(path, &st) != 0) {
		say(v, false, "%s: %s", path, strerror(errno));
		return;
	}
	mib = (uint64_t)st.f_bavail * st.f_frsize >> 20;
	say(v, mib >= DISK_LEAST_MIB, "%llu MiB free at %s%s",
	    (unsigned long long)mib, path,
	    mib >= DISK_LEAST_MIB ? "" : ": 2048 are wanted");
}

static void
check_memory(struct visit *v)
{
	uint64_t mib = machine_host_memory() >> 20;

	say(v, mib >= MEMORY_LEAST_MIB, "%llu MiB available%s",
	    (unsigned long long)mib,
	    mib >= MEMORY_LEAST_MIB ? "" : ": 512 are wanted");
}

static const struct {
	const char *name;
	bool needed;
	void (*look)(struct visit *v);
} rows[] = {
	{ "qemu", true, check_qemu },
	{ "firmware", true, check_firmware },
	{ "kvm", false, check_kvm },
	{ "memfd", true, check_memory_files },
	{ "seccomp", true, check_seccomp },
	{ "landlock", false, check_landlock },
	{ "pidfd", true, check_pidfd },
	{ "userns", false, check_user_namespaces },
	{ "tsc", true, check_tsc },
	{ "tar2sqfs", true, check_tar2sqfs },
	{ "mke2fs", true, check_mke2fs },
	{ "gzip", true, check_gzip },
	{ "zstd", true, check_zstd },
	{ "space", true, check_space },
	{ "memory", true, check_memory },
};

size_t
machine_doctor(const struct machine_paths *p, struct machine_check *out,
    size_t n)
{
	struct visit v = { .paths = p };

	if (n > NELEM(rows))
		n = NELEM(rows);
	for (size_t i = 0; i < n; i++) {
		out[i] = (struct machine_check){ .name = rows[i].name,
			.needed = rows[i].needed };
		v.check = &out[i];
		rows[i].look(&v);
	}
	return n;
}
