#!/usr/bin/env python3
"""Checks an OCI image layout (a folder): what the format asks for, and what our images promise.

check_oci.py FOLDER

Format: version of the layout, index, manifest and configuration; each blob has the digest and size that it is named with, each
layer the checksum that the configuration has for it. Promise: the image is not run by root, has an entry point and labels, and no
layer has a file that everybody may write or a path that leads out of it.
"""
import gzip
import hashlib
import io
import json
import os
import stat
import sys
import tarfile

LAYER = "application/vnd.oci.image.layer.v1.tar"
TITLE, VERSION = "org.opencontainers.image.title", "org.opencontainers.image.version"


class Layout:
    """One layout; problems are collected, a line each."""

    def __init__(self, folder):
        self.folder = folder
        self.problems = []

    def require(self, right, problem):
        if not right:
            self.problems.append(problem)
        return right

    def json(self, *path):
        with open(os.path.join(self.folder, *path), encoding="utf-8") as stream:
            return json.load(stream)

    def blob(self, descriptor):
        """The path of a blob that is what its descriptor says; None where it is not."""
        digest = descriptor.get("digest", "")
        path = os.path.join(self.folder, "blobs", *digest.split(":", 1))
        if not self.require(digest.startswith("sha256:") and os.path.isfile(path), f"the blob {digest} is missing"):
            return None
        size = os.path.getsize(path)
        self.require(size == descriptor.get("size"), f"the blob {digest} has {size} bytes, not {descriptor.get('size')}")
        with open(path, "rb") as stream:
            summing = Summing(stream)
            while summing.read(1 << 20):
                pass
        return path if self.require(summing.hexdigest() == digest[7:], f"the blob {digest} has another checksum") else None

    def check(self):
        self.require(self.json("oci-layout").get("imageLayoutVersion") == "1.0.0", "the layout's version is not 1.0.0")
        manifests = self.json("index.json").get("manifests", [])
        self.require(manifests, "the index has no manifest")
        for descriptor in manifests:
            path = self.blob(descriptor)
            if path:
                self.check_image(self.json(path))
        return self.problems

    def check_image(self, manifest):
        self.require(manifest.get("schemaVersion") == 2, "the manifest's version is not 2")
        path = self.blob(manifest.get("config", {}))
        if not path:
            return
        image = self.json(path)
        self.check_promise(image.get("config", {}))
        sums, layers = image.get("rootfs", {}).get("diff_ids", []), manifest.get("layers", [])
        self.require(len(sums) == len(layers), f"{len(layers)} layers, but {len(sums)} checksums in the configuration")
        for layer, checksum in zip(layers, sums):
            path = self.blob(layer)
            if path and self.require(layer.get("mediaType", "").startswith(LAYER), f"a layer is of type {layer.get('mediaType')}"):
                self.check_layer(path, layer["mediaType"], checksum)

    def check_promise(self, config):
        user = config.get("User", "").split(":")[0]
        self.require(user not in ("", "0", "root"), "the image is run by root")
        self.require(config.get("Entrypoint"), "the image has no entry point")
        for label in (TITLE, VERSION):
            self.require(config.get("Labels", {}).get(label), f"the image has no label {label}")

    def check_layer(self, path, kind, checksum):
        with open(path, "rb") as stream:
            data = gzip.open(stream) if kind.endswith("+gzip") else stream
            summing = Summing(data)
            with tarfile.open(fileobj=summing, mode="r|") as archive:
                for entry in archive:
                    self.check_entry(entry)
            while summing.read(1 << 20):
                pass
        self.require(checksum == "sha256:" + summing.hexdigest(), f"the layer {checksum} has another checksum")

    def check_entry(self, entry):
        self.require(".." not in entry.name.split("/"), f"{entry.name} leads out of the layer")
        if entry.isfile():
            self.require(not entry.mode & stat.S_IWOTH, f"everybody may write {entry.name}")
        if entry.isdir():
            self.require(not entry.mode & stat.S_IWOTH or entry.mode & stat.S_ISVTX, f"everybody may remove what is in {entry.name}")


class Summing(io.RawIOBase):
    """A stream that sums up what is read from it."""

    def __init__(self, stream):
        super().__init__()
        self.stream = stream
        self.sum = hashlib.sha256()

    def read(self, size=-1):
        data = self.stream.read(size)
        self.sum.update(data)
        return data

    def hexdigest(self):
        return self.sum.hexdigest()


def main(folder):
    try:
        problems = Layout(folder).check()
    except (OSError, ValueError, tarfile.TarError, EOFError) as error:
        problems = [f"{folder} cannot be read: {error}"]
    for problem in problems:
        print(f"check_oci: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: check_oci.py FOLDER")
    sys.exit(main(sys.argv[1]))
