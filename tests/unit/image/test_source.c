/* SPDX-License-Identifier: Apache-2.0 */
/* A source as bytes: what all layers of an import may have together. */
#include <sys/mman.h>

#include <unistd.h>

#include "image/inner.h"
#include "unit.h"

enum {
	SIZE = 60,
};

/* Read a blob of SIZE bytes to its end. */
static int
read_all(struct image_budget *budget, struct fault *f)
{
	static const struct image_tools tools;
	with_fd fd = memfd_create("blob", MFD_CLOEXEC);
	struct image_blob blob = { .fd = fd, .size = SIZE };
	struct image_source s;
	uint8_t p[SIZE];
	size_t got = 0;
	int rc;

	assert_int_equal(ftruncate(fd, SIZE), 0);
	assert_int_equal(image_source_open(&s, &blob, &tools, false, budget, f),
	    0);
	do
		rc = image_source_read(&s, p, sizeof(p), &got, f);
	while (rc == 0 && got > 0);
	image_source_close(&s);
	return rc;
}

static void
sources_share_a_budget(void **state)
{
	struct image_budget budget = { .max = 2 * SIZE };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(read_all(&budget, &f), 0);
	assert_int_equal(read_all(&budget, &f), 0);
	assert_int_equal(read_all(&budget, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
}

/* What a packer reads and gives nothing for is counted too. */
static void
packed_bytes_count(void **state)
{
	struct image_budget budget = { .max = SIZE, .read = 1 };
	struct fault f = { 0 };

	(void)state;
	assert_int_equal(read_all(&budget, &f), -1);
	assert_int_equal(f.code, FAULT_LIMIT);
	assert_int_equal(budget.told, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_share_a_budget),
		cmocka_unit_test(packed_bytes_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
