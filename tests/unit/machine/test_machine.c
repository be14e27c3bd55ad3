/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a machine, over a driver whose VMM is a process that sleeps. */
#include <sys/socket.h>

#include <signal.h>
#include <unistd.h>

#include "../../lib/unit.h"
#include "machine/inner.h"

enum {
	LONG_MS = 60000,
	SHORT_MS = 100
};

static int guest = -1; /* the far end of the port */
static unsigned stops;
static bool has_ended;
static struct fault why;
static struct loop *loop;
static struct machine *m;

static int
fake_start(struct machine *it, struct fault *f)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		return fault_sys(f, "cannot make a port");
	it->port_fd = ends[0];
	guest = ends[1];
	it->pid = fork();
	if (it->pid == 0) {
		(void)pause();
		_exit(0);
	}
	return it->pid < 0 ? fault_sys(f, "cannot fork") : 0;
}

/* It does not listen. */
static void
fake_stop(struct machine *it)
{
	(void)it;
	stops++;
}

static void
fake_release(struct machine *it)
{
	(void)it;
}

static const struct machine_driver fake = {
	.name = "fake",
	.start = fake_start,
	.stop = fake_stop,
	.release = fake_release,
};

static void
on_phase(struct machine *it, void *owner, enum machine_phase p,
    const struct fault *f)
{
	(void)it;
	(void)owner;
	if (p != MACHINE_ENDED)
		return;
	has_ended = true;
	why = *f;
}

static const struct machine_events events = { .phase = on_phase };

static int
setup(void **state)
{
	const struct machine_config c = { .shape = { 64, 1, MACHINE_TCG },
		.cold = true,
		.kernel_fd = -1,
		.initramfs_fd = -1,
		.memory_fd = -1,
		.state_fd = -1,
		.image_fd = -1,
		.disk_fd = -1 };
	struct fault f = { 0 };

	(void)state;
	has_ended = false;
	stops = 0;
	loop = loop_new(&f);
	m = machine_new(loop, &c, &events, NULL, &f);
	if (!loop || !m)
		return -1;
	m->driver = &fake;
	return machine_start(m, &f);
}

static int
teardown(void **state)
{
	(void)state;
	machine_free(m);
	loop_free(loop);
	fd_close(&guest);
	return 0;
}

static void
turn(void)
{
	struct fault f = { 0 };

	assert_int_equal(loop_tick(loop, 20, &f), 0);
}

static void
wait_for_the_end(void)
{
	int64_t end_ms = clock_mono_ms() + LONG_MS / 4;

	while (!has_ended) {
		assert_true(clock_mono_ms() < end_ms);
		turn();
	}
}

static void
a_later_stop_only_shortens_the_grace(void **state)
{
	(void)state;
	machine_stop(m, LONG_MS);
	machine_stop(m, SHORT_MS);
	machine_stop(m, LONG_MS);
	assert_int_equal(stops, 1);
	wait_for_the_end();
	assert_int_equal(why.code, FAULT_NONE);
}

/* More of them must not put the end off. */
static void
bad_frames_end_the_machine_once(void **state)
{
	uint8_t bad[WIRE_WOKE_SIZE] = { 0xff };
	int64_t at_ms;

	(void)state;
	assert_int_equal(send(guest, bad, sizeof(bad), 0), sizeof(bad));
	while (!m->stopping)
		turn();
	at_ms = m->grace.at_ms;
	assert_false(loop_is_watched(&m->port));
	for (int i = 0; i < 10; i++) {
		(void)send(guest, bad, sizeof(bad), MSG_NOSIGNAL);
		turn();
	}
	if (!has_ended)
		assert_int_equal(m->grace.at_ms, at_ms);
	wait_for_the_end();
	assert_int_equal(why.code, FAULT_PROTOCOL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_later_stop_only_shortens_the_grace),
		TEST(bad_frames_end_the_machine_once),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
