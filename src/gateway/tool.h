/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools of MCP as rows of methods.def: JSON arguments become the row's request
 * message, its reply becomes the JSON of the result. Pure.
 */
#ifndef GATEWAY_TOOL_H
#define GATEWAY_TOOL_H

#include "base/base.h"

struct json_value;
struct json_out;
struct pb_msgdesc_s;

struct tool {
	const char *name;
	/*
	 * From arguments that mcp_arguments_check() has passed (NULL: {}) into
	 * the zeroed message; texts live in a or in v. INVALID names the field.
	 */
	int (*ask)(const struct json_value *v, void *message, struct arena *a,
	    struct fault *f);
	const struct pb_msgdesc_s *reply;
	/* The reply as one JSON object, as the tool's output schema says. */
	int (*tell)(const void *message, struct arena *a, struct json_out *o,
	    struct fault *f);
};

const struct tool *tool_find(const char *name); /* NULL: not mapped */

/* tool_ask.c; each as struct tool's ask */
typedef int tool_ask(const struct json_value *v, void *message, struct arena *a,
    struct fault *f);
tool_ask tool_ask_create, tool_ask_page, tool_ask_which, tool_ask_stop,
    tool_ask_delete, tool_ask_policy, tool_ask_exec, tool_ask_file,
    tool_ask_check, tool_ask_grant_which, tool_ask_grant_set,
    tool_ask_grant_update, tool_ask_grant_revoke, tool_ask_grants;

/* tool_tell.c and, what is about policies, tool_policy.c */
typedef int tool_tell(const void *message, struct arena *a, struct json_out *o,
    struct fault *f);
tool_tell tool_tell_child, tool_tell_children, tool_tell_deleted,
    tool_tell_exec, tool_tell_file, tool_tell_grant, tool_tell_grants,
    tool_tell_policy, tool_tell_proof;
/* A counterexample as one JSON object. */
struct _nacre_v1_Counterexample;
void tool_counterexample(const struct _nacre_v1_Counterexample *x,
    struct json_out *o);
/* Canonical YAML as JSON that reads back as the same policy. */
int tool_yaml(const char *text, struct arena *a, struct json_out *o,
    struct fault *f) MUST_CHECK;

#endif
