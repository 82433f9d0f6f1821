#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tools as people do: test_tools.py FOLDER [unittest arguments], FOLDER being where they were built."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
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


if __name__ == "__main__":
    unittest.main()
