#!/usr/bin/env python3
"""A steady load on `dwindle serve`: memory flat, no growth of open traces, everything there at the
end, and a request visible within 3 s of its last span (p99).

usage: soak.py DWINDLE [--seconds N] [--traces-per-second N] [--flat PERCENT]
The last line is "N passed, N failed".
"""

import argparse
import json
import pathlib
import random
import shutil
import tempfile
import threading
import time

from server import Sender, Server, Tests, body, command, equal, trace

BATCH = 50


class Load:
    """Posts traces at a rate. Bodies are made once and get new ids and times, which costs little."""

    def __init__(self, address, rate, until):
        self.address, self.rate, self.until = address, rate, until
        self.lock, self.marks = threading.Lock(), []
        self.sent, self.behind, self.refused = 0, 0.0, 0
        rng = random.Random(1)
        self.spans = [trace(rng, 10**18, 4) for _ in range(BATCH)]
        text = body([span for one in self.spans for span in one]).decode()
        # Twelve digits of each trace id and the seconds of each time are filled in for each batch.
        for one in self.spans:
            text = text.replace(one[0]["key"][0], "PREFIXPREFIX" + one[0]["key"][0][12:])
        self.template = text.replace('UnixNano": "1000000000', 'UnixNano": "SECONDS')
        self.ids = [one[0]["key"][0][12:] for one in self.spans]

    def run(self):
        sender, began, number = Sender(self.address), time.monotonic(), 0
        while time.monotonic() < self.until:
            due = began + number * BATCH / self.rate
            if (wait := due - time.monotonic()) > 0:
                time.sleep(wait)
            self.behind = max(self.behind, -wait)
            number += 1
            prefix = f"{number:012x}"
            text = self.template.replace("PREFIXPREFIX", prefix).replace("SECONDS", str(time.time_ns() // 10**9))
            status, rejected = sender.post_body(text.encode())
            if status == 200 and rejected == 0:
                self.sent += len(self.ids)
                with self.lock:
                    self.marks.append((time.monotonic(), prefix + self.ids[0]))
            else:
                self.refused += 1


def watch(server, load, until, seen):
    """How long after the answer to its export a request is on the API; one at a time."""
    while time.monotonic() < until:
        with load.lock:
            mark = load.marks.pop() if load.marks else None
            load.marks.clear()
        if mark is None:
            time.sleep(0.05)
            continue
        began, trace_id = mark
        while time.monotonic() < began + 30:
            status, text = server.get(f"/api/v1/requests?q=trace_id%3D{trace_id}")
            if status == 200 and json.loads(text)["requests"]:
                break
            time.sleep(0.05)
        seen.append(time.monotonic() - began)


def soak(dwindle, folder, seconds, rate, flat):
    with Server(dwindle, folder / "data") as server:
        server.ready()
        until = time.monotonic() + seconds
        load = Load(server.address["OTLP/HTTP"], rate, until)
        seen, samples = [], []
        threads = [threading.Thread(target=load.run), threading.Thread(target=watch, args=(server, load, until, seen))]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        while time.monotonic() < until:
            metrics = server.metrics()
            samples.append((time.monotonic() - began, server.resident(), metrics.get("dwindle_traces_open", 0)))
            time.sleep(1)
        for thread in threads:
            thread.join()
        equal("exports that were refused", load.refused, 0)
        account = server.settled()
        equal("received", account["received"], sum(map(len, load.spans)) * load.sent // BATCH)
        equal("stored", account["stored"], account["received"])
        code = server.stop()
        equal(f"exit code ({server.said()[-300:]})", code, 0)

    def mean(values):
        return sum(values) / max(1, len(values))
    # The first third warms up: what is kept for speed fills there.
    third = len(samples) // 3
    middle, last = samples[third:2 * third], samples[2 * third:]
    memory = mean([bytes for _, bytes, _ in last]) / mean([bytes for _, bytes, _ in middle])
    traces = mean([count for *_, count in last]), mean([count for *_, count in middle])
    seen.sort()
    slow = seen[int(len(seen) * 0.99)] if seen else float("inf")
    peak = max(bytes for _, bytes, _ in samples)
    told = (f"{load.sent} traces, {load.sent / seconds:.0f}/s, sender behind by {load.behind:.1f} s at most; "
            f"resident {peak / 2**20:.0f} MiB at most, last third {memory:.2f} x the middle; "
            f"open traces {traces[1]:.0f} then {traces[0]:.0f}; visible after p50 {seen[len(seen) // 2]:.2f} s, "
            f"p99 {slow:.2f} s of {len(seen)}")
    if memory > 1 + flat / 100:
        raise AssertionError(f"memory grows: {told}")
    if traces[0] > traces[1] * 1.25 + 100:
        raise AssertionError(f"open traces grow: {told}")
    if slow > 3:
        raise AssertionError(f"requests are visible late: {told}")
    code, out, err = command(dwindle, "store", "verify", "--data", folder / "data")
    equal(f"exit code of verify ({(out + err)[-300:]})", code, 0)
    return told


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("dwindle")
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--traces-per-second", type=int, default=100)
    arguments.add_argument("--flat", type=float, default=25)
    given = arguments.parse_args()
    tests = Tests()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dwindle-soak-"))
    dwindle = str(pathlib.Path(given.dwindle).resolve())
    tests.run(f"{given.seconds} s of {given.traces_per_second} traces a second", soak, dwindle, folder,
              given.seconds, given.traces_per_second, given.flat)
    shutil.rmtree(folder, ignore_errors=True)
    tests.end()


if __name__ == "__main__":
    main()
