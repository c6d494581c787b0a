"""The real servers, each on a port and in a folder of its own, with a log line for each request."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

# One place for all numbers: heads as large as pacegate sends, and no time-out that ends a request.
NGINX = """
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error;
events {{ worker_connections 512; }}
http {{
    log_format line '$request'; access_log {home}/log line;
    client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
    uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
    large_client_header_buffers 8 128k; merge_slashes off;
    keepalive_timeout 300; keepalive_requests 100000;
    server {{ listen 127.0.0.1:{port}; location / {{ return 200 ok; }} }}
}}
"""
HAPROXY = """
global
    log stdout format raw local0
    maxconn 512
    tune.bufsize 131072
    tune.http.maxhdr 500
defaults
    mode http
    log global
    option dontlognull
    log-format %{{+Q}}r
    timeout client 300s
    timeout connect 5s
    timeout server 300s
    timeout http-keep-alive 300s
frontend all
    bind 127.0.0.1:{port}
    http-request wait-for-body time 60s
    http-request return status 200 content-type text/plain string ok
"""
APACHE = """
ServerRoot {home}
ServerName localhost
PidFile {home}/pid
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
DocumentRoot {home}/root
ErrorLog {home}/error
LogFormat "%r" line
CustomLog {home}/log line
KeepAliveTimeout 300
MaxKeepAliveRequests 0
LimitRequestFields 500
LimitRequestFieldSize 131072
LimitRequestLine 131072
<Directory {home}/root>
    Require all granted
</Directory>
"""
CADDY = """
{{
    admin off
    auto_https off
}}
http://:{port} {{
    bind 127.0.0.1
    log {{
        output file {home}/log
    }}
    respond ok
}}
"""
COMMANDS = {
    "nginx": (NGINX, ["nginx", "-p", "{home}", "-c", "{home}/conf"]),
    "haproxy": (HAPROXY, ["haproxy", "-db", "-f", "{home}/conf"]),
    "apache2": (APACHE, ["apache2", "-DFOREGROUND", "-f", "{home}/conf"]),
    "caddy": (CADDY, ["caddy", "run", "--adapter", "caddyfile", "--config", "{home}/conf"]),
}


class Server:
    """`name` is a key of COMMANDS."""

    def __init__(self, name, home):
        self.name = name
        self.home = pathlib.Path(home) / name
        (self.home / "root").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.authority = f"127.0.0.1:{self.port}"
        fill = {"home": self.home, "port": self.port, "modules": "/usr/lib/apache2/modules"}
        config, command = COMMANDS[name]
        (self.home / "conf").write_text(config.format(**fill))
        # Its workers may be of another user.
        for folder in [self.home, *self.home.parents][:2]:
            folder.chmod(0o755)
        (self.home / "root").chmod(0o755)
        path = os.environ["PATH"] + ":/usr/sbin"
        command = [word.format(**fill) for word in command]
        # HAProxy logs where the others talk.
        self.said = open(self.home / ("log" if name == "haproxy" else "said"), "wb")
        self.process = subprocess.Popen(
            [shutil.which(command[0], path=path), *command[1:]],
            stdin=subprocess.DEVNULL,
            stdout=self.said,
            stderr=subprocess.STDOUT if name != "haproxy" else subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home)},
        )

    def ready(self):
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        said = "\n".join(p.read_text("utf-8", "replace") for p in self.home.iterdir() if p.name in ("said", "error"))
        raise SystemExit(f"{self.name} did not start:\n{said}")

    def lines(self):
        """The request line of each request that it parsed, or tried to."""
        log = self.home / "log"
        text = log.read_text("latin-1") if log.exists() else ""
        if self.name != "caddy":
            return text.splitlines()
        requests = (json.loads(line).get("request") for line in text.splitlines())
        return [f"{request['method']} {request['uri']}" for request in requests if request]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.said.close()
