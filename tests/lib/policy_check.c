/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "policy_check.h"
#include "proto/openshell_sandbox_v1.pb.h"

void
policy_errors_check(const struct yaml_errors *e, const struct fault *f)
{
	char out[YAML_ERROR_TEXT + 32];

	BUG_IF(f->code != FAULT_LIMIT && f->code != FAULT_INVALID);
	if (f->code == FAULT_LIMIT)
		return;
	BUG_IF(e->count == 0);
	for (size_t i = 0; i < e->count && i < YAML_ERRORS; i++) {
		policy_error_format(e, i, out, sizeof(out));
		BUG_IF(out[0] == '\0');
	}
}

static void
boxes_check(const struct policy *p)
{
	const struct span programs[] = { SPAN_LIT("/a"),
		SPAN_LIT("/usr/bin/curl") };
	struct policy_request r = { .programs = programs,
		.programs_n = NELEM(programs),
		.address = policy_address_v4(0x01010101),
		.method = SPAN_LIT("GET"),
		.path = SPAN_LIT("/v1/a"),
		.tool = SPAN_LIT("a") };
	char name[128];
	bool opaque;

	for (size_t i = 0; i < p->allows.n && i < 64; i++) {
		const struct policy_endpoint *e = p->allows.box[i].endpoint;

		BUG_IF(e->ports.n == 0 || e->addresses.n == 0);
		r.host = e->host.glob.text;
		r.port = e->ports.range[0].first;
		for (int act = 0; act <= POLICY_ACT_ANSWER; act++) {
			r.act = (enum policy_act)act;
			(void)policy_decide(p, &r);
		}
		(void)policy_connect(p, &r, &opaque);
		policy_box_format(&p->allows.box[i], name, sizeof(name));
	}
}

static void
same_check(const struct policy *p, const struct policy *q)
{
	BUG_IF(!span_equal(p->text, q->text));
	BUG_IF(memcmp(p->hash, q->hash, POLICY_HASH) != 0);
	BUG_IF(p->allows.n < q->allows.n || p->denies.n < q->denies.n);
}

void
policy_check(const struct policy *p, struct arena *a)
{
	openshell_sandbox_v1_SandboxPolicy m;
	struct policy again;
	struct yaml_errors errors;
	struct fault f = { 0 };

	boxes_check(p);
	BUG_IF(policy_parse(p->text, a, &again, &errors, &f) != 0);
	same_check(p, &again);
	BUG_IF(policy_message(p, a, &m, &f) != 0);
	BUG_IF(policy_read_message(&m, 0, a, &again, &errors, &f) != 0);
	/* An empty map and an empty policy are one on the wire. */
	if (p->entries_n > 0 && !p->has_middlewares)
		same_check(p, &again);
	BUG_IF(policy_complete(NULL, p, 0, a, &again, &f) != 0);
	BUG_IF(!p->has_middlewares && !span_equal(p->text, again.text));
}
