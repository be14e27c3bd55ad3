/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor: PID 1 of every guest. It waits where the template is saved,
 * rehearses a launch on scrap disks, launches once, and then stands between
 * the gateway and the sandbox until the machine ends. It never runs a program
 * of the image and never reads a file of it.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

/*
 * The whole program. argv[1] is absent at boot, "rehearse" in the child that
 * tries the launch path, "launch" after the re-execution.
 */
int supervisor_main(int argc, char **argv);

#endif
