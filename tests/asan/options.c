/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linked into the programs of MODE=asan alone. The leak check stops a process
 * by ptrace at its end, which our jails kill; unit tests do check for leaks.
 */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
