"""A strict reading of requests as RFC 9112 wants them sent, and an origin that records by it.

What a lenient server would forgive is a fault here: pacegate writes its requests itself, so there is
nothing to forgive.
"""

import asyncio
import re

START = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (/[!-~\x80-\xff]*|\*) HTTP/1\.1")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?")
SIZE = re.compile(rb"[0-9A-Fa-f]{1,16}")
LENGTH = re.compile(rb"0|[1-9][0-9]*")
# RFC 9110 7.6.1: fields of one connection, and what only a proxy reads.
ONE_HOP = {b"keep-alive", b"proxy-connection", b"proxy-authorization"}
# RFC 9110 6.5.1: what may not come behind the body.
NOT_BEHIND = {b"content-length", b"transfer-encoding", b"host", b"authorization", b"trailer"}


class Fault(Exception):
    pass


class Reader:
    """Requests out of a byte stream, one after the other."""

    def __init__(self, stream, authority):
        self.stream = stream
        self.authority = authority.encode()

    async def line(self):
        line = await self.stream.readuntil(b"\n")
        if not line.endswith(b"\r\n") or b"\r" in line[:-2]:
            raise Fault(f"a line that does not end with CRLF only: {line[:80]}")
        return line[:-2]

    async def request(self):
        """The next request's (method, target) once its head is read; None if the stream ends first.

        The body is read by `body`.
        """
        try:
            start = await self.line()
        except asyncio.IncompleteReadError as end:
            if end.partial:
                raise Fault(f"a request line that breaks off: {end.partial[:80]}") from None
            return None
        found = START.fullmatch(start)
        if not found:
            raise Fault(f"request line {start[:80]}")
        return found[1].decode(), found[2].decode("latin-1"), await self.fields()

    async def fields(self):
        fields = {}
        while line := await self.line():
            found = FIELD.fullmatch(line)
            if not found:
                raise Fault(f"field line {line[:80]}")
            fields.setdefault(found[1].lower(), []).append(found[2] or b"")
        return fields

    async def body(self, fields):
        if fields.get(b"host") != [self.authority]:
            raise Fault(f"host {fields.get(b'host')}")
        for name in ONE_HOP & fields.keys():
            raise Fault(f"{name} is for one hop")
        options = [value.lower() for value in fields.get(b"connection", [])]
        if set(options) - {b"close", b"upgrade", b"te"}:
            raise Fault(f"connection {options}")
        # RFC 9110 10.1.4, 7.8: these two need their option.
        for name, option in (b"te", b"te"), (b"upgrade", b"upgrade"):
            if (name in fields) != (option in options):
                raise Fault(f"{name} {fields.get(name)}, connection {options}")
        if fields.get(b"te", [b"trailers"]) != [b"trailers"]:
            raise Fault(f"te {fields[b'te']}")
        lengths, codings = fields.get(b"content-length", []), fields.get(b"transfer-encoding", [])
        if lengths and codings or len(lengths) > 1 or len(codings) > 1:
            raise Fault(f"lengths {lengths}, codings {codings}")
        if lengths:
            # Some servers count in 63 bits and a sign.
            if not LENGTH.fullmatch(lengths[0]) or int(lengths[0]) >= 1 << 63:
                raise Fault(f"length {lengths}")
            await self.stream.readexactly(int(lengths[0]))
        if codings:
            if codings[0].lower() != b"chunked":
                raise Fault(f"coding {codings}")
            await self.chunks()

    async def chunks(self):
        while True:
            size = await self.line()
            if not SIZE.fullmatch(size):
                raise Fault(f"chunk line {size[:80]}")
            if int(size, 16) == 0:
                break
            await self.stream.readexactly(int(size, 16))
            if await self.stream.readexactly(2) != b"\r\n":
                raise Fault("chunk data that does not end with CRLF")
        for name in NOT_BEHIND & (await self.fields()).keys():
            raise Fault(f"{name} as a trailer")


class Recorder:
    """An origin that answers everything, and keeps request lines and faults."""

    def __init__(self):
        self.lines = []
        self.faults = []

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, limit=1 << 20)
        self.authority = "127.0.0.1:%d" % self.server.sockets[0].getsockname()[1]

    async def serve(self, stream, writer):
        reader = Reader(stream, self.authority)
        try:
            while request := await reader.request():
                method, target, fields = request
                self.lines.append(f"{method} {target}")
                await reader.body(fields)
                body = b"" if method == "HEAD" else b"ok"
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)
                await writer.drain()
        except Fault as fault:
            self.faults.append(str(fault))
        except (asyncio.IncompleteReadError, ConnectionError):
            # A message that breaks off with its connection: the client left it, or was refused.
            pass
        except asyncio.CancelledError:
            # The end of the run. Nobody waits for this task.
            pass
        finally:
            writer.close()
