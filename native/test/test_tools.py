#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tools as people do: test_tools.py FOLDER [unittest arguments], FOLDER being where they were built."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TOOLS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(".")
PATIENCE = 300  # seconds: longer than anything takes, even under a sanitizer


def run(tool, *arguments, status=0, **environment):
    """Its standard output and error; fails unless it ends with this status."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
    env.update(environment)
    done = subprocess.run([TOOLS / tool, *arguments], env=env, capture_output=True, text=True, timeout=PATIENCE,
                          check=False)
    if done.returncode != status:
        raise AssertionError(f"{tool} {arguments} ended with {done.returncode}, not {status}:\n{done.stdout}\n"
                             f"{done.stderr}")
    return done.stdout, done.stderr


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="howdah-tools-"))
        self.addCleanup(shutil.rmtree, self.folder)


class Conf(WithFolder):
    def test_explains_where_values_are_from(self):
        out, _ = run("howdah-conf", "--explain", HOWDAH_CHUNK_DEPTH="7", HOWDAH_TRANSPORT="shm")
        self.assertRegex(out, r"hadoop\.rdma\.chunk\.depth +7 +\(the environment\)")
        self.assertRegex(out, r"hadoop\.rdma\.chunk\.size +512k +\(default\)")

    def test_refuses_a_bad_environment(self):
        _, err = run("howdah-conf", status=1, HOWDAH_CHUNK_SIZE="huge")
        self.assertIn("HOWDAH_CHUNK_SIZE=huge (from the environment)", err)

    def test_refuses_a_profile_of_another_machine(self):
        profile = self.folder / "p"
        profile.write_text("howdah-profile 1\nversion 0.1\narch vax\n")
        profile.chmod(0o644)
        _, err = run("howdah-conf", status=1, HOWDAH_TUNING_PROFILE=str(profile))
        self.assertIn("architecture vax", err)
        self.assertIn("howdah tune", err)

    def test_names_a_profile_that_it_leaves_out(self):
        arch = next(o for o in ("x86_64", "other") if o == os.uname().machine or o == "other")
        profile = self.folder / "howdah" / f"tuning-{arch}-shm.profile"
        profile.parent.mkdir()
        profile.write_text("nonsense\n")
        profile.chmod(0o644)
        _, err = run("howdah-conf", XDG_CONFIG_HOME=str(self.folder), HOWDAH_TRANSPORT="shm")
        self.assertIn("line 1", err)
        self.assertIn("going on without it", err)


class Perf(unittest.TestCase):
    def test_compares_configurations(self):
        out, _ = run("hd-perf", "--json", "--latency", "1,100k", "--rounds", "3", "--iterations", "20",
                     "--variant", "copies:rendezvous.protocol=copy,eager.threshold=2k", "--variant", "reads:",
                     HOWDAH_TRANSPORT="shm")
        rows = json.loads(out)
        self.assertEqual([(row["bytes"], row["variant"]) for row in rows],
                         [(1, "copies"), (1, "reads"), (102400, "copies"), (102400, "reads")])
        for row in rows:
            self.assertGreater(row["ours"], 0)
            self.assertNotIn("reference", row)

    def listening(self):
        """hd-perf --listen, and its port."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
        server = subprocess.Popen([TOOLS / "hd-perf", "--listen", "0"], env=env, stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        port = int(re.search(r"port (\d+)", server.stdout.readline())[1])
        return port

    def test_measures_between_hosts(self):
        port = self.listening()
        with socket.create_connection(("localhost", port)) as stranger:  # is no client, and does not end the server
            stranger.sendall(b"x" * 24)
            self.assertEqual(stranger.recv(1), b"")
        sizes = ["--latency", "64,100k", "--bandwidth", "64k", "--pull", "64k", "--rounds", "1", "--iterations", "20"]
        for more, environment in ([], {"HOWDAH_TRANSPORT": "shm"}), (["--protocol", "copy", "--transport", "shm"], {}):
            out, _ = run("hd-perf", "--json", "--connect", f"localhost:{port}", *sizes, *more, **environment)
            rows = json.loads(out)
            self.assertEqual([(row["measure"], row["bytes"]) for row in rows],
                             [("latency", 64), ("latency", 102400), ("bandwidth", 65536), ("pull", 65536)])
            for row in rows:
                self.assertEqual(row["transport"], "shm")
                self.assertEqual(row["reference_name"], "TCP")
                self.assertGreater(row["ours"], 0)
            self.assertLessEqual(rows[0]["ours_least"], rows[0]["ours"])
            self.assertLessEqual(rows[0]["ours"], rows[0]["ours_p90"])
            self.assertLessEqual(rows[0]["ours_p99"], rows[0]["ours_most"])

    def test_streams_and_threads(self):
        port = self.listening()
        sizes = ["--latency", "64", "--bandwidth", "64k", "--pull", "64k", "--rounds", "1", "--iterations", "50"]
        for options, streams, threads in (
                ([], 1, 1), (["--streams", "5"], 5, 1), (["--threads", "3"], 3, 3),
                (["--streams", "7", "--threads", "3"], 7, 3)):
            for where in [], ["--connect", f"localhost:{port}"]:
                out, _ = run("hd-perf", "--json", "--engine-only", "--transport", "shm", *sizes, *options, *where)
                rows = json.loads(out)
                self.assertEqual([row["measure"] for row in rows], ["latency", "bandwidth", "pull"])
                for row in rows:
                    self.assertEqual((row["streams"], row["threads"]), (streams, threads))
                    self.assertGreater(row["ours"], 0)
        out, _ = run("hd-perf", "--transport", "shm", "--rounds", "1", "--iterations", "64", "--latency", "64",
                     "--streams", "64")
        self.assertRegex(out, r"\A64x1 latency ")
        for bad in (["--streams", "65"], ["--threads", "0"], ["--threads", "x"]):
            self.assertIn("cannot take", run("hd-perf", *bad, status=2)[1])
        self.assertIn("4 threads have nothing to do", run("hd-perf", "--threads", "4", "--streams", "2", status=2)[1])

    def test_says_why_there_is_no_server(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            where = f"127.0.0.1:{unused.getsockname()[1]}"
            self.assertIn("refused", run("hd-perf", "--connect", where, status=1)[1])
        self.assertIn("not HOST:PORT", run("hd-perf", "--connect", "nowhere", status=1)[1])
        self.assertIn("cannot take", run("hd-perf", "--protocol", "telepathy", status=2)[1])

    def test_refuses_variants_that_it_does_not_understand(self):
        for bad in ("nameless", ":chunk.size=64k", 'a"b:'):
            self.assertIn("cannot take", run("hd-perf", "--variant", bad, status=2)[1])
        self.assertIn("latency only", run("hd-perf", "--variant", "a:", "--pull", "64k", status=2)[1])
        _, err = run("hd-perf", "--latency", "64", "--variant", "a:chnk.size=64k", status=2)
        self.assertIn("chunk.size", err)


class Stat(WithFolder):
    def test_by_process_by_file_and_all(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
        env["HOWDAH_STATS_DIR"] = str(self.folder)
        with subprocess.Popen([TOOLS / "hd-perf", "--latency", "64", "--rounds", "99", "--iterations", "1000000",
                               "--engine-only"], env=env, stdout=subprocess.DEVNULL, start_new_session=True) as perf:
            try:
                pattern = f"howdah-{perf.pid}-0.stats"
                while not (len(list(self.folder.iterdir())) == 2 and
                           "links.opened" in run("howdah-stat", "--all", HOWDAH_STATS_DIR=str(self.folder))[0]):
                    self.assertIsNone(perf.poll())
                    time.sleep(0.05)
                out, _ = run("howdah-stat", str(perf.pid), HOWDAH_STATS_DIR=str(self.folder))
                self.assertRegex(out, rf"\Aengine hd-perf, process {perf.pid}\n")
                self.assertIn("peer ", out)
                out, _ = run("howdah-stat", str(self.folder / pattern))
                self.assertRegex(out, rf"\Aengine hd-perf, process {perf.pid}\n")
                out, _ = run("howdah-stat", "--all", HOWDAH_STATS_DIR=str(self.folder))
                self.assertEqual(out.count("engine hd-perf"), 2)
                while True:  # what a link does is there within a second
                    out, _ = run("howdah-stat", str(perf.pid), "--links", HOWDAH_STATS_DIR=str(self.folder))
                    if re.search(r"frames\.sent +[1-9]", out):
                        break
                    self.assertIsNone(perf.poll())
                    time.sleep(0.05)
                self.assertRegex(out, rf"\Aengine hd-perf, process {perf.pid}\nlink to .*hd-perf.* over (shm|verbs|udapl)\n"
                                      r"  number +1\n  credits\.now +\d+\n  credits\.limit +[1-9]")
                self.assertRegex(out, r"  stalls\.credits +\d+\n  stalls\.window +\d+\n")
                self.assertRegex(out, r"  queue\.pair +\d+\n")
                self.assertNotIn("links.opened", out)
                self.expect_json(perf)
            finally:
                os.killpg(perf.pid, signal.SIGKILL)

    def expect_json(self, perf):
        """What both processes of hd-perf show as JSON: one of them asks the other one."""
        while True:
            engines = json.loads(run("howdah-stat", "--all", "--json", "--links", HOWDAH_STATS_DIR=str(self.folder))[0])
            links = [link for engine in engines["engines"] for link in engine["links"]]
            answers = [link["answers"] for link in links if link["answers"]["count"]]
            if answers:
                break
            self.assertIsNone(perf.poll())
            time.sleep(0.05)
        self.assertEqual([engine["engine"] for engine in engines["engines"]], ["hd-perf"] * 2)
        self.assertIn(perf.pid, [engine["process"] for engine in engines["engines"]])
        for link in links:
            self.assertIn(link["transport"], ("shm", "verbs", "udapl"))
            self.assertGreater(link["counters"]["credits.limit"], 0)
            self.assertEqual(link["blocks"]["count"], 0)
        for times in answers:
            self.assertEqual(times["count"], sum(times["below_us"].values()) + times["longer"])
            self.assertEqual(list(times["below_us"])[:3], ["0.25", "0.5", "1"])
        texts = run("howdah-stat", "--all", "--links", HOWDAH_STATS_DIR=str(self.folder))[0]
        self.assertRegex(texts, r"\n  answers +[1-9]\d*, half of them below [\d.]+us, 99 of 100 (below [\d.]+us|longer)\n"
                                r"    (below [\d.]+us|longer) +[1-9]")
        self.assertRegex(texts, r"\n  blocks +0\n")
        one = json.loads(run("howdah-stat", str(perf.pid), "--json", HOWDAH_STATS_DIR=str(self.folder))[0])["engines"][0]
        self.assertEqual(one["counters"]["links.now"], 1)
        self.assertEqual(one["peers"][0]["counters"]["links"], 1)

    def of_a_running_engine(self, kept_in, looked_for_in):
        """What howdah-stat says of a process that keeps its counters in one folder, looked for in another."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
        env["HOWDAH_STATS_DIR"] = kept_in
        with subprocess.Popen([TOOLS / "hd-perf", "--latency", "64", "--rounds", "99", "--iterations", "1000000",
                               "--engine-only"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True) as perf:
            try:
                while True:
                    done = subprocess.run([TOOLS / "howdah-stat", str(perf.pid)], text=True, capture_output=True,
                                          env={**env, "HOWDAH_STATS_DIR": looked_for_in}, check=False)
                    if "links.opened" in done.stdout:
                        return done.stdout
                    self.assertIsNone(perf.poll())
                    time.sleep(0.05)
            finally:
                os.killpg(perf.pid, signal.SIGKILL)

    def test_without_a_file_it_says_why(self):
        out = self.of_a_running_engine("/nonexistent", str(self.folder))
        self.assertRegex(out, r"\Aengine hd-perf, process \d+\n  \(no counter file /nonexistent/.*No such file")

    def test_a_file_in_another_folder_is_found(self):
        out = self.of_a_running_engine(str(self.folder), "/nonexistent")
        self.assertRegex(out, r"\Aengine hd-perf, process \d+\n  links")

    def test_it_takes_processes_or_all(self):
        for wrong in ([], ["--all", "1"], ["--links"], ["--nonsense"]):
            self.assertIn("usage:", run("howdah-stat", *wrong, status=2)[1])

    def test_a_process_without_an_engine_is_told_from_none(self):
        own = str(os.getpid())
        self.assertIn("has not loaded libhowdah", run("howdah-stat", own, status=1)[1])
        self.assertIn("no such process", run("howdah-stat", "4194305", status=1)[1])
        self.assertEqual({"engines": []}, json.loads(run("howdah-stat", "--json", "4194305", status=1)[0]))

    @unittest.skipUnless(os.geteuid() == 0, "becoming another user needs root")
    def test_what_is_not_ours_is_counted(self):
        def as_nobody(*arguments):
            return subprocess.run(
                [self.tool, *arguments], env={"HOWDAH_STATS_DIR": str(self.folder)}, text=True, capture_output=True,
                preexec_fn=lambda: (os.setgid(65534), os.setuid(65534)), check=False)

        # Where anybody may go; the tool finds its library beside its own folder.
        self.tool = self.folder / "bin" / "howdah-stat"
        self.tool.parent.mkdir()
        shutil.copy(TOOLS / "howdah-stat", self.tool)
        for library in TOOLS.parent.glob("libhowdah.so.0"):
            shutil.copy(library, self.folder)
        self.folder.chmod(0o755)
        for number in range(3):
            foreign = self.folder / f"howdah-1-{number}.stats"
            foreign.write_text("x")
            foreign.chmod(0o600)
        done = as_nobody("--all")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr, "howdah-stat: 3 engines of other users cannot be read; root can\n")
        self.assertIn("belongs to another user", as_nobody("1").stderr)

    def test_nothing_to_show(self):
        self.assertIn("no engine", run("howdah-stat", "--all", status=1, HOWDAH_STATS_DIR=str(self.folder))[1])
        self.assertIn("process 1 ", run("howdah-stat", "1", status=1, HOWDAH_STATS_DIR=str(self.folder))[1])
        run("howdah-stat", str(self.folder / "none"), status=1)
        run("howdah-stat", status=2)
        run("howdah-stat", "--some", status=2)
        (self.folder / "rubbish").write_text("x" * 10000)
        self.assertIn("not a file of counters", run("howdah-stat", str(self.folder / "rubbish"), status=1)[1])


class Tune(WithFolder):
    """That it measures, prints, and writes what engines accept; not what it finds."""

    def options(self):
        return {"XDG_CONFIG_HOME": str(self.folder)}

    def test_writes_a_profile_that_is_accepted(self):
        out, _ = run("hd-tune", "--transport", "shm", "--rounds", "3", "--only", "chunk.depth", "--only",
                     "rendezvous.protocol", "--only", "communication.threads", **self.options())
        path = pathlib.Path(out.splitlines()[-1].removeprefix("profile: "))
        self.assertEqual(path.parent, self.folder / "howdah")
        self.assertEqual([path], list(path.parent.iterdir()))
        text = path.read_text()
        self.assertRegex(text, r"\Ahowdah-profile 1\nversion ")
        self.assertIn("# shm.eager.threshold: not asked for", text)
        _, err = run("howdah-conf", HOWDAH_TRANSPORT="shm", **self.options())
        self.assertEqual(err, "")
        path.write_text(text + "set chunk.depth 11\n")
        out, _ = run("howdah-conf", HOWDAH_TRANSPORT="shm", **self.options())
        self.assertRegex(out, rf"chunk\.depth +11 +\(profile {path}\)")

    def test_json(self):
        out, _ = run("hd-tune", "--transport", "shm", "--rounds", "3", "--only", "chunk.size", "--only", "chunk.depth",
                     "--dry-run", "--json", HOWDAH_CHUNK_DEPTH="6", **self.options())
        report = json.loads(out)
        self.assertEqual(report["transport"], "shm")
        self.assertEqual(report["profile"], "")
        options = {o["option"]: o for o in report["options"]}
        self.assertIn("environment", options["chunk.depth"]["skipped"])
        self.assertEqual(options["shm.eager.threshold"]["skipped"], "not asked for")
        self.assertEqual(options["chunk.size"]["in_force"], "512k")
        self.assertEqual({c["runs"] for c in options["chunk.size"]["candidates"]}, {3})
        self.assertGreater(min(c["median"] for c in options["chunk.size"]["candidates"]), 0)
        self.assertFalse((self.folder / "howdah").exists())

    def test_two_hosts(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        with subprocess.Popen([TOOLS / "hd-tune", "--listen", f"127.0.0.1:{port}"], stderr=subprocess.PIPE,
                              text=True) as server:
            self.assertIn("listening", server.stderr.readline())
            run("hd-tune", "--connect", f"127.0.0.1:{port}", "--transport", "shm", "--rounds", "3", "--only",
                "chunk.depth", "--dry-run", **self.options())
            self.assertEqual(server.wait(PATIENCE), 0)

    def test_a_stranger_is_sent_away(self):
        with subprocess.Popen([TOOLS / "hd-tune", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                              text=True) as server:
            port = int(server.stderr.readline().split("port ")[1].split()[0])
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.1\r\n" + b"x" * 4000)
                self.assertEqual(server.wait(PATIENCE), 1)
            self.assertIn("not understood", server.stderr.read())

    def test_wrong_usage(self):
        run("hd-tune", "--only", "log.level", status=2)
        run("hd-tune", "--rounds", "2", status=2)
        _, err = run("hd-tune", "--transport", "pigeon", status=1)
        self.assertIn("pigeon", err)
        _, err = run("hd-tune", "--connect", "127.0.0.1:1", "--dry-run", status=1)
        self.assertIn("127.0.0.1:1", err)


class Doctor(WithFolder):
    """The environments that it is there for, good and bad."""

    def jdk(self, version, status=0):
        home = self.folder / f"jdk-{version}"
        (home / "bin").mkdir(parents=True)
        java = home / "bin" / "java"
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\nexit {status}\n")
        java.chmod(0o755)
        return str(home)

    def findings(self, *arguments, wrapper=(), limits=None, **environment):
        """{(section, name): finding}, after checking that statuses and exit status agree."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
        env.update({"JAVA_HOME": self.jdk("1.8.0_402")} if "JAVA_HOME" not in environment else {})
        env.update(environment)
        done = subprocess.run([*wrapper, TOOLS / "hd-doctor", "--json", *arguments], env=env, capture_output=True,
                              text=True, timeout=PATIENCE, check=False, preexec_fn=limits)
        report = json.loads(done.stdout)
        found = {(f["section"], f["name"]): f for f in report["findings"]}
        worst = max(("ok", "warning", "problem").index(f["status"]) for f in report["findings"])
        self.assertEqual(done.returncode, worst, done.stderr)
        self.assertEqual(report["status"], ("ok", "warning", "problem")[worst])
        for finding in report["findings"]:
            self.assertTrue(finding["advice"] or finding["status"] == "ok" or finding["section"] == "engine", finding)
        return found

    def expect(self, finding, status, *words):
        self.assertEqual(finding["status"], status, finding)
        for word in words:
            self.assertIn(word, finding["value"] + " -> " + finding["advice"])

    def device(self, state, physical, layer, rate, gids=()):
        """A /sys with one device on it."""
        sys_folder = self.folder / "sys"
        port = sys_folder / "class" / "infiniband" / "mlx5_0" / "ports" / "1"
        for name in ("gids", "gid_attrs/types", "gid_attrs/ndevs"):
            (port / name).mkdir(parents=True)
        for name, text in (("state", state), ("phys_state", physical), ("link_layer", layer), ("rate", rate),
                           ("lid", "0x11"), ("../../hca_type", "MT4119"), ("../../fw_ver", "16.35.2000")):
            (port / name).write_text(text + "\n")
        for i, (gid, kind, interface) in enumerate(gids):
            (port / "gids" / str(i)).write_text(gid + "\n")
            (port / "gid_attrs" / "types" / str(i)).write_text(kind + "\n")
            (port / "gid_attrs" / "ndevs" / str(i)).write_text(interface + "\n")
        return str(sys_folder)

    def test_exchanges_over_every_transport(self):
        found = self.findings()
        for transport in ("self", "shm"):
            self.expect(found["transports", transport], "ok", "works: messages, 1 MB by read and by write, a fetch")
        self.expect(found["engine", "engine"], "ok", "counters in /")
        self.expect(found["java", "JDK"], "ok", "1.8.0_402")
        self.expect(found["options", "options"], "ok")
        self.assertIn(("limits", "page size"), found)
        self.assertIn(("limits", "cgroup memory"), found)

    def test_the_page_for_people(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("HOWDAH_")}
        done = subprocess.run([TOOLS / "hd-doctor"], env=env, capture_output=True, text=True, timeout=PATIENCE,
                              check=False)
        self.assertIn(done.returncode, (0, 1, 2))
        self.assertRegex(done.stdout, r"(?m)^transports$")
        self.assertRegex(done.stdout, r"(?m)^  OK       shm +works")
        self.assertRegex(done.stdout, r"\d+ OK, \d+ warnings?, \d+ problems?\n\Z")

    def test_wrong_usage(self):
        run("hd-doctor", "--nonsense", status=3)
        run("hd-doctor", "more", status=3)

    def test_little_locked_memory(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))

        found = self.findings(limits=limit)["limits", "locked memory"]
        self.expect(found, "warning", "ulimit -l is 64 KB", "memlock")
        program = (TOOLS / "hd-doctor").read_bytes()
        if b"__asan_init" in program or b"__tsan_init" in program:
            return  # a sanitizer makes mlock() succeed whatever it is asked
        if os.geteuid() == 0:
            found = self.findings(limits=limit, wrapper=("setpriv", "--bounding-set=-ipc_lock"),
                                  JAVA_HOME=self.jdk("1.8.0_1"))["limits", "locked memory"]
        self.expect(found, "warning", "locking 16 MB fails: ")
        gids = [("fe80:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", "")]
        sys_folder = self.device("4: ACTIVE", "5: LinkUp", "InfiniBand", "100 Gb/sec (4X EDR)", gids)
        wrapper = ("setpriv", "--bounding-set=-ipc_lock") if os.geteuid() == 0 else ()
        found = self.findings("--sys", sys_folder, limits=limit, wrapper=wrapper, JAVA_HOME=self.jdk("1.8.0_2"))
        self.expect(found["limits", "locked memory"], "problem", "RDMA needs locked memory")

    @unittest.skipUnless(os.geteuid() == 0, "a small /dev/shm can only be mounted by root")
    def test_a_small_dev_shm(self):
        script = 'mount -t tmpfs -o size=16k tmpfs /dev/shm && exec "$@"'
        found = self.findings(wrapper=("unshare", "-m", "sh", "-c", script, "sh"))
        self.expect(found["limits", "/dev/shm"], "problem", "16 KB", "No space left", "remount")
        self.expect(found["engine", "the engine says"], "warning", "no counter file")
        self.expect(found["transports", "shm"], "ok")  # it does not depend on it

    def test_no_place_for_counters(self):
        found = self.findings(HOWDAH_STATS_DIR=str(self.folder / "nowhere"))
        self.expect(found["limits", str(self.folder / "nowhere")], "problem", "is not there")

    def test_no_dat_conf(self):
        found = self.findings(DAT_OVERRIDE="/nonexistent/dat.conf")
        if "loads" not in found["udapl", "libdat2.so.2"]["value"]:
            self.skipTest("libdat2 is not installed")
        self.expect(found["udapl", "dat.conf"], "warning", "/nonexistent/dat.conf", "DAT_OVERRIDE")
        found = self.findings(DAT_OVERRIDE="/nonexistent/dat.conf", HOWDAH_TRANSPORT="udapl",
                              JAVA_HOME=self.jdk("1.8.0_3"))
        self.expect(found["udapl", "dat.conf"], "problem")

    def test_dat_conf_for_this_node(self):
        conf = self.folder / "dat.conf"
        conf.write_text('# one for lo, one for another node\n'
                        'lo-entry u2.0 nonthreadsafe default libdat2.so.2 dapl.2.0 "lo 0" ""\n'
                        'other u2.0 nonthreadsafe default libdat2.so.2 dapl.2.0 "nosuch0 0" ""\n'
                        'old u1.2 nonthreadsafe default libdapl.so.1 dapl.1.2 "lo 0" ""\nrubbish\n')
        found = self.findings(DAT_OVERRIDE=str(conf))
        if ("udapl", "dat.conf") not in found:
            self.skipTest("libdat2 is not installed")
        self.expect(found["udapl", "dat.conf"], "ok", "2 entries, 1 for interfaces of this node: lo-entry")

    def test_wrong_java(self):
        self.expect(self.findings(JAVA_HOME="/nonexistent")["java", "JDK"], "problem", "/nonexistent holds no bin/java")
        self.expect(self.findings(JAVA_HOME=self.jdk("17.0.1"))["java", "JDK"], "problem", "17.0.1", "JDK 8")
        broken = pathlib.Path(self.jdk("broken"))
        (broken / "bin" / "java").write_text("#!/bin/sh\necho cannot execute\nexit 1\n")
        self.expect(self.findings(JAVA_HOME=str(broken))["java", "JDK"], "problem", "does not run: cannot execute")
        self.expect(self.findings("--java", self.jdk("1.8.0_9"), JAVA_HOME="")["java", "JDK"], "ok", "1.8.0_9")

    def test_bad_options(self):
        found = self.findings(HOWDAH_CHUNK_SIZE="huge")
        self.expect(found["options", "options"], "problem", "HOWDAH_CHUNK_SIZE=huge")
        found = self.findings(HOWDAH_MEMORY_LIMIT="8000g", JAVA_HOME=self.jdk("1.8.0_4"))
        self.expect(found["limits", "memory"], "warning", "7.8 TB", "memory.limit")

    def test_no_device_where_one_is_asked_for(self):
        found = self.findings("--sys", str(self.folder))
        self.expect(found["devices", "RDMA devices"], "warning", "none")
        found = self.findings("--sys", str(self.folder), HOWDAH_TRANSPORT="verbs", JAVA_HOME=self.jdk("1.8.0_5"))
        self.expect(found["devices", "RDMA devices"], "problem", "none")

    def test_a_port_that_waits_for_its_subnet_manager(self):
        sys_folder = self.device("2: INIT", "5: LinkUp", "InfiniBand", "100 Gb/sec (4X EDR)")
        found = self.findings("--sys", sys_folder)
        self.expect(found["devices", "mlx5_0 port 1"], "warning",
                    "INIT (LinkUp), InfiniBand, 100 Gb/sec (4X EDR), LID 0x11", "opensm")
        self.expect(found["devices", "active ports"], "warning", "none")

    def test_ports_and_gids_as_they_are(self):
        nothing = "0000:0000:0000:0000:0000:0000:0000:0000"
        gids = [("fe80:0000:0000:0000:9a03:9bff:fe00:0001", "IB/RoCE v1", "eth2"), (nothing, "", ""),
                ("0000:0000:0000:0000:0000:ffff:0a63:0001", "RoCE v2", "eth2")]
        sys_folder = self.device("4: ACTIVE", "5: LinkUp", "Ethernet", "25 Gb/sec (1X EDR)", gids)
        found = self.findings("--sys", sys_folder)
        self.expect(found["devices", "mlx5_0 port 1"], "ok", "ACTIVE (LinkUp), Ethernet, 25 Gb/sec (1X EDR)")
        self.expect(found["devices", "mlx5_0 GID 0"], "ok", "fe80::9a03:9bff:fe00:1, IB/RoCE v1, eth2")
        self.expect(found["devices", "mlx5_0 GID 2"], "ok", "::ffff:10.99.0.1, RoCE v2, eth2")
        self.assertNotIn(("devices", "mlx5_0 GID 1"), found)
        self.expect(found["devices", "mlx5_0"], "problem", "no uverbs", "modprobe ib_uverbs")


if __name__ == "__main__":
    unittest.main()
