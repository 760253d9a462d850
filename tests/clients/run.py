#!/usr/bin/env python3
"""Real clients against a running `dwindle serve`: the Python and Node SDKs, and a browser.

usage: run.py DWINDLE PYTHON        PYTHON has what requirements.txt lists
The last line is "N passed, N failed".
"""

import contextlib
import datetime
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import crafted
import spans

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DWINDLE, PYTHON = sys.argv[1:]
SPANS = len(json.loads((HERE / "chain.json").read_text()))

# What the chain must yield: (service, verdict, remaining in ms, key that it was read from).
HOPS = [
    ("client", "exceeded_downstream", 1000, "deadline.timeout_ms"),
    ("orders", "exceeded_downstream", 999, "http.request.header.x-request-budget-ms"),
    ("inventory", "exceeded_downstream", 798, "rpc.request.metadata.grpc-timeout"),
    ("pricing", "exceeded_here", 497, "deadline.remaining_in_ms"),
]

passed, failed = 0, 0


def test(name):
    """Runs the function at once and counts it."""

    def decorate(function):
        global passed, failed
        try:
            function()
        except Exception as error:  # a failed check of any kind is a failed test
            failed += 1
            print(f"not ok - {name}: {type(error).__name__}: {error}", flush=True)
        else:
            passed += 1
            print(f"ok - {name}", flush=True)

    return decorate


def equal(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def wait_for(what, seconds, attempt):
    """The first true answer of `attempt`; refusals and 404s until then mean "not yet"."""
    until = time.monotonic() + seconds
    last = None
    while time.monotonic() < until:
        try:
            if found := attempt():
                return found
        except (urllib.error.URLError, ConnectionError) as error:
            last = error
        time.sleep(0.1)
    raise TimeoutError(f"{what} within {seconds} s (last: {last})")


class Server:
    def __init__(self, *flags, files=()):
        self.ports = {name: free_port() for name in ("grpc", "http", "web")}
        addresses = [x for name, port in self.ports.items()
                     for x in (f"--{name}-addr", f"127.0.0.1:{port}")]
        env = {k: v for k, v in os.environ.items() if not k.startswith("DWINDLE_")}
        self.data = tempfile.TemporaryDirectory()
        env["XDG_DATA_HOME"] = self.data.name
        if files:
            # Some of them are broken on purpose: what can be read is taken.
            subprocess.run([DWINDLE, "import", *files], env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([DWINDLE, "serve", *addresses, *flags], env=env,
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.web = f"http://127.0.0.1:{self.ports['web']}"

    def endpoint(self, transport):
        return f"http://127.0.0.1:{self.ports[transport]}"

    def ready(self):
        def attempt():
            if self.process.poll() is not None:
                raise RuntimeError(f"the server ended with {self.process.returncode}: {self.said()}")
            return get(f"{self.web}/readyz")

        wait_for("the server answers", 30, attempt)
        return self

    def said(self):
        self.log.seek(0)
        return self.log.read()[-2000:]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                return self.process.wait(20)
            self.process.kill()
        return self.process.wait()


def send(sdk, transport, server):
    """The trace id that the SDK's program prints."""
    program = [PYTHON, HERE / "python_sdk.py"] if sdk == "python" else ["node", HERE / "node_sdk.mjs"]
    done = subprocess.run([*program, transport, server.endpoint(transport)], capture_output=True,
                          text=True, timeout=120)
    if done.returncode or not re.fullmatch(r"[0-9a-f]{32}\n", done.stdout):
        raise RuntimeError(f"exit {done.returncode}: {(done.stdout + done.stderr)[-600:]}")
    return done.stdout.strip()


def analysed(server, trace):
    """The chain's request, once all its spans are in it."""

    def attempt():
        requests = json.loads(get(f"{server.web}/api/v1/traces/{trace}"))
        return [r for r in requests if r["spans"] == SPANS and r["complete"]]

    return wait_for("the whole request", 30, attempt)[0]


def check_chain(request, namespace):
    named = lambda service: f"{namespace}/{service}"
    equal("outcome", request["outcome"], "missed")
    equal("budget", request["budget_ms"], 1000)
    equal("surfaced", request["surfaced"]["service"], named("pricing"))
    culprit = request["culprit"]
    equal("culprit", (culprit["service"], culprit["part"], culprit["consumed_ms"]),
          (named("pricing"), "local", 496))
    found = [(h["service"], h["verdict"], h["remaining_in_ms"], h["remaining_in_source"]["key"])
             for h in request["hops"]]
    equal("hops", found, [(named(s), *rest) for s, *rest in HOPS])
    equal("sent", [c["remaining_out_ms"] for h in request["hops"][1:3] for c in h["calls"]],
          [798, 497.5])
    equal("findings", request["findings"], [])
    equal("ledger", round(sum(row["ms"] for row in request["ledger"]), 3), request["elapsed_ms"])


# What a browser looks at, each with its own tests.
MODULES = ["browser.mjs", "list.mjs"]


def stretch(server):
    """The address that shows all requests of a server, whenever they were."""
    ends = []
    for sort in ("start", "-start"):
        rows = json.loads(get(f"{server.web}/api/v1/requests?limit=1&sort={sort}"))["requests"]
        ends.append(rows[0]["start"][:16])
    # The minute after the last one began.
    last = datetime.datetime.fromisoformat(ends[1]) + datetime.timedelta(minutes=1)
    return f"{server.web}/?since={ends[0]}:00Z&until={last.isoformat(timespec='minutes')}:00Z"


def fleet(real, demo, others):
    """What fleet.mjs looks at."""
    empty, one, hostile, corpus = others
    for server in filter(None, others):
        server.ready()
    spans.send(one.endpoint("http"), spans.missed(["edge", "orders", "stock"]))
    for _ in range(3):
        spans.send(hostile.endpoint("http"), spans.missed(spans.HOSTILE))
    for server, count in ((one, 1), (hostile, 3)):

        def settled(server=server, count=count):
            rows = json.loads(get(f"{server.web}/api/v1/requests"))["requests"]
            return len(rows) == count and all(r["complete"] for r in rows)

        wait_for("the requests", 30, settled)
    pages = {"samples": f"{demo.web}/", "real": f"{real.web}/", "empty": f"{empty.web}/",
             "one": f"{one.web}/", "hostile": f"{hostile.web}/", "otlp": one.endpoint("http"),
             "another": spans.missed(["edge", "orders", "stock"], ago=5)}
    if corpus:
        pages["corpus"] = stretch(corpus)
    return pages


def browser(module, pages):
    """Runs a module and adds what it counted."""
    global passed, failed
    done = subprocess.run(["node", HERE / module, json.dumps(pages),
                           ROOT / "target" / "screenshots"], stdout=subprocess.PIPE, text=True,
                          timeout=900)
    print(done.stdout, end="")
    lines = done.stdout.splitlines()
    good, bad = (sum(line.startswith(sign) for line in lines) for sign in ("ok - ", "not ok - "))
    passed, failed = passed + good, failed + bad
    if done.returncode or not good:
        raise RuntimeError(f"{module} ended with {done.returncode}")


def main():
    real, demo, made = Server("--no-samples"), Server(), Server("--no-samples")
    pages, of_requests = {}, {}
    try:

        @test("the servers start and answer")
        def _():
            real.ready(), demo.ready(), made.ready()

        @test("crafted traces are analysed, one of 100,000 spans among them")
        def _():
            for name, (path, count) in crafted.send(made.endpoint("http")).items():

                def whole(path=path, count=count):
                    return json.loads(get(f"{made.web}/api/v1/requests/{path}"))["spans"] == count

                wait_for(f"the {name} request", 120, whole)
                of_requests[name] = f"{made.web}/requests/{path}"

        for sdk in ("python", "node"):
            for transport in ("grpc", "http"):

                @test(f"{sdk} SDK over OTLP/{transport}, gzip: the chain is analysed")
                def _(sdk=sdk, transport=transport):
                    trace = send(sdk, transport, real)
                    request = analysed(real, trace)
                    check_chain(request, f"{sdk}-{transport}")
                    pages.setdefault("chain", f"{real.web}/requests/{trace}/{request['request']}")

        @test("the list has each SDK's request")
        def _():
            requests = json.loads(get(f"{real.web}/api/v1/requests"))["requests"]
            equal("services", sorted(r["service"] for r in requests),
                  ["node-grpc/client", "node-http/client", "python-grpc/client", "python-http/client"])

        @test("the samples are there from the start, all of them")
        def _():
            requests = json.loads(get(f"{demo.web}/api/v1/requests?limit=100"))["requests"]
            shown = {r["trace_id"] for r in requests}
            equal("traces", len(shown), len(list((ROOT / "sample-traces").glob("*.json"))))
            widest = max(requests, key=lambda r: r["spans"])
            pages["fan-out"] = f"{demo.web}/requests/{widest['trace_id']}/{widest['request']}"

        pages |= {"list": f"{demo.web}/requests", "help": f"{demo.web}/help",
                  "real": f"{real.web}/requests"}
        for module in MODULES:

            @test(f"{module} ran to its end")
            def _(module=module):
                browser(module, pages)

        @test("request.mjs ran to its end")
        def _():
            browser("request.mjs", {"fan-out": pages["fan-out"]} | of_requests)

        @test("fleet.mjs ran to its end")
        def _():
            traces = os.environ.get("DWINDLE_CORPUS")
            files = sorted(map(str, pathlib.Path(traces, "traces", "otlp").glob("*"))) if traces else ()
            others = [Server("--no-samples"), Server("--no-samples"), Server("--no-samples"),
                      Server("--no-samples", files=files) if files else None]
            try:
                browser("fleet.mjs", fleet(real, demo, others))
            finally:
                for server in filter(None, others):
                    server.stop()

        @test("the servers stop on SIGTERM with exit code 0")
        def _():
            equal("exit codes", (real.stop(), demo.stop(), made.stop()), (0, 0, 0))

    finally:
        real.stop(), demo.stop(), made.stop()
    if failed:
        print(f"--- the server said\n{real.said()}\n---")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
