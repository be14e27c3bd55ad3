/* SPDX-License-Identifier: Apache-2.0 */
/* A grant as it is shown. */
#include "../../lib/unit.h"
#include "base/base.h"
#include "grant/grant.h"
#include "json/json.h"

#define PIN "0200000000000000000000000000000000000000000000000000000000000000"

static struct grant_node nodes[] = {
	{ .parent = GRANT_NOBODY, .life = GRANT_RUNNING },
	{ .parent = 0, .depth = 1, .life = GRANT_RUNNING },
	{ .parent = 1, .depth = 2, .life = GRANT_STOPPED },
	{ .parent = 1, .depth = 1, .kind = GRANT_TOOL, .life = GRANT_RUNNING },
	{ .parent = 1, .depth = 1, .kind = GRANT_TOOL, .life = GRANT_STARTING },
	{ .parent = 0, .depth = 1, .life = GRANT_ENDED },
};

static void
fill(struct grant *g, struct grant_tree *t)
{
	nodes[0].name = SPAN_LIT("lead");
	*g = (struct grant){ .id = SPAN_LIT("g-1"),
		.set_by = SPAN_LIT("uid:0"),
		.max = { 2, 1, 5 },
		.used_total = 4,
		.created_ms = 1795953600000,
		.expires_ms = 1795957200000,
		.deadline_ms = 3600000,
		.programs_n = 2,
		.programs = { { .path = SPAN_LIT("/bin/node"),
				  .resolved = SPAN_LIT("/bin/node-22") },
		    { .path = SPAN_LIT("/opt/pi"),
			.is_pinned = true,
			.has_sha256 = true,
			.sha256 = { 2 } } } };
	*t =
	    (struct grant_tree){ nodes, NELEM(nodes), SPAN_LIT("uid:1000"), g };
}

static void
expect(const struct grant_tree *t, struct grant_now now, const char *want)
{
	struct json_out o;
	struct fault f = { 0 };
	struct buf b;

	buf_init(&b, 1 << 16);
	json_out_init(&o, &b);
	grant_write(t, now, &o);
	if (json_out_done(&o, &f) < 0)
		fail_msg("%s", f.text);
	if (!span_is(buf_span(&b), want))
		fail_msg("%.*s", (int)b.len, (const char *)buf_ptr(&b));
	buf_release(&b);
}

static void
what_is_used_and_left_is_shown(void **state)
{
	struct grant g;
	struct grant_tree t;

	(void)state;
	fill(&g, &t);
	expect(&t, (struct grant_now){ 1795953600000, 0 },
	    "{\"id\":\"g-1\",\"root\":\"lead\",\"user\":\"uid:1000\","
	    "\"state\":\"live\","
	    "\"depth\":{\"max\":2,\"used\":1,\"left\":1},"
	    "\"breadth\":{\"max\":1,\"used\":2,\"left\":0},"
	    "\"total\":{\"max\":5,\"used\":4,\"left\":1},"
	    "\"expires_at\":\"2026-11-29T13:00:00Z\","
	    "\"programs\":["
	    "{\"path\":\"/bin/node\",\"resolved\":\"/bin/node-22\","
	    "\"pinned\":false},"
	    "{\"path\":\"/opt/pi\",\"sha256\":\"" PIN "\","
	    "\"pinned\":true}],"
	    "\"set_by\":\"uid:0\",\"set_at\":\"2026-11-29T12:00:00Z\"}");
}

static void
a_dead_grant_says_how_and_when(void **state)
{
	struct grant g;
	struct grant_tree t;

	(void)state;
	fill(&g, &t);
	g.programs_n = 0;
	g.used_total = 0;
	grant_end(&g, GRANT_DEAD_REVOKED,
	    (struct grant_now){ 1795953601000, 1000 });
	t.n = 1;
	expect(&t, (struct grant_now){ 1795999999000, 99999999 },
	    "{\"id\":\"g-1\",\"root\":\"lead\",\"user\":\"uid:1000\","
	    "\"state\":\"revoked\","
	    "\"depth\":{\"max\":2,\"used\":0,\"left\":2},"
	    "\"breadth\":{\"max\":1,\"used\":0,\"left\":1},"
	    "\"total\":{\"max\":5,\"used\":0,\"left\":5},"
	    "\"expires_at\":\"2026-11-29T13:00:00Z\",\"programs\":[],"
	    "\"set_by\":\"uid:0\",\"set_at\":\"2026-11-29T12:00:00Z\","
	    "\"ended_at\":\"2026-11-29T12:00:01Z\"}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_used_and_left_is_shown),
		cmocka_unit_test(a_dead_grant_says_how_and_when),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
