/* SPDX-License-Identifier: Apache-2.0 */
/* What the user reads: tables, units, JSON. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/inner.h"
#include "json/json.h"

void
cli_table_init(struct cli_table *t, const char *const *heads, size_t n)
{
	BUG_IF(n > NELEM(t->widths));
	*t = (struct cli_table){ .heads = heads, .columns = n };
	for (size_t i = 0; i < n; i++)
		t->widths[i] = strlen(heads[i]);
}

/* What the gateway made printable already is not escaped once more. */
static const char *
keep(struct arena *a, const char *text)
{
	struct span s = span_str(text);
	char safe[512];
	const char *kept;

	text_escape(s, safe, sizeof(safe));
	if (!text_is_printable(s))
		s = span_str(safe);
	kept = arena_str(a, s);
	return kept ? kept : "";
}

void
cli_table_row(struct cli *c, struct cli_table *t, const char *const *cells)
{
	if (t->rows == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		const char **grown =
		    arena_get(&c->arena, room * t->columns * sizeof(*grown));

		if (!grown)
			return;
		if (t->rows)
			memcpy(grown, t->cells,
			    t->rows * t->columns * sizeof(*grown));
		t->cells = grown;
		t->room = room;
	}
	for (size_t i = 0; i < t->columns; i++) {
		const char *cell = keep(&c->arena, cells[i]);

		t->cells[t->rows * t->columns + i] = cell;
		if (strlen(cell) > t->widths[i])
			t->widths[i] = strlen(cell);
	}
	t->rows++;
}

static void
print_line(const struct cli_table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->columns; i++) {
		bool last = i + 1 == t->columns;

		(void)printf("%-*s%s", last ? 0 : (int)t->widths[i], cells[i],
		    last ? "\n" : "  ");
	}
}

void
cli_table_print(const struct cli_table *t)
{
	print_line(t, t->heads);
	for (size_t i = 0; i < t->rows; i++)
		print_line(t, t->cells + i * t->columns);
}

void
cli_json_texts(struct json_out *o, const struct cli_text_member *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_out_key(o, m[i].key);
		json_out_text(o, m[i].text);
	}
}

void
cli_json_numbers(struct json_out *o, const struct cli_number_member *m,
    size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_out_key(o, m[i].key);
		json_out_int(o, m[i].n);
	}
}

int
cli_json_print(struct buf *b, struct json_out *o, struct fault *f)
{
	int rc = json_out_done(o, f);

	if (rc == 0) {
		(void)fwrite(buf_ptr(b), 1, b->len, stdout);
		(void)putchar('\n');
	}
	buf_release(b);
	return rc;
}

void
cli_bytes(uint64_t n, char *out)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)n;
	size_t unit = 0;

	while (v >= 1024 && unit + 1 < NELEM(units)) {
		v /= 1024;
		unit++;
	}
	(void)snprintf(out, 32, unit && v < 10 ? "%.1f %s" : "%.0f %s", v,
	    units[unit]);
}

void
cli_micros(uint64_t us, char *out)
{
	if (us >= 1000000)
		(void)snprintf(out, 32, "%.2f s", (double)us / 1e6);
	else
		(void)snprintf(out, 32, "%.1f ms", (double)us / 1e3);
}

const char *
cli_text(const char *s)
{
	return s ? s : "";
}

void
cli_end_by_pipe(void)
{
	(void)signal(SIGPIPE, SIG_DFL);
	(void)raise(SIGPIPE);
}

static bool
is_read(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO };

	return poll(&p, 1, 0) <= 0 || !(p.revents & POLLERR);
}

int
cli_flush(struct fault *f)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	if (errno == EPIPE || !is_read())
		cli_end_by_pipe();
	/* stdio forgets why an earlier piece was lost. */
	if (errno == 0)
		return fault_set(f, FAULT_SYSTEM,
		    "cannot write all of the output");
	return fault_sys(f, "cannot write the output");
}
