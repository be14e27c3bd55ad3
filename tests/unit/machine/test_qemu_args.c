/* SPDX-License-Identifier: Apache-2.0 */
/* The VMM's command line: what is in it, and what must never be. */
#include <stdio.h>
#include <string.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

static const struct qemu_fds fds = { 30, 31, 32 };

static struct machine_config
config(bool cold)
{
	return (struct machine_config){ .shape = { 256, 2, MACHINE_TCG },
		.tsc_khz = 2596130,
		.cold = cold,
		.kernel_fd = 10,
		.initramfs_fd = 11,
		.memory_fd = 12,
		.state_fd = 13,
		.image_fd = 14,
		.disk_fd = 15 };
}

static bool
has(const struct qemu_line *q, const char *text)
{
	for (size_t i = 0; i < q->argc; i++)
		if (strcmp(q->argv[i], text) == 0)
			return true;
	return false;
}

static void
make(struct qemu_line *q, const struct machine_config *c)
{
	struct fault f = { 0 };

	assert_int_equal(qemu_line_make(q, c, &fds, &f), 0);
	assert_null(q->argv[q->argc]);
	assert_true(q->argc < QEMU_ARGS - 8);
}

/* Every path is one of our descriptors. */
static void
no_paths(const struct qemu_line *q)
{
	static const char *const kinds[] = { "/proc/self/fd/", "/dev/fdset/" };

	for (size_t i = 0; i < q->argc; i++) {
		for (const char *at = strchr(q->argv[i], '/'); at;
		     at = strchr(at, '/')) {
			size_t k = 0;

			while (k < NELEM(kinds) &&
			    strncmp(at, kinds[k], strlen(kinds[k])) != 0)
				k++;
			assert_true(k < NELEM(kinds));
			at += strlen(kinds[k]);
		}
		assert_null(strchr(q->argv[i], '{'));
	}
}

static void
test_cold(void **state)
{
	struct machine_config c = config(true);
	struct qemu_line q;

	(void)state;
	c.memory_fd = -1;
	make(&q, &c);
	no_paths(&q);
	assert_true(has(&q, "/proc/self/fd/10"));
	assert_true(has(&q, "/proc/self/fd/11"));
	assert_true(has(&q, "256M"));
	assert_true(has(&q, "tcg,tb-size=128"));
	assert_true(has(&q, "memory-backend-ram,id=mem,size=256M"));
	assert_true(has(&q,
	    "console=ttyS0 reboot=t panic=-1 quiet tsc=reliable "
	    "tsc_early_khz=2596130 mitigations=off"));
	assert_false(has(&q, "-incoming"));
	qemu_line_release(&q);
}

static void
test_restore(void **state)
{
	struct machine_config c = config(false);
	struct qemu_line q;

	(void)state;
	make(&q, &c);
	no_paths(&q);
	assert_true(has(&q, "-incoming"));
	assert_true(has(&q, "defer"));
	assert_false(has(&q, "-kernel"));
	assert_true(has(&q,
	    "memory-backend-file,id=mem,size=256M,"
	    "mem-path=/proc/self/fd/12,share=off"));
	qemu_line_release(&q);
}

static void
test_template(void **state)
{
	struct machine_config c = config(true);
	struct qemu_line q;

	(void)state;
	c.share = true;
	c.shape.accel = MACHINE_KVM;
	make(&q, &c);
	no_paths(&q);
	assert_true(has(&q,
	    "memory-backend-file,id=mem,size=256M,"
	    "mem-path=/proc/self/fd/12,share=on"));
	assert_true(has(&q, "kvm"));
	assert_true(has(&q, "host"));
	assert_false(has(&q, "tcg,tb-size=128"));
	qemu_line_release(&q);
}

/* What DESIGN 2 asks of every machine. */
static void
test_always(void **state)
{
	static const char *const wanted[] = {
		"microvm,rtc=on,acpi=off,pit=on,pic=on,isa-serial=on,"
		"memory-backend=mem",
		"-nodefaults",
		"-no-user-config",
		"-no-reboot",
		"virtio-serial-device,max_ports=2",
		"virtserialport,chardev=port,name=nacre",
		"socket,id=port,fd=30",
		"virtio-rng-device",
		"fd=14,set=1",
		"fd=15,set=2",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
		"resourcecontrol=deny",
	};
	static const char *const never[] = { "-netdev", "-nic", "-fsdev",
		"-virtfs", "-vnc", "-monitor", "-usb" };
	struct qemu_line q;

	(void)state;
	for (int cold = 0; cold < 2; cold++) {
		struct machine_config c = config(cold);

		make(&q, &c);
		for (size_t i = 0; i < NELEM(wanted); i++)
			assert_true(has(&q, wanted[i]));
		for (size_t i = 0; i < NELEM(never); i++)
			assert_false(has(&q, never[i]));
		for (size_t i = 0; i < q.argc; i++)
			assert_null(strstr(q.argv[i], "pci"));
		qemu_line_release(&q);
	}
}

static void
test_digest(void **state)
{
	uint8_t sums[3][DIGEST_SIZE];
	const enum machine_accel accels[] = { MACHINE_TCG, MACHINE_KVM,
		MACHINE_TCG };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct digest d;

		digest_init(&d);
		qemu_line_digest(&d, accels[i]);
		digest_final(&d, sums[i]);
	}
	assert_memory_not_equal(sums[0], sums[1], DIGEST_SIZE);
	assert_memory_equal(sums[0], sums[2], DIGEST_SIZE);
}

static void
test_versions(void **state)
{
	(void)state;
	assert_true(qemu_is_before("7.2.22", 8, 2));
	assert_true(qemu_is_before("8.1.5", 8, 2));
	assert_false(qemu_is_before("8.2.0", 8, 2));
	assert_false(qemu_is_before("10.0.2", 8, 2));
	assert_false(qemu_is_before("10.0", 8, 2));
	assert_true(qemu_is_before("", 8, 2));
	assert_true(qemu_is_before("x.y", 8, 2));
}

static void
test_shapes(void **state)
{
	static const struct {
		struct machine_shape shape;
		const char *field; /* NULL: fine */
	} rows[] = {
		{ { 64, 1, MACHINE_TCG }, NULL },
		{ { 8192, 8, MACHINE_KVM }, NULL },
		{ { 0, 1, MACHINE_TCG }, "memory" },
		{ { 32, 1, MACHINE_TCG }, "memory" },
		{ { 100, 1, MACHINE_TCG }, "memory" },
		{ { 16384, 1, MACHINE_TCG }, "memory" },
		{ { 128, 0, MACHINE_TCG }, "cpus" },
		{ { 128, 9, MACHINE_TCG }, "cpus" },
	};

	(void)state;
	for (size_t i = 0; i < NELEM(rows); i++) {
		struct fault f = { 0 };
		int r = machine_shape_check(&rows[i].shape, &f);

		assert_int_equal(r, rows[i].field ? -1 : 0);
		if (rows[i].field)
			assert_string_equal(f.field, rows[i].field);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cold),
		cmocka_unit_test(test_restore),
		cmocka_unit_test(test_template),
		cmocka_unit_test(test_always),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
