/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of the judge: refusals that more than one question gives,
 * each with a hint that an agent can follow without knowing nacre.
 */
#include "grant/inner.h"

int
grant_refuse_not_found(struct grant_refusal *r)
{
	(void)grant_refuse(r, GRANT_NOT_FOUND, "no such sandbox");
	return grant_hint(r, "call list_sandboxes for those that you can name");
}

int
grant_refuse_not_ready(struct grant_refusal *r, const struct grant_node *n)
{
	static const char *const hints[] = {
		[GRANT_RESERVED] = "it waits for its start; ask again soon",
		[GRANT_STARTING] = "wait until get_sandbox says running",
		[GRANT_RUNNING] = "it runs already",
		[GRANT_STOPPING] = "it is being stopped; nothing more can be "
				   "asked of it",
		[GRANT_STOPPED] = "it was stopped; its user can start it again",
		[GRANT_ENDED] = "its main process is over and it does not "
				"start again; create another one",
		[GRANT_DELETED] = "it was deleted; create another one",
	};

	(void)grant_refuse(r, GRANT_NOT_READY, "sandbox '%.*s' is %s",
	    SHOWN(n->name), grant_life_name(n->life));
	r->state = grant_life_name(n->life);
	return grant_hint(r, "%s", hints[n->life]);
}

int
grant_refuse_why(struct grant_refusal *r, enum grant_why why,
    const char *message, const char *hint)
{
	(void)grant_refuse(r, GRANT_NOT_ALLOWED, "%s", message);
	r->why = why;
	return grant_hint(r, "%s", hint);
}

int
grant_refuse_no_grant(struct grant_refusal *r, const struct grant_tree *t)
{
	(void)grant_refuse(r, GRANT_NOT_ALLOWED,
	    "the sandboxes of '%.*s' have no grant", SHOWN(t->node[0].name));
	r->why = GRANT_WHY_NO_GRANT;
	return grant_hint(r,
	    "go on without children, or ask the user for: nacre grant create "
	    "%.*s",
	    SHOWN(t->node[0].name));
}

int
grant_refuse_dead(struct grant_refusal *r, const struct grant_tree *t,
    enum grant_state state)
{
	bool revoked = state != GRANT_DEAD_EXPIRED;
	const struct grant *g = t->grant;

	(void)grant_refuse(r,
	    revoked ? GRANT_GRANT_REVOKED : GRANT_GRANT_EXPIRED,
	    "the grant of '%.*s' %s", SHOWN(t->node[0].name),
	    revoked ? "was revoked" : "has expired");
	r->at_ms = revoked ? g->ended_ms : g->expires_ms;
	return grant_hint(r,
	    "no child can be started; those that run stay. The user can set a "
	    "new grant: nacre grant create %.*s",
	    SHOWN(t->node[0].name));
}

int
grant_refuse_limit(struct grant_refusal *r, const struct grant_tree *t,
    enum grant_limit l, uint32_t used)
{
	static const char *const instead[] = {
		[GRANT_DEPTH] = "open a tool child, or do the work here",
		[GRANT_BREADTH] = "stop or delete a child of yours first",
		[GRANT_TOTAL] = "use the children that you have",
	};
	const struct grant *g = t->grant;

	(void)grant_refuse(r, GRANT_LIMIT_REACHED,
	    "the grant's %s is used up: %u of %u", grant_limit_name(l), used,
	    g->max[l]);
	r->limit = l;
	r->used = used;
	r->max = g->max[l];
	r->raised_by = t->user;
	return grant_hint(r,
	    "%s; only the user can raise it: nacre grant update %.*s --max-%s "
	    "N",
	    instead[l], SHOWN(t->node[0].name), grant_limit_name(l));
}

int
grant_refuse_retry(struct grant_refusal *r, enum grant_code code, int64_t ms,
    const char *message)
{
	(void)grant_refuse(r, code, "%s", message);
	r->retry_after_ms = ms;
	return grant_hint(r, "send the same call again after %lld ms",
	    (long long)ms);
}

int
grant_refuse_queue_full(struct grant_refusal *r)
{
	return grant_refuse_retry(r, GRANT_BUSY, QUEUE_FULL_MS,
	    "too many starts wait");
}
