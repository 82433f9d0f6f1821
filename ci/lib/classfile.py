"""The little of the class file format (JVM specification, chapter 4) that the build needs to know."""

import struct

# Size of a constant pool entry after its tag; 5 and 6 (long, double) take two slots (section 4.4).
_CONSTANT_SIZE = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
_UTF8 = 1


def source_file(data):
    """Returns the name in the class's SourceFile attribute (a bare file name), or None when it has none.

    Raises ValueError when data is not a class file.
    """
    if data[:4] != b"\xca\xfe\xba\xbe":
        raise ValueError("not a class file")
    strings, offset = _constant_pool(data)
    interfaces = struct.unpack_from(">H", data, offset + 6)[0]
    offset += 8 + 2 * interfaces
    for _ in ("fields", "methods"):
        offset = _skip_members(data, offset)
    count, offset = struct.unpack_from(">H", data, offset)[0], offset + 2
    for _ in range(count):
        name, length = struct.unpack_from(">HI", data, offset)
        if strings.get(name) == "SourceFile":
            return strings[struct.unpack_from(">H", data, offset + 6)[0]]
        offset += 6 + length
    return None


def _constant_pool(data):
    """Returns the UTF-8 entries by index, and the offset behind the pool."""
    strings, offset = {}, 10
    count, index = struct.unpack_from(">H", data, 8)[0], 1
    while index < count:
        tag = data[offset]
        if tag == _UTF8:
            length = struct.unpack_from(">H", data, offset + 1)[0]
            strings[index] = data[offset + 3 : offset + 3 + length].decode("utf-8", "surrogateescape")
            offset += 3 + length
        elif tag in _CONSTANT_SIZE:
            offset += 1 + _CONSTANT_SIZE[tag]
        else:
            raise ValueError("unknown constant pool tag %d" % tag)
        index += 2 if tag in (5, 6) else 1
    return strings, offset


def _skip_members(data, offset):
    """Returns the offset behind a table of fields or methods."""
    count, offset = struct.unpack_from(">H", data, offset)[0], offset + 2
    for _ in range(count):
        attributes, offset = struct.unpack_from(">H", data, offset + 6)[0], offset + 8
        for _ in range(attributes):
            offset += 6 + struct.unpack_from(">I", data, offset + 2)[0]
    return offset
