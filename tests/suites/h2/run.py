"""h2load inside a CONNECT: many HTTP/2 streams at nginx behind pacegate, each with an answer of its own.

h2load knows no proxies, so a relay makes the CONNECT for each of its connections.
"""

import asyncio
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "origins")]
from gate import PATIENCE, Gate  # noqa: E402

NGINX = """
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
    uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
    keepalive_requests 1000000;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {home}/cert.pem; ssl_certificate_key {home}/key.pem;
        location / {{ return 200 "{body}"; }}
    }}
}}
"""
BODY = "x" * 500
REQUESTS = 5000


async def relay(gate, target):
    async def pump(reader, writer):
        try:
            while more := await reader.read(65536):
                writer.write(more)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def one(reader, writer):
        back, forth = await asyncio.open_connection("127.0.0.1", gate.port)
        forth.write(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        await back.readuntil(b"\r\n\r\n")
        await asyncio.gather(pump(reader, forth), pump(back, writer))

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    return server.sockets[0].getsockname()[1]


async def until_open(port, process):
    for _ in range(int(PATIENCE * 10)):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            if process.poll() is not None:
                break
            await asyncio.sleep(0.1)
    raise SystemExit("nginx did not start")


async def main():
    with tempfile.TemporaryDirectory(prefix="pacegate-h2-") as home:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
             "-keyout", f"{home}/key.pem", "-out", f"{home}/cert.pem", "-days", "2", "-subj", "/CN=origin",
             "-addext", "subjectAltName=DNS:shop.localhost", "-addext", "basicConstraints=critical,CA:false"],
            check=True, capture_output=True,
        )
        config = pathlib.Path(home) / "conf"
        config.write_text(NGINX.format(home=home, port=port, body=BODY))
        nginx = subprocess.Popen(["nginx", "-p", home, "-c", str(config)], stderr=subprocess.DEVNULL)
        try:
            await until_open(port, nginx)
            with Gate(f"tls.roots={home}/cert.pem", "log.level=warn") as gate:
                name = f"shop.localhost:{port}"
                door = await relay(gate, name)
                load = await asyncio.create_subprocess_exec(
                    "h2load", f"-n{REQUESTS}", "-c10", "-m50", f"--connect-to=127.0.0.1:{door}",
                    f"https://{name}/", stdout=subprocess.PIPE,
                )
                text = (await asyncio.wait_for(load.communicate(), 240))[0].decode()
                attempts = int(gate.total("pacegate_attempts_total"))
        finally:
            nginx.terminate()
            nginx.wait()
    requests = re.search(r"^requests: .*$", text, re.M)
    good = f"{REQUESTS} succeeded, 0 failed, 0 errored" in text and "protocol: h2" in text.lower()
    good = good and attempts >= REQUESTS
    if not good:
        print(text)
    print(f"h2load: {requests and requests[0]}; {attempts} attempts")
    sys.exit(not good)


asyncio.run(main())
