"""Traces made for the tests of the request's page, as OTLP/JSON bodies."""

import json
import time
import urllib.request

MS = 1_000_000
SPANS = 100_000
# Past, but not so far that it is taken for old.
START = (int(time.time()) - 300) * 1_000_000_000


class Maker:
    def __init__(self, trace):
        self.trace, self.next, self.by_service = trace, 0, {}

    def id(self):
        self.next += 1
        return f"{self.next:016x}"

    def span(self, service, parent, name, kind, start, end, **attributes):
        """Times in ms; `__` in a key is a dot."""
        span = {"traceId": self.trace, "spanId": self.id(), "name": name, "kind": kind,
                "startTimeUnixNano": str(START + int(start * MS)),
                "endTimeUnixNano": str(START + int(end * MS)),
                "attributes": [attribute(key.replace("__", "."), value)
                               for key, value in attributes.items()]}
        if parent:
            span["parentSpanId"] = parent
        self.by_service.setdefault(service, []).append(span)
        return span["spanId"]

    def bodies(self, at_once=10_000):
        for service, spans in self.by_service.items():
            resource = {"attributes": [attribute("service.name", service),
                                       attribute("host.name", f"{service[:60]}-host")]}
            for i in range(0, len(spans), at_once):
                yield {"resourceSpans": [{"resource": resource,
                                          "scopeSpans": [{"spans": spans[i:i + at_once]}]}]}


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}


SERVER, CLIENT, INTERNAL = 2, 3, 1


def large():
    """One request of 100,000 spans, 20 for each of its calls, late from the middle on."""
    made = Maker("1a" * 16)
    end, calls = 60_000, (SPANS - 1) // 20
    root = made.span("edge", None, "POST /import", SERVER, 0, end, deadline__remaining_in_ms=50_000)
    for nth in range(calls):
        at = 1 + nth * (end - 200) / calls
        call = made.span("edge", root, "Store", CLIENT, at, at + 8)
        service = f"store-{nth % 9}"
        hop = made.span(service, call, f"Store {nth}", SERVER, at + .5, at + 7.5,
                        item__id=f"item-{nth}", deadline__remaining_in_ms=int(50_000 - at))
        for query in range(6):
            made.span(service, hop, "SELECT items", CLIENT, at + 1 + query / 2, at + 1.4 + query / 2,
                      db__system__name="postgresql", db__namespace="items")
        for step in range(12):
            made.span(service, hop, f"step {step}", INTERNAL, at + 4, at + 5, step=step)
    return made


def skewed():
    """The callee's clock is 40 ms behind: it begins before it was called."""
    made = Maker("2b" * 16)
    root = made.span("front", None, "GET /", SERVER, 0, 100, deadline__remaining_in_ms=200)
    call = made.span("front", root, "Load", CLIENT, 10, 90)
    hop = made.span("back", call, "Load", SERVER, -28, 46, deadline__remaining_in_ms=180)
    made.span("back", hop, "SELECT", CLIENT, -20, 30, db__system__name="postgresql")
    return made


def hostile():
    """Names of every kind that could break a page: markup, right to left, emoji, 10 KB."""
    made = Maker("3c" * 16)
    names = ["<img src=x onerror=alert(1)>", "\u05e9\u05dc\u05d5\u05dd \u202e\u0645\u0631\u062d\u0628\u0627",
             "\U0001f525\U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301", "L" * 10_240,
             "</script><style>*{display:none}</style>"]
    parent = made.span(names[0], None, names[1], SERVER, 0, 1500, deadline__remaining_in_ms=1000)
    for nth, name in enumerate(names):
        call = made.span(names[nth - 1] if nth else names[0], parent, name, CLIENT, 10 + nth, 1400 - nth)
        parent = made.span(name, call, names[(nth + 1) % len(names)], SERVER, 11 + nth, 1390 - nth,
                           **{names[2]: names[0], "long": names[3], "html": names[4]})
    return made


def send(endpoint):
    """Sends them all; the path of each request's page and its spans, by name."""
    paths = {}
    for name, make in (("large", large), ("skewed", skewed), ("hostile", hostile)):
        made = make()
        for body in made.bodies():
            request = urllib.request.Request(f"{endpoint}/v1/traces", json.dumps(body).encode(),
                                             {"content-type": "application/json"})
            urllib.request.urlopen(request, timeout=60).read()
        paths[name] = f"{made.trace}/{1:016x}", made.next
    return paths
