"""The zip container of a checkpoint: records stored uncompressed, each starting at a multiple of 64 bytes.

Layout, under one root folder: `data.pkl` (the object), `data/0`, `data/1`, ... (the storages), `byteorder`,
`version`, and what newer PyTorch versions add.
"""

import os
import struct
import zipfile
import zlib

ALIGNMENT = 64
_LOCAL_HEADER_BYTES = 30
_ZIP64_EXTRA_BYTES = 20
_ZIP64_FROM_BYTES = 2**30  # far enough below zip's limit that both agree who needs the long header


class ArchiveWriter:
    """Writes records to a binary file. Equal records give equal files: no clock enters."""

    def __init__(self, file, root):
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._root = root

    def write(self, name, data):
        """data: a bytes-like object."""
        size = len(data)
        info = zipfile.ZipInfo(f"{self._root}/{name}")
        info.file_size = size
        long = size >= _ZIP64_FROM_BYTES
        header = _LOCAL_HEADER_BYTES + len(info.filename.encode()) + (_ZIP64_EXTRA_BYTES if long else 0)
        # An extra field of the kind "FB" carries nothing but padding; its own head takes 4 bytes.
        padding = -(self._zip.start_dir + header + 4) % ALIGNMENT
        info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
        with self._zip.open(info, "w", force_zip64=long) as record:
            record.write(data)

    def close(self):
        self._zip.close()


class ArchiveReader:
    """Reads records of a checkpoint from a seekable binary file."""

    def __init__(self, file):
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except (zipfile.BadZipFile, OSError, ValueError, struct.error) as error:
            raise ValueError(f"load: the file is damaged or cut short: {error}") from error
        names = [n for n in self._zip.namelist() if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(names) != 1:
            raise ValueError("load: the file is a zip archive but no checkpoint: it holds no data.pkl")
        self._root = names[0][: -len("data.pkl")]
        self._size = file.seek(0, os.SEEK_END)

    def __contains__(self, name):
        return self._root + name in self._zip.NameToInfo

    def size(self, name):
        return self._info(name).file_size

    def read(self, name):
        data = bytearray(self._checked_size(name))
        self.read_into(name, memoryview(data))
        return bytes(data)

    def read_into(self, name, view):
        """Fills a writable flat byte view of exactly the record's size, and checks the record's checksum."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            try:
                view[:] = self._zip.read(info)
            except (zipfile.BadZipFile, zlib.error, EOFError) as error:
                raise ValueError(f"load: record {name} is damaged: {error}") from error
            return
        self._file.seek(self.offset(name))
        read_exactly(self._file, view)
        # PyTorch can be told to write no checksums; it then writes 0.
        if info.CRC and zlib.crc32(view) != info.CRC:
            raise ValueError(f"load: record {name} is damaged: its checksum does not match")

    def offset(self, name):
        """Where the record's bytes start in the file, or None where they are compressed."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER_BYTES)
        if len(header) != _LOCAL_HEADER_BYTES or header[:4] != b"PK\x03\x04":
            raise ValueError(f"load: record {name} is damaged: it has no header")
        name_bytes, extra_bytes = struct.unpack("<HH", header[26:30])
        start = info.header_offset + _LOCAL_HEADER_BYTES + name_bytes + extra_bytes
        if start + info.file_size > self._size:
            raise ValueError(f"load: record {name} is damaged: it ends outside the file")
        return start

    def _info(self, name):
        try:
            return self._zip.NameToInfo[self._root + name]
        except KeyError:
            raise ValueError(f"load: the checkpoint has no record {name}") from None

    def _checked_size(self, name):
        self.offset(name)
        return self.size(name)


def read_exactly(file, view):
    """Fills `view` from the file; a file that ends early is an error."""
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])
        if not count:
            raise ValueError(f"load: the file is cut short: {len(view)} bytes are wanted, {done} are there")
        done += count
