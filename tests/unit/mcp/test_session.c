/* SPDX-License-Identifier: Apache-2.0 */
/* Session ids: whose, how long, and not one bit of them may be changed. */
#include "../../lib/mcp_peer.h"
#include "../../lib/unit.h"
#include "base/base.h"
#include "mcp/mcp.h"

static struct peer peer;
static char id[MCP_SESSION_TEXT];

static int
start(void **state)
{
	(void)state;
	peer_init(&peer);
	mcp_session_issue(&peer.request, "2025-06-18", id);
	return 0;
}

static bool
verify(const char *text, struct mcp_session *s)
{
	return mcp_session_verify(&peer.request, span_str(text), s);
}

static void
an_id_is_its_owner_s(void **state)
{
	struct mcp_session s;

	(void)state;
	assert_int_equal(strlen(id), MCP_SESSION_TEXT - 1);
	for (const char *c = id; *c; c++)
		assert_true(*c > 0x20 && *c < 0x7f);
	assert_true(verify(id, &s));
	assert_string_equal(s.version, "2025-06-18");
	peer.request.principal = SPAN_LIT("sandbox:onf");
	assert_false(verify(id, &s));
	peer.request.principal = SPAN_LIT("");
	assert_false(verify(id, &s));
}

static void
it_survives_all_but_another_key(void **state)
{
	struct peer after;
	struct mcp_session s;
	static const uint8_t other[MCP_KEY] = "another secret";

	(void)state;
	peer_init(&after);
	assert_true(mcp_session_verify(&after.request, span_str(id), &s));
	mcp_key_set(&after.key, other);
	assert_false(mcp_session_verify(&after.request, span_str(id), &s));
}

static void
no_character_of_it_may_change(void **state)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789-_";
	struct mcp_session s;
	size_t tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(id) - 1; i++)
		for (const char *c = digits; *c; c++) {
			char text[MCP_SESSION_TEXT];

			memcpy(text, id, sizeof(text));
			text[i] = *c;
			if (*c == id[i])
				continue;
			assert_false(verify(text, &s));
			tried++;
		}
	assert_int_equal(tried, 43 * 63);
}

static void
other_texts_are_none(void **state)
{
	static const char *const texts[] = { "", "x",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" };
	char longer[MCP_SESSION_TEXT + 1];
	struct mcp_session s;

	(void)state;
	for (size_t i = 0; i < NELEM(texts); i++)
		assert_false(verify(texts[i], &s));
	(void)text_fmt(longer, sizeof(longer), "%sA", id);
	assert_false(verify(longer, &s));
	longer[MCP_SESSION_TEXT - 2] = '\0';
	assert_false(verify(longer, &s));
}

static void
it_lives_its_life_and_no_longer(void **state)
{
	int64_t born = peer.request.now_s;
	struct mcp_session s;

	(void)state;
	peer.request.now_s = born + MCP_SESSION_LIFE_S - 1;
	assert_true(verify(id, &s));
	peer.request.now_s = born + MCP_SESSION_LIFE_S;
	assert_false(verify(id, &s));
	peer.request.now_s = born - 61;
	assert_false(verify(id, &s));
	peer.request.now_s = born - 60;
	assert_true(verify(id, &s));
}

static void
other_random_bytes_other_sessions(void **state)
{
	char second[MCP_SESSION_TEXT];
	struct mcp_session a;
	struct mcp_session b;

	(void)state;
	peer.request.random[9]++;
	mcp_session_issue(&peer.request, "2025-06-18", second);
	assert_true(verify(id, &a) && verify(second, &b));
	assert_false(mcp_session_equal(&a, &b));
	assert_true(mcp_session_equal(&a, &a));
}

static void
an_ended_session_is_gone_until_many_others_ended(void **state)
{
	struct mcp_session first;
	struct mcp_session s;
	char text[MCP_SESSION_TEXT];
	size_t in_set = 0;

	(void)state;
	assert_true(verify(id, &first));
	mcp_ended_add(&peer.ended, &first);
	mcp_ended_add(&peer.ended, &first);
	assert_false(verify(id, &s));
	/* The last random byte that is used chooses the set: it stays. */
	for (unsigned i = 0; i < MCP_ENDED_WAYS; i++) {
		assert_false(verify(id, &s));
		peer.request.random[0]++;
		mcp_session_issue(&peer.request, "2025-06-18", text);
		assert_true(verify(text, &s));
		mcp_ended_add(&peer.ended, &s);
		assert_false(verify(text, &s));
		in_set++;
	}
	assert_int_equal(in_set, MCP_ENDED_WAYS);
	assert_true(verify(id, &s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(an_id_is_its_owner_s, start),
		cmocka_unit_test_setup(it_survives_all_but_another_key, start),
		cmocka_unit_test_setup(no_character_of_it_may_change, start),
		cmocka_unit_test_setup(other_texts_are_none, start),
		cmocka_unit_test_setup(it_lives_its_life_and_no_longer, start),
		cmocka_unit_test_setup(other_random_bytes_other_sessions,
		    start),
		cmocka_unit_test_setup(
		    an_ended_session_is_gone_until_many_others_ended, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
