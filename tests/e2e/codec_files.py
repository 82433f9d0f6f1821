#!/usr/bin/env python3
"""Files in Hadoop's container formats, written and read without Hadoop.

  codec_files.py write FOLDER LINES   files of each codec with those lines, and sequence files of their keys and values
  codec_files.py text FILE...         what such files hold: lines; of sequence files a key, a tab and a value each

A file of .snappy or .lz4 is a row of blocks: the block's plain length, then pieces until that is reached, each with its packed
length first (big endian, four bytes). A sequence file (version 6) has a header, then records or blocks of records, with a
mark in between. Texts are UTF-8 behind their length, in Hadoop's variable form.
"""

import bz2
import ctypes
import gzip
import io
import os
import struct
import sys
import zlib

PIECE = 60000  # plain bytes of a piece
BLOCK = 200000  # and of a block: pieces must not be taken for blocks
MARK = bytes(range(16))
TEXT = "org.apache.hadoop.io.Text"
CODECS = {
    "snappy": "org.apache.hadoop.io.compress.SnappyCodec",
    "lz4": "org.apache.hadoop.io.compress.Lz4Codec",
    "deflate": "org.apache.hadoop.io.compress.DefaultCodec",
    "gz": "org.apache.hadoop.io.compress.GzipCodec",
    "bz2": "org.apache.hadoop.io.compress.BZip2Codec",
}


def pack_snappy(plain):
    library = ctypes.CDLL("libsnappy.so.1")
    library.snappy_max_compressed_length.restype = ctypes.c_size_t
    room = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(plain))))
    packed = ctypes.create_string_buffer(room.value)
    assert library.snappy_compress(plain, ctypes.c_size_t(len(plain)), packed, ctypes.byref(room)) == 0
    return packed.raw[: room.value]


def unpack_snappy(packed, room):
    library = ctypes.CDLL("libsnappy.so.1")
    size = ctypes.c_size_t(room)
    plain = ctypes.create_string_buffer(room)
    assert library.snappy_uncompress(packed, ctypes.c_size_t(len(packed)), plain, ctypes.byref(size)) == 0
    return plain.raw[: size.value]


def pack_lz4(plain):
    library = ctypes.CDLL("liblz4.so.1")
    room = library.LZ4_compressBound(len(plain))
    packed = ctypes.create_string_buffer(room)
    size = library.LZ4_compress_default(plain, packed, len(plain), room)
    assert size > 0
    return packed.raw[:size]


def unpack_lz4(packed, room):
    plain = ctypes.create_string_buffer(room)
    size = ctypes.CDLL("liblz4.so.1").LZ4_decompress_safe(packed, plain, len(packed), room)
    assert size >= 0
    return plain.raw[:size]


def pack_blocks(plain, pack):
    out = []
    for begin in range(0, len(plain), BLOCK):
        block = plain[begin : begin + BLOCK]
        out.append(struct.pack(">i", len(block)))
        for at in range(0, len(block), PIECE):
            packed = pack(block[at : at + PIECE])
            out.append(struct.pack(">i", len(packed)) + packed)
    return b"".join(out)


def unpack_blocks(packed, unpack):
    file, out = io.BytesIO(packed), []
    while True:
        head = file.read(4)
        if not head:
            return b"".join(out)
        (left,) = struct.unpack(">i", head)
        while left > 0:
            (size,) = struct.unpack(">i", file.read(4))
            out.append(unpack(file.read(size), left))
            left -= len(out[-1])


PACK = {
    "snappy": lambda plain: pack_blocks(plain, pack_snappy),
    "lz4": lambda plain: pack_blocks(plain, pack_lz4),
    "deflate": zlib.compress,
    "gz": gzip.compress,
    "bz2": bz2.compress,
}
UNPACK = {
    "snappy": lambda packed: unpack_blocks(packed, unpack_snappy),
    "lz4": lambda packed: unpack_blocks(packed, unpack_lz4),
    "deflate": zlib.decompress,
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
}


def number(value):
    """A length in Hadoop's variable form: one byte up to 127; above that the count of bytes, as -113 and less, before them."""
    if value <= 127:
        return bytes([value])
    body = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([(-112 - len(body)) & 255]) + body


def read_number(file):
    first = file.read(1)[0]
    return first if first <= 127 else int.from_bytes(file.read(256 - 112 - first), "big")


def text(value):
    return number(len(value)) + value


def read_text(file):
    return file.read(read_number(file))


def sequence(pairs, codec, blocks):
    """A sequence file of (key, value)."""
    head = b"SEQ\6" + text(TEXT.encode()) * 2 + bytes([1, int(blocks)]) + text(CODECS[codec].encode())
    out = [head, struct.pack(">i", 1), text(b"made by"), text(b"another program"), MARK]
    pack, mark = PACK[codec], struct.pack(">i", -1) + MARK
    step = 500
    for at in range(0, len(pairs), step):
        part = [(text(key), text(value)) for key, value in pairs[at : at + step]]
        out.append(mark if blocks or at else b"")
        if blocks:
            columns = ([number(len(key)) for key, _ in part], [key for key, _ in part])
            columns += ([number(len(value)) for _, value in part], [value for _, value in part])
            packed = [pack(b"".join(column)) for column in columns]
            out.append(number(len(part)) + b"".join(number(len(column)) + column for column in packed))
        else:
            for key, value in part:
                packed = pack(value)
                out.append(struct.pack(">ii", len(key) + len(packed), len(key)) + key + packed)
    return b"".join(out)


def read_sequence(data):
    file = io.BytesIO(data)
    assert file.read(4) == b"SEQ\6"
    assert read_text(file) == read_text(file) == TEXT.encode()
    packed, blocks = file.read(2)
    codec = {name: short for short, name in CODECS.items()}[read_text(file).decode()] if packed else None
    unpack = UNPACK[codec] if packed else bytes
    for _ in range(2 * struct.unpack(">i", file.read(4))[0]):
        read_text(file)
    mark = file.read(16)
    pairs = []
    while file.tell() < len(data):
        (size,) = struct.unpack(">i", file.read(4))
        if size == -1:
            assert file.read(16) == mark
            if not blocks:
                continue
            count = read_number(file)
            _, keys, _, values = (io.BytesIO(unpack(read_text(file))) for _ in range(4))  # lengths come before each
            pairs += [(read_text(keys), read_text(values)) for _ in range(count)]
        else:
            (key,) = struct.unpack(">i", file.read(4))
            pairs.append((read_text(io.BytesIO(file.read(key))), read_text(io.BytesIO(unpack(file.read(size - key))))))
    return pairs


def write(folder, lines):
    with open(lines, "rb") as file:
        plain = file.read()
    pairs = [tuple(line.split(b"\t", 1)) for line in plain.splitlines()]
    for codec, pack in PACK.items():
        with open(os.path.join(folder, "lines." + codec), "wb") as file:
            file.write(pack(plain))
        for blocks in (False, True):
            with open(os.path.join(folder, "%s.%s.seq" % (codec, "blocks" if blocks else "records")), "wb") as file:
                file.write(sequence(pairs, codec, blocks))


def show(files):
    for name in files:
        with open(name, "rb") as file:
            data = file.read()
        if data.startswith(b"SEQ"):
            plain = b"".join(key + b"\t" + value + b"\n" for key, value in read_sequence(data))
        else:
            plain = UNPACK[name.rpartition(".")[2]](data)
        sys.stdout.buffer.write(plain)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        show(sys.argv[2:])
