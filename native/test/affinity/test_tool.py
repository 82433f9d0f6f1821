#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hd-topo on described machines and on this one: test_tool.py FOLDER [EMULATOR...] HD-TOPO."""
import json
import os
import subprocess
import sys
import unittest


def run(*args):
    return subprocess.run([*TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          check=False)


def machine(name, *args):
    return run("--xml", f"{FOLDER}/{name}.xml", *args)


class Tool(unittest.TestCase):
    def test_json(self):
        out = json.loads(machine("power8", "--json", "--policy", "o2ocs").stdout)
        self.assertEqual(out["topology"]["sockets"][1], {"cpus": "80-159", "allowed": "80-159"})
        self.assertEqual(out["topology"]["smt"], 8)
        self.assertEqual(out["devices"][0]["socket"], 0)
        self.assertEqual(out["plan"]["policy"], "o2ocs")
        self.assertEqual(out["plan"]["sets"], [f"{8 * c}-{8 * c + 7}" for c in range(10)])

    def test_json_of_every_machine(self):
        for name in ("power8-smt2", "power9", "x86", "x86-nowhere", "x86-none", "vm", "bare", "power8-job-far"):
            out = json.loads(machine(name, "--json").stdout)
            self.assertEqual(out["plan"]["asked"], "auto", name)
        self.assertIsNone(json.loads(machine("x86-nowhere", "--json").stdout)["devices"][0]["socket"])

    def test_text(self):
        out = machine("power8-job-part").stdout
        self.assertIn("socket 0    0-79, usable: 8-19\n", out)
        self.assertIn("device 0    mlx5_0 at 0004:01:00.0, close to socket 0\n", out)
        self.assertIn("policy      o2acs (by auto) for mlx5_0\n", out)
        self.assertIn("set 0       8-19\n", out)

    def test_refusals(self):
        refused = machine("power8", "--policy", "o2acs", "--cpus", "80-159")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("none of 0-79", refused.stderr)
        self.assertIn("socket 1", refused.stdout)
        self.assertEqual(run("--xml", "/nonexistent").returncode, 1)
        self.assertEqual(run("--nonsense").returncode, 2)
        self.assertEqual(run("more").returncode, 2)

    def test_this_machine(self):
        out = json.loads(run("--json").stdout)
        self.assertTrue(out["topology"]["this_system"])
        self.assertGreaterEqual(out["topology"]["allowed"], 1)

    def test_a_mask_from_outside_is_respected(self):
        for cpu in sorted(os.sched_getaffinity(0))[:2]:
            out = subprocess.check_output([*TOOL, "--json", "--policy", "o2occ"],
                                          preexec_fn=lambda mask=cpu: os.sched_setaffinity(0, [mask]))
            self.assertEqual(json.loads(out.decode())["plan"]["sets"], [str(cpu)])


if __name__ == "__main__":
    FOLDER, *TOOL = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
