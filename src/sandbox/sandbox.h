/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox: PID 1 of the agent's namespaces. It builds the agent's root,
 * gives up every right it does not need, proves the confinement and then owns
 * the agent's processes and files. It serves the Sandbox Protocol
 * (proto/nacre_sandbox.proto) to the supervisor and decides nothing.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H

/*
 * The whole program. argv names the descriptors it starts with, in decimal:
 *   1 link    byte stream of the Sandbox Protocol
 *   2 pass    SOCK_SEQPACKET for descriptors, or "-": then they go as frames
 *   3 start   pipe: Start, then Grant
 *   4 cgroup  folder of the agent's cgroup
 */
int sandbox_main(int argc, char **argv);

#endif
