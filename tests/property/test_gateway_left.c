/* rooms: gateway */
/* SPDX-License-Identifier: Apache-2.0 */
/* A client of HTTP/1.1 that goes away while its call runs. */
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "../lib/rig_ask.h"
#include "../lib/rig_program.h"
#include "../lib/unit.h"

enum {
	PATIENCE_MS = 20000,
};

#define BODY                                                               \
 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"    \
 "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","  \
 "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":"            \
 "\"create_sandbox\",\"arguments\":{\"from\":\"tiny\",\"kind\":\"agent\"," \
 "\"command\":[\"/bin/pi\"]}}}"
#define HEAD                                                              \
 "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"  \
 "Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n" \
 "Mcp-Method: tools/call\r\nMcp-Name: create_sandbox\r\nContent-Length: " \
 "%zu\r\n\r\n"

static struct rig r;

static void
tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL),
	    strlen(text));
}

/* The connection is closed, not answered. */
static void
its_call_is_cancelled_though_more_bytes_came(void **state)
{
	char text[1024];
	char path[RIG_PATH + 32];
	struct fault f = { 0 };
	int64_t end_ms = rig_real_ms() + PATIENCE_MS;
	unsigned before = r.spawned;
	char byte;
	int fd;

	(void)state;
	assert_true(text_fmt(path, sizeof(path), "%s/gateway.sock", r.state));
	assert_int_equal(rpc_connect_unix(path, &fd, &f), 0);
	assert_true(text_fmt(text, sizeof(text), HEAD BODY, strlen(BODY)));
	tell(fd, text);
	while (r.spawned == before)
		rig_tick(&r);
	tell(fd, "\r\n");
	rig_barrier(&r);
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	/* A reset: of bytes that are not read. */
	while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN) {
		if (rig_real_ms() > end_ms)
			fail_msg("it goes on");
		rig_tick(&r);
	}
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
	(void)close(fd);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_call_is_cancelled_though_more_bytes_came),
	};

	return rig_main(argc, argv, &r, tests, NELEM(tests));
}
