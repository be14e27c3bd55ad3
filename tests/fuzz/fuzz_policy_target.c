/* rooms: policy */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request target has one form, which is its own form, begins with a slash,
 * and holds no dot segment, no empty inner segment and no other spelling.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void
form_check(struct span path)
{
	struct span left = span_from(path, 1);

	BUG_IF(path.len == 0 || path.ptr[0] != '/');
	for (size_t i = 0; i < path.len; i++)
		BUG_IF(path.ptr[i] <= ' ' || path.ptr[i] >= 0x7f ||
		    strchr(";?#\\\"<>", path.ptr[i]));
	while (left.len > 0) {
		size_t slash = span_find(left, '/');
		struct span segment = span_of(left.ptr, slash);

		BUG_IF(segment.len == 0 || span_is(segment, ".") ||
		    span_is(segment, ".."));
		left = span_from(left, slash + 1);
	}
}

static void
host_check(struct span text)
{
	char out[POLICY_HOST + 1];
	char twice[POLICY_HOST + 1];
	struct span host;
	struct span again;

	if (!policy_host_canonical(text, out, &host))
		return;
	BUG_IF(!policy_host_canonical(host, twice, &again));
	BUG_IF(!span_equal(host, again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	static char out[POLICY_PATH];
	const struct policy_pair *pairs;
	struct span path;
	struct span query;
	struct span again;
	struct span none;
	struct arena a;
	struct fault f = { 0 };
	size_t pairs_n;

	host_check(span_of(p, n));
	if (policy_path_canonical(span_of(p, n), out, &path, &query, &f) != 0)
		return 0;
	form_check(path);
	if (path.len <= POLICY_TARGET) {
		static char twice[POLICY_PATH];

		BUG_IF(
		    policy_path_canonical(path, twice, &again, &none, &f) != 0);
		BUG_IF(!span_equal(path, again) || none.len > 0);
	}
	arena_init(&a, 16 << 20);
	if (policy_query_parse(query, &a, &pairs, &pairs_n, &f) == 0)
		for (size_t i = 0; i < pairs_n; i++)
			BUG_IF(!utf8_valid(pairs[i].key) ||
			    !utf8_valid(pairs[i].value));
	arena_release(&a);
	return 0;
}
