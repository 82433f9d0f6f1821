#!/usr/bin/env python3
"""Kills RPC servers and clients under load, and connects many thousand times; looks for calls that hang, answers that are
wrong, failures that name no host, and for what is never given back.

    rpc_soak.py --tree TREE [--setting NAME=VALUE]... [--kills N] [--reconnects N] [--seed N]

Every process is real and dies by SIGKILL. Nothing here depends on how fast it goes: a round ends when calls have come back,
and only a watchdog of minutes says that something hangs.
"""

import argparse
import random
import socket
import sys
import time

from rpc_hostile import until
from rpc_worker import WATCHDOG, Worker

CLIENTS = 6
# A server that is being started anew is asked again soon, and not for ever.
RETRIES = ["ipc.client.connect.max.retries=2", "ipc.client.connect.retry.interval=200"]
# Clients that greet a server at the same moment may get a link each: those that nobody uses end soon.
IDLE = ["hadoop.rdma.link.idle.timeout=5s"]
# The JVM's own threads come and go (compilers, the attach listener); a leak of one a connection would show hundreds.
SPARE_THREADS = 8
SPARE_DESCRIPTORS = 4
SPARE_HEAP_MB = 6
SPARE_DIRECT_MB = 4


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def check_end(end):
    """What must hold of a load that lost its server any number of times."""
    assert end["hung"] == 0, "calls hang: %s" % end
    assert end["wrong"] == 0, "answers are not what was sent: %s" % end
    assert end["unnamed"] == 0, "failures name no host: %s" % end


def check_kept(what, before, after):
    """Whether a process holds more than it did."""
    for name, spare in (
        ("threads", SPARE_THREADS),
        ("descriptors", SPARE_DESCRIPTORS),
        ("heap", SPARE_HEAP_MB << 20),
        ("direct", SPARE_DIRECT_MB << 20),
        ("engine.memory.pinned.now", 0),
        ("engine.memory.used.now", 0),
        ("engine.links.now", 0),
        ("engine.streams.now", 0),
    ):
        more = after.get(name, 0) - before.get(name, 0)
        assert more <= spare, "%s: %s is %d, was %d" % (what, name, after[name], before.get(name, 0))


def check_engine(options, stats):
    """Where the engine is asked for, it is what was tested."""
    asked = "hadoop.rdma.rpc.enabled=true" in options.setting
    opened = stats.get("engine.streams.opened", 0)
    assert (opened > 0) == asked, "the engine was %sasked for and opened %d streams" % ("" if asked else "not ", opened)


def progress(client, since):
    """Waits until more calls have come back; fails when the oldest call is older than the watchdog's time."""

    def still():
        stats = client.ask("stats")
        assert stats["oldestMillis"] < WATCHDOG * 1000, "a call hangs for %d ms\n%s" % (
            stats["oldestMillis"],
            client.stacks(),
        )
        return stats["calls"] < since + 20 and "%d calls came back, %d failed" % (stats["calls"] - since, stats["failed"])

    until("no progress", still, WATCHDOG)


def kill_servers(options, rng):
    """Clients live on while their server is killed and comes back on its port, again and again."""
    port = free_port()
    client = Worker("client", options.tree, options.setting + RETRIES + IDLE, options.folder)
    server = None
    try:
        server = start_server(options, port)
        client.ask("begin", "protobuf", rng.choice([64, 4096, 100000]), "127.0.0.1", port, CLIENTS, "endure")
        progress(client, 0)
        before = None
        for number in range(options.kills):
            time.sleep(rng.random() * 0.3)
            server.kill()
            if rng.random() < 0.5:
                time.sleep(rng.random())  # callers meet a port where nobody listens
            server = start_server(options, port)
            progress(client, client.ask("stats")["calls"])
            if number == 0:
                before = client.ask("collect")
        check_engine(options, client.ask("collect"))
        end = client.ask("end")
        check_end(end)
        assert end["failed"] > 0, "no kill was noticed"
        # Only now: a call under way holds a buffer.
        kept("the clients' process after %d kills of its server" % options.kills, client, before)
        print("%d kills of the server: %d calls came back, %d failed, all named the host" % (options.kills, end["calls"], end["failed"]))
    finally:
        client.close()
        if server:
            server.close()


def start_server(options, port):
    server = Worker("server", options.tree, options.setting, options.folder)
    server.ask("serve", "127.0.0.1", port, 4)
    return server


def kill_clients(options, rng):
    """A server lives on while its clients are killed in the middle of their calls."""
    server = Worker("server", options.tree, options.setting, options.folder)
    steady = Worker("steady", options.tree, options.setting, options.folder)
    try:
        port = server.ask("serve", "127.0.0.1", 0, 4)["port"]
        steady.ask("begin", "protobuf", 512, "127.0.0.1", port, 1, "endure")
        before = None
        for number in range(options.kills + 1):
            client = Worker("client", options.tree, options.setting, options.folder)
            try:
                client.ask("begin", "protobuf", 1000000 if before is None else rng.choice([64, 4096, 1000000]), "127.0.0.1", port, CLIENTS, "endure")
                progress(client, 0)
                time.sleep(rng.random() * 0.2)
            finally:
                client.kill()
            progress(steady, steady.ask("stats")["calls"])
            if number == 0:  # the first, with large calls, has shown what the server makes once and keeps
                before = server.ask("collect")
        end = steady.ask("end")
        check_end(end)
        assert end["failed"] == 0, "the client that was not killed: %s" % end
        kept("the server after %d kills of its clients" % options.kills, server, before)
        print("%d kills of clients: the server and its other client went on" % options.kills)
    finally:
        steady.close()
        server.close()


def kept(what, process, before):
    """Waits until a process has given back what it held: the death of a peer takes a moment to be seen."""

    def more():
        try:
            check_kept(what, before, process.ask("collect"))
            return None
        except AssertionError as problem:
            return str(problem)

    until("something is kept", more)


def reconnect(options):
    """A new connection for each call, many times."""
    server = Worker("server", options.tree, options.setting, options.folder)
    client = Worker("client", options.tree, options.setting, options.folder)
    try:
        port = server.ask("serve", "127.0.0.1", 0, 4)["port"]
        first = max(1, options.reconnects // 10)
        client.ask("reconnect", "protobuf", 64, "127.0.0.1", port, first)
        before = [process.ask("collect") for process in (client, server)]
        done = 0
        while done < options.reconnects:
            done += client.ask("reconnect", "protobuf", 64, "127.0.0.1", port, min(500, options.reconnects - done))["reconnected"]
        kept("the client after %d reconnects" % done, client, before[0])
        kept("the server after %d reconnects" % done, server, before[1])
        after = [process.ask("collect") for process in (client, server)]
        for name, was, now in zip(("client", "server"), before, after):
            check_engine(options, now)
            print("%d reconnects, %s: %s" % (done, name, changes(was, now)))
    finally:
        client.close()
        server.close()


def changes(was, now):
    names = ["threads", "descriptors", "heap", "direct", "engine.memory.pinned.now", "engine.links.now"]
    return ", ".join("%s %d -> %d" % (name, was.get(name, 0), now[name]) for name in names if name in now)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tree", required=True)
    parser.add_argument("--setting", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--kills", type=int, default=50, help="of servers, and as many of clients (default 50)")
    parser.add_argument("--reconnects", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", help="where logs go")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print("seed %d" % seed, flush=True)
    rng = random.Random(seed)
    if options.kills:
        kill_servers(options, rng)
        kill_clients(options, rng)
    if options.reconnects:
        reconnect(options)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as problem:
        sys.exit("FAILED: %s" % problem)
