/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operations: one row for each rpc of the served protocols. */
#include <fcntl.h>
#include <string.h>

#include "../../lib/unit.h"
#include "gateway/call.h"

/* Every "rpc Name(" of a .proto file has a row under that service. */
static void
check_file(const char *path, const char *service)
{
	struct fault f = { 0 };
	struct buf b;
	struct span s;
	size_t found = 0;

	buf_init(&b, 1 << 20);
	assert_int_equal(file_read(AT_FDCWD, path, &b, &f), 0);
	s = buf_span(&b);
	while (s.len > 0) {
		char method[128];
		size_t end;

		if (!span_starts(s, "  rpc ")) {
			s = span_from(s, span_find(s, '\n') + 1);
			continue;
		}
		s = span_from(s, 6);
		end = span_find(s, '(');
		assert_true(text_fmt(method, sizeof(method), "/%s/%.*s",
		    service, (int)end, (const char *)s.ptr));
		if (method_find(span_str(method)) == NULL)
			fail_msg("no row for %s", method);
		found++;
	}
	assert_true(found > 5);
	buf_release(&b);
}

static void
every_rpc_has_a_row(void **state)
{
	(void)state;
	check_file("proto/openshell_v1.proto", "openshell.v1.OpenShell");
	check_file("proto/nacre_v1.proto", "nacre.v1.Nacre");
}

static void
rows_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < methods_count(); i++) {
		const struct method *m = method_at(i);

		assert_ptr_equal(method_find(span_str(m->path)), m);
		assert_non_null(m->fields);
		assert_non_null(strchr(m->verb, '.'));
		assert_true(m->who != 0);
		assert_true(m->effect != NULL || m->answer != NULL);
		assert_true(m->arena >= m->ask_size);
	}
}

static void
others_are_refused_by_the_row_of_those(void **state)
{
	(void)state;
	assert_null(
	    method_find(SPAN_LIT("/openshell.v1.OpenShell/CreateProvider")));
	assert_null(method_find(SPAN_LIT("")));
	assert_string_equal(method_unserved()->verb, "call.unserved");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_rpc_has_a_row),
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(others_are_refused_by_the_row_of_those),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
