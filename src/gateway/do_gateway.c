/* SPDX-License-Identifier: Apache-2.0 */
/* The gateway about itself, and its end. */
#include <unistd.h>

#include "gateway/do.h"
#include "gateway/fleet.h"
#include "gateway/mcp.h"
#include "gateway/state.h"
#include "gateway/vm.h"
#include "proto/nacre_v1.pb.h"
#include "proto/openshell_v1.pb.h"

static char *
text(struct call *c, const char *s)
{
	return arena_str(&c->arena, span_str(s));
}

int
do_health(struct call *c, struct fault *f)
{
	openshell_v1_HealthResponse r = openshell_v1_HealthResponse_init_zero;

	r.status = openshell_v1_ServiceStatus_SERVICE_STATUS_HEALTHY;
	r.version = text(c, NACRE_VERSION);
	return CALL_REPLY(c, openshell_v1_HealthResponse, &r, f);
}

int
do_gateway_info(struct call *c, struct fault *f)
{
	openshell_v1_GetGatewayInfoResponse r =
	    openshell_v1_GetGatewayInfoResponse_init_zero;
	openshell_v1_ComputeDriverInfo driver =
	    openshell_v1_ComputeDriverInfo_init_zero;
	const struct machine_template *t = fleet_facts(c->g);

	r.status = openshell_v1_ServiceStatus_SERVICE_STATUS_HEALTHY;
	r.gateway_version = text(c, NACRE_VERSION);
	driver.name = text(c, "qemu-microvm");
	driver.has_capabilities = true;
	driver.capabilities.driver_name = driver.name;
	driver.capabilities.driver_version =
	    text(c, t == NULL ? "" : t->vmm_version);
	r.compute_drivers = &driver;
	r.compute_drivers_count = 1;
	return CALL_REPLY(c, openshell_v1_GetGatewayInfoResponse, &r, f);
}

static void
describe_machines(struct call *c, nacre_v1_GatewayStatusReply *r)
{
	const struct machine_template *t = fleet_facts(c->g);

	r->parked = (uint32_t)fleet_parked(c->g);
	r->running = (uint32_t)vm_count(c->g) - r->parked;
	if (t == NULL) {
		r->accelerator = text(c, c->g->config.accelerator);
		r->accelerator_why = text(c, "no template was made yet");
		return;
	}
	r->accelerator = text(c, machine_accel_name(t->shape.accel));
	r->accelerator_why = text(c, t->accel_reason);
	r->kernel_digest = text(c, t->kernel_digest);
	r->vmm_version = text(c, t->vmm_version);
}

static char *
mcp_place(struct call *c)
{
	uint16_t port = mcp_listen_port(c->g);

	if (c->g->config.mcp_off)
		return text(c, "off");
	if (port == 0)
		return text(c, "");
	return arena_fmt(&c->arena, "http://127.0.0.1:%u/mcp", (unsigned)port);
}

static void
describe_record(struct call *c, nacre_v1_GatewayStatusReply *r)
{
	const struct tls_key *k = &c->g->audit_key;
	char hex[2 * sizeof(k->point) + 1];

	hex_format(k->pin, sizeof(k->pin), hex);
	r->audit_pin = text(c, hex);
	hex_format(k->point, sizeof(k->point), hex);
	r->audit_key = text(c, hex);
}

int
do_status(struct call *c, struct fault *f)
{
	nacre_v1_GatewayStatusReply r = nacre_v1_GatewayStatusReply_init_zero;

	r.version = text(c, NACRE_VERSION);
	r.pid = (int32_t)getpid();
	r.state_dir = text(c, c->g->state);
	r.started_ms = c->g->started_ms;
	r.longest_tick_us = loop_longest_us(c->g->loop);
	if (store_sandbox_total(c->g->store, &r.sandboxes, f) < 0)
		return -1;
	r.supervisor_digest = text(c, c->g->supervisor_digest);
	r.kernel_release = text(c, c->g->kernel_release);
	describe_record(c, &r);
	describe_machines(c, &r);
	r.mcp = mcp_place(c);
	return CALL_REPLY(c, nacre_v1_GatewayStatusReply, &r, f);
}

void
do_stop_gateway_answer(struct call *c)
{
	const nacre_v1_StopGatewayRequest *ask = c->ask;
	const nacre_v1_StopGatewayReply r = nacre_v1_StopGatewayReply_init_zero;
	struct gateway *g = c->g;
	bool sandboxes = ask->stop_sandboxes;
	struct fault f = { 0 };

	if (call_send(c, nacre_v1_StopGatewayReply_fields, &r, &f) < 0)
		call_finish(c, &f);
	else
		call_finish(c, NULL);
	stop_begin(g, sandboxes);
}

int
do_unserved(struct call *c, struct fault *f)
{
	return fault_set(f, FAULT_UNIMPLEMENTED,
	    "'%.128s' is not served by this gateway",
	    (const char *)buf_ptr(&c->detail));
}

int
do_unbuilt(struct call *c, struct fault *f)
{
	return fault_set(f, FAULT_UNIMPLEMENTED,
	    "%s is not served by this gateway yet", c->method->verb);
}
