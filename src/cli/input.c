/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our stdin for a process that runs elsewhere: read while the other side has
 * room, a terminal raw meanwhile and its size followed, two keys that leave.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "cli/input.h"

enum {
	KEY_FIRST = 0x10, /* Ctrl-P */
	KEY_SECOND = 0x11 /* Ctrl-Q */
};

/* Take the keys out; true when they are complete. */
static bool
take_keys(struct cli_input *i, uint8_t *bytes, size_t *n)
{
	size_t kept = 0;

	for (size_t k = 0; k < *n; k++) {
		bool is_first = bytes[k] == KEY_FIRST && !i->has_first;

		if (i->has_first && bytes[k] == KEY_SECOND)
			return true;
		/* One Ctrl-P waits for what follows; two are one. */
		i->has_first = is_first;
		if (!is_first)
			bytes[kept++] = bytes[k];
	}
	*n = kept;
	return false;
}

static void
end(struct cli_input *i)
{
	if (i->has_ended)
		return;
	i->has_ended = true;
	loop_unwatch(&i->in);
	if (i->has_left)
		rpc_cancel(i->stream->call);
	else if (i->ended)
		i->ended(i);
}

/* Read once and send; false when input is over or must wait. */
static bool
pump(struct cli_input *i)
{
	uint8_t bytes[LIMIT_CHUNK];
	ssize_t got;
	size_t n;

	if (i->has_ended || !i->stream->call)
		return false;
	if (rpc_room(i->stream->call) < LIMIT_CHUNK + 64) {
		loop_unwatch(&i->in);
		return false;
	}
	got = read(STDIN_FILENO, bytes, sizeof(bytes));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return false;
	n = got > 0 ? (size_t)got : 0;
	i->has_left = i->is_raw && i->has_keys && take_keys(i, bytes, &n);
	if (got <= 0 || i->has_left || (n > 0 && !i->take(i, bytes, n)))
		end(i);
	return !i->has_ended;
}

static void
on_input(struct watch *w, unsigned events)
{
	(void)events;
	(void)pump(CONTAINER_OF(w, struct cli_input, in));
}

static void
on_input_file(struct deferred *d)
{
	struct cli_input *i = CONTAINER_OF(d, struct cli_input, in_file);

	if (pump(i))
		loop_later(i->stream->client->loop, d);
}

static void
on_resize(void *owner, int sig)
{
	struct cli_input *i = owner;
	struct winsize size;

	(void)sig;
	if (i->stream->call && cli_input_size(&size))
		i->resized(i, &size);
}

void
cli_input_init(struct cli_input *i, struct client_stream *s)
{
	i->stream = s;
	i->in.fd = -1;
	i->in.ready = on_input;
	i->in_file.run = on_input_file;
}

void
cli_input_watch(struct cli_input *i)
{
	struct loop *l = i->stream->client->loop;
	struct fault f = { 0 };

	if (i->has_ended || loop_is_watched(&i->in))
		return;
	if (loop_watch(l, &i->in, STDIN_FILENO, LOOP_IN, &f) != 0)
		loop_later(l, &i->in_file);
}

bool
cli_input_size(struct winsize *size)
{
	return ioctl(STDIN_FILENO, TIOCGWINSZ, size) == 0;
}

void
cli_input_raw(struct cli_input *i)
{
	struct termios t;
	struct fault f = { 0 };

	if (tcgetattr(STDIN_FILENO, &i->saved) != 0)
		return;
	t = i->saved;
	cfmakeraw(&t);
	i->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &t) == 0;
	if (loop_signal(i->stream->client->loop, SIGWINCH, on_resize, i, &f) !=
	    0)
		log_warn(&f, "window changes are not followed");
}

void
cli_input_close(struct cli_input *i)
{
	if (i->is_raw)
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &i->saved);
	loop_unwatch(&i->in);
	loop_deferred_drop(i->stream->client->loop, &i->in_file);
}
