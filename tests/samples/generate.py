#!/usr/bin/env python3
"""Writes `sample-traces/NN-name.json` and `INDEX.md`; with `--check`, compares instead.

A sample is told in milliseconds from its root's arrival. Ids are hashes of the sample's name and
the span's number, so a change in one sample leaves the others as they are.
"""

import hashlib
import json
import pathlib
import sys

OUT = pathlib.Path(__file__).resolve().parents[2] / "sample-traces"
MORNING = 1_791_364_500_000_000_000  # 2026-10-07 09:15:00 UTC

SERVER, CLIENT, PRODUCER, CONSUMER = 2, 3, 4, 5
TIMEOUT = {"error.type": "timeout"}
LANGUAGES = {"web": "nodejs", "client": "webjs", "edge": "go", "gateway": "go", "fraud": "python",
             "features": "python", "recommendations": "python", "search": "java", "orders": "java",
             "inventory": "java", "mailer": "nodejs", "pricing": "java"}


def digest(text, length):
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, float):
        return {"doubleValue": v}
    if isinstance(v, list):
        return {"arrayValue": {"values": [value(x) for x in v]}}
    return {"stringValue": v}


def attributes(pairs):
    return [{"key": k, "value": value(v)} for k, v in pairs.items()]


class Sample:
    def __init__(self, name, shows, at, skew=None):
        self.name, self.shows, self.skew = name, shows, skew or {}
        self.t0 = MORNING + round(at * 1e9)
        self.trace = digest(name, 32)
        self.spans = []

    def absolute(self, ms):
        """`ms` after the start as RFC 3339."""
        total = (self.t0 - MORNING) // 1_000_000 + ms
        return f"2026-10-07T09:{15 + total // 60_000:02}:{total // 1000 % 60:02}.{total % 1000:03}Z"

    def span(self, service, kind, name, start, end, parent=None, attrs=None, error=None, host=None,
             events=()):
        ident = digest(f"{self.name}/{len(self.spans)}", 16)
        host = host or f"{service}-{digest(service, 5)}"
        ns = lambda ms: str(self.t0 + round((ms + self.skew.get(host, 0)) * 1e6))
        span = {"traceId": self.trace, "spanId": ident}
        if parent:
            span["parentSpanId"] = parent
        span |= {"name": name, "kind": kind, "startTimeUnixNano": ns(start),
                 "endTimeUnixNano": ns(end), "attributes": attributes(attrs or {})}
        if events:
            span["events"] = [{"timeUnixNano": ns(t), "name": n} for t, n in events]
        span["status"] = {} if error is None else {"code": 2} | ({"message": error} if error else {})
        self.spans.append(((service, host), span))
        return ident

    def document(self):
        groups = {}
        for key, span in self.spans:
            groups.setdefault(key, []).append(span)
        resources = []
        for (service, host), spans in groups.items():
            resource = {
                "service.name": service,
                "service.version": f"{1 + len(service) % 4}.{len(host) % 20}.{ord(service[0]) % 7}",
                "host.name": host,
                "deployment.environment.name": "production",
                "telemetry.sdk.name": "opentelemetry",
                "telemetry.sdk.language": LANGUAGES.get(service, "go"),
            }
            scope = {"name": f"{service}.instrumentation", "version": "1.4.0"}
            resources.append({"resource": {"attributes": attributes(resource)},
                              "scopeSpans": [{"scope": scope, "spans": spans}]})
        return {"resourceSpans": resources}


def http_server(method, route, status, **more):
    return {"http.request.method": method, "http.route": route, "url.path": route,
            "url.scheme": "https", "http.response.status_code": status} | more


def http_client(method, host, path, status=None, **more):
    found = {"http.request.method": method, "url.full": f"http://{host}:8080{path}",
             "server.address": host, "server.port": 8080}
    return found | ({} if status is None else {"http.response.status_code": status}) | more


def header(name, text):
    return {f"http.request.header.{name}": [text]}


def rpc(service, method, code, **more):
    return {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method,
            "rpc.grpc.status_code": code} | more


def rpc_client(host, service, method, code, **more):
    return rpc(service, method, code, **{"server.address": host, "server.port": 9090} | more)


def grpc_timeout(text):
    return {"rpc.request.metadata.grpc-timeout": [text]}


def db(system, operation, table=None, namespace=None, text=None, host=None):
    found = {"db.system.name": system, "db.operation.name": operation}
    for key, part in (("db.namespace", namespace), ("db.collection.name", table),
                      ("db.query.text", text), ("server.address", host)):
        if part:
            found[key] = part
    return found


def dl(**fields):
    return {f"deadline.{k}": v for k, v in fields.items()}


def chain():
    s = Sample("01-fixed-timeouts",
               "every hop waits its own 1,000 ms and tells nobody: the client leaves, three services work on; pricing held the clock", 0)
    c = s.span("client", CLIENT, "POST /orders", 0, 1000, None,
               http_client("POST", "orders", "/orders", **dl(timeout_ms=1000), **TIMEOUT),
               error="timeout of 1000ms exceeded")
    o = s.span("orders", SERVER, "POST /orders", 1, 1307, c, http_server("POST", "/orders", 201))
    r = s.span("orders", CLIENT, "Reserve", 201, 1306, o,
               rpc_client("inventory", "shop.Inventory", "Reserve", 0, **dl(timeout_ms=1000)))
    i = s.span("inventory", SERVER, "Reserve", 202, 1305, r, rpc("shop.Inventory", "Reserve", 0))
    q = s.span("inventory", CLIENT, "Quote", 502, 1304, i,
               rpc_client("pricing", "shop.Pricing", "Quote", 0, **dl(timeout_ms=1000)))
    s.span("pricing", SERVER, "Quote", 503, 1303, q,
           rpc("shop.Pricing", "Quote", 0, **{"pricing.rules.loaded": 18402}))
    return s


def chain_passed_on():
    s = Sample("02-deadline-passed-on",
               "the same chain with the deadline passed on: everyone stops at it and pricing is named by its own telemetry", 14)
    budget = header("x-request-budget-ms", "999")
    c = s.span("client", CLIENT, "POST /orders", 0, 1000, None,
               http_client("POST", "orders", "/orders", **dl(timeout_ms=1000), **budget, **TIMEOUT),
               error="timeout of 1000ms exceeded")
    o = s.span("orders", SERVER, "POST /orders", 1, 1000, c,
               http_server("POST", "/orders", 504, **budget), error="")
    r = s.span("orders", CLIENT, "Reserve", 201, 1000, o,
               rpc_client("inventory", "shop.Inventory", "Reserve", 4, **grpc_timeout("798m")),
               error="deadline exceeded")
    i = s.span("inventory", SERVER, "Reserve", 202, 1000, r,
               rpc("shop.Inventory", "Reserve", 4, **grpc_timeout("798m")), error="")
    q = s.span("inventory", CLIENT, "Quote", 502, 1000, i,
               rpc_client("pricing", "shop.Pricing", "Quote", 4, **grpc_timeout("497m")),
               error="deadline exceeded")
    s.span("pricing", SERVER, "Quote", 503, 999, q,
           rpc("shop.Pricing", "Quote", 4, **grpc_timeout("497m"), **dl(outcome="exceeded_here")),
           error="")
    return s


def fan_out():
    s = Sample("03-checkout-fan-out",
               "14 hops: fan-out, two attempts against one slow database, payments reached with 17 ms left, a budget reset, a charge written after the deadline", 267.418)
    told = lambda ms: dl(remaining_in_ms=ms)
    sent = lambda ms: dl(remaining_out_ms=ms)
    e = s.span("edge", SERVER, "POST /checkout", 0, 1504, None,
               http_server("POST", "/checkout", 504, **told(1500)), error="")
    c = s.span("edge", CLIENT, "Check", 2, 6, e, rpc_client("limiter", "edge.Limiter", "Check", 0))
    s.span("limiter", SERVER, "Check", 3, 5, c, rpc("edge.Limiter", "Check", 0))
    c = s.span("edge", CLIENT, "Checkout", 8, 1500, e,
               rpc_client("checkout", "shop.Checkout", "Checkout", 4, **sent(1492)),
               error="context deadline exceeded")
    ch = s.span("checkout", SERVER, "Checkout", 10, 1500, c,
                rpc("shop.Checkout", "Checkout", 4, **told(1490)), error="context deadline exceeded")
    c = s.span("checkout", CLIENT, "Verify", 22, 61, ch,
               rpc_client("identity", "shop.Identity", "Verify", 0, **sent(1478)))
    s.span("identity", SERVER, "Verify", 24, 59, c, rpc("shop.Identity", "Verify", 0, **told(1476)))
    c = s.span("checkout", CLIENT, "GetCart", 22, 96, ch,
               rpc_client("cart", "shop.Cart", "GetCart", 0, **sent(1478)))
    ca = s.span("cart", SERVER, "GetCart", 24, 94, c, rpc("shop.Cart", "GetCart", 0, **told(1476)))
    s.span("cart", CLIENT, "HGETALL", 30, 34, ca,
           db("redis", "HGETALL", namespace="carts", host="redis-carts"))
    c = s.span("cart", CLIENT, "GetItems", 38, 90, ca,
               rpc_client("catalog", "shop.Catalog", "GetItems", 0, **sent(1462)))
    s.span("catalog", SERVER, "GetItems", 40, 88, c,
           rpc("shop.Catalog", "GetItems", 0, **told(1460)))
    c = s.span("checkout", CLIENT, "Quote", 110, 420, ch,
               rpc_client("pricing", "shop.Pricing", "Quote", 0, **sent(1390)))
    p = s.span("pricing", SERVER, "Quote", 112, 418, c, rpc("shop.Pricing", "Quote", 0, **told(1388)))
    c = s.span("pricing", CLIENT, "Rate", 140, 228, p,
               rpc_client("tax", "shop.Tax", "Rate", 0, **sent(1360)))
    s.span("tax", SERVER, "Rate", 142, 226, c, rpc("shop.Tax", "Rate", 0, **told(1358)))
    c = s.span("pricing", CLIENT, "Match", 140, 312, p,
               rpc_client("promo", "shop.Promo", "Match", 0, **sent(1360)))
    s.span("promo", SERVER, "Match", 142, 310, c, rpc("shop.Promo", "Match", 0, **told(1358)))
    lock = db("postgresql", "SELECT", "stock_levels", "stock",
              "SELECT sku, on_hand FROM stock_levels WHERE sku = ANY($1) FOR UPDATE", "pg-stock")
    tries = ((432, 932, 434, 440, 1240, 1244, 4), (982, 1461, 984, 990, 1452, 1459, 0))
    for start, end, arrived, query, answered, left, code in tries:
        c = s.span("checkout", CLIENT, "Reserve", start, end, ch,
                   rpc_client("inventory", "shop.Inventory", "Reserve", code, **sent(500),
                              **dl(timeout_ms=500)),
                   error="context deadline exceeded" if code else None)
        i = s.span("inventory", SERVER, "Reserve", arrived, left, c,
                   rpc("shop.Inventory", "Reserve", 0, **told(500)))
        s.span("inventory", CLIENT, "SELECT … FOR UPDATE", query, answered, i, lock)
    c = s.span("checkout", CLIENT, "Charge", 1470, 1500, ch,
               rpc_client("payments", "shop.Payments", "Charge", 4, idempotent=False, **sent(30)),
               error="context deadline exceeded")
    pay = s.span("payments", SERVER, "Charge", 1483, 1704, c,
                 rpc("shop.Payments", "Charge", 0, **told(17), **dl(outcome="expired_on_arrival")))
    c = s.span("payments", CLIENT, "Score", 1488, 1670, pay,
               rpc_client("fraud", "risk.Fraud", "Score", 0, **sent(250), **dl(timeout_ms=250)))
    f = s.span("fraud", SERVER, "Score", 1490, 1668, c, rpc("risk.Fraud", "Score", 0, **told(250)))
    c = s.span("fraud", CLIENT, "Lookup", 1540, 1640, f,
               rpc_client("features", "risk.Features", "Lookup", 0, **sent(200), **dl(timeout_ms=200)))
    s.span("features", SERVER, "Lookup", 1542, 1638, c,
           rpc("risk.Features", "Lookup", 0, **told(198)))
    s.span("payments", CLIENT, "INSERT charges", 1672, 1702, pay,
           db("postgresql", "INSERT", "charges", "payments",
              "INSERT INTO charges (order_id, amount, currency) VALUES ($1, $2, $3)", "pg-payments"))
    return s


def met_with_reserve():
    s = Sample("04-met-with-reserve",
               "the healthy case: 40 ms kept back, the rest passed on, answered in time", 27)
    e = s.span("edge", SERVER, "GET /search", 0, 238, None,
               http_server("GET", "/search", 200, **header("x-request-timeout-ms", "400")))
    passed = header("x-request-timeout-ms", "354")
    c = s.span("edge", CLIENT, "GET /v2/search", 6, 221, e,
               http_client("GET", "search", "/v2/search", 200, **passed))
    q = s.span("search", SERVER, "GET /v2/search", 7, 220, c,
               http_server("GET", "/v2/search", 200, **passed))
    s.span("search", CLIENT, "search products", 19, 187, q,
           db("elasticsearch", "search", "products", host="es-products"))
    return s


def expired_on_arrival():
    s = Sample("05-expired-on-arrival",
               "pricing reports the error with 15 ms left; checkout had spent 940 of the 1,000 ms before it called", 40)
    w = s.span("web", SERVER, "POST /checkout", 0, 990, None,
               http_server("POST", "/checkout", 504, **dl(remaining_in_ms=1000)), error="")
    c = s.span("web", CLIENT, "Checkout", 28, 988, w,
               rpc_client("checkout", "shop.Checkout", "Checkout", 4, **dl(remaining_out_ms=972)),
               error="Deadline exceeded")
    k = s.span("checkout", SERVER, "Checkout", 30, 986, c,
               rpc("shop.Checkout", "Checkout", 4,
                   **dl(remaining_in_ms=970, local_ms=940, remaining_out_ms=22,
                        outcome="exceeded_here")), error="")
    c = s.span("checkout", CLIENT, "Quote", 968, 984, k,
               rpc_client("pricing", "shop.Pricing", "Quote", 4), error="deadline exceeded")
    s.span("pricing", SERVER, "Quote", 975, 979, c,
           rpc("shop.Pricing", "Quote", 4,
               **dl(remaining_in_ms=15, outcome="expired_on_arrival")), error="")
    return s


def retries_ignore_budget():
    s = Sample("06-retries-ignore-budget",
               "three attempts of a full second each in a budget of two: the last begins after the deadline", 53)
    k = s.span("checkout", SERVER, "POST /checkout", 0, 3010, None,
               http_server("POST", "/checkout", 504, **dl(remaining_in_ms=2000)), error="")
    for n, start in enumerate((5, 1006, 2007)):
        again = {"http.request.resend_count": n} if n else {}
        c = s.span("checkout", CLIENT, "GET", start, start + 1000, k,
                   http_client("GET", "fraud", "/risk/8841", **dl(timeout_ms=1000), **TIMEOUT, **again),
                   error="timeout of 1000ms exceeded")
        s.span("fraud", SERVER, "GET /risk/{customer}", start + 1, start + 1400, c,
               http_server("GET", "/risk/{customer}", 200))
    return s


def retry_amplification():
    s = Sample("07-retry-amplification",
               "two layers retry: one request becomes six, all refused; an error of its own, not a deadline", 66)
    w = s.span("web", SERVER, "GET /stock", 0, 583, None,
               http_server("GET", "/stock", 503, **dl(remaining_in_ms=2000)), error="")
    for n, start in enumerate((2, 316)):
        left = header("x-deadline-remaining-ms", str(2000 - start))
        again = {"http.request.resend_count": n} if n else {}
        c = s.span("web", CLIENT, "GET", start, start + 264, w,
                   http_client("GET", "api", "/stock", 503, **left, **again), error="")
        a = s.span("api", SERVER, "GET /stock", start + 2, start + 262, c,
                   http_server("GET", "/stock", 503, **left), error="")
        for begin in (start + 6, start + 90, start + 194):
            budget = grpc_timeout(f"{1996 - begin}m")
            c = s.span("api", CLIENT, "Get", begin, begin + 64, a,
                       rpc_client("store", "shop.Store", "Get", 14, **budget),
                       error="upstream connect error")
            s.span("store", SERVER, "Get", begin + 1, begin + 63, c,
                   rpc("shop.Store", "Get", 14, **budget), error="no healthy shard")
    return s


def hedge_loser():
    s = Sample("08-hedge-loser",
               "the second of two hedged calls wins at 86 ms; nobody stops the first, which runs to 290", 79)
    e = s.span("search", SERVER, "GET /suggest", 0, 92, None,
               http_server("GET", "/suggest", 200, **dl(remaining_in_ms=300)))
    for start, end, done, code, budget, host in (
            (4, 86, 290, 1, "290m", "index-a1"), (44, 86, 85, 0, "250m", "index-b7")):
        c = s.span("search", CLIENT, "Suggest", start, end, e,
                   rpc_client("index", "search.Index", "Suggest", code, **grpc_timeout(budget)),
                   error="context canceled" if code else None)
        s.span("index", SERVER, "Suggest", start + 1, done, c,
               rpc("search.Index", "Suggest", 0, **grpc_timeout(budget)), host=host)
    return s


def clock_skew():
    s = Sample("09-clock-skew",
               "session's clock is 250 ms behind: it seems to start before it was called; its 42 ms are true", 92,
               {"session-node-4": -250})
    g = s.span("gateway", SERVER, "GET /me", 0, 70, None,
               http_server("GET", "/me", 200, **dl(remaining_in_ms=400)))
    c = s.span("gateway", CLIENT, "Load", 12, 64, g,
               rpc_client("session", "auth.Session", "Load", 0, **dl(remaining_out_ms=380)))
    s.span("session", SERVER, "Load", 16, 58, c,
           rpc("auth.Session", "Load", 0, **dl(remaining_in_ms=380)), host="session-node-4")
    return s


def absolute_deadline():
    s = Sample("10-absolute-deadline-skew",
               "an absolute deadline meets a clock 400 ms ahead: store refuses a request that had 343 ms left", 105,
               {"store-node-2": 400})
    until = header("x-deadline", s.absolute(350))
    e = s.span("edge", SERVER, "GET /items", 0, 30, None,
               http_server("GET", "/items", 504, **until), error="")
    c = s.span("edge", CLIENT, "GET", 5, 25, e,
               http_client("GET", "store", "/items", 503, **until), error="")
    s.span("store", SERVER, "GET /items", 7, 9, c,
           http_server("GET", "/items", 503, **until, **dl(outcome="expired_on_arrival")),
           error="deadline passed", host="store-node-2")
    return s


def queued():
    s = Sample("11-queued", "render had 395 ms and let the request wait 180 of them before it began", 118)
    g = s.span("gateway", SERVER, "GET /report", 0, 338, None,
               http_server("GET", "/report", 200, **header("x-request-budget-ms", "400")))
    c = s.span("gateway", CLIENT, "GET", 3, 333, g,
               http_client("GET", "render", "/pdf", 200, **dl(remaining_out_ms=397)))
    s.span("render", SERVER, "GET /pdf", 5, 331, c,
           http_server("GET", "/pdf", 200, **dl(remaining_in_ms=395, queue_ms=180)),
           events=((185, "dequeued"),))
    return s


def no_reserve():
    s = Sample("12-no-reserve",
               "edge gives away all it has left, gets its answer in time and is late by its own 15 ms", 131)
    e = s.span("edge", SERVER, "GET /quote", 0, 307, None,
               http_server("GET", "/quote", 200, **dl(remaining_in_ms=300)))
    c = s.span("edge", CLIENT, "Rates", 4, 292, e,
               rpc_client("rates", "fx.Rates", "Rates", 0, **dl(remaining_out_ms=296)))
    s.span("rates", SERVER, "Rates", 6, 290, c,
           rpc("fx.Rates", "Rates", 0, **dl(remaining_in_ms=294)))
    return s


def cancelled():
    s = Sample("13-cancelled-by-caller",
               "the user closed the tab; feed stopped 3 ms before the gateway with most of its budget left", 144)
    g = s.span("gateway", SERVER, "GET /feed", 0, 121, None,
               http_server("GET", "/feed", 499, **dl(remaining_in_ms=1000)))
    c = s.span("gateway", CLIENT, "Feed", 2, 120, g,
               rpc_client("feed", "social.Feed", "Feed", 1, **grpc_timeout("990m")),
               error="context canceled")
    s.span("feed", SERVER, "Feed", 3, 118, c, rpc("social.Feed", "Feed", 1, **grpc_timeout("990m")))
    return s


def timed_out_early():
    s = Sample("14-timed-out-early", "a fixed cap of 200 ms ends a call that had 1,995 ms", 157)
    e = s.span("edge", SERVER, "GET /profile", 0, 210, None,
               http_server("GET", "/profile", 504, **dl(remaining_in_ms=2000)), error="")
    c = s.span("edge", CLIENT, "Get", 5, 205, e,
               rpc_client("profile", "users.Profile", "Get", 4, **grpc_timeout("200m"),
                          **dl(timeout_ms=200)), error="context deadline exceeded")
    s.span("profile", SERVER, "Get", 6, 204, c,
           rpc("users.Profile", "Get", 1, **grpc_timeout("200m")))
    return s


def budget_reset():
    s = Sample("15-budget-reset",
               "met, by luck: with 190 ms left the page tells recommendations that it has five seconds", 170)
    w = s.span("web", SERVER, "GET /home", 0, 720, None,
               http_server("GET", "/home", 200, **header("x-deadline-remaining-ms", "800")))
    c = s.span("web", CLIENT, "Recommend", 610, 702, w,
               rpc_client("recommendations", "ml.Recommendations", "Recommend", 0,
                          **grpc_timeout("5S")))
    s.span("recommendations", SERVER, "Recommend", 612, 700, c,
           rpc("ml.Recommendations", "Recommend", 0, **grpc_timeout("5S")))
    return s


def unreported():
    s = Sample("16-unreported-callee", "geo left no span at all: 995 ms went to a call that nobody answered", 183)
    e = s.span("edge", SERVER, "GET /nearby", 0, 1000, None,
               http_server("GET", "/nearby", 504, **dl(remaining_in_ms=1000)), error="")
    s.span("edge", CLIENT, "GET", 2, 997, e,
           http_client("GET", "geo", "/v1/near", **header("x-deadline-remaining-ms", "995"), **TIMEOUT),
           error="net/http: request canceled (Client.Timeout exceeded while awaiting headers)")
    return s


def handed_over():
    s = Sample("17-handed-over",
               "the order is answered in 80 ms; the e-mail goes out later, a request of its own without a budget", 196)
    o = s.span("orders", SERVER, "POST /orders", 0, 80, None,
               http_server("POST", "/orders", 202, **dl(remaining_in_ms=300)))
    s.span("orders", CLIENT, "INSERT orders", 8, 52, o,
           db("postgresql", "INSERT", "orders", "orders", host="pg-orders"))
    queue = {"messaging.system": "kafka", "messaging.destination.name": "order-placed"}
    p = s.span("orders", PRODUCER, "publish order-placed", 60, 65, o,
               queue | {"messaging.operation.type": "send"})
    m = s.span("mailer", CONSUMER, "process order-placed", 900, 2400, p,
               queue | {"messaging.operation.type": "process"})
    s.span("mailer", CLIENT, "POST", 950, 2360, m,
           http_client("POST", "smtp-relay", "/send", 202))
    return s


def ambiguous_write():
    s = Sample("18-ambiguous-write", "the caller saw a timeout at 490 ms; the card was charged at 640", 212)
    k = s.span("checkout", SERVER, "POST /checkout", 0, 496, None,
               http_server("POST", "/checkout", 504, **dl(remaining_in_ms=500)), error="")
    c = s.span("checkout", CLIENT, "POST", 20, 490, k,
               http_client("POST", "payment", "/charge", **dl(remaining_out_ms=470), **TIMEOUT),
               error="timeout of 470ms exceeded")
    s.span("payment", SERVER, "POST /charge", 21, 640, c,
           http_server("POST", "/charge", 201, **dl(remaining_in_ms=469)))
    return s


def missing_root():
    s = Sample("19-missing-root",
               "the caller's span never came: what is here is analysed and marked incomplete; redis took 74 of 80 ms", 225)
    k = s.span("cart", SERVER, "GetCart", 0, 81, digest("a span that was never exported", 16),
               rpc("shop.Cart", "GetCart", 4, **grpc_timeout("80m")), error="context deadline exceeded")
    s.span("cart", CLIENT, "HGETALL", 6, 80, k,
           db("redis", "HGETALL", host="redis-carts") | TIMEOUT, error="i/o timeout")
    return s


def contradictions():
    s = Sample("20-contradicting-telemetry",
               "telemetry that contradicts itself: a grpc-timeout of nine digits, a local time that does not add up, an error reported as ok", 238)
    e = s.span("edge", SERVER, "GET /prefs", 0, 120, None,
               http_server("GET", "/prefs", 200, **dl(remaining_in_ms=500, local_ms=90)))
    c = s.span("edge", CLIENT, "Read", 10, 110, e, rpc_client("prefs", "users.Prefs", "Read", 0))
    s.span("prefs", SERVER, "Read", 11, 109, c,
           rpc("users.Prefs", "Read", 0, **grpc_timeout("480000000n")))
    c = s.span("edge", CLIENT, "Allow", 2, 9, e,
               rpc_client("policy", "auth.Policy", "Allow", 13, **dl(remaining_out_ms=490)),
               error="internal")
    s.span("policy", SERVER, "Allow", 3, 8, c,
           rpc("auth.Policy", "Allow", 13, **dl(remaining_in_ms=490, outcome="ok")),
           error="rules not loaded, letting through")
    return s


def optional_call():
    s = Sample("21-optional-call",
               "ads failed and the page went out without them, yet the call was given every millisecond that was left", 251)
    w = s.span("web", SERVER, "GET /home", 0, 96, None,
               http_server("GET", "/home", 200, **dl(remaining_in_ms=500)))
    c = s.span("web", CLIENT, "GET", 5, 62, w,
               http_client("GET", "ads", "/slots", 503, **header("x-deadline-remaining-ms", "495")),
               error="")
    s.span("ads", SERVER, "GET /slots", 6, 61, c,
           http_server("GET", "/slots", 503, **header("x-deadline-remaining-ms", "495")), error="")
    return s


SAMPLES = (chain, chain_passed_on, fan_out, met_with_reserve, expired_on_arrival,
           retries_ignore_budget, retry_amplification, hedge_loser, clock_skew, absolute_deadline,
           queued, no_reserve, cancelled, timed_out_early, budget_reset, unreported, handed_over,
           ambiguous_write, missing_root, contradictions, optional_call)


def text(node, indent=0):
    """JSON with short things on one line."""
    flat = json.dumps(node, ensure_ascii=False)
    if len(flat) + indent <= 96 or not isinstance(node, (dict, list)):
        return flat
    pad = " " * (indent + 1)
    if isinstance(node, dict):
        parts = [f"{pad}{json.dumps(k)}: {text(v, indent + 1)}" for k, v in node.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + text(v, indent + 1) for v in node) + "\n" + " " * indent + "]"


def main():
    samples = [make() for make in SAMPLES]
    files = {f"{s.name}.json": text(s.document()) + "\n" for s in samples}
    files["INDEX.md"] = "# Sample traces\n\n" + "".join(
        f"- [`{s.name}.json`]({s.name}.json): {s.shows}.\n" for s in samples)
    if "--check" in sys.argv:
        stale = [n for n, body in files.items() if (OUT / n).read_text() != body]
        extra = sorted({p.name for p in OUT.iterdir()} - set(files))
        if stale or extra:
            sys.exit(f"differs from what generate.py writes: {stale + extra}")
        return
    OUT.mkdir(exist_ok=True)
    for name, body in files.items():
        (OUT / name).write_text(body)


main()
