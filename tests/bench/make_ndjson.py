#!/usr/bin/env python3
"""Writes OTLP/JSON lines of so many megabytes: `make_ndjson.py MEGABYTES [--spans] [--seed N]`.

A trace is a chain of four services with seven spans, about 650 bytes each, every one with its
deadline; one in nine misses it. By default a line is a trace, in the order of time. With `--spans`
a line is one span, and the lines of all traces stand in an order that looks random (the same for
the same seed), so that no trace is together anywhere.
"""

import argparse
import json
import math
import sys

SERVICES = ["storefront", "checkout", "pricing", "inventory"]
ROUTES = ["POST /v1/orders/{id}", "GET /v1/cart", "PUT /v1/cart/items", "GET /v1/quote/{sku}"]
START = 1_791_364_500_000_000_000
SCOPE = {"name": "otelhttp", "version": "0.63.0"}


def attributes(pairs):
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    text = lambda v: str(v) if isinstance(v, int) else v
    return [{"key": k, "value": {kinds[type(v)]: text(v)}} for k, v in pairs.items()]


def compact(value):
    return json.dumps(value, separators=(",", ":"))


RESOURCES = [compact({"attributes": attributes({
    "service.name": name, "telemetry.sdk.language": "go", "host.name": f"ip-10-0-3-{i}",
    "process.pid": 4711})}) for i, name in enumerate(SERVICES)]


def spread(number):
    """Bits of a number that look random."""
    number = (number + 0x9E3779B97F4A7C15) & (2**64 - 1)
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return number ^ (number >> 31)


def times(number, i, bits):
    """Start and end of span `i` in nanoseconds."""
    start = START + number * 1_000_000
    whole = 1_060_000_000 if bits % 9 == 0 else 400_000_000 + (bits >> 16) % 500_000_000
    return (start + i * 40_000_000 + (bits >> 8 + i) % 5_000_000, start + whole - i * 10_000_000)


def span(number, i, seed):
    """The JSON of span `i` of a trace, and the place of its service."""
    bits = spread(number ^ seed << 40)
    server = i % 2 == 0
    start, end = times(number, i, bits)
    left = round(1000 - (start - times(number, 0, bits)[0]) / 1e6, 3)
    error = bits % 9 == 0 and i in (0, 6)
    status = '"status":{"code":2,"message":"deadline exceeded"}' if error else '"status":{}'
    parent = f'"parentSpanId":"{number * 8 + i:016x}",' if i else ""
    name = ROUTES[i // 2] if server else "POST"
    values = {"http.request.method": "POST", "http.response.status_code": 504 if error else 200}
    if server:
        below = times(number, i + 1, bits) if i < 6 else (end, end)
        local = round((below[0] - start + end - below[1]) / 1e6, 3)
        values |= {"deadline.remaining_in_ms": left, "deadline.local_ms": local}
    else:
        values |= {"deadline.remaining_out_ms": left}
    values = attributes(values)
    return i // 2, (
        f'{{"traceId":"{bits:016x}{number + 1:016x}","spanId":"{number * 8 + i + 1:016x}",{parent}'
        f'"flags":257,"name":"{name}","kind":{2 if server else 3},"startTimeUnixNano":"{start}",'
        f'"endTimeUnixNano":"{end}","attributes":{compact(values)},{status}}}')


SCOPE_TEXT = compact(SCOPE)


def entry(service, spans):
    return (f'{{"resource":{RESOURCES[service]},"scopeSpans":[{{"scope":{SCOPE_TEXT},'
            f'"spans":[{",".join(spans)}]}}]}}')


def trace_line(number, seed):
    services = {}
    for i in range(7):
        service, text = span(number, i, seed)
        services.setdefault(service, []).append(text)
    entries = ",".join(entry(service, spans) for service, spans in services.items())
    return f'{{"resourceSpans":[{entries}]}}\n'


def span_line(place, seed):
    service, text = span(place // 7, place % 7, seed)
    return f'{{"resourceSpans":[{entry(service, [text])}]}}\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", type=int)
    parser.add_argument("--spans", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    per_trace = len(trace_line(123_456, args.seed))
    traces = max(1, args.megabytes * 1_000_000 // per_trace)
    out = sys.stdout
    if not args.spans:
        for number in range(traces):
            out.write(trace_line(number, args.seed))
        return
    # A step without a common divisor visits every span once.
    spans = traces * 7
    step = spread(args.seed) % spans | 1
    while math.gcd(step, spans) != 1:
        step += 2
    place = 0
    for _ in range(spans):
        out.write(span_line(place, args.seed))
        place = (place + step) % spans


if __name__ == "__main__":
    main()
