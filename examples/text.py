"""Text as numbers: the standard library's source code or any file, a vocabulary of characters, the bigram entropy."""

import random
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import numpy as np

UNKNOWN = "\N{REPLACEMENT CHARACTER}"
# Tests and tables hold text of another kind.
LEFT_OUT = {"__pycache__", "encodings", "idle_test", "lib2to3", "site-packages", "test", "tests"}


def read_text(path: str | None = None) -> str:
    """The text at `path` (a file, or a folder of Python files); without one the source of the standard library.

    Files follow each other in an order that is random but fixed, so that the end of the text is a fair sample.
    """
    root = Path(path or sysconfig.get_path("stdlib"))
    if root.is_file():
        return root.read_text(encoding="utf-8", errors="replace")
    files = [file for file in sorted(root.rglob("*.py")) if not LEFT_OUT & set(file.relative_to(root).parts)]
    if not files:
        raise FileNotFoundError(f"read_text: a text file or a folder of Python files is wanted, got {root}")
    random.Random(0).shuffle(files)
    return "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


class Vocabulary:
    """Numbers the characters; those that the text it was made from has fewer than `least` times share number 0."""

    def __init__(self, characters: str) -> None:
        self.characters = characters
        self._codes = np.array([ord(c) for c in characters[1:]])  # sorted

    @classmethod
    def of(cls, text: str, least: int = 50) -> "Vocabulary":
        codes, counts = np.unique(_codes(text), return_counts=True)
        return cls(UNKNOWN + "".join(chr(c) for c in codes[counts >= least] if chr(c) != UNKNOWN))

    def __len__(self) -> int:
        return len(self.characters)

    def encode(self, text: str) -> np.ndarray:
        codes = _codes(text)
        found = np.searchsorted(self._codes, codes).clip(max=len(self._codes) - 1)
        return np.where(self._codes[found] == codes, found + 1, 0)

    def decode(self, tokens: Sequence[int]) -> str:
        return "".join(self.characters[token] for token in tokens)


def _codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", errors="replace"), np.uint32)


def bigram_entropy(tokens: np.ndarray) -> float:
    """The entropy in nats of a token, given the one before: the loss of the best predictor that sees one token."""
    size = int(tokens.max()) + 1
    pairs = np.bincount(tokens[:-1] * size + tokens[1:], minlength=size * size).reshape(size, size)
    given = np.broadcast_to(pairs.sum(1, keepdims=True), pairs.shape)
    seen = pairs > 0
    return float(-(pairs[seen] * np.log(pairs[seen] / given[seen])).sum() / pairs.sum())
