"""A pacegate of its own for one suite: any ports, a new CA, ended and waited for at the end.

The binary is $PACEGATE, else the newest build below target/.
"""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Loaded machines take their time; what does not come in this is not coming.
PATIENCE = 60.0


def binary():
    named = os.environ.get("PACEGATE")
    if named:
        return str(pathlib.Path(named).resolve())
    builds = [ROOT / "target" / profile / "pacegate" for profile in ("release", "debug")]
    built = [path for path in builds if path.exists()]
    if not built:
        raise SystemExit("no pacegate: cargo build first, or name one in PACEGATE")
    return str(max(built, key=lambda path: path.stat().st_mtime))


class Gate:
    """`with Gate("tls.intercept=false") as gate:` … `gate.port`, `gate.metrics()`, `gate.ca`."""

    def __init__(self, *settings, config=None):
        self.folder = tempfile.TemporaryDirectory(prefix="pacegate-suite-")
        self.home = pathlib.Path(self.folder.name)
        self.ca = self.home / "certs" / "ca.pem"
        self.log = self.home / "log"
        command = [binary(), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        command += ["--certs", str(self.home / "certs")]
        if config is not None:
            (self.home / "pacegate.yaml").write_text(config)
            command += ["--config", str(self.home / "pacegate.yaml")]
        for setting in settings:
            command += ["--set", setting]
        # A proxy's environment must not be that of the suite: it is no client of itself.
        plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        plain.pop("PACEGATE", None)
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.home, env=plain
            )
        self.port, self.admin = self._ready()
        self.url = f"http://127.0.0.1:{self.port}"

    def _ready(self):
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            lines = self.log.read_text("utf-8", "replace").splitlines()
            for line in (line for line in lines if "ready" in line):
                said = [re.search(rf"{who}\W+[\d.]+:(\d+)", line) for who in ("proxy", "admin")]
                if all(said):
                    return int(said[0][1]), int(said[1][1])
            time.sleep(0.02)
        text = self.log.read_text("utf-8", "replace")
        self.close()
        raise SystemExit(f"pacegate did not start:\n{text}")

    def metrics(self):
        """Every sample as {'name{labels}': value}."""
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"http://127.0.0.1:{self.admin}/metrics", timeout=PATIENCE) as page:
            lines = page.read().decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    def total(self, metric, **labels):
        """The sum of a metric's samples that have these labels."""
        wanted = [f'{name}="{value}"' for name, value in labels.items()]
        return sum(
            value
            for name, value in self.metrics().items()
            if name.split("{")[0] == metric and all(label in name for label in wanted)
        )

    def rss(self):
        """Resident bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise SystemExit("pacegate is gone")

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
