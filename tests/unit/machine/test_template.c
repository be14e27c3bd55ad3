/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which accelerator a template gets when "auto" is asked for, by what the
 * cache remembers and whether the device opens. The VMM is a shell, which says
 * a version and boots nothing, so that no template comes of it.
 */
#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

#define NO_DEVICE "/nonexistent/kvm"
#define OPENS     "/dev/null"
#define BOOTS_NOT "a guest does not boot under KVM"

static char cache[] = "/tmp/nacre-unit.XXXXXX";
static struct machine_paths paths = {
	.vmm = "/bin/bash",
	.kernel = "/etc/passwd",
	.initramfs = "/etc/passwd",
	.guest = "/etc/passwd",
	.cache = cache,
};
static struct vmm_facts vmm;

static int
start(void **state)
{
	struct fault f = { 0 };

	(void)state;
	(void)memcpy(cache + sizeof(cache) - 7, "XXXXXX", 6);
	if (!mkdtemp(cache))
		return -1;
	return facts_vmm(cache, paths.vmm, &vmm, &f);
}

static int
end(void **state)
{
	char command[64];

	(void)state;
	(void)text_fmt(command, sizeof(command), "rm -rf %s", cache);
	return system(command); /* NOLINT(cert-env33-c) */
}

/* The accelerator that was chosen; why is its reason. */
static enum machine_accel
choice(const char *device, char why[200])
{
	const struct machine_shape s = { 64, 1, MACHINE_AUTO };
	struct machine_template t;
	struct fault f = { 0 };

	paths.kvm = device;
	assert_int_equal(machine_template_make(&paths, &s, &t, &f), 0);
	assert_string_not_equal(t.why_cold, "");
	(void)text_copy(why, 200, span_str(t.accel_reason));
	machine_template_release(&t);
	return t.shape.accel;
}

static void
is_tcg_for(const char *device, const char *reason)
{
	char why[200];

	assert_int_equal(choice(device, why), MACHINE_TCG);
	if (!strstr(why, reason))
		fail_msg("'%s' does not say '%s'", why, reason);
}

static void
test_no_device(void **state)
{
	enum machine_accel a;
	char why[200];

	(void)state;
	is_tcg_for(NO_DEVICE, NO_DEVICE " cannot be used: No such file");
	assert_false(facts_accel(cache, &vmm, &a, why, sizeof(why)));
	is_tcg_for(OPENS, BOOTS_NOT);
}

/* It came back with another user, in a container without the device. */
static void
test_kvm_is_known_and_gone(void **state)
{
	enum machine_accel a;
	char why[200];

	(void)state;
	facts_accel_remember(cache, &vmm, MACHINE_KVM, "");
	is_tcg_for(NO_DEVICE, NO_DEVICE " cannot be used");
	assert_true(facts_accel(cache, &vmm, &a, why, sizeof(why)));
	assert_int_equal(a, MACHINE_KVM);
}

static void
test_kvm_is_known_and_fails(void **state)
{
	enum machine_accel a;
	char why[200];

	(void)state;
	facts_accel_remember(cache, &vmm, MACHINE_KVM, "");
	is_tcg_for(OPENS, BOOTS_NOT);
	/* It did once: what came between may pass. */
	assert_true(facts_accel(cache, &vmm, &a, why, sizeof(why)));
	assert_int_equal(a, MACHINE_KVM);
}

static void
test_tcg_is_known(void **state)
{
	(void)state;
	facts_accel_remember(cache, &vmm, MACHINE_TCG, "it fell over");
	is_tcg_for(OPENS, "it fell over");
	is_tcg_for(NO_DEVICE, "cannot be used");
	is_tcg_for(OPENS, "it fell over");
}

/* Any fault was remembered for good by those who wrote files like this. */
static void
test_old_file(void **state)
{
	struct fault f = { 0 };
	char release[128];
	char path[64];
	char text[512];
	struct buf b;

	(void)state;
	buf_init(&b, sizeof(release));
	assert_int_equal(
	    file_read(AT_FDCWD, "/proc/sys/kernel/osrelease", &b, &f), 0);
	(void)text_copy(release, sizeof(release),
	    span_of(buf_ptr(&b), b.len - 1));
	buf_release(&b);
	(void)text_fmt(path, sizeof(path), "%s/accel.json", cache);
	(void)text_fmt(text, sizeof(text),
	    "{\"id\":\"%s %s\",\"accel\":\"tcg\","
	    "\"reason\":\"/dev/kvm cannot be used: Permission denied\"}",
	    vmm.digest, release);
	assert_int_equal(
	    file_write_atomic(AT_FDCWD, path, span_str(text), 0600, &f), 0);
	is_tcg_for(OPENS, BOOTS_NOT);
}

static void
doctor_says(const char *device, bool ok, const char *text)
{
	struct machine_check all[32];
	size_t n;

	paths.kvm = device;
	n = machine_doctor(&paths, all, NELEM(all));
	for (size_t i = 0; i < n; i++) {
		if (strcmp(all[i].name, "kvm") != 0)
			continue;
		assert_int_equal(all[i].ok, ok);
		if (!strstr(all[i].text, text))
			fail_msg("'%s' does not say '%s'", all[i].text, text);
	}
}

static void
test_doctor(void **state)
{
	(void)state;
	doctor_says(NO_DEVICE, false, NO_DEVICE " cannot be used");
	doctor_says(OPENS, true, "not tried yet");
	facts_accel_remember(cache, &vmm, MACHINE_AUTO, "too slow");
	doctor_says(OPENS, false, "KVM is tried again: too slow");
	facts_accel_remember(cache, &vmm, MACHINE_TCG, "it fell over");
	doctor_says(OPENS, false, "under TCG: it fell over");
	facts_accel_remember(cache, &vmm, MACHINE_KVM, "");
	doctor_says(OPENS, true, "booted under KVM");
	doctor_says(NO_DEVICE, false, "under TCG");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_no_device, start, end),
		cmocka_unit_test_setup_teardown(test_kvm_is_known_and_gone,
		    start, end),
		cmocka_unit_test_setup_teardown(test_kvm_is_known_and_fails,
		    start, end),
		cmocka_unit_test_setup_teardown(test_tcg_is_known, start, end),
		cmocka_unit_test_setup_teardown(test_old_file, start, end),
		cmocka_unit_test_setup_teardown(test_doctor, start, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
