/* SPDX-License-Identifier: Apache-2.0 */
/* Signals by name; the numbers are those of the guest, which is x86-64. */
#include <string.h>

#include "gateway/signal.h"

int
signal_find(const char *name, struct fault *f)
{
	static const struct {
		const char *name;
		int number;
	} rows[] = {
		{ "HUP", 1 },
		{ "INT", 2 },
		{ "QUIT", 3 },
		{ "ABRT", 6 },
		{ "KILL", 9 },
		{ "USR1", 10 },
		{ "USR2", 12 },
		{ "PIPE", 13 },
		{ "ALRM", 14 },
		{ "TERM", 15 },
		{ "CHLD", 17 },
		{ "CONT", 18 },
		{ "STOP", 19 },
		{ "TSTP", 20 },
		{ "TTIN", 21 },
		{ "TTOU", 22 },
		{ "WINCH", 28 },
	};
	const char *word = name == NULL ? "" : name;

	if (strncmp(word, "SIG", 3) == 0)
		word += 3;
	for (size_t i = 0; i < NELEM(rows); i++) {
		if (strcmp(rows[i].name, word) == 0)
			return rows[i].number;
	}
	(void)fault_field(f, "signal",
	    "'%.32s' is no signal: TERM, INT, HUP, "
	    "QUIT, KILL, USR1, USR2, ...",
	    name == NULL ? "" : name);
	return -1;
}
