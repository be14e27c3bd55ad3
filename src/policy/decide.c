/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator: does this request pass? Some endpoint must allow it, with
 * everything of its own (host, port, program, address, path, rule, use), and
 * no endpoint at that host and port may deny it, whatever its programs.
 *
 *	            OPAQUE HTTP UPGRADE FRAME RPC MCP STREAM ANSWER
 *	opaque        x     x      x      x    x   x    x      x
 *	rest                m     GET    GET  POST POST GET   POST
 *	websocket                 GET   GET+T
 *	json-rpc                               x
 *	mcp                                        x    x      x
 */
#include <string.h>

#include "policy/inner.h"

static bool
carries(enum policy_kind kind, enum policy_act act)
{
	switch (kind) {
	case POLICY_OPAQUE:
		return true;
	case POLICY_REST:
		return act != POLICY_ACT_OPAQUE;
	case POLICY_WEBSOCKET:
		return act == POLICY_ACT_UPGRADE || act == POLICY_ACT_FRAME;
	case POLICY_JSON_RPC:
		return act == POLICY_ACT_RPC;
	case POLICY_MCP:
		return act == POLICY_ACT_MCP || act == POLICY_ACT_STREAM ||
		    act == POLICY_ACT_ANSWER;
	}
	return false;
}

/* The HTTP method under which a rest endpoint sees the act. */
static struct span
rest_method(const struct policy_request *r)
{
	switch (r->act) {
	case POLICY_ACT_UPGRADE:
	case POLICY_ACT_FRAME:
	case POLICY_ACT_STREAM:
		return SPAN_LIT("GET");
	case POLICY_ACT_RPC:
	case POLICY_ACT_MCP:
	case POLICY_ACT_ANSWER:
		return SPAN_LIT("POST");
	case POLICY_ACT_OPAQUE:
	case POLICY_ACT_HTTP:
		break;
	}
	return r->method;
}

/* --- allows */

/* What the protocol itself refuses, whatever the rules say. */
static bool
can_parse(const struct policy_endpoint *e, const struct policy_request *r)
{
	if (has_encoded_slash(r->path) && !e->encoded_slash)
		return false;
	return e->kind != POLICY_MCP || r->act != POLICY_ACT_MCP ||
	    !span_is(r->method, POLICY_CALL) || !e->strict_tools ||
	    tool_is_strict(r->tool);
}

/* Both the upgrade and the frame, by rules of this endpoint. */
static const struct policy_rule *
websocket_allow(const struct policy_endpoint *e, const struct policy_request *r)
{
	const struct policy_rule *get =
	    http_rule(&e->allows, r, SPAN_LIT("GET"), false);

	if (r->act == POLICY_ACT_UPGRADE || !get)
		return get;
	return http_rule(&e->allows, r, SPAN_LIT(POLICY_FRAME), false);
}

/*
 * The endpoint lets it pass by *rule, or by none in particular. Host, port,
 * program, address and kind are known to match.
 */
static bool
endpoint_allows(const struct policy_endpoint *e, const struct policy_request *r,
    const struct policy_rule **rule)
{
	*rule = NULL;
	if (e->kind == POLICY_OPAQUE)
		return true;
	if (!policy_glob_match(&e->path, r->path) || !can_parse(e, r))
		return false;
	if (e->audit)
		return true;
	switch (e->kind) {
	case POLICY_REST:
		*rule = http_rule(&e->allows, r, rest_method(r), false);
		return *rule;
	case POLICY_WEBSOCKET:
		*rule = websocket_allow(e, r);
		return *rule;
	case POLICY_MCP:
		if (r->act != POLICY_ACT_MCP)
			return true;
		break;
	case POLICY_JSON_RPC:
	case POLICY_OPAQUE:
		break;
	}
	*rule = rpc_rule(&e->allows, r, e->kind);
	return *rule;
}

/* The rules would have allowed it: audit changes nothing. */
static bool
audit_needed(const struct policy_endpoint *e, const struct policy_request *r)
{
	struct policy_endpoint enforcing = *e;
	const struct policy_rule *rule;

	enforcing.audit = false;
	return e->audit && e->kind != POLICY_OPAQUE &&
	    !endpoint_allows(&enforcing, r, &rule);
}

/* Bodies of 0 are without a limit: they fit where there is none either. */
static bool
body_fits(uint32_t body, uint32_t limit)
{
	return limit == 0 || (body > 0 && body <= limit);
}

bool
policy_capabilities_serve(const struct policy_capabilities *c,
    enum policy_use use, const struct policy_capabilities *of)
{
	switch (use) {
	case POLICY_USE_NONE:
		return true;
	case POLICY_USE_WEBSOCKET_REWRITE:
		return c->websocket_rewrite;
	case POLICY_USE_BODY_REWRITE:
		return c->body_rewrite;
	case POLICY_USE_UNINSPECTED:
		return c->uninspected;
	case POLICY_USE_BINDING:
		return span_equal(c->provider, of->provider);
	case POLICY_USE_SIGNING:
		return c->signing == of->signing &&
		    span_equal(c->signing_service, of->signing_service) &&
		    span_equal(c->signing_region, of->signing_region);
	case POLICY_USE_BODY:
		return body_fits(of->max_body, c->max_body);
	}
	return false;
}

static bool
is_at(const struct policy_endpoint *e, struct span host, uint16_t port)
{
	return policy_ports_hold(&e->ports, port) &&
	    policy_host_match(&e->host, host);
}

static bool
program_match(const struct policy_entry *entry, const struct policy_request *r)
{
	for (size_t i = 0; i < entry->programs_n; i++)
		for (size_t k = 0; k < r->programs_n; k++)
			if (policy_glob_match(&entry->programs[i].glob,
				r->programs[k]))
				return true;
	return false;
}

/* How far the request comes at this endpoint: the last reason is the best. */
static enum policy_reason
judge(const struct policy_entry *entry, const struct policy_endpoint *e,
    const struct policy_request *r, const struct policy_rule **rule)
{
	if (!is_at(e, r->host, r->port))
		return POLICY_NO_ENDPOINT;
	if (!program_match(entry, r))
		return POLICY_NO_PROGRAM;
	if (!policy_addresses_hold(&e->addresses, r->address))
		return POLICY_NO_ADDRESS;
	if (!carries(e->kind, r->act))
		return POLICY_NO_KIND;
	if (!endpoint_allows(e, r, rule))
		return POLICY_NO_RULE;
	if (!policy_capabilities_serve(&e->capabilities, r->use, r->use_of))
		return POLICY_NO_CAPABILITY;
	return audit_needed(e, r) ? POLICY_PASSES_AUDIT : POLICY_PASSES;
}

static bool
passes(enum policy_reason reason)
{
	return reason == POLICY_PASSES || reason == POLICY_PASSES_AUDIT;
}

/* --- denies */

static const struct policy_rule *
websocket_deny(const struct policy_endpoint *e, const struct policy_request *r)
{
	const struct policy_rule *get =
	    http_rule(&e->denies, r, SPAN_LIT("GET"), true);

	if (r->act == POLICY_ACT_UPGRADE || get)
		return get;
	return http_rule(&e->denies, r, SPAN_LIT(POLICY_FRAME), true);
}

static const struct policy_rule *
endpoint_denies(const struct policy_endpoint *e, const struct policy_request *r)
{
	if (e->denies.n == 0 || e->audit || !carries(e->kind, r->act) ||
	    !is_at(e, r->host, r->port) ||
	    !policy_glob_match(&e->path, r->path))
		return NULL;
	switch (e->kind) {
	case POLICY_REST:
		return http_rule(&e->denies, r, rest_method(r), true);
	case POLICY_WEBSOCKET:
		return websocket_deny(e, r);
	case POLICY_JSON_RPC:
		return rpc_rule(&e->denies, r, e->kind);
	case POLICY_MCP:
		return r->act == POLICY_ACT_MCP
		    ? rpc_rule(&e->denies, r, e->kind)
		    : NULL;
	case POLICY_OPAQUE:
		break;
	}
	return NULL;
}

/* --- answers */

static const struct policy_box *
box_of(const struct policy_boxes *boxes, const struct policy_endpoint *e,
    const struct policy_rule *rule)
{
	const struct policy_box *first = NULL;

	for (size_t i = 0; i < boxes->n; i++) {
		if (boxes->box[i].endpoint != e)
			continue;
		if (boxes->box[i].rule == rule)
			return &boxes->box[i];
		first = first ? first : &boxes->box[i];
	}
	return first; /* STREAM and ANSWER come by every rule */
}

static struct policy_decision
denied(const struct policy *p, const struct policy_request *r,
    struct policy_decision so_far)
{
	for (size_t i = 0; i < p->entries_n; i++)
		for (size_t k = 0; k < p->entries[i].endpoints_n; k++) {
			const struct policy_endpoint *e =
			    &p->entries[i].endpoints[k];
			const struct policy_rule *rule = endpoint_denies(e, r);

			if (rule)
				return (struct policy_decision){
					.reason = POLICY_DENIED,
					.box = box_of(&p->denies, e, rule),
				};
		}
	return so_far;
}

static bool
is_never(const struct policy_request *r)
{
	return policy_host_never(r->host) || policy_port_never(r->port) ||
	    policy_address_class(r->address) == POLICY_BLOCKED;
}

struct policy_decision
policy_decide(const struct policy *p, const struct policy_request *r)
{
	struct policy_decision d = { .reason = POLICY_NO_ENDPOINT };

	if (is_never(r))
		return (
		    struct policy_decision){ .reason = POLICY_NEVER_DIALLED };
	for (size_t i = 0; i < p->entries_n; i++)
		for (size_t k = 0; k < p->entries[i].endpoints_n; k++) {
			const struct policy_endpoint *e =
			    &p->entries[i].endpoints[k];
			const struct policy_rule *rule;
			enum policy_reason reason =
			    judge(&p->entries[i], e, r, &rule);

			if (passes(reason)) {
				d.allowed = true;
				d.reason = reason;
				d.box = box_of(&p->allows, e, rule);
				return denied(p, r, d);
			}
			if (reason > d.reason)
				d.reason = reason;
		}
	return d;
}

struct policy_decision
policy_connect(const struct policy *p, const struct policy_request *r,
    bool *opaque)
{
	struct policy_decision d = { .reason = POLICY_NO_ENDPOINT };

	*opaque = false;
	if (is_never(r))
		return (
		    struct policy_decision){ .reason = POLICY_NEVER_DIALLED };
	for (size_t i = 0; i < p->allows.n; i++) {
		const struct policy_box *b = &p->allows.box[i];
		bool at = is_at(b->endpoint, r->host, r->port);
		enum policy_reason reason = !at   ? POLICY_NO_ENDPOINT
		    : !program_match(b->entry, r) ? POLICY_NO_PROGRAM
		    : !policy_addresses_hold(&b->endpoint->addresses,
			  r->address)
		    ? POLICY_NO_ADDRESS
		    : POLICY_PASSES;

		if (reason == POLICY_PASSES) {
			d.allowed = true;
			d.reason = reason;
			d.box = d.box ? d.box : b;
			*opaque |= b->endpoint->kind == POLICY_OPAQUE;
		} else if (!d.allowed && reason > d.reason) {
			d.reason = reason;
		}
	}
	return d;
}

bool
policy_route(const struct policy *p, struct span host, uint16_t port,
    struct span path, enum policy_kind *kind)
{
	for (size_t i = 0; i < p->entries_n; i++)
		for (size_t k = 0; k < p->entries[i].endpoints_n; k++) {
			const struct policy_endpoint *e =
			    &p->entries[i].endpoints[k];

			if (is_at(e, host, port) &&
			    (e->kind == POLICY_OPAQUE ||
				policy_glob_match(&e->path, path))) {
				*kind = e->kind;
				return true;
			}
		}
	return false;
}

const char *
policy_reason_text(enum policy_reason reason)
{
	static const char *const texts[] = {
		[POLICY_PASSES] = "a rule allows it",
		[POLICY_PASSES_AUDIT] = "only recorded: its endpoint audits",
		[POLICY_NEVER_DIALLED] = "never reachable",
		[POLICY_NO_ENDPOINT] = "no endpoint there",
		[POLICY_NO_PROGRAM] = "not for this program",
		[POLICY_NO_ADDRESS] = "not at this address",
		[POLICY_NO_KIND] = "not with this protocol",
		[POLICY_NO_RULE] = "no rule allows it",
		[POLICY_NO_CAPABILITY] = "not with this credential or body",
		[POLICY_DENIED] = "a rule denies it",
	};

	return texts[reason];
}
