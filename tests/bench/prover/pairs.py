# SPDX-License-Identifier: Apache-2.0
"""Pairs of policies, as the JSON that nacre reads. Seeded: always the same."""
import json
import random


def rule(method, path):
    return {"allow": {"method": method, "path": path}}


def endpoint(host, ports, rules=None, denies=None):
    e = {"host": host, "ports": list(ports)}
    if rules:
        e["protocol"] = "rest"
        e["rules"] = rules
    if denies:
        e["deny_rules"] = denies
    return e


def policy(endpoints, programs=("/usr/bin/curl",)):
    """Ten endpoints an entry."""
    return {"version": 1, "network_policies": {
        "e%d" % i: {"binaries": [{"path": p} for p in programs], "endpoints": endpoints[i:i + 10]}
        for i in range(0, len(endpoints), 10)}}


def text(p):
    return json.dumps(p, separators=(",", ":"))


# --- bench: n rules, by shape

def disjoint(n, within):
    """One exact host a rule; the child a little narrower, or once wider."""
    child, parent = [], []
    for i in range(n):
        host = "h%d.example.com" % i
        parent.append(endpoint(host, [443], [rule("GET", "/v1/**")]))
        child.append(endpoint(host, [443], [rule("GET", "/v1/items/**")]))
    if not within:
        child[n * 3 // 4] = endpoint("h%d.example.com" % (n * 3 // 4), [443], [rule("GET", "/v2/**")])
    return policy(child), policy(parent)


def wildcard(n, within):
    """One domain a rule, reached by wildcards."""
    child, parent = [], []
    for i in range(n):
        parent.append(endpoint("**.d%d.example.com" % i, [443, 8443], [rule("GET", "/**")]))
        child.append(endpoint("*.d%d.example.com" % i, [443], [rule("GET", "/a/**")]))
    if not within:
        child[n * 3 // 4]["ports"] = [443, 9443]
    return policy(child), policy(parent)


def overlapping(n, within):
    """All rules on one host, by path; denies in both."""
    parent = [rule("GET", "/repos/p%d/**" % i) for i in range(n)]
    child = [rule("GET", "/repos/p%d/issues/*" % i) for i in range(n)]
    deny = [{"method": "*", "path": "/repos/*/secret"}]
    if not within:
        child[n * 3 // 4] = rule("POST", "/repos/p%d/issues/*" % (n * 3 // 4))
    return (policy([endpoint("api.example.com", [443], child, deny)]),
            policy([endpoint("api.example.com", [443], parent, deny)]))


def union(n, within):
    """Every child rule needs two parent rules together."""
    parent, child = [], []
    for i in range(n):
        parent += [rule("GET", "/p%d/*" % i)]
        if within or i != n * 3 // 4:
            parent += [rule("GET", "/p%d/*/**" % i)]
        child += [rule("GET", "/p%d/**" % i)]
    return (policy([endpoint("api.example.com", [443], child)]),
            policy([endpoint("api.example.com", [443], parent)]))


SHAPES = {"disjoint": disjoint, "wildcard": wildcard, "overlapping": overlapping, "union": union}

# --- hard: as much as a policy may hold, and as much as may be undecided

def crossing(n, wider, missing=0):
    """n allows, each met by n denies that no literal tells apart."""
    deny = "/**/x%d*" if wider else "/**/x%d"
    return (policy([endpoint("api.example.com", [443], [rule("GET", "/r%d/**" % i) for i in range(n)],
                             [{"method": "*", "path": deny % i} for i in range(n - missing)])]),
            policy([endpoint("api.example.com", [443], [rule("GET", "**")],
                             [{"method": "*", "path": "/**/x%d" % i} for i in range(n)])]))


def apart(n):
    """n allows and n denies that do not meet, but for a search."""
    return (policy([endpoint("api.example.com", [443], [rule("GET", "/r%d/*y*" % i) for i in range(n)])]),
            policy([endpoint("api.example.com", [443], [rule("GET", "**")],
                             [{"method": "*", "path": "/*/*/**/x%d" % i} for i in range(n)])]))


def clauses(variables, n, seed):
    """Query keys are variables of two values, the child's denies are clauses of three."""
    r = random.Random(seed)
    deny = [{"method": "GET", "path": "/s", "query": {"v%02d" % k: r.choice("TF") for k in r.sample(range(variables), 3)}}
            for _ in range(n)]
    allow = rule("GET", "/s")
    allow["allow"]["query"] = {"v%02d" % k: {"any": ["T", "F"]} for k in range(variables)}
    return (policy([endpoint("api.example.com", [443], [allow], deny)]),
            policy([endpoint("api.example.com", [443], [rule("GET", "/z")])]))


HARD = {"crossing 1000 x 1000": lambda: crossing(1000, False), "wider 1000 x 1000": lambda: crossing(1000, True),
        "one missing, 300 x 300": lambda: crossing(300, False, 1), "one missing, 1000 x 1000": lambda: crossing(1000, False, 1),
        "apart 300 x 300": lambda: apart(300), "apart 1000 x 1000": lambda: apart(1000),
        "20 variables, 85 clauses": lambda: clauses(20, 85, 3), "24 variables, 120 clauses": lambda: clauses(24, 120, 3),
        "30 variables, 130 clauses": lambda: clauses(30, 130, 3), "50 variables, 210 clauses": lambda: clauses(50, 210, 3)}

# --- agreement: small, wild

HOSTS = ["x.y.test", "a.y.test", "*.y.test", "**.y.test", "a*.y.test", "*b.y.test", "*.a.y.test",
         "**.a.y.test", "*.*.y.test", "a.*.y.test", "y.test"]
PATHS = ["/", "/a", "/b", "/a/b", "/*", "/a/*", "/*/b", "/**", "**", "/a/**", "/**/b", "/a/**/b",
         "/a*", "/*b", "/a*b", "/*/*", "/b/**", "/*a*", "/a/*/b", "/**/a/**", "/x%20y", "/%C3%A9/*"]
METHODS = ["GET", "HEAD", "POST", "*", "DELETE"]
PORTS = [[1], [2], [1, 2], [1, 2, 3]]


def wild_rules(r, n):
    return [{"method": r.choice(METHODS), "path": r.choice(PATHS)} for _ in range(n)]


def wild_entry(r):
    rules = [{"allow": x} for x in wild_rules(r, r.randint(1, 2))]
    denies = wild_rules(r, 1) if r.random() < 0.35 else None
    e = endpoint(r.choice(HOSTS), r.choice(PORTS), rules, denies)
    e["allowed_ips"] = ["public"]
    return e


def wild_pair(r):
    parent = [wild_entry(r) for _ in range(r.randint(1, 3))]
    how = r.random()
    child = json.loads(json.dumps(parent))
    if how < 0.35:
        child = [wild_entry(r)]
    else:
        e = r.choice(child)
        what = r.randint(0, 5)
        if what == 0:
            e["host"] = r.choice(HOSTS)
        elif what == 1:
            e["ports"] = r.choice(PORTS)
        elif what == 2:
            r.choice(e["rules"])["allow"]["path"] = r.choice(PATHS)
        elif what == 3:
            r.choice(e["rules"])["allow"]["method"] = r.choice(METHODS)
        elif what == 4:
            e.pop("deny_rules", None)
        else:
            e["deny_rules"] = wild_rules(r, 1)
    return policy(child), policy(parent)


def wild(n, seed):
    r = random.Random(seed)
    return [wild_pair(r) for _ in range(n)]
