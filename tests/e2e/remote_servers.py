"""Servers for the remote tier's tests, on loopback: a real nginx, and servers that fail.

A Failing server answers from the folder that nginx filled, spoilt in one of the ways of
KINDS, until heal() is called.
"""
import http.server
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time

CONFIG = """
daemon off; master_process off; worker_processes 1; pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {{ worker_connections 512; }}
http {{
  access_log {dir}/access.log;
  client_max_body_size 0;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f;
  uwsgi_temp_path {dir}/u; scgi_temp_path {dir}/s;
  server {{
    listen 127.0.0.1:{port};
    root {dir}/data;
    location / {{ dav_methods PUT; create_full_put_path on; dav_access user:rw; {rules} }}
  }}
}}
"""


def nginx_program():
    return shutil.which("nginx") or (shutil.which("nginx", path="/usr/sbin") or None)


def bound_socket():
    """A port of our own: nobody else gets it, and who connects before listen() is refused."""
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    return s


class Nginx:
    def __init__(self, folder, rules=""):
        self.dir = pathlib.Path(folder)
        self.data = self.dir / "data"
        self.data.mkdir(parents=True)
        for _ in range(10):
            if self.begin(rules):
                return
        raise AssertionError(f"nginx does not start: {self.proc.stderr.read()}")

    def begin(self, rules):
        """False when it ended at once: the port may have been taken in between."""
        with bound_socket() as s:
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        (self.dir / "nginx.conf").write_text(CONFIG.format(dir=self.dir, port=self.port, rules=rules))
        self.proc = subprocess.Popen(
            [nginx_program(), "-p", str(self.dir), "-c", str(self.dir / "nginx.conf"),
             "-e", str(self.dir / "error.log")], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while self.proc.poll() is None:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.02)
        return False

    def asked(self, method, place):
        """How often `method` was used on names under `place`, with any status."""
        path = self.dir / "access.log"
        text = path.read_text() if path.exists() else ""
        return text.count(f'"{method} /{place}/')

    def close(self):
        if self.proc.poll() is None:
            self.proc.terminate()
        self.proc.communicate(timeout=180)


KINDS = ("refused", "black_hole", "silent", "one_byte_per_s", "reset", "wrong_bytes", "short",
         "status_500", "tls_expired", "no_name")


def certificate(folder, name, start, end):
    """A self-signed certificate for 127.0.0.1 that is valid from start to end."""
    base = pathlib.Path(folder) / name
    base.mkdir()
    (base / "index").touch()
    (base / "serial").write_text("01\n")
    (base / "conf").write_text(f"""
[req]
distinguished_name = dn
prompt = no
[dn]
CN = {name}
[ca]
default_ca = own
[own]
database = {base}/index
serial = {base}/serial
new_certs_dir = {base}
default_md = sha256
policy = any
x509_extensions = ext
[any]
commonName = supplied
[ext]
subjectAltName = IP:127.0.0.1
basicConstraints = critical,CA:true
""")
    run = lambda *words: subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=base)
    run("req", "-new", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "req.pem",
        "-config", "conf")
    run("ca", "-batch", "-selfsign", "-config", "conf", "-keyfile", "key.pem", "-in", "req.pem",
        "-out", "cert.pem", "-notext", "-startdate", start, "-enddate", end)
    return base / "cert.pem", base / "key.pem"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def answer(self, status, body=b"", length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        server = self.server.owner
        server.requests += 1
        path = server.data / self.path.lstrip("/")
        kind = None if server.healthy else server.kind
        if kind == "silent":
            server.healed.wait(30)
            self.close_connection = True
            return
        if kind == "status_500":
            self.answer(500, b"broken")
            return
        if server.delay:
            time.sleep(server.delay)
        if not path.is_file():
            self.answer(404)
            return
        body = path.read_bytes()
        blob = self.path.startswith("/cas/")
        if kind == "one_byte_per_s":
            self.answer(200, b"", len(body))
            for byte in body:
                if server.healed.wait(1) or self.command == "HEAD":
                    break
                self.wfile.write(bytes([byte]))
            self.close_connection = True
        elif kind == "reset" and blob:
            self.answer(200, body[:len(body) // 2], len(body))
            self.wfile.flush()
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif kind == "slow_line" and blob and len(body) > 20000:
            self.answer(200, b"", len(body))
            for at in range(0, len(body), 500):
                if server.healed.wait(0.2):
                    break
                self.wfile.write(body[at:at + 500])
            else:
                server.transferred += 1
            self.close_connection = True
        elif kind == "wrong_bytes" and blob:
            self.answer(200, body[:-1] + bytes([body[-1] ^ 1]))
        elif kind == "short" and blob:
            self.answer(200, body[:-1])
        else:
            self.answer(200, body)

    do_HEAD = do_GET

    def handle(self):
        try:
            super().handle()
        except (OSError, ValueError):
            pass

    def finish(self):
        try:
            super().finish()
        except (OSError, ValueError):
            pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request, client_address):
        pass


class Failing:
    """One kind of outage over the bytes in `data`."""

    def __init__(self, kind, data, folder=None):
        self.kind, self.data = kind, pathlib.Path(data)
        self.healthy = kind == "none"
        self.healed = threading.Event()
        self.requests = 0
        self.delay = 0
        self.transferred = 0  # bodies that were sent in whole over a slow line
        self.server = None
        self.fillers = []
        self.scheme = "http"
        self.host = "no-such-host.invalid" if kind == "no_name" else "127.0.0.1"
        self.bound = bound_socket()  # as long as this lives, the port is ours
        self.port = self.bound.getsockname()[1]
        self.ca = None
        if kind == "tls_expired":
            self.scheme = "https"
            self.old = certificate(folder, "old", "20200101000000Z", "20200102000000Z")
            self.good = certificate(folder, "good", "20200101000000Z", "20990101000000Z")
            self.ca = pathlib.Path(folder) / "ca.pem"
            self.ca.write_text(self.old[0].read_text() + self.good[0].read_text())
        if kind == "black_hole":
            self.fill()
        elif kind not in ("refused", "no_name"):
            self.serve(self.old if kind == "tls_expired" else None)
        self.url = f"{self.scheme}://{self.host}:{self.port}"

    def serve(self, pair=None):
        self.server = Server(("127.0.0.1", self.port), Handler, bind_and_activate=False)
        self.server.socket.close()
        self.server.socket = self.bound.dup()
        self.server.owner = self
        self.bound.listen(128)
        if pair:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*pair)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                     do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def fill(self):
        """A listener whose queue is full: the kernel drops what else wants to connect."""
        self.bound.listen(0)
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            self.fillers.append(s)
        time.sleep(0.1)

    def heal(self):
        self.healthy = True
        self.healed.set()
        if self.kind == "black_hole":
            self.empty()
            self.serve()
        elif self.kind == "refused":
            self.serve()
        elif self.kind == "tls_expired":
            self.server.shutdown()
            self.server.server_close()
            self.serve(self.good)

    def empty(self):
        for s in self.fillers:
            s.close()
        self.fillers = []

    def close(self):
        self.healed.set()
        if self.fillers:
            self.empty()
        if self.server:
            self.server.shutdown()
            self.server.server_close()
        self.bound.close()
