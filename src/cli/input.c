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

bool
cli_input_keys(bool *has_first, struct span in, uint8_t *out, size_t *n)
{
	*n = 0;
	for (size_t k = 0; k < in.len; k++) {
		if (*has_first && in.ptr[k] == KEY_SECOND)
			return true;
		/* What followed is not the second: the first was meant. */
		if (*has_first)
			out[(*n)++] = KEY_FIRST;
		*has_first = in.ptr[k] == KEY_FIRST;
		if (!*has_first)
			out[(*n)++] = in.ptr[k];
	}
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
	uint8_t bytes[LIMIT_CHUNK - 1];
	uint8_t keys[LIMIT_CHUNK]; /* one that was held back comes first */
	const uint8_t *what = bytes;
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
	if (i->is_raw && i->has_keys) {
		i->has_left =
		    cli_input_keys(&i->has_first, span_of(bytes, n), keys, &n);
		what = keys;
	}
	if (got <= 0 || i->has_left || (n > 0 && !i->take(i, what, n)))
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

/* The terminal is its owner's again, then the signal does what it would. */
static void
on_end_signal(void *owner, int sig)
{
	struct cli_input *i = owner;
	sigset_t one;

	(void)tcsetattr(STDIN_FILENO, TCSANOW, &i->saved);
	(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&one);
	(void)sigaddset(&one, sig);
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
	(void)raise(sig);
}

static void
take_end_signals(struct cli_input *i)
{
	static const int ends[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct sigaction now;
	struct fault f = { 0 };

	for (size_t k = 0; k < NELEM(ends); k++) {
		/* What our caller ignores (nohup) does not end us. */
		if (sigaction(ends[k], NULL, &now) == 0 &&
		    now.sa_handler == SIG_IGN)
			continue;
		if (loop_signal(i->stream->client->loop, ends[k], on_end_signal,
			i, &f) != 0)
			log_warn(&f, "a signal may leave the terminal raw");
	}
}

void
cli_input_raw(struct cli_input *i)
{
	struct termios t;
	struct fault f = { 0 };

	if (tcgetattr(STDIN_FILENO, &i->saved) != 0)
		return;
	take_end_signals(i);
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
