"""Tests of check_oci.py, on layouts that are made here."""

import contextlib
import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
import unittest

import check_oci


class CheckOci(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.folder = work.name
        os.makedirs(os.path.join(self.folder, "blobs", "sha256"))
        self.config = {"User": "howdah", "Entrypoint": ["/entrypoint"], "Labels": {check_oci.TITLE: "t", check_oci.VERSION: "1"}}
        self.files = [("etc/one", 0o644)]

    def write(self, data, *path):
        with open(os.path.join(self.folder, *path), "wb") as stream:
            stream.write(data)

    def blob(self, data, kind):
        """Stores a blob; its descriptor."""
        digest = hashlib.sha256(data).hexdigest()
        self.write(data, "blobs", "sha256", digest)
        return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}

    def layer(self):
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            for name, mode in self.files:
                entry = tarfile.TarInfo(name)
                entry.mode, entry.size = mode, 3
                archive.addfile(entry, io.BytesIO(b"abc"))
        return stream.getvalue()

    def make(self, diff_id=None):
        """The layout of an image with one layer; the layer's descriptor."""
        tar = self.layer()
        layer = self.blob(gzip.compress(tar), check_oci.LAYER + "+gzip")
        sums = [diff_id or "sha256:" + hashlib.sha256(tar).hexdigest()]
        config = self.blob(json.dumps({"config": self.config, "rootfs": {"diff_ids": sums}}).encode(), "config")
        manifest = self.blob(json.dumps({"schemaVersion": 2, "config": config, "layers": [layer]}).encode(), "manifest")
        self.write(json.dumps({"manifests": [manifest]}).encode(), "index.json")
        self.write(b'{"imageLayoutVersion": "1.0.0"}', "oci-layout")
        return layer

    def check(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            status = check_oci.main(self.folder)
        return status, said.getvalue()

    def refused(self, words):
        status, said = self.check()
        self.assertEqual(1, status)
        self.assertIn(words, said)

    def test_a_right_image_passes(self):
        self.make()
        self.assertEqual((0, ""), self.check())

    def test_a_changed_or_missing_blob_is_named(self):
        layer = self.make()
        path = os.path.join(self.folder, "blobs", "sha256", layer["digest"][7:])
        with open(path, "r+b") as stream:
            stream.write(b"x")
        self.refused(f"the blob {layer['digest']} has another checksum")
        os.remove(path)
        self.refused(f"the blob {layer['digest']} is missing")

    def test_a_layer_is_what_the_configuration_says(self):
        self.make(diff_id="sha256:" + "0" * 64)
        self.refused("has another checksum")

    def test_root_is_refused(self):
        for user in ("", "root", "0", "0:0"):
            self.config["User"] = user
            self.make()
            self.refused("the image is run by root")

    def test_an_image_has_an_entry_point_and_labels(self):
        self.config = {"User": "howdah"}
        self.make()
        self.refused("no entry point")
        self.refused(check_oci.VERSION)

    def test_files_that_everybody_may_write_are_named(self):
        self.files.append(("etc/two", 0o666))
        self.make()
        self.refused("everybody may write etc/two")

    def test_paths_that_lead_out_are_named(self):
        self.files.append(("../three", 0o644))
        self.make()
        self.refused("../three leads out of the layer")

    def test_what_is_no_layout_is_said(self):
        self.refused("cannot be read")


if __name__ == "__main__":
    unittest.main()
