"""Writing a checkpoint: a file of pieces from every process, then an index that names them all."""

import json
import os
import re
import zlib
from pathlib import Path

from thalweg.distributed.checkpoint.pieces import complete, is_global, pieces_to_write
from thalweg.distributed.checkpoint.tree import flatten
from thalweg.io.files import replacing
from thalweg.io.raw import dtype_name
from thalweg.io.safetensors import save_safetensors

INDEX = "index.json"
FORMAT = "thalweg.checkpoint"
VERSION = 1
_PIECES = re.compile(r"[0-9a-f]{12}-\d{5}\.safetensors")


def write(state, folder, processes):
    """Saves nested state; collective. `processes` says who takes part (see processes.py).

    The folder keeps what it held until the new index is there, which takes one step; a job that dies before leaves the
    checkpoint of before, and files that the next save removes.
    """
    folder = Path(folder)
    tree, tensors = flatten(state)
    tensors = {key: complete(tensor) if is_global(tensor) else tensor for key, tensor in tensors.items()}
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{processes.token()}-{processes.number:05d}.safetensors"
    reports = processes.together(lambda: _write_pieces(folder, name, tensors, processes.number == 0))
    index = _index_of(tree, tensors, reports)
    processes.together(lambda: _write_index(folder, index) if processes.number == 0 else None)


def _index_of(tree, tensors, reports):
    described = {
        key: {"dtype": dtype_name(t.dtype), "shape": list(t.shape), "global": is_global(t), "pieces": []}
        for key, t in tensors.items()
    }
    for found, _ in reports:
        for key, listed in found.items():
            described[key]["pieces"] += listed
    files = {name: facts for _, written in reports for name, facts in written.items()}
    return {"format": FORMAT, "version": VERSION, "files": files, "tensors": described, "tree": tree}


def _write_pieces(folder, file_name, tensors, is_first_process):
    """Writes the pieces of this process; returns where each tensor's lie, and the file's length and checksum."""
    contents, listed = {}, {}
    for number, (key, tensor) in enumerate(tensors.items()):
        for piece in pieces_to_write(tensor, is_first_process, number):
            name = f"{key}@{','.join(map(str, piece.first))}"
            contents[name] = piece.tensor
            entry = {"file": file_name, "name": name, "first": piece.first, "sizes": piece.sizes}
            listed.setdefault(key, []).append(entry)
    if not contents:
        return {}, {}
    save_safetensors(contents, folder / file_name)
    return listed, {file_name: facts_of(folder / file_name)}


def facts_of(path):
    """The length and the checksum of a file, as the index keeps them."""
    checksum = 0
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            checksum = zlib.crc32(block, checksum)
    return {"bytes": os.path.getsize(path), "crc32": checksum}


def _write_index(folder, index):
    with replacing(folder / INDEX) as temporary, open(temporary, "w", encoding="utf-8") as file:
        json.dump(index, file, indent=1)
    _flush_folder(folder)
    for path in folder.iterdir():  # of checkpoints before, and of ones that were not completed
        if _PIECES.fullmatch(path.name) and path.name not in index["files"]:
            path.unlink(missing_ok=True)


def _flush_folder(folder):
    """Makes renames in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
