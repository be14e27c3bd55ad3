/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs in the sandbox, from proc(5) and the agent's cgroup: a slice a
 * tick, so that a sandbox full of processes holds up nobody. Names are the
 * agent's own words: cut and made printable here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/inner.h"

enum {
	TOP_SEEN = 2304, /* processes that are looked at; an agent has 2048 */
	TOP_ROWS = 200,  /* that are told */
	TOP_SLICE = 16,  /* a tick */
	TOP_TEXT = 8192, /* bytes of one file of proc */
	TOP_COMMAND = 160,
	TICK_US = 10000 /* USER_HZ is 100 for every program */
};

struct seen {
	uint32_t outer; /* pid as we see it */
	uint32_t parent;
	bool is_agent;
	char state[2];
	char command[TOP_COMMAND];
	nacre_session_v1_Process row;
};

struct top {
	struct supervisor *sv;
	struct rpc_call *call; /* NULL once closed */
	struct deferred next;
	DIR *proc;
	struct buf text;
	size_t n;
	uint32_t left_out;
	struct seen seen[TOP_SEEN];
};

static bool
read_of(struct top *t, uint32_t pid, const char *file)
{
	struct fault ignored = { 0 };
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	buf_release(&t->text);
	buf_init(&t->text, TOP_TEXT);
	/* What is longer is cut: file_read has taken as much as there is room
	 * for. */
	return file_read(AT_FDCWD, path, &t->text, &ignored) == 0 ||
	    ignored.code == FAULT_LIMIT;
}

/* The n-th word of a line, from 0. */
static uint64_t
word(struct span s, size_t n)
{
	uint64_t number = 0;

	for (size_t i = 0; s.len > 0; i++) {
		size_t end = span_find(s, ' ');

		if (i == n) {
			s.len = end;
			(void)num_parse(s, UINT64_MAX, &number);
			break;
		}
		s = span_from(s, end < s.len ? end + 1 : end);
	}
	return number;
}

/* The last of the numbers on the line that begins with key; 0: none. */
static uint32_t
last_of(struct span text, const char *key, size_t *count)
{
	uint64_t number = 0;

	*count = 0;
	while (text.len > 0) {
		size_t n = span_find(text, '\n');
		struct span line = span_of(text.ptr, n);

		text = span_from(text, n < text.len ? n + 1 : n);
		if (!span_starts(line, key))
			continue;
		line = span_from(line, strlen(key));
		while (line.len > 0) {
			size_t end = span_find(line, '\t');

			if (end > 0 &&
			    num_parse(span_of(line.ptr, end), UINT32_MAX,
				&number))
				++*count;
			line = span_from(line, end < line.len ? end + 1 : end);
		}
		break;
	}
	return (uint32_t)number;
}

/* proc(5): pid (name) state ppid ...; the name may hold anything. */
static bool
from_stat(struct seen *s, struct span text)
{
	size_t close = text.len;
	char plain[80];
	struct span name;
	uint64_t start_ms;
	int64_t now_ms = clock_mono_ms();

	while (close > 0 && text.ptr[close - 1] != ')')
		close--;
	if (close + 2 >= text.len)
		return false;
	/* Without arguments it is known by its name, as ps has it. */
	name =
	    span_from(span_of(text.ptr, close - 1), span_find(text, '(') + 1);
	text_escape(name, plain, sizeof(plain));
	(void)snprintf(s->command, sizeof(s->command), "[%s]", plain);
	s->row.command = s->command;
	text = span_from(text, close + 1);
	s->state[0] = (char)text.ptr[0];
	s->row.state = s->state;
	s->parent = (uint32_t)word(text, 1);
	s->row.cpu_us = (word(text, 11) + word(text, 12)) * TICK_US;
	s->row.threads = (uint32_t)word(text, 17);
	start_ms = word(text, 19) * (TICK_US / 1000);
	s->row.age_ms =
	    (uint64_t)now_ms > start_ms ? (uint64_t)now_ms - start_ms : 0;
	s->row.memory_bytes = word(text, 21) * (uint64_t)getpagesize();
	return true;
}

static void
from_arguments(struct seen *s, struct span text)
{
	char plain[TOP_COMMAND];
	size_t n;

	while (text.len > 0 && text.ptr[text.len - 1] == '\0')
		text.len--;
	if (text.len == 0)
		return;
	n = text.len < sizeof(plain) ? text.len : sizeof(plain);
	memcpy(plain, text.ptr, n);
	for (size_t i = 0; i < n; i++)
		if (plain[i] == '\0')
			plain[i] = ' ';
	text_escape(span_of(plain, n), s->command, sizeof(s->command));
}

/* One process; those outside the agent's processes are not kept. */
static void
look(struct top *t, uint32_t pid)
{
	struct seen *s = &t->seen[t->n];
	size_t spaces;
	size_t uids;

	memset(s, 0, sizeof(*s));
	s->outer = pid;
	if (!read_of(t, pid, "status"))
		return;
	s->row.pid = last_of(buf_span(&t->text), "NSpid:", &spaces);
	s->row.uid = last_of(buf_span(&t->text), "Uid:", &uids);
	/* The runtime is kept for its number: it is its children's parent. */
	if (spaces < 2 || !read_of(t, pid, "stat") ||
	    !from_stat(s, buf_span(&t->text)) || !read_of(t, pid, "cgroup"))
		return;
	s->is_agent = span_starts(buf_span(&t->text), "0::/agent");
	if (s->is_agent) {
		if (!read_of(t, pid, "cmdline"))
			return;
		from_arguments(s, buf_span(&t->text));
	}
	t->n++;
}

static uint64_t
number_of(const char *file, const char *key)
{
	struct fault ignored = { 0 };
	uint64_t number = 0;
	char path[64];
	struct buf b;

	(void)snprintf(path, sizeof(path), "/sys/fs/cgroup/agent/%s", file);
	buf_init(&b, TOP_TEXT);
	if (file_read(AT_FDCWD, path, &b, &ignored) == 0)
		number = memory_number(buf_span(&b), key);
	buf_release(&b);
	return number;
}

static int
by_time(const void *a, const void *b)
{
	const nacre_session_v1_Process *x = a;
	const nacre_session_v1_Process *y = b;

	if (x->cpu_us != y->cpu_us)
		return x->cpu_us > y->cpu_us ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static uint32_t
inner_of(const struct top *t, uint32_t outer)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->seen[i].outer == outer)
			return t->seen[i].row.pid;
	return 0;
}

static void
tell(struct top *t)
{
	nacre_session_v1_AttachUp up = nacre_session_v1_AttachUp_init_zero;
	nacre_session_v1_Processes *all = &up.kind.processes;
	nacre_session_v1_Process *rows = must_alloc(TOP_SEEN * sizeof(*rows));
	struct fault f = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		if (!t->seen[i].is_agent)
			continue;
		rows[n] = t->seen[i].row;
		rows[n++].parent = t->seen[i].parent;
	}
	qsort(rows, n, sizeof(*rows), by_time);
	for (size_t i = 0; i < n && i < TOP_ROWS; i++)
		rows[i].parent = inner_of(t, rows[i].parent);
	up.which_kind = nacre_session_v1_AttachUp_processes_tag;
	all->cpu_us = number_of("cpu.stat", "usage_usec ");
	all->memory_bytes = number_of("memory.current", "");
	all->memory_limit = number_of("memory.max", "");
	all->pids = (uint32_t)number_of("pids.current", "");
	all->pids_limit = (uint32_t)number_of("pids.max", "");
	all->rows = rows;
	all->rows_count = (pb_size_t)(n < TOP_ROWS ? n : TOP_ROWS);
	all->left_out = t->left_out + (uint32_t)(n - all->rows_count);
	if (attach_send(t->call, &up, &f) != 0)
		log_warn(&f, "cannot tell what runs");
	free(rows);
	attach_done(t->call, &f, 0, 0);
}

static void
release(void *p)
{
	struct top *t = p;

	buf_release(&t->text);
	free(t);
}

static void
finish(struct top *t)
{
	if (!t->proc)
		return;
	(void)closedir(t->proc);
	t->proc = NULL;
}

static void
on_next(struct deferred *d)
{
	struct top *t = CONTAINER_OF(d, struct top, next);
	const struct dirent *e = NULL;

	for (int i = 0; i < TOP_SLICE && (e = readdir(t->proc)) != NULL;) {
		uint64_t pid;

		if (!num_parse(span_str(e->d_name), UINT32_MAX, &pid))
			continue;
		i++;
		if (t->n < TOP_SEEN)
			look(t, (uint32_t)pid);
		else
			t->left_out++;
	}
	if (e) {
		loop_later(t->sv->loop, &t->next);
		return;
	}
	finish(t);
	tell(t);
}

static void
on_message(struct rpc_call *c, void *owner, struct span m)
{
	(void)owner;
	rpc_consume(c, m.len);
}

static void
/* cppcheck-suppress constParameter ; a callback's type */
on_closed(struct rpc_call *c, void *owner, const struct fault *f,
    struct span detail)
{
	struct top *t = owner;

	(void)c;
	(void)f;
	(void)detail;
	loop_deferred_drop(t->sv->loop, &t->next);
	finish(t);
	t->sv->files--;
	loop_bury(t->sv->loop, t, release);
}

int
top_open(struct supervisor *sv, const char *id, struct fault *f)
{
	static const struct rpc_call_events events = {
		.message = on_message,
		.closed = on_closed,
	};
	struct top *t;

	if (sv->files == SUPERVISOR_RUNS)
		return fault_set(f, FAULT_LIMIT, "%d copies run already",
		    SUPERVISOR_RUNS);
	t = must_alloc(sizeof(*t));
	t->sv = sv;
	t->next.run = on_next;
	buf_init(&t->text, TOP_TEXT);
	t->proc = opendir("/proc");
	if (!t->proc)
		(void)fault_sys(f, "cannot read /proc");
	else
		t->call = attach_call(sv, id, &events, t, f);
	if (!t->call) {
		finish(t);
		release(t);
		return -1;
	}
	sv->files++;
	loop_later(sv->loop, &t->next);
	return 0;
}
