"""Our own answers before httplint: each kind that can be provoked, as text, JSON, a page, and to HEAD."""

import asyncio
import collections
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gate import Gate  # noqa: E402
from httplint import HttpResponseLinter  # noqa: E402
from httplint.note import levels  # noqa: E402

ACCEPTS = ["*/*", "application/json", "application/problem+json", "text/html,*/*;q=0.8"]
SETTINGS = ["pace.ladder=[0s, 20ms]", "limits.held_per_scope=2", "limits.header_bytes=8KiB", "retry.min_attempt=100ms"]


class Origins:
    """One that hangs, one that is no HTTP, one that asks for a minute, one that says 200."""

    async def start(self):
        self.hangs = await self.serve(None)
        self.garbage = await self.serve(b"SSH-2.0-shop\r\n")
        busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"
        self.busy = await self.serve(busy)
        self.two = await self.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")
        self.large = await self.serve(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000 + b"\r\n\r\n")
        self.cut = await self.serve(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")

    async def serve(self, answer):
        async def one(reader, writer):
            await reader.readuntil(b"\r\n\r\n")
            if answer is None:
                await reader.read()
            else:
                writer.write(answer)
            writer.close()

        server = await asyncio.start_server(one, "127.0.0.1", 0)
        return server.sockets[0].getsockname()[1]


def questions(gate, origins):
    """(kind wanted, method, target, further lines)."""
    here = "http://127.0.0.1:{}"
    deadline = "Pace-Deadline: 0.5\r\nPace-Retry: 0"
    once = "Pace-Retry: 0"
    yield "target_timeout", "GET", here.format(origins.hangs), deadline
    yield "target_unavailable", "GET", here.format(1), once
    yield "target_unavailable", "GET", "http://no-such-shop.invalid/", once
    yield "target_unavailable", "GET", here.format(origins.garbage), once
    yield "target_unavailable", "POST", here.format(origins.two), once
    yield "target_unavailable", "POST", here.format(origins.large), once
    yield "target_unavailable", "POST", here.format(origins.cut), once
    yield "loop", "GET", gate.url, ""
    yield "denied", "CONNECT", "shop.test:25", ""
    yield "bad_request", "GET", "/", ""
    yield "bad_request", "GET", "ftp://shop.test/", ""
    yield "bad_request", "GET", "http://shop.test/", "Host: shop.test"
    yield "bad_request", "GET", "http://shop.test/", "Expect: tea"
    yield "bad_request", "GET", "http://shop.test/", "X: " + "a" * 10_000
    yield "bad_request", "GET", "http://shop.test/" + "a" * 70_000, ""
    yield "bad_request", "POST", "http://shop.test/", "Transfer-Encoding: gzip, chunked"
    yield "bad_request", "GET", "http://shop.test/", "Pace-Deadline: soon"
    for page in ("", "ca.pem", "ca.crt", "metrics", "livez", "readyz", "none"):
        yield "", "GET", f"http://pacegate.internal/{page}", ""
    yield "", "POST", "http://pacegate.internal/", "Content-Length: 0"


async def ask(gate, method, target, lines, accept):
    """The raw answer, up to its end, and when that was."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    authority = target.split("/")[2] if "//" in target else "shop.test"
    head = [f"{method} {target} HTTP/1.1", f"Host: {authority}", f"Accept: {accept}", "Connection: close"]
    if method == "POST" and "Transfer" not in lines and "Length" not in lines:
        head.append("Content-Length: 0")
    text = "\r\n".join([*head, *(lines.split("\r\n") if lines else [])]) + "\r\n\r\n"
    writer.write(text.encode())
    answer = b""
    try:
        while more := await asyncio.wait_for(reader.read(65536), 30):
            answer += more
    except ConnectionError:
        pass
    except TimeoutError:
        raise SystemExit(f"no end of the answer to {text[:200]}: {answer}") from None
    finally:
        writer.close()
    return answer, time.time()


def lint(answer, at, method):
    """(status, kind, the notes that httplint calls bad)."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    version, _, rest = first.partition(b" ")
    status, _, phrase = rest.partition(b" ")
    linter = HttpResponseLinter(start_time=at, no_content=method == "HEAD")
    linter.process_response_topline(version[5:], status, phrase)
    fields = [tuple(part.strip() for part in line.split(b":", 1)) for line in lines]
    linter.process_headers(fields)
    linter.feed_content(body)
    linter.finish_content(True, [])
    notes = [note for note in linter.notes]
    notes += [below for note in linter.notes for below in note.subnotes]
    # Of 414 it says that 414 is bad news, which is no fault of the message. A server without a clock may leave
    # out Date (RFC 9110 6.6.1); we have one.
    faults = [note for note in notes if note.level == levels.BAD and "STATUS" not in type(note).__name__]
    faults += [note for note in notes if type(note).__name__ == "DATE_CLOCKLESS"]
    bad = [note.summary for note in faults]
    warned = [note.summary for note in notes if note.level == levels.WARN]
    return status.decode(), body, bad, warned


async def until_held(gate, count):
    while gate.total("pacegate_held_requests") != count:
        await asyncio.sleep(0.05)


async def main():
    origins, bad, warned, seen = Origins(), [], collections.Counter(), collections.Counter()
    await origins.start()
    answers = []
    with Gate(*SETTINGS) as gate:
        for kind, method, target, lines in questions(gate, origins):
            heads = [] if method == "CONNECT" else ["HEAD"]
            for way, accept in [(method, accept) for accept in ACCEPTS] + [(head, "*/*") for head in heads]:
                answers.append((kind, way, target, await ask(gate, way, target, lines, accept)))
        # Behind the minute that the origin asks for two may wait, until we stop.
        busy = f"http://busy.localhost:{origins.busy}/"
        held = [asyncio.create_task(ask(gate, "GET", busy, "", "*/*"))]
        await until_held(gate, 1)
        for accept in ACCEPTS:
            one = await ask(gate, "GET", busy, "Pace-Deadline: 2", accept)
            answers.append(("deadline_infeasible", "GET", busy, one))
        held.append(asyncio.create_task(ask(gate, "GET", busy, "", "*/*")))
        await until_held(gate, 2)
        for accept in ACCEPTS:
            answers.append(("line_full", "GET", busy, await ask(gate, "GET", busy, "", accept)))
        gate.process.terminate()
        # The first has the origin's own answer, the other was never sent.
        answers.append(("", "GET", "while it stops", await held[0]))
        answers.append(("shutting_down", "GET", "while it stops", await held[1]))
    with Gate("destinations.deny=true") as gate:
        for accept in ACCEPTS:
            one = await ask(gate, "GET", "http://127.0.0.1:1/", "", accept)
            answers.append(("url_not_allowed", "GET", "a private address", one))
    for kind, method, target, (answer, at) in answers:
        status, body, faults, warnings = lint(answer, at, method)
        seen[status] += 1
        warned.update(warnings)
        if "-v" in sys.argv:
            print(method, target[:60], status, warnings, answer[:600] if warnings else "")
        bad += [f"{method} {target[:60]} {status}: {fault}" for fault in faults]
        if method != "HEAD" and kind.encode() not in body:
            bad.append(f"{method} {target[:60]} {status}: not {kind}: {body[-80:]}")
    for line in bad:
        print(line)
    print(f"httplint: {len(answers)} answers {dict(sorted(seen.items()))}, {len(bad)} bad; warnings {dict(warned)}")
    sys.exit(bool(bad))


asyncio.run(main())
