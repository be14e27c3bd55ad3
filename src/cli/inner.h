/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: for the files of this room only. A command is a row of
 * the table in main.c; it parses its options into a struct, makes calls
 * through a client, prints, and returns an exit code.
 */
#ifndef CLI_INNER_H
#define CLI_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/base.h"
#include "loop/loop.h"
#include "rpc/rpc.h"

struct pb_msgdesc_s;
struct json_out;
struct _openshell_v1_Sandbox;
struct policy;
struct yaml_errors;

enum {
	CLI_ARENA = 96 << 20,  /* answers of one command, a policy file */
	CLI_OUTPUT = 64 << 20, /* text of one answer */
	CLI_LIST = 256,        /* values of a repeated option */
};

/* What stands before the command, or in the environment. */
struct cli {
	const char *state; /* state folder, made absolute by nobody */
	char state_room[512];
	char socket[600];
	bool json;  /* -o json */
	bool quiet; /* no progress lines */
	struct arena arena;
};

struct cli_list {
	const char *items[CLI_LIST];
	size_t n;
};

enum cli_option_kind {
	CLI_FLAG,   /* bool */
	CLI_TEXT,   /* const char * */
	CLI_NUMBER, /* uint64_t */
	CLI_TEXTS,  /* struct cli_list */
};

struct cli_option {
	const char *name; /* "--name" or "-f" */
	enum cli_option_kind kind;
	void *to;
	uint64_t max; /* of a number */
};

/* What is left when the options are taken. */
struct cli_words {
	const char *word[8];
	size_t n;
	char **command; /* after "--", NULL when there is none */
	size_t command_n;
};

/*
 * Take options in any order. Global ones (-o, --state, --quiet) are taken
 * everywhere. argv ends with NULL, argv[0] is the verb. FAULT_INVALID names
 * the word that is wrong.
 */
int cli_parse(struct cli *c, char **argv, const struct cli_option *o, size_t n,
    struct cli_words *w, struct fault *f) MUST_CHECK;
/* Exactly n words, else INVALID with the usage line. */
int cli_want(const struct cli_words *w, size_t n, const char *usage,
    struct fault *f) MUST_CHECK;
/* The NAME and VALUE of one '--env', in the arena of c; INVALID when it is not
 * NAME=VALUE. */
int cli_pair(struct cli *c, const char *text, char **name, char **value,
    struct fault *f) MUST_CHECK;
/* The option "-f" of logs and "-n" of exec are short: see their files. */

/* Say what went wrong and what to do; returns the exit code. */
int cli_fail(const struct fault *f, const char *hint);

/*
 * One connection to the gateway, driven until an answer is there. Every
 * call prints a progress line when it takes longer than half a second.
 */
struct client {
	struct cli *cli;
	struct loop *loop;
	struct rpc_link *link;
	bool down;
	char hint[512];    /* of the last refusal */
	char *excess;      /* its counterexample, in lines; NULL: none */
	const char *doing; /* progress text; NULL: none */
	struct timer progress;
	int64_t since_ms;
};

int client_open(struct client *cl, struct cli *c, struct fault *f) MUST_CHECK;
void client_close(struct client *cl);
struct client_question {
	const char *path;
	const struct pb_msgdesc_s *fields;
	const void *message;
};
int client_unary(struct client *cl, const struct client_question *ask,
    const struct pb_msgdesc_s *answer_fields, void *answer,
    struct fault *f) MUST_CHECK;
#define CLIENT_UNARY(cl, path, ask_type, ask, answer_type, answer, f)        \
 client_unary(cl, &(struct client_question){ path, ask_type##_fields, ask }, \
     answer_type##_fields, answer, f)

/*
 * A call with many messages. `message` sees each; it may rpc_finish nothing:
 * it returns false to stop (the call is cancelled), with s->fault set when
 * that is a failure. client_stream_run() returns when the call has ended: -1
 * with the fault of whoever ended it, 0 also when `message` just stopped it.
 */
struct client_stream {
	struct client *client;
	struct rpc_call *call;
	bool (*message)(struct client_stream *s, struct span message);
	void (*writable)(struct client_stream *s); /* may be NULL */
	void *owner;
	bool stopped;
	bool ended;
	struct fault fault;
};
int client_stream_open(struct client *cl, struct client_stream *s,
    const char *path, struct fault *f) MUST_CHECK;
/* Encode and send one message. */
int client_stream_send(struct client_stream *s,
    const struct pb_msgdesc_s *fields, const void *message,
    struct fault *f) MUST_CHECK;
int client_stream_run(struct client_stream *s, struct fault *f) MUST_CHECK;

/* As cli_fail(), with all that the last refusal said. */
int client_fail(const struct client *cl, const struct fault *f);
/* Say what is being waited for (NULL: nothing). */
void client_doing(struct client *cl, const char *what);

/* Refusal in a call's end: refine the code, keep the hint. */
void client_refusal(struct client *cl, struct fault *f, struct span detail);

/* Output: a table of left-aligned columns, or JSON. */
struct cli_table {
	const char *const *heads;
	size_t columns;
	size_t widths[12];
	const char **cells; /* in the arena, rows * columns */
	size_t rows;
	size_t room;
};
void cli_table_init(struct cli_table *t, const char *const *heads, size_t n);
void cli_table_row(struct cli *c, struct cli_table *t,
    const char *const *cells);
void cli_table_print(const struct cli_table *t);
/* Members of an object, many at a time. */
struct cli_text_member {
	const char *key;
	const char *text; /* NULL: "" */
};
struct cli_number_member {
	const char *key;
	int64_t n;
};
void cli_json_texts(struct json_out *o, const struct cli_text_member *m,
    size_t n);
void cli_json_numbers(struct json_out *o, const struct cli_number_member *m,
    size_t n);
/* Finish a JSON text and print it with a newline. */
int cli_json_print(struct buf *b, struct json_out *o,
    struct fault *f) MUST_CHECK;
/* "1.5 GiB", "12 MiB", "980 B"; out holds 32 bytes. */
void cli_bytes(uint64_t n, char *out);
/* "12.3 ms", "1.2 s"; out holds 32 bytes. */
void cli_micros(uint64_t us, char *out);
const char *cli_text(const char *s); /* NULL becomes "" */
/* What was printed goes out now. Does not return when nobody reads it. */
int cli_flush(struct fault *f) MUST_CHECK;
/* Nobody reads: end as any program in a pipe does, by SIGPIPE. */
void cli_end_by_pipe(void);

/* Look a sandbox up by name. */
int cli_sandbox(struct client *cl, const char *name,
    struct _openshell_v1_Sandbox *out, struct fault *f) MUST_CHECK;

/* A policy file's bytes into b, which is initialised here and must be released
 * in any case. POLICY_INVALID when it is too large. */
int cli_policy_bytes(const char *path, struct buf *b,
    struct fault *f) MUST_CHECK;
/*
 * A policy file, YAML or (by name) JSON; flags are policy_read_flags. On -1
 * errors->count is 0 when *f is not about the text.
 */
int cli_policy_load(struct arena *a, const char *path, unsigned flags,
    struct policy *p, struct yaml_errors *errors, struct fault *f) MUST_CHECK;
/* A policy file as a message, in c->arena. The fault names the file. */
struct _openshell_sandbox_v1_SandboxPolicy;
int cli_policy_message(struct cli *c, const char *path,
    struct _openshell_sandbox_v1_SandboxPolicy *out,
    struct fault *f) MUST_CHECK;
/* The sections and what is done about each: lines, or a JSON array. */
struct _openshell_v1_PolicyEnforcement;
void cli_enforcement_print(const struct _openshell_v1_PolicyEnforcement *e,
    size_t n);
void cli_enforcement_json(struct json_out *o,
    const struct _openshell_v1_PolicyEnforcement *e, size_t n);
/* What is wrong with the text, a line each, to stderr. */
void cli_policy_errors(const char *path, const struct yaml_errors *errors);

/* Limits of a grant as they are written; NULL: not given. */
int cli_grant_limits(const char *const text[3], bool has[3], int64_t value[3],
    struct fault *f) MUST_CHECK;
char **cli_grant_programs(struct cli *c, const struct cli_list *l);

/* sandbox create --parent. What is not given stays NULL. */
struct cli_child {
	const char *parent;
	const char *name;
	const char *kind;
	const char *policy; /* path */
	const char *request_id;
	const char *idle;
	const char *wait_ms;
	const struct cli_list *env;
};
int cli_child_create(struct client *cl, const struct cli_child *k,
    const struct cli_words *w, struct fault *f) MUST_CHECK;

/* Commands: argv[0] is the verb. */
int cmd_gateway_start(struct cli *c, char **argv);
int cmd_gateway_stop(struct cli *c, char **argv);
int cmd_gateway_status(struct cli *c, char **argv);
int cmd_doctor(struct cli *c, char **argv);
int cmd_image_import(struct cli *c, char **argv);
int cmd_image_list(struct cli *c, char **argv);
int cmd_image_delete(struct cli *c, char **argv);
int cmd_create(struct cli *c, char **argv);
int cmd_list(struct cli *c, char **argv);
int cmd_get(struct cli *c, char **argv);
int cmd_stop(struct cli *c, char **argv);
int cmd_start(struct cli *c, char **argv);
int cmd_delete(struct cli *c, char **argv);
int cmd_exec(struct cli *c, char **argv);
int cmd_connect(struct cli *c, char **argv);
int cmd_top(struct cli *c, char **argv);
int cmd_attach(struct cli *c, char **argv);
int cmd_ls(struct cli *c, char **argv);
int cmd_rm(struct cli *c, char **argv);
int cmd_logs(struct cli *c, char **argv);
int cmd_console(struct cli *c, char **argv);
int cmd_cp(struct cli *c, char **argv);
int cmd_policy_check(struct cli *c, char **argv);
int cmd_policy_explain(struct cli *c, char **argv);
int cmd_policy_prove(struct cli *c, char **argv);
int cmd_policy_diff(struct cli *c, char **argv);
int cmd_policy_set(struct cli *c, char **argv);
int cmd_policy_set_maximum(struct cli *c, char **argv);
int cmd_policy_get_maximum(struct cli *c, char **argv);
int cmd_children(struct cli *c, char **argv);
int cmd_lineage(struct cli *c, char **argv);
int cmd_grant_create(struct cli *c, char **argv);
int cmd_grant_get(struct cli *c, char **argv);
int cmd_grant_list(struct cli *c, char **argv);
int cmd_grant_update(struct cli *c, char **argv);
int cmd_grant_revoke(struct cli *c, char **argv);
int cmd_mcp_call(struct cli *c, char **argv);
int cmd_token_create(struct cli *c, char **argv);
int cmd_token_list(struct cli *c, char **argv);
int cmd_token_revoke(struct cli *c, char **argv);
int cmd_audit_list(struct cli *c, char **argv);
int cmd_audit_follow(struct cli *c, char **argv);
int cmd_audit_verify(struct cli *c, char **argv);
int cmd_audit_export(struct cli *c, char **argv);

#endif
