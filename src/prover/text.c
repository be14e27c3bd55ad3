/* SPDX-License-Identifier: Apache-2.0 */
/* Results in words. */
#include <string.h>

#include "prover/inner.h"

const char *
prover_verdict_name(enum prover_verdict v)
{
	static const char *const names[] = { "invalid", "exceeds",
		"unsupported", "out_of_budget", "within" };

	return names[v];
}

const char *
prover_code_name(enum prover_code c)
{
	static const char *const names[] = { "", "no_image", "kernel_path",
		"link_loop", "disagree" };

	return names[c];
}

const char *
prover_section_name(enum policy_section s)
{
	return s == POLICY_FILESYSTEM ? "filesystem"
	    : s == POLICY_LANDLOCK    ? "landlock"
	    : s == POLICY_PROCESS     ? "process"
				      : "network";
}

const char *
prover_act_name(enum policy_act act)
{
	static const char *const names[] = { "bytes", "http", "upgrade",
		"frame", "rpc", "mcp", "stream", "answer" };

	return names[act];
}

struct line {
	char *to;
	size_t n;
	size_t size;
};

static void
add(struct line *l, const char *s)
{
	(void)text_fmt(l->to + l->n, l->size - l->n, "%s", s);
	l->n += strlen(l->to + l->n);
}

static void
add_span(struct line *l, struct span s)
{
	char text[PROVER_CAUSE];

	text_escape(s, text, sizeof(text));
	add(l, text);
}

static void
add_use(struct line *l, const struct prover_witness *w)
{
	static const char *const uses[] = { "",
		" with websocket_credential_rewrite",
		" with request_body_credential_rewrite",
		" with allow_uninspected_credentials",
		" with the credentials of ", " signed for ",
		" with a body over the parent's limit" };

	add(l, uses[w->use]);
	if (w->use == POLICY_USE_BINDING)
		add_span(l, w->use_of->provider);
	if (w->use == POLICY_USE_SIGNING)
		add_span(l, w->use_of->signing_service);
}

static void
add_url(struct line *l, const struct prover_witness *w)
{
	char port[8] = "";
	bool v6 = span_find(w->host, ':') < w->host.len;

	add(l, w->port == 80 ? "http://" : "https://");
	add(l, v6 ? "[" : "");
	add_span(l, w->host);
	add(l, v6 ? "]" : "");
	(void)text_fmt(port, sizeof(port), ":%u", (unsigned)w->port);
	if (w->port != 80 && w->port != 443)
		add(l, port);
	add_span(l, w->path);
	for (size_t i = 0; i < w->query_n; i++) {
		add(l, i ? "&" : "?");
		add_span(l, w->query[i].key);
		add(l, "=");
		add_span(l, w->query[i].value);
	}
}

static void
add_request(struct line *l, const struct prover_witness *w)
{
	static const char *const verbs[] = { "any bytes to ", "",
		"WebSocket GET ", "WebSocket text frame ", "JSON-RPC ", "MCP ",
		"MCP receive stream GET ", "MCP response POST " };
	char address[POLICY_ADDRESS];

	add_span(l, w->program);
	add(l, "  ");
	add(l, verbs[w->act]);
	add_span(l, w->method);
	add(l, w->method.len ? " " : "");
	add_span(l, w->tool);
	add(l, w->tool.len ? " " : "");
	add_url(l, w);
	policy_address_format(w->address, address);
	if (!span_is(w->host, address)) {
		add(l, " at ");
		add(l, address);
	}
	add_use(l, w);
}

void
prover_witness_format(const struct prover_result *r, char *out, size_t size)
{
	struct line l = { out, 0, size };

	*out = '\0';
	if (r->section == POLICY_LANDLOCK) {
		add(&l, "files that the image lacks are skipped");
	} else if (r->section == POLICY_PROCESS) {
		add(&l, "runs as another identity");
	} else if (r->section == POLICY_FILESYSTEM) {
		add(&l, r->witness.write ? "write " : "read ");
		add_span(&l,
		    r->witness.file.len ? r->witness.file
					: SPAN_LIT("the working directory"));
	} else {
		add_request(&l, &r->witness);
	}
}

static void
add_lines(struct line *l, const struct prover_result *r)
{
	char witness[2 * PROVER_CAUSE];
	const char *const lines[][2] = { { "  ", witness },
		{ "  child:  ", r->child }, { "  parent: ", r->parent },
		{ "  hint:   ", r->hint } };

	prover_witness_format(r, witness, sizeof(witness));
	for (size_t i = 0; i < NELEM(lines); i++) {
		add(l, lines[i][0]);
		add(l, lines[i][1]);
		add(l, "\n");
	}
}

void
prover_result_format(const struct prover_result *r, char *out, size_t size)
{
	static const char *const heads[] = { "invalid",
		"exceeds the parent: ", "not decided: ",
		"not decided within the budget: ", "within the parent" };
	struct line l = { out, 0, size };

	*out = '\0';
	add(&l, heads[r->verdict]);
	if (r->verdict != PROVER_INVALID && r->verdict != PROVER_WITHIN)
		add(&l, prover_section_name(r->section));
	if (r->verdict == PROVER_UNSUPPORTED) {
		add(&l, ": ");
		add(&l, r->place);
		add(&l, " (");
		add(&l, prover_code_name(r->code));
		add(&l, ")");
	}
	add(&l, "\n");
	if (r->verdict == PROVER_EXCEEDS)
		add_lines(&l, r);
}
