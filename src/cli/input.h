/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdin of this command, sent to a process that runs elsewhere. Zero the
 * struct, cli_input_init(), set the callbacks, then cli_input_watch() at the
 * start and whenever the stream is writable again. What take() must do with
 * one piece of at most LIMIT_CHUNK bytes: send it; false when it cannot.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <sys/ioctl.h>

#include <termios.h>

#include "cli/inner.h"

struct cli_input {
	struct client_stream *stream;
	bool (*take)(struct cli_input *i, const uint8_t *bytes, size_t n);
	/* stdin has ended, or could not be sent; may be NULL. */
	void (*ended)(struct cli_input *i);
	void (*resized)(struct cli_input *i, const struct winsize *size);
	struct watch in;
	struct deferred in_file; /* a plain file cannot be watched */
	struct termios saved;
	bool has_keys; /* Ctrl-P Ctrl-Q on a terminal leaves: cancels */
	bool has_first;
	bool has_left;
	bool has_ended;
	bool is_raw;
};

/*
 * Ctrl-P Ctrl-Q among the bytes typed: true when both have come. Until then
 * *n bytes of out are to be sent, which has room for one more than `in`: a
 * Ctrl-P waits in *has_first for what follows it.
 */
bool cli_input_keys(bool *has_first, struct span in, uint8_t *out, size_t *n);
void cli_input_init(struct cli_input *i, struct client_stream *s);
void cli_input_watch(struct cli_input *i);
/* stdin's size; false when it is no terminal. */
bool cli_input_size(struct winsize *size);
/* A terminal's keys go as they are pressed, until close or until a signal ends
 * us; its size to resized(). Nothing when stdin is no terminal. */
void cli_input_raw(struct cli_input *i);
/* The terminal as it was. Before the client is closed. */
void cli_input_close(struct cli_input *i);

#endif
