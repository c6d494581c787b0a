"""The test suite of Python's requests, through pacegate: run.py SOURCE-PACKAGE.

Run it with the Python that has requests, pytest, pytest-httpbin and trustme. The ladder is scaled
down, so that pages that fail on purpose are held and repeated as ever, but not for minutes.
"""

import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gate import Gate  # noqa: E402

# So many pass; expected.txt has the others.
FLOOR = 590
LADDER = "pace.ladder=[0s, 20ms, 50ms, 100ms]"


def main():
    import pytest_httpbin.certs

    with tempfile.TemporaryDirectory(prefix="pacegate-suite-") as folder:
        with tarfile.open(sys.argv[1]) as package:
            package.extractall(folder, filter="data")
        (source,) = pathlib.Path(folder).iterdir()
        # Two authorities sign the suite's origins: httpbin's, and its own for one raw TLS server.
        authority = source / "tests/certs/valid/ca/ca.crt"
        origins = pathlib.Path(folder) / "origins.pem"
        httpbin = pathlib.Path(pytest_httpbin.certs.where()).read_text()
        origins.write_text(httpbin + authority.read_text())
        with Gate(f"tls.roots={origins}", LADDER, "retry.window=2s") as gate:
            ours = gate.ca.read_text()
            bundle = pathlib.Path(folder) / "bundle.pem"
            bundle.write_text(httpbin + ours)
            authority.write_text(authority.read_text() + ours)
            code, text = run(source, gate, bundle)
            requests = int(gate.total("pacegate_requests_total"))
    passed = int((re.search(r"(\d+) passed", text) or [0, 0])[1])
    print(f"requests: {text.splitlines()[-1].strip('= ')}; {requests} requests through the proxy")
    sys.exit(code or passed < FLOOR or requests < 250)


def run(source, gate, bundle):
    here = str(pathlib.Path(__file__).parent)
    suite = {"SUITE_PROXY": gate.url, "SUITE_BUNDLE": str(bundle), "PYTHONPATH": here}
    command = [sys.executable, "-m", "pytest", "-p", "through_proxy", "-p", "no:cacheprovider"]
    command += ["-q", "--tb=short", "--timeout=60", "-W", "ignore", "--durations=8", "-rfE", "tests"]
    done = subprocess.run(
        command, cwd=source, env={**os.environ, **suite}, stdout=subprocess.PIPE, text=True
    )
    if done.returncode or os.environ.get("VERBOSE"):
        print(done.stdout)
        print(gate.log.read_text()[-4000:])
    return done.returncode, done.stdout.strip()


main()
