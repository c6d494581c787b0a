"""Ambiguous requests through pacegate at real origins: run.py [--every N] [ORIGIN…].

Held against each other: the requests that pacegate says it sent (its log and pacegate_attempts_total)
and the requests that the origin parsed (its log). One more or less at the origin is a request that
somebody smuggled, or a body that somebody took for one. The origin `strict` also reads every byte.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from gate import Gate  # noqa: E402
from payloads import payloads  # noqa: E402
from servers import COMMANDS, Server  # noqa: E402
from strict import Recorder  # noqa: E402

AT_ONCE = 64
# Of silence: a payload that leaves the proxy waiting for more has no other end.
SILENCE = 2.0
# Go's server answers what it can't read before anything of Caddy's sees it.
SILENT = {"caddy"}
MARK = re.compile(r"/([nse])(\d+)")


async def say(gate, authority, payload, tunnel):
    """Sends one payload; returns the statuses that came back."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    came = b""
    try:
        if tunnel:
            writer.write(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)
        writer.write(payload)
        await writer.drain()
        while more := await asyncio.wait_for(reader.read(65536), SILENCE):
            came += more
    except (TimeoutError, ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()
    return re.findall(rb"^HTTP/1\.1 (\d{3})", came, re.M)


async def drive(gate, origin, cases, tunnel):
    answers = collections.Counter()
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(payload):
        async with slots:
            for status in await say(gate, origin.authority, payload, tunnel):
                answers[status.decode()] += 1

    await asyncio.gather(*(one(payload) for _, payload in cases))
    for _ in range(100):
        if gate.total("pacegate_requests_in_flight") == 0:
            break
        await asyncio.sleep(0.1)
    return answers


def sent(gate, silent):
    """What pacegate sent, from its log: (mark or None) → [whole requests, those that may have broken off].

    A request breaks off when its client leaves, or sends a body that can't be read (400). Of the latter
    kind are also those that a `silent` origin answers with 400: its log has only what it could read.
    """
    found = collections.defaultdict(lambda: [0, 0])
    for line in gate.log.read_text("utf-8", "replace").splitlines():
        if '"message":"request"' not in line:
            continue
        entry = json.loads(line)
        mark = MARK.search(entry.get("path", ""))
        broken = entry["outcome"] in ("client_gone", "refused") or (silent and entry["status"] == 400)
        found[mark and mark[0]][1 if broken else 0] += entry.get("attempts", 0)
    return found


def compare(gate, origin, cases):
    """Complaints: what the origin parsed and pacegate did not send, or the other way round."""
    ours = sent(gate, getattr(origin, "name", None) in SILENT)
    lines = origin.lines if isinstance(origin.lines, list) else origin.lines()
    theirs = collections.Counter()
    for line in lines:
        mark = MARK.search(line)
        theirs[mark and mark[0]] += 1

    def named(mark):
        return f"{mark} ({cases[int(mark[2:])][0]})" if mark else "lines without a mark"

    more, fewer = [], []
    for mark in {*ours, *theirs}:
        surely, perhaps = ours[mark] if mark in ours else (0, 0)
        if theirs[mark] > surely + perhaps:
            more.append(f"{named(mark)}: parsed {theirs[mark]}, sent {surely + perhaps}")
        if theirs[mark] < surely:
            fewer.append(f"{named(mark)}: parsed {theirs[mark]}, sent {surely}")
    surely = sum(counts[0] for counts in ours.values())
    perhaps = sum(counts[1] for counts in ours.values())
    return more, fewer, surely, perhaps, len(lines)


async def try_origin(name, every, home):
    bad, report = [], []
    for tunnel in (False, True):
        origin = Recorder() if name == "strict" else Server(name, tempfile.mkdtemp(dir=home))
        if name == "strict":
            await origin.start()
        else:
            origin.ready()
        with Gate("preset=off") as gate:
            every_case = payloads(origin.authority, tunnel)
            cases = [case for case in every_case if case[1]][::every]
            answers = await drive(gate, origin, cases, tunnel)
            attempts = int(gate.total("pacegate_attempts_total"))
            for _ in range(50):
                more, fewer, surely, perhaps, parsed = compare(gate, origin, every_case)
                if not fewer:
                    break
                await asyncio.sleep(0.1)
        if name == "strict":
            bad += [f"strict: {fault}" for fault in origin.faults]
            origin.server.close()
        else:
            origin.stop()
        where = "tunnel" if tunnel else "proxy"
        print(f"origins: {name:8} {where:6} {len(cases)} payloads, {attempts} attempts "
              f"({perhaps} broken off), {parsed} parsed; answers {dict(sorted(answers.items()))}",
              flush=True)
        if attempts != surely + perhaps:
            bad.append(f"{name} {where}: {attempts} attempts counted, {surely + perhaps} logged")
        bad += [f"{name} {where}: {line}" for line in more + fewer]
    return bad


async def main():
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--every", type=int, default=1)
    words.add_argument("origins", nargs="*", default=["strict", *COMMANDS])
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="pacegate-origins-") as home:
        os.chmod(home, 0o755)
        bad = []
        for name in asked.origins:
            bad += await try_origin(name, asked.every, home)
    for line in bad:
        print(line)
    print(f"origins: {len(bad)} differences")
    sys.exit(bool(bad))


asyncio.run(main())
