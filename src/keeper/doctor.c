/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor mode: every requirement of the host with what was found. Exit code 0
 * when all that is needed is there, else 1.
 */
#include <stdio.h>
#include <unistd.h>

#include "json/json.h"
#include "keeper/inner.h"

enum {
	CHECKS = 32,
	TEXT = 16384,
};

static int
print_json(const struct machine_check *c, size_t n, bool ok, struct fault *f)
{
	struct json_out o;
	struct buf b;
	int r;

	buf_init(&b, TEXT);
	json_out_init(&o, &b);
	json_out_object(&o);
	json_out_key(&o, "ok");
	json_out_bool(&o, ok);
	json_out_key(&o, "checks");
	json_out_array(&o);
	for (size_t i = 0; i < n; i++) {
		json_out_object(&o);
		json_out_key(&o, "name");
		json_out_text(&o, c[i].name);
		json_out_key(&o, "ok");
		json_out_bool(&o, c[i].ok);
		json_out_key(&o, "needed");
		json_out_bool(&o, c[i].needed);
		json_out_key(&o, "text");
		json_out_text(&o, c[i].text);
		json_out_end(&o);
	}
	json_out_end(&o);
	json_out_end(&o);
	r = json_out_done(&o, f);
	if (r == 0)
		r = buf_add(&b, "\n", 1, f);
	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, buf_ptr(&b), b.len, f);
	buf_release(&b);
	return r;
}

static void
print_table(const struct machine_check *c, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char shown[2 * sizeof(c[i].text)];

		text_escape(span_str(c[i].text), shown, sizeof(shown));
		(void)printf("%-10s %-8s %s\n", c[i].name,
		    c[i].ok           ? "ok"
			: c[i].needed ? "MISSING"
				      : "without",
		    shown);
	}
	(void)fflush(stdout);
}

int
keeper_doctor(const struct machine_args *a)
{
	struct machine_check checks[CHECKS];
	struct fault f = { 0 };
	size_t n = machine_doctor(&a->paths, checks, NELEM(checks));
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		if (checks[i].needed && !checks[i].ok)
			ok = false;
	if (!a->json)
		print_table(checks, n);
	else if (print_json(checks, n, ok, &f) != 0)
		log_warn(&f, "cannot write");
	return ok ? 0 : 1;
}
