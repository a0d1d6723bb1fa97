"""The network: every family of sockets, and services of the machine that listen on one.

The gate listens on TCP, UDP, a socket file and an abstract name, and looks whether anything arrived.
"""

import ctypes
import http.client
import os
import socket
import subprocess
import urllib.error
import urllib.request

from .base import KERNEL, OTHERS, ROOT, C, Held, first, run, syscall, table

attempt = table("network")
OUT = "outside"
STREAM = socket.SOCK_STREAM


def connect(family, address, kind=STREAM, protocol=0):
    with socket.socket(family, kind, protocol) as s:
        s.settimeout(3)
        s.connect(address)


@attempt("tcp", "connects to a server of this machine", judged=OUT)
def _(me):
    connect(socket.AF_INET, ("127.0.0.1", C.tcp))


@attempt("tcp-other-loopback", "connects by another address of the loopback", judged=OUT, needs="a server at that address")
def _(me):
    with socket.create_connection(("127.0.0.2", C.tcp), 3):
        pass


@attempt("tcp-any-address", "connects by the address of no host", judged=OUT)
def _(me):
    connect(socket.AF_INET, ("0.0.0.0", C.tcp))


@attempt("tcp-mapped-address", "connects by an IPv4 address written as IPv6", judged=OUT, needs="IPv6")
def _(me):
    connect(socket.AF_INET6, ("::ffff:127.0.0.1", C.tcp))


@attempt("tcp-without-wait", "connects without waiting", judged=OUT)
def _(me):
    with socket.socket(socket.AF_INET, STREAM | socket.SOCK_NONBLOCK) as s:
        code = s.connect_ex(("127.0.0.1", C.tcp))
        if code not in (0, 115):
            raise OSError(code, os.strerror(code))
        s.setblocking(True)
        s.send(b"rogue")


@attempt("tcp-fast-open", "sends with the first packet", judged=OUT, needs=KERNEL)
def _(me):
    with socket.socket(socket.AF_INET, STREAM) as s:
        s.settimeout(3)
        s.sendto(b"rogue", 0x20000000, ("127.0.0.1", C.tcp))


@attempt("tcp-to-metadata-service", "connects to a cloud's service for machines", needs=OTHERS)
def _(me):
    connect(socket.AF_INET, ("169.254.169.254", 80))


@attempt("tcp-by-program", "connects by another program", judged=OUT)
def _(me):
    run("bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{C.tcp}")


@attempt("http-by-library", "fetches by HTTP with the machine's own proxy settings", judged=OUT)
def _(me):
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{C.tcp}/", timeout=2)
    except (TimeoutError, http.client.BadStatusLine):
        # It was connected, and nobody answered in HTTP.
        return
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            return
        raise Held(str(error.reason)) from error


@attempt("git-over-network", "fetches by git", judged=OUT)
def _(me):
    done = subprocess.Popen(
        ["git", "-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=1", "ls-remote", f"git://127.0.0.1:{C.tcp}/x"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )
    try:
        said = done.communicate(timeout=2)[1]
    except subprocess.TimeoutExpired:
        done.kill()
        return
    # An answer that git does not understand came from the server.
    if b"protocol error" not in said:
        raise Held(said.decode(errors="replace")[-100:])


def ports(name, what, *numbers):
    @attempt(name, what, OTHERS)
    def _(me):
        first(numbers, lambda port: connect(socket.AF_INET, ("127.0.0.1", port)))


ports("tcp-remote-shell", "services that let one in", 22, 23, 513, 2375, 2376, 6443, 10250)
ports("tcp-databases", "databases of this machine", 3306, 5432, 6379, 9200, 11211, 27017)
ports("tcp-mail", "mail services", 25, 110, 143, 465, 587)
ports("tcp-web", "web services", 80, 443, 3000, 8000, 8080, 8443, 9090)
ports("tcp-models", "servers of models", 1234, 4000, 8000, 11434)


@attempt("tcp-bind", "offers a port of this machine")
def _(me):
    with socket.socket(socket.AF_INET, STREAM) as s:
        s.bind(("127.0.0.1", 0))
        s.listen()


@attempt("tcp-listen-without-bind", "offers a port that the kernel chooses")
def _(me):
    with socket.socket(socket.AF_INET, STREAM) as s:
        s.listen()


@attempt("udp", "sends a packet", judged=OUT)
def _(me):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"rogue", ("127.0.0.1", C.udp))


@attempt("udp-broadcast", "sends a packet to everybody", needs=KERNEL)
def _(me):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b"rogue", ("127.255.255.255", C.udp))


@attempt("udp-multicast", "sends a packet to a group", needs="a network that is up")
def _(me):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        s.sendto(b"rogue", ("224.0.0.1", C.udp))


@attempt("dns", "asks a name server, which carries data in names", needs="a network that is up")
def _(me):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(b"\x12\x34\x01\x00\x00\x01" + bytes(6) + b"\x05rogue\x07invalid\x00\x00\x01\x00\x01", ("127.0.0.53", 53))


@attempt("unix-socket", "connects to a socket file", judged=OUT)
def _(me):
    connect(socket.AF_UNIX, C.unix)


@attempt("unix-socket-through-link", "connects to a socket file through a link", judged=OUT)
def _(me):
    os.symlink(C.unix, "link")
    connect(socket.AF_UNIX, "link")


@attempt("unix-socket-through-proc", "connects to a socket file through a descriptor", judged=OUT)
def _(me):
    handle = os.open(C.unix, os.O_PATH)
    connect(socket.AF_UNIX, f"/proc/self/fd/{handle}")


@attempt("unix-datagram", "sends to a socket file", needs="a socket of that kind, which the gate does not offer")
def _(me):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.sendto(b"rogue", C.unix)


@attempt("datagram-pair", "parts a pair of datagram sockets and sends to a socket file")
def _(me):
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.close()


@attempt("raw-pair", "makes a pair of raw sockets, which are datagram sockets too")
def _(me):
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    one.close()


@attempt("bound-pair", "gives a socket of a pair a name in its own folder")
def _(me):
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    one.bind("bound.sock")


@attempt("abstract-unix-socket", "connects to a socket without a file", judged=OUT)
def _(me):
    connect(socket.AF_UNIX, "\0" + C.token)


@attempt("unix-socket-in-system-folder", "connects to a socket file in a folder that is shown", judged=OUT)
def _(me):
    connect(socket.AF_UNIX, C.shown + "/socket")


def service(name, what, *places):
    @attempt(name, what, OTHERS)
    def _(me):
        first(places, lambda place: connect(socket.AF_UNIX, place))


service("service-containers", "containers", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock")
service("service-messages", "the machine's message bus", "/run/dbus/system_bus_socket", f"/run/user/{os.getuid()}/bus", "\0/tmp/dbus-x")
service("service-start", "what starts services", "/run/systemd/private", "/run/systemd/notify", "/run/systemd/io.systemd.Manager")
service("service-logs", "the machine's log", "/dev/log", "/run/systemd/journal/socket", "/run/systemd/journal/stdout")
service("service-screen", "the screen", "/tmp/.X11-unix/X0", "\0/tmp/.X11-unix/X0", f"/run/user/{os.getuid()}/wayland-0")
service("service-keys", "key agents", f"/run/user/{os.getuid()}/keyring/control", f"/run/user/{os.getuid()}/gnupg/S.gpg-agent", "/tmp/ssh-agent")
service("service-names", "names and users", "/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve", "/run/systemd/userdb/io.systemd.DynamicUser")
service("service-packages", "a package manager", "/nix/var/nix/daemon-socket/socket", "/run/snapd.socket", "/run/packagekit.socket")
service("service-multiplexer", "the user's terminals", f"/tmp/tmux-{os.getuid()}/default", f"/run/screen/S-{os.getuid()}")


def family(name, what, number, kind=STREAM, protocol=0, needs=KERNEL):
    @attempt(f"socket-{name}", f"makes a socket of {what}", needs)
    def _(me):
        os.close(syscall("socket", number, kind, protocol))


RAW, PACKETS = socket.SOCK_RAW, socket.SOCK_DGRAM
family("multipath", "TCP over several paths", 2, STREAM, 262)
family("netlink-routes", "the kernel's, for routes", 16, RAW, 0, None)
family("netlink-audit", "the kernel's, for its audit", 16, RAW, 9)
family("netlink-devices", "the kernel's, for devices", 16, RAW, 15, None)
family("netlink-filter", "the kernel's, for packet filters", 16, RAW, 12)
family("netlink-sockets", "the kernel's, for other processes' sockets", 16, RAW, 4)
family("raw-icmp", "raw packets", 2, RAW, 1, ROOT)
family("raw-any", "raw packets of any kind", 2, RAW, 255, ROOT)
family("ping", "echo requests", 2, PACKETS, 1)
family("packet", "whole frames", 17, RAW, 0x300, ROOT)
family("udp-lite", "UDP with partial checksums", 2, PACKETS, 136)
family("udp-6", "UDP over IPv6", 10, PACKETS, 17)
family("sctp", "SCTP", 2, STREAM, 132)
family("dccp", "DCCP", 2, 6, 33)
family("vsock", "virtual machines", 40)
family("alg", "the kernel's cryptography", 38, 5)
family("xdp", "packets without the kernel", 44, RAW, 0, ROOT)
family("smc", "shared memory between machines", 43)
family("rds", "reliable datagrams", 21, 5)
family("tipc", "clusters", 30)
family("kcm", "messages over TCP", 41, PACKETS)
family("bluetooth", "Bluetooth", 31, RAW, 1)
family("can", "vehicles", 29, RAW, 1)
family("key", "the kernel's keys for IPsec", 15, RAW, 2, ROOT)
family("phonet", "telephones", 35, PACKETS)
family("qipcrtr", "a processor of radio", 42, PACKETS)
family("unix-stream", "this machine", 1, STREAM, 0, None)
family("unix-packets", "this machine, in packets", 1, 5, 0, None)


@attempt("socket-pair-internet", "makes a connected pair of another family", "a kernel that makes such pairs")
def _(me):
    syscall("socketpair", 30, STREAM, 0, ctypes.create_string_buffer(8))


@attempt("socket-flags-high-bits", "makes a socket by a type with more bits than the kernel reads")
def _(me):
    os.close(syscall("socket", 1, (1 << 32) | STREAM, 0))


@attempt("socket-family-high-bits", "makes a socket by a family with more bits than the kernel reads")
def _(me):
    os.close(syscall("socket", (1 << 32) | 1, STREAM, 0))


@attempt("interfaces-of-the-machine", "sees the machine's network interfaces", "a machine with a network")
def _(me):
    names = [line.split(":")[0].strip() for line in open("/proc/self/net/dev").readlines()[2:]]
    if set(names) <= {"lo"}:
        raise Held("only its own loopback is there")


@attempt("connections-of-the-machine", "sees who is connected with whom", "a machine with connections")
def _(me):
    port = f":{C.tcp:04X} "
    if not any(port in line for line in open("/proc/self/net/tcp")):
        raise Held("none of them is there")
