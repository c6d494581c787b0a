"""varnishtest's scripted clients and origins on both sides of pacegate: every *.vtc here.

`${gate_port}` in a case is the proxy. Each case has a host name of its own, and so a pace of its own.
"""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from gate import Gate  # noqa: E402


def main():
    cases = sorted(HERE.glob("*.vtc"))
    if len(sys.argv) > 1:
        cases = [case for case in cases if re.search(sys.argv[1], case.name)]
    with Gate("pace.ladder=[0s, 50ms, 100ms]", "retry.window=20s") as gate:
        command = ["varnishtest", "-k", "-j", "2", "-t", "60", f"-Dgate_port={gate.port}", *map(str, cases)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        passed = len(re.findall(r"^#\s+top\s+TEST .* passed", done.stdout, re.M))
        if done.returncode or os.environ.get("VERBOSE"):
            print(done.stdout)
            print(gate.log.read_text()[-4000:])
    print(f"varnishtest: {passed} of {len(cases)} cases passed")
    sys.exit(done.returncode or passed != len(cases))


main()
