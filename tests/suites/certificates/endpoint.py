"""What clients meet inside a CONNECT, by sslyze: Mozilla's "intermediate", and our CA alone in the chain."""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from gate import Gate  # noqa: E402

# What sslyze says of each name that it found nothing against.
WANTED = {
    r"^ +shop\.test:443: (.*)$": "OK - Compliant.",
    r"Supplied CA file CA Store .*: +(.*)$": "OK - Certificate is trusted",
    r"Received Chain Contains Anchor: +(.*)$": "OK - Anchor certificate not sent",
}


def main():
    sslyze = str(pathlib.Path(sys.executable).with_name("sslyze"))
    with Gate() as gate:
        command = [sslyze, "--https_tunnel", gate.url, "--certinfo_ca_file", str(gate.ca)]
        command += ["--mozilla_config", "intermediate", "shop.test:443"]
        done = subprocess.run(command, capture_output=True, text=True)
    said = {want: re.findall(pattern, done.stdout, re.M) for pattern, want in WANTED.items()}
    good = done.returncode == 0 and all(found and set(found) == {want} for want, found in said.items())
    if not good:
        print(done.stdout, done.stderr, said)
    versions = re.findall(r"\* (TLS 1\.\d) Cipher Suites:\n.*\n\n.*accepted the following (\d+)", done.stdout)
    print(f"sslyze: {said['OK - Compliant.']}, cipher suites {dict(versions)}")
    sys.exit(not good)


main()
