"""Requests as OTLP/JSON, of as many services as there are names: each calls the next with what it
has left, the last takes longer than that, and all of them miss the deadline."""

import json
import secrets
import time
import urllib.request

MS = 1_000_000
BUDGET = 500  # ms

# Names that a page may neither run nor let turn its lines around nor let push it apart.
HOSTILE = [
    "<script>alert('name')</script>\"'&amp;",
    "\u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\U0001f525\U0001f469\u200d\U0001f680 emoji",
    "..",
    "a/b?c#d%2F",
    "n" * 10_000,
    "\u96c6" * 3_400,
    "javascript:alert(1)",
]


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


def missed(names, ago=60.0):
    """A request through all services, which began so many seconds ago."""
    trace = secrets.token_hex(16)
    begin = int((time.time() - ago) * 1e9)
    end = begin + (BUDGET + 90) * MS
    groups, parent = [], ""
    for depth, name in enumerate(names):
        entry, call = secrets.token_hex(8), secrets.token_hex(8)
        start = begin + depth * 10 * MS
        failed = {"code": 2, "message": "context deadline exceeded"}
        spans = [{
            "traceId": trace, "spanId": entry, "parentSpanId": parent, "kind": 2,
            "name": f"GET /{name}", "startTimeUnixNano": str(start),
            "endTimeUnixNano": str(end - depth * MS), "status": failed,
            "attributes": [attribute("deadline.timeout_ms" if depth == 0 else "deadline.remaining_in_ms",
                                     BUDGET - depth * 10)],
        }]
        if depth + 1 < len(names):
            spans.append({
                "traceId": trace, "spanId": call, "parentSpanId": entry, "kind": 3,
                "name": f"call {names[depth + 1]}", "startTimeUnixNano": str(start + 9 * MS),
                "endTimeUnixNano": str(end - (depth + 1) * MS + MS // 2), "status": failed,
                "attributes": [attribute("peer.service", names[depth + 1])],
            })
        parent = call
        groups.append({"resource": {"attributes": [attribute("service.name", name),
                                                   attribute("host.name", f"host-{depth}")]},
                       "scopeSpans": [{"spans": spans}]})
    return {"resourceSpans": groups}


def send(endpoint, traces):
    request = urllib.request.Request(f"{endpoint}/v1/traces", json.dumps(traces).encode(),
                                     {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        answer.read()
