"""So many different names, one after the other, as a scan or a broken client would: names.py COUNT.

Each is a CONNECT and a TLS handshake with verification. What is kept is bounded, so memory stays. At the
end some come one at a time, first with a name that is new and then with the same one again: how long a
handshake takes, and how much of it is the making of the certificate.
"""

import asyncio
import pathlib
import ssl
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gate import Gate  # noqa: E402

# Of resident memory, from the thousandth name on: before, the first arenas and caches.
GROWTH = 20 << 20
AT_ONCE = 16


async def shake(gate, trust, number):
    name = f"n{number}.shop{number % 977}.test"
    reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
    try:
        writer.write(f"CONNECT {name}:443 HTTP/1.1\r\nHost: {name}:443\r\n\r\n".encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answer:
            raise SystemExit(f"{name}: {answer}")
        began = time.monotonic()
        await writer.start_tls(trust, server_hostname=name)
        return time.monotonic() - began
    finally:
        writer.transport.abort()


async def worker(gate, trust, numbers, took):
    for number in numbers:
        took.append(await shake(gate, trust, number))


async def spray(gate, trust, numbers):
    took, numbers = [], iter(numbers)
    await asyncio.gather(*(worker(gate, trust, numbers, took) for _ in range(AT_ONCE)))
    return sorted(took)


def p99(took):
    return sorted(took)[len(took) * 99 // 100] * 1000


async def one_by_one(gate, trust, numbers):
    fresh, known = [], []
    for number in numbers:
        fresh.append(await shake(gate, trust, number))
        known.append(await shake(gate, trust, number))
    return fresh, known


async def main():
    count = int(sys.argv[1])
    first = min(1000, count // 2)
    with Gate("log.level=warn") as gate:
        trust = ssl.create_default_context(cafile=gate.ca)
        await spray(gate, trust, range(first))
        before = gate.rss()
        took = await spray(gate, trust, range(first, count))
        issued = int(gate.total("pacegate_leaf_certificates_issued_total"))
        after = gate.rss()
        scopes = int(gate.total("pacegate_scopes"))
        fresh, known = await one_by_one(gate, trust, range(count, count + first))
    growth = after - before
    print(
        f"names: {count} names, {issued} certificates, handshake p99 {p99(took):.1f} ms ({AT_ONCE} at once), "
        f"{before >> 20} MiB after {first} names, {after >> 20} MiB at the end, {scopes} scopes"
    )
    print(
        f"names: one at a time, {first} new names: handshake p99 {p99(fresh):.2f} ms; the same names again: "
        f"{p99(known):.2f} ms"
    )
    sys.exit(growth > GROWTH or issued < count)


asyncio.run(main())
