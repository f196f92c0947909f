"""Saved graphs taken apart and put together again, with a right checksum."""

import json
import struct
import zlib


def take_apart(path):
    """The head and the bytes of the tensors."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def put_together(path, head, data):
    """Writes a file from a head, whatever is in it, and the bytes of its tensors."""
    metadata = {"checksum": "0" * 8, **{k: v for k, v in head.get("__metadata__", {}).items() if k != "checksum"}}
    text = json.dumps({"__metadata__": metadata, **{k: v for k, v in head.items() if k != "__metadata__"}})
    text = text.replace('"checksum": "', '"checksum":"').encode()
    whole = struct.pack("<Q", len(text)) + text + data
    checksum = f"{zlib.crc32(whole):08x}".encode()
    path.write_bytes(whole.replace(b'"checksum":"00000000', b'"checksum":"' + checksum, 1))


def change(path, edit):
    """Rewrites a file after `edit(head, metadata)`."""
    head, data = take_apart(path)
    edit(head, head["__metadata__"])
    put_together(path, head, data)
