/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a machine share: vm.c, vm_link.c, vm_adopt.c. */
#ifndef GATEWAY_VM_INNER_H
#define GATEWAY_VM_INNER_H

#include "gateway/vm.h"

#define KEEPER "/nacre.keeper.v1.Keeper/"

/* An empty slot; NULL with BUSY when all are taken. */
struct vm *vm_take_slot(struct gateway *g, struct fault *f) MUST_CHECK;
/* For loop_bury(): the slot can be taken again. */
void vm_free_slot(void *p);
/* Its process is gone, or was never found: the slot empties. */
void vm_gone(struct vm *vm);
/* End the keeper at once; vm_gone() follows. */
void vm_kill(struct vm *vm);
void vm_link_init(struct vm *vm);
/* Wait for a tunnel, unless one waits or may not yet. */
void vm_open_tunnel(struct vm *vm);
/* Watch it and wait for a tunnel. fd becomes the link's, also on -1. */
int vm_open_link(struct vm *vm, int fd, struct fault *f) MUST_CHECK;

#endif
