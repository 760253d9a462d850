#!/usr/bin/env python3
"""Kills `dwindle serve` in the middle of its work, again and again, takes its disk away, damages
its files, and looks whether every acknowledged span is there exactly once.

usage: crash.py DWINDLE [--rounds N] [--seed N] [--only WORD]
The last line is "N passed, N failed".
"""

import argparse
import contextlib
import csv
import io
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from server import Sender, Server, Tests, command, equal, text, trace

# Everything happens all the time: each kill has a good chance to hit a flush or a compaction.
BUSY = [
    "--quiet", "100ms", "--quiet-incomplete", "300ms", "--flush-after", "200ms",
    "--upkeep-every", "50ms", "--compact-fan-in", "2",
]
# The oldest hours are removed while files take more. What a run sends without its old traces takes
# less, so that nothing else is removed.
ROOM = ["--retain-bytes", "12MiB"]
HOUR = 3600 * 10**9


class Ledger:
    """What was sent, and what of it was acknowledged."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sent, self.acknowledged, self.old = {}, set(), set()
        self.counts = {"acknowledged": 0, "refused": 0, "unknown": 0}

    def send(self, sender, spans):
        """Posts a batch and writes down what came of it; true if it was taken."""
        with self.lock:
            for span in spans:
                self.sent[span["key"]] = span
        status, rejected = sender.post(spans)
        with self.lock:
            if status == 200 and rejected == 0:
                self.acknowledged.update(span["key"] for span in spans)
                self.counts["acknowledged"] += 1
            elif status in (429, 503):
                self.counts["refused"] += 1
            elif status == 0:
                self.counts["unknown"] += 1
            else:
                raise AssertionError(f"status {status}, {rejected} spans rejected")
        return status

    def compare(self, found):
        """`found` counts each stored span. All acknowledged ones once, no other more than once."""
        twice = [key for key, count in found.items() if count != 1]
        equal("spans stored more than once", twice[:3], [])
        equal("spans that nobody sent", [key for key in found if key not in self.sent][:3], [])
        lost = [key for key in self.acknowledged - self.old if key not in found]
        equal(f"acknowledged and not there ({len(lost)} of {len(self.acknowledged)})", lost[:3], [])


def load(server, ledger, stop, seed, unsent):
    """Streams batches until told to stop or the server is gone. `unsent` keeps what nobody
    answered for: exporters send it again."""
    rng, sender, late = random.Random(seed), Sender(server.address["OTLP/HTTP"]), []
    while not stop.is_set():
        batch = []
        if unsent and rng.random() < 0.5:
            batch = unsent.pop()
        else:
            for _ in range(rng.randint(1, 12)):
                is_old = rng.random() < 0.03
                # Few hours, so that a flush is quick and the next parts soon come to be merged.
                start = time.time_ns() - rng.randint(0, HOUR // 2) - (rng.randint(10, 12) * HOUR if is_old else 0)
                spans = trace(rng, start, rng.randint(1, 5))
                if is_old:
                    ledger.old.update(span["key"] for span in spans)
                    # So large that the room for all is soon used up, and the oldest hours go.
                    spans[0]["otlp"]["attributes"].append(text("padding", rng.randbytes(60_000).hex()))
                if rng.random() < 0.15:
                    cut = rng.randint(0, len(spans) - 1)
                    late.append((time.monotonic() + rng.uniform(0.2, 1.5), spans[cut:]))
                    spans = spans[:cut]
                batch += spans
            due = [some for at, some in late if at < time.monotonic()]
            late = [(at, some) for at, some in late if at >= time.monotonic()]
            batch += [span for some in due for span in some]
            rng.shuffle(batch)
        if not batch:
            continue
        status = ledger.send(sender, batch)
        if status != 200:
            unsent.append(batch)
        if status == 0 or status == 503:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 0.1))
    # What is held back goes at last, so that no trace stays half by our doing.
    unsent += [some for _, some in late]


def sql(dwindle, data, statement):
    code, out, err = command(dwindle, "sql", "--data", data, "--format", "csv", statement)
    equal(f"exit code of {statement} ({err.strip()[-300:]})", code, 0)
    return list(csv.DictReader(io.StringIO(out)))


def stored(dwindle, data):
    rows = sql(dwindle, data, "SELECT trace_id, span_id, COUNT(*) AS n FROM spans GROUP BY trace_id, span_id")
    return {(row["trace_id"], row["span_id"]): int(row["n"]) for row in rows}


def verify(dwindle, data):
    code, out, err = command(dwindle, "store", "verify", "--data", data)
    equal(f"exit code of verify ({(out + err).strip()[-500:]})", code, 0)


def check(dwindle, data, ledger):
    """The whole of it: a server that was stopped in order left a clean folder."""
    verify(dwindle, data)
    found = stored(dwindle, data)
    ledger.compare(found)
    rows = sql(dwindle, data, "SELECT trace_id, request, COUNT(*) AS n FROM requests GROUP BY trace_id, request")
    equal("requests with two verdicts", [row for row in rows if row["n"] != "1"][:3], [])
    # The newest verdict is the one over all spans of the trace that are there.
    distinct = {}
    for trace_id, _ in found:
        distinct[trace_id] = distinct.get(trace_id, 0) + 1
    rows = sql(dwindle, data, "SELECT trace_id, SUM(spans) AS n FROM requests GROUP BY trace_id")
    analysed = {row["trace_id"]: int(float(row["n"])) for row in rows}
    wrong = [(key, count, analysed.get(key)) for key, count in distinct.items() if analysed.get(key) != count]
    equal(f"traces whose verdict is not over all of their spans ({len(wrong)} of {len(distinct)})", wrong[:3], [])
    equal("verdicts without spans", [key for key in analysed if key not in distinct][:3], [])
    return found


def under_way(data):
    """True while a file is being written under another name."""
    return any(name.startswith(".dwindle-") for _, _, names in os.walk(data) for name in names)


def rounds(dwindle, folder, count, seed):
    """Kills at random moments, a third of them when a file is seen under way."""
    rng, ledger, unsent = random.Random(seed), Ledger(), []
    data, options = folder / "data", [*BUSY, *ROOM]
    torn, kills, upkeep = 0, 0, {"compaction": 0, "retention": 0}
    for number in range(count):
        with Server(dwindle, data, *options) as server:
            moment = rng.random()
            stop, threads = threading.Event(), []
            if moment < 0.15:
                # While it starts, and reads its log.
                time.sleep(rng.uniform(0, 0.3))
            else:
                server.ready()
                threads = [
                    threading.Thread(target=load, args=(server, ledger, stop, rng.random(), unsent)) for _ in range(3)
                ]
                for thread in threads:
                    thread.start()
                time.sleep(rng.uniform(0.3, 4))
                for kind, count_of in server.upkeep().items():
                    upkeep[kind] += count_of
            if 0.15 <= moment < 0.5:
                until = time.monotonic() + 1
                while not under_way(data) and time.monotonic() < until:
                    pass
            server.kill()
            kills += 1
            torn += under_way(data)
            stop.set()
            for thread in threads:
                thread.join()
        if number % 10 == 9 or number == count - 1:
            with Server(dwindle, data, *options) as server:
                server.ready()
                send_all(server, ledger, unsent)
                server.settled()
                equal(f"exit code of an orderly stop ({server.said()[-500:]})", server.stop(), 0)
            found = check(dwindle, data, ledger)
    if not all(upkeep.values()):
        raise AssertionError(f"nothing was merged or removed in all these rounds: {upkeep}")
    gone = len(ledger.acknowledged) - len(found)
    return f"{kills} kills, {torn} with a file under way, {upkeep}, {gone} spans of old hours gone, {len(ledger.acknowledged)} spans acknowledged, {len(found)} stored, {ledger.counts}"


SEEDS = itertools.count()


def send_for(server, ledger, seconds, unsent):
    stop = threading.Event()
    thread = threading.Thread(target=load, args=(server, ledger, stop, next(SEEDS), unsent))
    thread.start()
    time.sleep(seconds)
    stop.set()
    thread.join()


def send_all(server, ledger, unsent):
    """Sends again what nobody answered for, until it is taken."""
    sender = Sender(server.address["OTLP/HTTP"])
    while unsent:
        if ledger.send(sender, unsent[-1]) == 200:
            unsent.pop()


def settle(dwindle, data):
    """A server that brings what is in the log into the tables, and stops in order."""
    with Server(dwindle, data, *BUSY) as server:
        server.ready()
        server.settled()
        equal(f"exit code ({server.said()[-500:]})", server.stop(), 0)


def refused(dwindle, data):
    """What a server says that must not start on a folder, which it names."""
    code, _, err = command(dwindle, "serve", "--data", data, "--web-addr", "127.0.0.1:0",
                           "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", seconds=60)
    equal(f"exit code ({err.strip()})", code, 2)
    if str(data) not in err:
        raise AssertionError(f"does not name the folder: {err}")
    return err


def until(what, seconds, holds):
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


@contextlib.contextmanager
def disk_of(folder, size):
    """A disk of its own; what is on it is kept if a test fails."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", disk], check=True)
    try:
        yield disk
    except BaseException:
        shutil.copytree(disk / "data", folder / "data", dirs_exist_ok=True)
        raise
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def full_disk(dwindle, folder):
    """The disk fills up while spans come, and gets room again."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "32m") as disk:
        (disk / "filler").write_bytes(bytes(20 << 20))
        with Server(dwindle, disk / "data", *BUSY) as server:
            server.ready()
            began = time.monotonic()
            big = 0
            while ledger.counts["refused"] == 0 and time.monotonic() - began < 90:
                send_for(server, ledger, 0.5, unsent)
                # What else lives on the disk grows until there is no room.
                free = shutil.disk_usage(disk).free
                with (disk / f"filler{big}").open("wb") as file, contextlib.suppress(OSError):
                    file.write(bytes(min(free, max(free // 2, 1 << 20))))
                big += 1
            equal("refused when the disk was full", ledger.counts["refused"] > 0, True)
            equal("an error that ended the server", server.process.poll(), None)
            for filler in disk.glob("filler*"):
                filler.unlink()
            taken = ledger.counts["acknowledged"]

            def again():
                send_for(server, ledger, 0.3, unsent)
                return ledger.counts["acknowledged"] > taken + 2
            until("takes spans again", 60, again)
            send_all(server, ledger, unsent)
            account = server.settled()
            equal("spans that were shed while the disk was full", account["shed"] > 0, True)
            equal(f"exit code ({server.said()[-500:]})", server.stop(), 0)
        check(dwindle, disk / "data", ledger)
        return f"{ledger.counts}"


def full_disk_killed(dwindle, folder):
    """Killed while its disk is full: what was acknowledged is there when there is room."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "32m") as disk:
        with Server(dwindle, disk / "data", *BUSY) as server:
            server.ready()
            send_for(server, ledger, 1, unsent)
            fill(disk)
            send_for(server, ledger, 2, unsent)
            server.kill()
        empty(disk)
        settle(dwindle, disk / "data")
        # What was held back by us, and what was refused, never came.
        check(dwindle, disk / "data", ledger)
        return f"{ledger.counts}"


def full_at_start(dwindle, folder):
    """No server is made on a full disk, and it says why; one that was there comes up and recovers."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "32m") as disk:
        fill(disk)
        err = refused(dwindle, disk / "data")
        for words in (str(disk / "data"), "No space left", "free some room"):
            if words not in err:
                raise AssertionError(f"does not say {words!r}: {err}")
        empty(disk)
        with Server(dwindle, disk / "data", *BUSY) as server:
            server.ready()
            send_for(server, ledger, 1, unsent)
            server.kill()
        fill(disk)
        with Server(dwindle, disk / "data", *BUSY) as server:
            until("answers while the disk is full", 60, lambda: server.get("/requests")[0] == 200)
            refusals = ledger.counts["refused"]
            began = time.monotonic()
            # What the killed one left is removed, and what was in the log comes into parts, which
            # makes some room.
            while ledger.counts["refused"] == refusals and time.monotonic() - began < 60:
                fill(disk)
                send_for(server, ledger, 1, unsent)
            equal("refused while the disk is full", ledger.counts["refused"] > refusals, True)
            empty(disk)
            taken = ledger.counts["acknowledged"]

            def again():
                send_for(server, ledger, 0.3, unsent)
                return ledger.counts["acknowledged"] > taken
            until("takes spans again", 60, again)
            send_all(server, ledger, unsent)
            server.settled()
            equal(f"exit code ({server.said()[-500:]})", server.stop(), 0)
        check(dwindle, disk / "data", ledger)
        return f"{ledger.counts}"


def tables_have_room(dwindle, folder):
    """The log leaves the room that the tables of what is in it take: whatever comes, all that was
    taken gets into the tables without anybody making room."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "16m") as disk:
        data = disk / "data"
        with Server(dwindle, data, *BUSY[:4], "--flush-after", "2s") as server:
            server.ready()
            began = time.monotonic()
            while ledger.counts["refused"] < 5 and time.monotonic() - began < 90:
                send_for(server, ledger, 0.5, unsent)
            equal("refused when there was too little room", ledger.counts["refused"] >= 5, True)
            server.settled(60)
            equal("flushes that failed", server.metrics()["dwindle_flush_failures_total"], 0)
            free = shutil.disk_usage(disk).free
            equal(f"exit code ({server.said()[-500:]})", server.stop(), 0)
        check(dwindle, data, ledger)
        return f"{free >> 10} KiB left, {ledger.counts}"


def pruned_when_full(dwindle, folder):
    """Hours are removed where not a byte is left on the disk: what makes room needs none."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "32m") as disk:
        data = disk / "data"
        # Many parts, so that their list is larger than what else becomes free by the way.
        with Server(dwindle, data, *BUSY[:-1], "1000") as server:
            server.ready()
            while not ledger.old & ledger.acknowledged or server.metrics()["dwindle_parts"] < 30:
                send_for(server, ledger, 1, unsent)
            send_all(server, ledger, unsent)
            server.settled()
            equal(f"exit code ({server.said()[-500:]})", server.stop(), 0)
        before = stored(dwindle, data)
        # What the server left for readers goes now, and not when there is to be no room.
        command(dwindle, "store", "prune", "--older-than", "1000d", "--data", data)
        fill(disk)
        code, _, err = command(dwindle, "store", "prune", "--older-than", "6h", "--data", data)
        equal(f"exit code of prune ({err.strip()[-300:]})", code, 0)
        if not err.startswith("removed: "):
            raise AssertionError(f"says nothing of what it removed: {err}")
        found = check(dwindle, data, ledger)
        equal("spans of old hours that are left", [key for key in found if key in ledger.old][:3], [])
        return f"{len(before)} spans before, {len(found)} after"


def fill(disk):
    """Takes all room that is left."""
    with (disk / "filler").open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))


def empty(disk):
    (disk / "filler").unlink()


def read_only(dwindle, folder):
    """The folder turns read-only under a running server, and back; and nothing starts on one."""
    ledger, unsent = Ledger(), []
    with disk_of(folder, "64m") as disk:
        with Server(dwindle, disk / "data", *BUSY) as server:
            server.ready()
            send_for(server, ledger, 1, unsent)
            server.kill()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        err = refused(dwindle, disk / "data")
        if "read-only" not in err.lower() and "permission" not in err.lower():
            raise AssertionError(f"does not say why: {err}")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        settle(dwindle, disk / "data")
        check(dwindle, disk / "data", ledger)
        return f"{ledger.counts}"


def second_server(dwindle, folder):
    """A folder belongs to one server, and whoever else wants it is told where that one's pages are."""
    with Server(dwindle, folder / "data", *BUSY) as server:
        server.ready()
        err = refused(dwindle, folder / "data")
        pages = f"http://{server.address['dashboard']}/"
        equal(f"names the pages ({err})", pages in err, True)


def torn_record(dwindle, folder):
    """The last record of the log was half written when the power went."""
    ledger, unsent, data = Ledger(), [], folder / "data"
    with Server(dwindle, data, "--quiet", "100ms", "--flush-after", "1h") as server:
        server.ready()
        send_for(server, ledger, 1.5, unsent)
        server.kill()
    files = sorted((path for path in (data / "log").rglob("*") if path.is_file()), key=lambda p: p.stat().st_mtime_ns)
    newest = [path for path in files if path.stat().st_size > 0 and path.suffix in (".jnl", ".log", "")][-1]
    with newest.open("ab") as file:
        file.write(random.Random(3).randbytes(977))
    settle(dwindle, data)
    check(dwindle, data, ledger)
    return newest.name


def flipped_byte(dwindle, folder):
    """A byte of a part is wrong: its name is told, and the rest is served."""
    ledger, unsent, data = Ledger(), [], folder / "data"
    with Server(dwindle, data, *BUSY) as server:
        server.ready()
        send_for(server, ledger, 2, unsent)
        server.settled()
        equal("exit code", server.stop(), 0)
    whole = len(stored(dwindle, data))
    parts = sorted((data / "spans").rglob("*.parquet"))
    equal("more than one part", len(parts) > 1, True)
    victim = max(parts, key=lambda path: path.stat().st_size)
    flipped = bytearray(victim.read_bytes())
    flipped[len(flipped) // 2] ^= 1
    victim.write_bytes(flipped)
    code, out, err = command(dwindle, "store", "verify", "--data", data)
    equal("exit code of verify", code, 2)
    if victim.name not in out + err:
        raise AssertionError(f"verify does not name {victim.name}: {out + err}")
    with Server(dwindle, data, *BUSY) as server:
        server.ready()
        status, page = server.get("/api/v1/requests")
        equal(f"status of the list ({page[:200]})", status, 200)
        send_for(server, ledger, 1, [])
        server.settled()
        equal("exit code", server.stop(), 0)
    return f"{victim.name}, {whole} spans before"


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("dwindle")
    arguments.add_argument("--rounds", type=int, default=30)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--only", default="")
    given = arguments.parse_args()
    dwindle = str(pathlib.Path(given.dwindle).resolve())
    print(f"seed {given.seed}")
    tests = Tests()
    each = [
        ("kills at random moments lose and double nothing", rounds, given.rounds, given.seed),
        ("a folder belongs to one server", second_server),
        ("a torn last record loses nothing that was acknowledged", torn_record),
        ("a flipped byte is told by the file's name, and the rest is served", flipped_byte),
    ]
    if may_mount():
        each += [
            ("a full disk pushes back and recovers", full_disk),
            ("a full disk and a kill lose nothing", full_disk_killed),
            ("a disk that is full at the start is told, and a server on one recovers", full_at_start),
            ("the log leaves room for the tables", tables_have_room),
            ("hours are removed where no byte is left", pruned_when_full),
            ("a read-only folder is refused by name and harms nothing", read_only),
        ]
    else:
        print("no tmpfs can be mounted here: the tests of a full and of a read-only disk are skipped")
    for name, function, *more in each:
        if given.only not in name:
            continue
        folder = pathlib.Path(tempfile.mkdtemp(prefix="dwindle-crash-"))
        before = tests.failed
        tests.run(name, function, dwindle, folder, *more)
        if tests.failed == before:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"  its folder stays: {folder}")
    tests.end()


def may_mount():
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return False
        subprocess.run(["umount", folder], check=False)
    return True


if __name__ == "__main__":
    main()
