/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies in short hand, for vectors and generators. A line is an entry:
 *
 *	PROGRAMS>HOST[:PORTS] WORD...
 *
 * PROGRAMS, PORTS: comma lists; c g s n are /usr/bin/{curl,git,bash,node}; H
 * is api.example.com; "-" no host; port 443 if left out. Words:
 *
 *	R Ra W Wa J M Ma tcp     rest, websocket, json-rpc, mcp; a: audit
 *	[RULE; RULE] ![RULE]     allow and deny rules
 *	access=X path=GLOB ips=A,B skip enc all loose max=N
 *	ws body un bind=X sign=SERVICE
 *
 * RULE: METHOD PATH {key=glob,key=a|b} for R and W; METHOD for J; METHOD
 * [tool=a|b] for M. "-" leaves a field out.
 */
#ifndef TESTS_LIB_SHORT_H
#define TESTS_LIB_SHORT_H

#include "base/base.h"

/* The network_policies member that line is, as YAML in one line. */
int short_entry(struct span line, unsigned number, struct buf *out,
    struct fault *f) MUST_CHECK;
/* A policy of such lines; raw is other sections, in YAML, or empty. */
int short_policy(struct span lines, struct span raw, struct buf *out,
    struct fault *f) MUST_CHECK;

#endif
