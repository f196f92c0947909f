"""Reading a checkpoint: any rectangle of any tensor, from the files whose pieces it meets."""

import json
from pathlib import Path

import thalweg as tw
from thalweg._core import _native
from thalweg.distributed.checkpoint.pieces import overlap, part_of
from thalweg.distributed.checkpoint.tree import unflatten
from thalweg.distributed.checkpoint.writer import FORMAT, INDEX, VERSION, facts_of
from thalweg.io.safetensors import load_safetensors


class Reader:
    """A checkpoint folder; files are opened, and compared with their checksums, when first needed."""

    def __init__(self, folder):
        self.folder = Path(folder)
        path = self.folder / INDEX
        try:
            index = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise FileNotFoundError(f"checkpoint.load: {path} does not exist: no checkpoint was completed") from None
        except ValueError as error:
            raise ValueError(f"checkpoint.load: {path} is damaged: {error}") from error
        if not isinstance(index, dict) or index.get("format") != FORMAT or index.get("version") != VERSION:
            raise ValueError(f"checkpoint.load: {path}: a {FORMAT} of version {VERSION} is wanted")
        self._files, self._tensors, self.tree = index["files"], index["tensors"], index["tree"]
        self._opened = {}

    def state(self, name, tensor_of):
        """The nested state that was saved under a name; tensor_of(key, path) makes its tensors."""
        if name not in self.tree:
            raise ValueError(f"checkpoint.load: {self.folder} has {sorted(self.tree)}, but not {name!r}")
        return unflatten(self.tree[name], tensor_of)

    def facts(self, key):
        """(sizes, whether it was global) of a tensor."""
        entry = self._tensors[key]
        return entry["shape"], entry["global"]

    def tensor(self, key, layout=None):
        """A tensor: local, or laid out as stated; each process reads the pieces that its parts meet."""
        shape = self._tensors[key]["shape"]
        if layout is None:
            return self._read(key, [0] * len(shape), shape)
        boxes = [layout.box(shape, position) for position in layout.placement.addressable()]
        parts = [self._read(key, first, sizes) for first, sizes in boxes]
        return _native.parts_to_global(parts, shape, layout, None)

    def _read(self, key, first, sizes):
        entry = self._tensors[key]
        result = tw.empty(sizes, dtype=getattr(tw, entry["dtype"]))
        missing = result.numel()
        for piece in entry["pieces"]:
            shared = overlap(first, sizes, piece["first"], piece["sizes"])
            if shared is None:
                continue
            source = self._open(piece["file"])[piece["name"]]
            part_of(result, first, *shared).copy_(part_of(source, piece["first"], *shared))
            missing -= part_of(result, first, *shared).numel()
        if missing:
            raise ValueError(f"checkpoint.load: {self.folder}: {missing} elements of {key!r} are in no file")
        return result

    def _open(self, name):
        if name not in self._opened:
            path = self.folder / name
            if not path.is_file() or facts_of(path) != self._files.get(name):
                raise ValueError(f"checkpoint.load: {path} is missing or damaged: its length or checksum is not that "
                                 "of the index")  # fmt: skip
            self._opened[name] = load_safetensors(path)
        return self._opened[name]
