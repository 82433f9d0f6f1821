#!/usr/bin/env python3
"""Sends a Hadoop RPC port what no client of good will sends, while good clients go on calling.

    rpc_hostile.py --tree TREE [--setting NAME=VALUE]... [--seed N] [--connections N]
    rpc_hostile.py ... --port PORT --log FILE      a daemon that runs already, a NameNode say

Fails if a connection that broke the protocol is not closed by the server, if a good client's call fails, if the server
ends or keeps descriptors, or if it logs more than a few lines a connection. The seed it prints repeats a run.
"""

import argparse
import errno
import os
import random
import re
import select
import socket
import struct
import sys
import time

from rpc_worker import WATCHDOG, Worker

HEADER = b"hrpc\x09\x00\x00"
# How the engine's greeting begins, which comes first where the engine is in use.
GREETING = b"\x8eHOWD\r\n\x1a"
PATIENCE = 60
# Upstream says a bad connection once or twice (as what the reader met, and as what it sent back); never more.
LINES_EACH = 3
SPARE_LINES = 20
CROWD = 150


def connect(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE)


def closed_by_server(connection):
    """Reads until the server ends the connection; how much it said."""
    connection.settimeout(PATIENCE)
    said = 0
    while True:
        try:
            data = connection.recv(65536)
        except ConnectionError:
            return said
        if not data:
            return said
        said += len(data)


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def refused(rng):
    """(name, bytes): what the server has to refuse by itself, with the sender still there."""
    length = rng.choice([-1, -(2**31), 2**31 - 1, 64 * 2**20 + 1, rng.randrange(2**27, 2**31)])
    small = rng.randrange(1, 200)
    # Bytes that are one of Hadoop's greetings by chance would not be refused.
    noise = b"\x00" + rng.randbytes(rng.randrange(7, 5000))
    return rng.choice(
        [
            ("noise", noise),
            ("another version", b"hrpc" + bytes([rng.choice([0, 1, 8, 10, 255])]) + b"\x00\x00" + noise),
            ("an unknown way to authenticate", b"hrpc\x09\x00" + bytes([rng.choice([1, 7, 0x80])]) + noise),
            ("a length of %d" % length, HEADER + struct.pack(">i", length) + rng.randbytes(100)),
            ("a frame of noise", HEADER + struct.pack(">i", small) + b"\xff" * small),
            ("a header longer than its frame", HEADER + struct.pack(">i", 8) + varint(2**31 - 1) + b"\x08" * 8),
            ("a web browser", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
            ("a greeting of noise", GREETING + rng.randbytes(rng.randrange(500, 5000))),
            ("almost a greeting", GREETING[: rng.randrange(4, 8)] + noise),
        ]
    )


def record(tree, settings, port, folder):
    """What a good client sends to begin with: through a listener that passes it on, and keeps it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = Worker("recorded", tree, settings, folder)
        try:
            client.send("calls", "protobuf", 64, "127.0.0.1", listener.getsockname()[1], 3)
            kept = []
            listener.settimeout(WATCHDOG)
            # A client that is refused the engine comes again without; the first words are what matters.
            while len(kept) < 3:
                inward, _ = listener.accept()
                kept.append(pass_on(inward, port))
                listener.settimeout(2)
        except socket.timeout:
            pass
        finally:
            client.kill()
    return [words for words in kept if words]


def pass_on(inward, port):
    """Copies both ways until one end is over, or both have been silent for a while; returns what went in."""
    kept = b""
    with inward, connect(port) as outward:
        select.select([inward], [], [], WATCHDOG)  # a client that starts is slow
        for _ in range(100):
            moved = False
            for source, sink in ((inward, outward), (outward, inward)):
                try:
                    source.settimeout(0.2)
                    data = source.recv(65536)
                except (socket.timeout, ConnectionError):
                    continue
                if not data:
                    return kept
                kept += data if source is inward else b""
                sink.sendall(data)
                moved = True
            if not moved:
                break
    return kept


def damage(rng, words):
    """What a client sent, with something wrong in it."""
    words = bytearray(words)
    for _ in range(rng.randrange(1, 6)):
        place = rng.randrange(len(words))
        way = rng.randrange(4)
        if way == 0:
            words[place] ^= 1 << rng.randrange(8)
        elif way == 1:
            words[place : place + 4] = struct.pack(">I", rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1]))
        elif way == 2:
            del words[place : place + rng.randrange(1, 9)]
        else:
            words[place:place] = rng.randbytes(rng.randrange(1, 9))
        if not words:
            words = bytearray(b"h")
    return bytes(words)


class Attack:
    """Every kind of hostile connection to one port. Not thread-safe."""

    def __init__(self, port, rng, recorded):
        self.port, self.rng, self.recorded = port, rng, recorded
        self.connections = 0
        self.kinds = {}

    def count(self, name):
        self.connections += 1
        self.kinds[name] = self.kinds.get(name, 0) + 1

    def refusal(self):
        name, words = refused(self.rng)
        with connect(self.port) as connection:
            self.count(re.sub(r"-?\d+", "N", name))
            try:
                connection.sendall(words)
            except ConnectionError:
                return
            try:
                closed_by_server(connection)
            except socket.timeout:
                raise AssertionError("%d s after %s the connection is open still" % (PATIENCE, name)) from None

    def half(self):
        """A client that goes in the middle of its first words."""
        words = self.rng.choice(self.recorded) if self.recorded else HEADER
        with connect(self.port) as connection:
            self.count("half a handshake")
            connection.sendall(words[: self.rng.randrange(len(words))])
            if self.rng.random() < 0.5:
                # A reset instead of an end.
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def damaged(self):
        if not self.recorded:
            return self.half()
        with connect(self.port) as connection:
            self.count("a damaged session")
            try:
                connection.sendall(damage(self.rng, self.rng.choice(self.recorded)))
                try:
                    connection.shutdown(socket.SHUT_WR)
                except OSError as error:  # no ConnectionError: the server has hung up already, as it should
                    if error.errno != errno.ENOTCONN:
                        raise
                closed_by_server(connection)
            except ConnectionError:
                pass
            except socket.timeout:
                raise AssertionError("%d s after a damaged session's end the connection is open still" % PATIENCE) from None
        return None

    def crowd(self, count, meanwhile):
        """Many that stop in the middle of a greeting. meanwhile() is done before the server has ended the first of them:
        that takes the server 10 s, so a machine too slow for that has more than one try."""
        for _ in range(5):
            crowd = [connect(self.port) for _ in range(count)]
            for connection in crowd:
                self.count("a greeting that stops")
                connection.sendall(GREETING)
            meanwhile()
            over = len(select.select(crowd, [], [], 0)[0])
            for connection in crowd:
                assert closed_by_server(connection) == 0
                connection.close()
            if over == 0:
                return
        raise AssertionError("a client that greets waits for %d others that stopped in the middle" % count)

    def slow(self, count, seconds):
        """Many that send a byte now and then: each costs its connection, and no more."""
        slow = [connect(self.port) for _ in range(count)]
        words = (self.rng.choice(self.recorded) if self.recorded else HEADER) + bytes(100)
        until = time.monotonic() + seconds
        place = 0
        while time.monotonic() < until:
            for connection in slow:
                try:
                    connection.sendall(words[place : place + 1])
                except ConnectionError:
                    pass
            place += 1
            time.sleep(0.1)
        for connection in slow:
            self.count("a slow one")
            connection.close()

    def run(self, connections):
        ways = [self.refusal, self.refusal, self.half, self.damaged, self.damaged]
        for _ in range(connections):
            self.rng.choice(ways)()
        self.slow(min(50, connections), 3)


def until(what, check, seconds=PATIENCE):
    """Waits for check() to say nothing; what it says last is the failure."""
    limit = time.monotonic() + seconds
    problem = check()
    while problem:
        assert time.monotonic() < limit, "%s after %d s: %s" % (what, seconds, problem)
        time.sleep(0.2)
        problem = check()


def entries(lines):
    """Log lines proper, without the lines of stack traces below them."""
    return [line for line in lines if re.match(r"\d\d[/\d]|\d{4}-\d\d-", line)]


def check_log(lines, connections):
    """The number of entries, if that is what so many connections may cost."""
    logged = entries(lines)
    bad = [line for line in logged if re.search(r" (ERROR|FATAL) |OutOfMemory|StackOverflow", line)]
    assert not bad, "the server logged:\n" + "\n".join(bad[:10])
    most = LINES_EACH * connections + SPARE_LINES
    assert len(logged) <= most, "%d log entries for %d connections:\n%s" % (len(logged), connections, "\n".join(logged[:20]))
    return len(logged)


def attack_worker(options, rng):
    """A server of ours with good clients at work."""
    server = Worker("server", options.tree, options.setting, options.folder)
    good = Worker("good", options.tree, options.setting, options.folder)
    try:
        port = server.ask("serve", "127.0.0.1", 0, 4)["port"]
        recorded = record(options.tree, options.setting, port, options.folder)
        assert recorded, "no client could be recorded"
        good.ask("begin", "protobuf", 512, "127.0.0.1", port, 2, "endure")
        attack = Attack(port, rng, recorded)
        attack.run(max(20, options.connections // 10))  # what is made once is made now
        before = server.ask("collect")
        lines = len(server.log_lines())
        first = attack.connections
        attack.run(options.connections)
        if any(words.startswith(GREETING) for words in recorded):
            attack.crowd(CROWD, lambda: good.ask("reconnect", "protobuf", 64, "127.0.0.1", port, 1))
        calls = good.ask("stats")["calls"]
        until("good clients stand still", lambda: good.ask("stats")["calls"] <= calls and "no call came back")
        end = good.ask("end")
        assert end["failed"] == end["hung"] == end["wrong"] == 0, end
        assert server.alive(), server.last_words()

        def kept():
            now = server.ask("stats")
            more = now["descriptors"] - before["descriptors"]
            return more > 0 and "%d descriptors more than before" % more

        until("the server keeps what hostile clients had", kept)
        grown = (server.ask("collect")["heap"] - before["heap"]) / 2**20
        assert grown < 16, "%.1f MB of heap more than before" % grown
        logged = check_log(server.log_lines()[lines:], attack.connections - first)
        print("%d good calls meanwhile, %d log entries, heap %+.1f MB" % (end["calls"], logged, grown))
        return attack
    finally:
        good.close()
        server.close()


def attack_daemon(options, rng):
    """A daemon that is not ours to ask: it has to live, and its log to stay short."""
    size = os.path.getsize(options.log)
    recorded = record(options.tree, options.setting, options.port, options.folder)
    assert recorded, "no client could be recorded"
    attack = Attack(options.port, rng, recorded + [HEADER + struct.pack(">i", 30) + b"\x08" * 30])
    attack.run(options.connections)
    with open(options.log, encoding="utf-8", errors="replace") as file:
        file.seek(size)
        logged = check_log(file.read().splitlines(), attack.connections)
    print("%d log entries" % logged)
    return attack


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tree", required=True)
    parser.add_argument("--port", type=int)
    parser.add_argument("--log")
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--connections", type=int, default=300)
    parser.add_argument("--folder", help="where logs go")
    options = parser.parse_args()
    if bool(options.port) != bool(options.log):
        parser.error("--port and --log belong together")
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print("seed %d" % seed, flush=True)
    rng = random.Random(seed)
    attack = attack_daemon(options, rng) if options.port else attack_worker(options, rng)
    for name, count in sorted(attack.kinds.items()):
        print("%6d  %s" % (count, name))
    print("%d hostile connections, the server went on" % attack.connections)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit("FAILED: %s" % problem)
