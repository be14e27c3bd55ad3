/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock by its system calls and our own constants: build machines carry
 * older headers than the kernels we run on. Rights that the running kernel
 * does not know are left out, so a jail is as tight as its kernel allows.
 * Source: linux/landlock.h of 6.12, Documentation/userspace-api/landlock.rst.
 */
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "confine/inner.h"

/* The numbers are the same on every architecture. */
enum {
	CALL_CREATE_RULESET = 444,
	CALL_ADD_RULE = 445,
	CREATE_VERSION = 1,
	RULE_PATH_BENEATH = 1,
	ABI_KNOWN = 6, /* the newest whose rights are listed here */
};

enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,     /* ABI 2 */
	FS_TRUNCATE = 1 << 14,  /* ABI 3 */
	FS_IOCTL_DEV = 1 << 15, /* ABI 5 */

	FS_ABI_1 = (1 << 13) - 1,
	/* What a rule on something that is no folder may hold. */
	FS_OF_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE |
	    FS_IOCTL_DEV,
	/* Of CONFINE_MAKE: no device nodes, ever. */
	FS_MAKE = FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG |
	    FS_MAKE_SOCK | FS_MAKE_FIFO | FS_MAKE_SYM | FS_REFER,

	NET_ALL = 3,   /* ABI 4: bind and connect of TCP */
	SCOPE_ALL = 3, /* ABI 6: abstract unix sockets, signals */
};

struct ruleset_attr {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

struct path_beneath_attr {
	uint64_t allowed;
	int32_t parent;
} __attribute__((packed));

int
confine_landlock_abi(void)
{
	long abi = syscall(CALL_CREATE_RULESET, NULL, 0, CREATE_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t
handled(int abi)
{
	uint64_t fs = FS_ABI_1;

	if (abi >= 2)
		fs |= FS_REFER;
	if (abi >= 3)
		fs |= FS_TRUNCATE;
	if (abi >= 5)
		fs |= FS_IOCTL_DEV;
	return fs;
}

/* Older kernels want the shorter struct. */
static size_t
attr_size(int abi)
{
	if (abi >= 6)
		return sizeof(struct ruleset_attr);
	return abi >= 4 ? offsetof(struct ruleset_attr, scoped)
			: offsetof(struct ruleset_attr, net);
}

static uint64_t
allowed(unsigned rights)
{
	uint64_t fs = 0;

	if (rights & CONFINE_READ)
		fs |= FS_READ_FILE | FS_READ_DIR;
	if (rights & CONFINE_EXECUTE)
		fs |= FS_EXECUTE;
	if (rights & CONFINE_WRITE)
		fs |= FS_WRITE_FILE | FS_TRUNCATE;
	if (rights & CONFINE_MAKE)
		fs |= FS_MAKE;
	if (rights & CONFINE_DEVICE)
		fs |= FS_IOCTL_DEV;
	return fs;
}

int
confine_landlock_add(struct confine_program *p, int fd, unsigned rights,
    struct fault *f)
{
	struct path_beneath_attr rule = { .parent = fd };
	struct stat st;

	if (fstat(fd, &st) != 0)
		return fault_sys(f, "cannot look at it");
	rule.allowed = allowed(rights) & handled(p->abi);
	if (!S_ISDIR(st.st_mode))
		rule.allowed &= FS_OF_FILE;
	if (p->ruleset < 0 || rule.allowed == 0)
		return 0;
	if (syscall(CALL_ADD_RULE, p->ruleset, RULE_PATH_BENEATH, &rule, 0))
		return fault_sys(f, "cannot allow it");
	return 0;
}

static int
add(struct confine_program *p, const struct confine_path *path, struct fault *f)
{
	with_fd fd = open(path->path, O_PATH | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && path->rights & CONFINE_OPTIONAL)
		return 0;
	if (fd < 0)
		return fault_sys(f, "cannot open '%s' for the jail",
		    path->path);
	if (confine_landlock_add(p, fd, path->rights, f) != 0)
		return fault_prefix(f, "'%s' in the jail", path->path);
	return 0;
}

/* The descriptor of a ruleset, or -1 with errno. */
static int
create(struct ruleset_attr attr, int abi)
{
	return (int)syscall(CALL_CREATE_RULESET, &attr, attr_size(abi), 0);
}

int
confine_landlock(struct confine_program *p, const struct confine_path *paths,
    size_t n, bool scoped, struct fault *f)
{
	int abi = confine_landlock_abi();

	p->abi = abi < ABI_KNOWN ? abi : ABI_KNOWN;
	if (abi > 0) {
		struct ruleset_attr attr = { .fs = handled(p->abi) };

		attr.net = scoped && p->abi >= 4 ? NET_ALL : 0;
		attr.scoped = scoped && p->abi >= 6 ? SCOPE_ALL : 0;
		p->ruleset = create(attr, p->abi);
		if (p->ruleset < 0)
			return fault_sys(f, "cannot make a landlock ruleset");
	}
	for (size_t i = 0; i < n; i++)
		if (add(p, &paths[i], f) != 0)
			return -1;
	return 0;
}

int
confine_landlock_apply(int ruleset)
{
	return (int)syscall(CONFINE_CALL_RESTRICT_SELF, ruleset, 0);
}

/*
 * Every domain refuses to rename or link from one folder to another unless a
 * rule lets it, also one that handles no right (landlock.rst, REFER).
 */
int
confine_scope(int root)
{
	const struct ruleset_attr attr = { .fs = FS_REFER,
		.scoped = SCOPE_ALL };
	const struct path_beneath_attr rule = { .allowed = FS_REFER,
		.parent = root };
	with_fd ruleset = -1;

	if (confine_landlock_abi() < 6) {
		errno = ENOSYS;
		return -1;
	}
	ruleset = create(attr, ABI_KNOWN);
	if (ruleset < 0 ||
	    syscall(CALL_ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) != 0)
		return -1;
	return confine_landlock_apply(ruleset);
}
