/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows of methods.def do, by file. */
#ifndef GATEWAY_DO_H
#define GATEWAY_DO_H

#include "gateway/call.h"

/* do_gateway.c */
int do_health(struct call *c, struct fault *f) MUST_CHECK;
int do_gateway_info(struct call *c, struct fault *f) MUST_CHECK;
int do_status(struct call *c, struct fault *f) MUST_CHECK;
void do_stop_gateway_answer(struct call *c);
int do_unserved(struct call *c, struct fault *f) MUST_CHECK;
int do_unbuilt(struct call *c, struct fault *f) MUST_CHECK;

/* do_create.c */
int do_create_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_create(struct call *c, struct fault *f) MUST_CHECK;

/* do_child.c */
int do_child_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_child(struct call *c, struct fault *f) MUST_CHECK;
void do_child_answer(struct call *c);

/* do_child_exec.c */
int do_child_exec_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_child_exec(struct call *c, struct fault *f) MUST_CHECK;
void do_child_exec_answer(struct call *c);

/* do_child_file.c */
int do_child_file_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_child_file_answer(struct call *c);

/* do_kin.c */
int do_child_get(struct call *c, struct fault *f) MUST_CHECK;
int do_child_list(struct call *c, struct fault *f) MUST_CHECK;
int do_child_stop(struct call *c, struct fault *f) MUST_CHECK;
void do_child_stop_answer(struct call *c);
int do_child_delete(struct call *c, struct fault *f) MUST_CHECK;
void do_child_delete_answer(struct call *c);
int do_lineage(struct call *c, struct fault *f) MUST_CHECK;

/* do_grant.c */
int do_grant_create(struct call *c, struct fault *f) MUST_CHECK;
int do_grant_get(struct call *c, struct fault *f) MUST_CHECK;
int do_grant_list(struct call *c, struct fault *f) MUST_CHECK;
int do_grant_update(struct call *c, struct fault *f) MUST_CHECK;
int do_grant_revoke(struct call *c, struct fault *f) MUST_CHECK;

/* do_sandbox.c */
int do_get(struct call *c, struct fault *f) MUST_CHECK;
int do_list(struct call *c, struct fault *f) MUST_CHECK;
int do_delete(struct call *c, struct fault *f) MUST_CHECK;
void do_delete_answer(struct call *c);
int do_stop(struct call *c, struct fault *f) MUST_CHECK;
int do_start_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_start(struct call *c, struct fault *f) MUST_CHECK;

/* do_describe.c */
int do_describe_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_describe_answer(struct call *c);
void do_console_answer(struct call *c);

/* do_policy.c */
int do_maximum_set_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_maximum_set(struct call *c, struct fault *f) MUST_CHECK;
int do_maximum_get(struct call *c, struct fault *f) MUST_CHECK;
int do_prove_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_prove(struct call *c, struct fault *f) MUST_CHECK;

/* do_inforce.c */
int do_in_force(struct call *c, struct fault *f) MUST_CHECK;

/* do_token.c */
int do_token_create(struct call *c, struct fault *f) MUST_CHECK;
int do_token_list(struct call *c, struct fault *f) MUST_CHECK;
int do_token_revoke(struct call *c, struct fault *f) MUST_CHECK;

/* do_config.c */
int do_config_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_config(struct call *c, struct fault *f) MUST_CHECK;

/* do_exec.c */
int do_exec_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_exec_interactive_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_exec_answer(struct call *c);

/* do_attach.c */
int do_attach_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_attach_answer(struct call *c);

/* do_files.c */
int do_put_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_put_answer(struct call *c);
int do_get_files_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_get_files_answer(struct call *c);
int do_list_files_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_list_files_answer(struct call *c);
int do_remove_files_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_remove_files_answer(struct call *c);
int do_top_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_top_answer(struct call *c);

/* watch.c */
int do_watch_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_watch_answer(struct call *c);

/* do_logs.c */
int do_logs(struct call *c, struct fault *f) MUST_CHECK;

/* do_image.c */
int do_import_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_import_answer(struct call *c);
int do_images(struct call *c, struct fault *f) MUST_CHECK;
int do_image_delete_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_image_delete(struct call *c, struct fault *f) MUST_CHECK;
void do_image_delete_answer(struct call *c);

/* do_audit.c */
int do_audit(struct call *c, struct fault *f) MUST_CHECK;

/* do_follow.c */
int do_follow_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_follow_answer(struct call *c);
int do_export_decide(struct call *c, struct fault *f) MUST_CHECK;
void do_export_answer(struct call *c);

/* do_verify.c */
int do_verify_decide(struct call *c, struct fault *f) MUST_CHECK;
int do_verify(struct call *c, struct fault *f) MUST_CHECK;

#endif
