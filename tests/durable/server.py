"""A `dwindle serve` under test, and spans for it. Python's own library only."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import threading
import time
import urllib.parse
import urllib.request

LISTENING = re.compile(r"(dashboard|OTLP/gRPC|OTLP/HTTP) +http://([0-9.:]+)")


class Server:
    """A running server on ports that were free."""

    def __init__(self, dwindle, data, *options, seconds=60):
        env = {k: v for k, v in os.environ.items() if not k.startswith("DWINDLE_")}
        self.lines, self.address = [], {}
        self.process = subprocess.Popen(
            [dwindle, "serve", "--data", str(data), "--no-samples", "--grpc-addr", "127.0.0.1:0"]
            + ["--http-addr", "127.0.0.1:0", "--web-addr", "127.0.0.1:0", *options],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=env, text=True)
        threading.Thread(target=self._read, daemon=True).start()
        self._until(lambda: len(self.address) == 3, seconds)

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip())
            if found := LISTENING.match(line):
                self.address[found[1]] = found[2]

    def _until(self, holds, seconds):
        until = time.monotonic() + seconds
        while not holds():
            if self.process.poll() is not None:
                time.sleep(0.2)
                raise AssertionError(f"the server ended with {self.process.returncode}: {self.said()}")
            if time.monotonic() > until:
                raise AssertionError(f"not within {seconds} s: {self.said()}")
            time.sleep(0.01)

    def said(self):
        return "\n".join(self.lines[-20:])

    def get(self, path, timeout=30):
        try:
            with urllib.request.urlopen(f"http://{self.address['dashboard']}{path}", timeout=timeout) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def ready(self, seconds=120):
        """Waits until it takes spans."""
        self._until(lambda: self.get("/readyz")[0] == 200, seconds)
        return self

    def metrics(self):
        """The value of every series of /metrics."""
        found = {}
        for line in self.get("/metrics")[1].splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                found[name] = float(value)
        return found

    def account(self):
        """Where all spans went: received, stored, rejected, shed, open."""
        sums = {}
        for name, value in self.metrics().items():
            if found := re.match(r"dwindle_spans_(received|stored|rejected|shed|open)(_total)?(\{|$)", name):
                sums[found[1]] = sums.get(found[1], 0) + value
        return {key: int(sums.get(key, 0)) for key in ("received", "stored", "rejected", "shed", "open")}

    def settled(self, seconds=240):
        """Waits until nothing is open and all is in the tables, and holds the account to its sum."""
        self._until(lambda: self.account()["open"] == 0 and self.metrics()["dwindle_fresh_spans"] == 0, seconds)
        account = self.account()
        whole = account["stored"] + account["rejected"] + account["shed"] + account["open"]
        if account["received"] != whole:
            raise AssertionError(f"the account does not add up: {account}")
        return account

    def upkeep(self):
        """How often parts were merged, and hours removed."""
        series = 'dwindle_upkeep_runs_total{{kind="{}",result="ok"}}'
        metrics = self.metrics()
        return {kind: int(metrics.get(series.format(kind), 0)) for kind in ("compaction", "retention")}

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self, seconds=60):
        """Asks it to stop; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def resident(self):
        """Bytes in memory."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.process.kill()
            self.process.wait(10)


class Sender:
    """Posts batches of spans over one connection at a time."""

    def __init__(self, address):
        self.address, self.connection = address, None

    def post(self, spans):
        """The status; 0 if the connection broke, so that nobody knows. Also what was rejected."""
        return self.post_body(body(spans))

    def post_body(self, data):
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.address, timeout=30)
            self.connection.request("POST", "/v1/traces", data, {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException):
            self.connection = None
            return 0, 0
        rejected = 0
        if answer.status == 200:
            rejected = int(json.loads(text or b"{}").get("partialSuccess", {}).get("rejectedSpans", 0))
        return answer.status, rejected


def body(spans):
    """Spans as OTLP/JSON, one resource for each service."""
    by_service = {}
    for span in spans:
        by_service.setdefault(span["service"], []).append(span["otlp"])
    return json.dumps({"resourceSpans": [
        {"resource": {"attributes": [text("service.name", service)]}, "scopeSpans": [{"spans": some}]}
        for service, some in by_service.items()
    ]}).encode()


def text(key, value):
    return {"key": key, "value": {"stringValue": value}}


def trace(rng, start_ns, services=4):
    """The spans of a request through a chain of services, each called with what is left."""
    trace_id = rng.randbytes(16).hex()
    spans, parent = [], None
    budget = rng.choice([200, 400, 1000])
    at, length = start_ns, rng.randint(50, 500) * 1_000_000
    for depth in range(services):
        remaining = budget - (at - start_ns) // 1_000_000
        for kind in (3, 2) if depth else (2,):
            span_id = rng.randbytes(8).hex()
            attributes = [text("deployment.environment.name", "test")]
            if kind == 2:
                attributes.append({"key": "deadline.remaining_in_ms", "value": {"intValue": str(remaining)}})
            spans.append({
                "service": f"service-{depth - (kind == 3)}",
                "key": (trace_id, span_id),
                "otlp": {
                    "traceId": trace_id, "spanId": span_id, "parentSpanId": parent or "", "kind": kind,
                    "name": f"step {depth}", "startTimeUnixNano": str(at), "endTimeUnixNano": str(at + length),
                    "attributes": attributes, "status": {"code": 2} if length > budget * 1_000_000 else {},
                },
            })
            parent = span_id
            at, length = at + 1_000_000, length - 3_000_000
    return spans


def command(dwindle, *arguments, seconds=300):
    """Runs a command; its exit code, stdout and stderr."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("DWINDLE_")}
    done = subprocess.run([dwindle, *map(str, arguments)], capture_output=True, text=True, timeout=seconds, env=env)
    return done.returncode, done.stdout, done.stderr


class Tests:
    """Counts what passed."""

    def __init__(self):
        self.passed = self.failed = 0

    def run(self, name, function, *arguments):
        began = time.monotonic()
        try:
            more = function(*arguments)
        except Exception as error:  # a failed check of any kind is a failed test
            self.failed += 1
            print(f"not ok - {name}: {type(error).__name__}: {error}", flush=True)
        else:
            self.passed += 1
            print(f"ok - {name} ({time.monotonic() - began:.0f} s{'; ' + more if more else ''})", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        raise SystemExit(self.failed > 0)


def equal(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r}, expected {wanted!r}")
