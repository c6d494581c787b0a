"""Those of urllib3's own tests that can have a proxy: run.py SOURCE-PACKAGE.

Its tests of proxies bring a dummy proxy, which pacegate replaces, and its tests of PoolManager are given
a ProxyManager. Those that need a proxy behind TLS are left out, since we listen in clear text; so are
all that talk to a raw socket on the client's own connection: with a proxy between there is none.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gate import Gate  # noqa: E402

FILES = ["test_proxy_poolmanager.py", "test_poolmanager.py"]
LEFT_OUT = [
    "https_proxy", "[https", "IPv6", "https_headers", "kwarg_ca_cert_data", "proxy_ssl_context",
    # These want an address that swallows packets: not every network has one.
    "connect_timeout", "proxy_request_timeout",
]
LADDER = "pace.ladder=[0s, 20ms, 50ms, 100ms]"


def main():
    with tempfile.TemporaryDirectory(prefix="pacegate-suite-") as folder:
        with tarfile.open(sys.argv[1]) as package:
            package.extractall(folder, filter="data")
        (source,) = pathlib.Path(folder).iterdir()
        authority = source / "dummyserver/certs/cacert.pem"
        origins = pathlib.Path(folder) / "origins.pem"
        origins.write_bytes(authority.read_bytes())
        with Gate(f"tls.roots={origins}", LADDER, "retry.window=2s") as gate:
            authority.write_text(authority.read_text() + gate.ca.read_text())
            code, text = run(source, gate)
            requests = int(gate.total("pacegate_requests_total"))
    print(f"urllib3: {text.splitlines()[-1].strip('= ')}; {requests} requests through the proxy")
    sys.exit(code or requests < 80)


def run(source, gate):
    here = str(pathlib.Path(__file__).parent)
    suite = {"SUITE_PORT": str(gate.port), "PYTHONPATH": f"{here}:{source}"}
    command = [sys.executable, "-m", "pytest", "-p", "ours_as_proxy", "-p", "no:cacheprovider"]
    command += ["-q", "--tb=short", "--timeout=60", "-W", "ignore", "-rfE", "-k", " and ".join(f"not {word}" for word in LEFT_OUT)]
    command += [f"test/with_dummyserver/{name}" for name in FILES]
    done = subprocess.run(
        command, cwd=source, env={**os.environ, **suite}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode or os.environ.get("VERBOSE"):
        print(done.stdout)
        print(gate.log.read_text()[-4000:])
    return done.returncode, done.stdout.strip()


main()
