"""Minted certificates before those who have to accept them: leaves.py WORK-FOLDER.

pkilint reads each for faults; OpenSSL, GnuTLS and NSS verify it as a file, name included where they can;
Python, Go and Java shake hands for it through the proxy, and check the name themselves.
"""

import ipaddress
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from gate import PATIENCE, Gate  # noqa: E402

NAMES = [
    "shop.test",
    "xn--bcher-kva.example",  # bücher
    "192.0.2.7",
    "2001:db8::7",
    f"{'a' * 60}.{'b' * 60}.test",  # longer than a common name may be
    f"{'c' * 63}.{'d' * 63}.{'e' * 63}.{'f' * 60}",  # the longest there is: 252
    "under_score.test",
]
PURPOSE = "1.3.6.1.5.5.7.3.1"


def is_address(name):
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def leaf(gate, name):
    """The PEM that a client gets who verifies it."""
    trust = ssl.create_default_context(cafile=gate.ca)
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    # OpenSSL takes no underscore in a name it checks, though a certificate may have one.
    trust.check_hostname = "_" not in name
    host = f"[{name}]" if ":" in name else name
    with socket.create_connection(("127.0.0.1", gate.port), PATIENCE) as road:
        road.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += road.recv(1) or sys.exit(f"{name}: {answer}")
        with trust.wrap_socket(road, server_hostname=name) as tls:
            return ssl.DER_cert_to_PEM_cert(tls.getpeercert(True))


def pkilint(gate, file, name):
    lint = str(pathlib.Path(sys.executable).with_name("lint_pkix_cert"))
    command = [lint, "lint", "-s", "ERROR", "-f", "JSON", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    found = [x for result in json.loads(done.stdout)["results"] for x in result["finding_descriptions"]]
    return "" if not found and done.returncode == 0 else f"{found} {done.stderr}"


def openssl(gate, file, name):
    check = "-verify_ip" if is_address(name) else "-verify_hostname"
    named = [] if "_" in name else [check, name]
    return say(["openssl", "verify", "-x509_strict", "-purpose", "sslserver", *named,
                "-no-CApath", "-CAfile", str(gate.ca), str(file)])


def gnutls(gate, file, name):
    return say(["certtool", "--verify", f"--load-ca-certificate={gate.ca}", f"--infile={file}",
                f"--verify-hostname={name}", f"--verify-purpose={PURPOSE}"])


def nss(gate, file, name):
    folder = gate.home / "nss"
    if not folder.exists():
        folder.mkdir()
        say(["certutil", "-N", "-d", f"sql:{folder}", "--empty-password"])
        say(["certutil", "-A", "-d", f"sql:{folder}", "-n", "ca", "-t", "C,,", "-a", "-i", str(gate.ca)])
    # -u 1: as a TLS server's; -pp: by libpkix, as browsers do.
    return say(["vfychain", "-d", f"sql:{folder}", "-pp", "-u", "1", "-a", str(file)])


def say(command):
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{command[0]}: {done.stdout} {done.stderr}".strip()


def handshakes(command, gate, names):
    """A program that shakes hands for each name and says `ok NAME`; complaints."""
    done = subprocess.run([*command, str(gate.port), str(gate.ca), *names], capture_output=True, text=True)
    missing = [name for name in names if f"ok {name}\n" not in done.stdout]
    return "" if not missing and done.returncode == 0 else f"{missing}: {done.stdout} {done.stderr}"


def main():
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    go = work / "handshake-go"
    subprocess.run(["go", "build", "-o", str(go), str(HERE / "handshake.go")], check=True)
    java = [shutil.which("java"), "-XX:TieredStopAtLevel=1", str(HERE / "Handshake.java")]
    bad, done = [], 0
    with Gate() as gate:
        for number, name in enumerate(NAMES):
            file = gate.home / f"{number}.pem"
            file.write_text(leaf(gate, name))
            done += 1
            for check in (pkilint, openssl, gnutls, nss):
                fault = check(gate, file, name)
                done += 1
                bad += [f"{check.__name__} on {name}: {fault}"] if fault else []
        # Java asks for no name with an underscore.
        plain = [name for name in NAMES if "_" not in name]
        for program, names in ([str(go)], NAMES), (java, plain):
            fault = handshakes(program, gate, names)
            done += len(names)
            bad += [f"{program[0]}: {fault}"] if fault else []
        root = pkilint(gate, gate.ca, "our CA")
        bad += [f"pkilint on our CA: {root}"] if root else []
    for line in bad:
        print(line)
    print(f"leaves: {len(NAMES)} names, {done + 1} checks, {len(bad)} refused")
    sys.exit(bool(bad))


main()
