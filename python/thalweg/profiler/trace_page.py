"""A Chrome trace as the page that shows plans: lanes of threads and streams over measured time, and time by module."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from thalweg.jit.plan_page import Texts, fill_template

__all__ = ["is_trace", "read_trace", "render_trace"]


def is_trace(data: bytes) -> bool:
    """Whether a file that begins so may be a trace: an object or a list of JSON, compressed or not."""
    if data[5:9] == b"\0\0\0{":  # a saved graph: the size of its header, and the header
        return False
    return data[:2] == b"\x1f\x8b" or data.lstrip()[:1] in (b"{", b"[")


def read_trace(path: Path) -> list[dict[str, Any]]:
    """The entries of a trace. Raises ValueError for a file that is none."""
    data = path.read_bytes()
    try:
        trace = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
        entries = trace["traceEvents"] if isinstance(trace, dict) else trace
        return [entry for entry in entries if entry["ph"] in ("X", "M")]
    except (ValueError, KeyError, TypeError, EOFError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: a Chrome trace is wanted: {error}") from None


def _leaves(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans with nothing inside them, in the order of their begin."""
    spans.sort(key=lambda one: (one["pid"], one["tid"], one["ts"], -one["dur"]))
    after = [*spans[1:], None]
    leaves = [
        one
        for one, next_ in zip(spans, after)
        if not (
            next_
            and (next_["pid"], next_["tid"]) == (one["pid"], one["tid"])
            and next_["ts"] + next_["dur"] <= one["ts"] + one["dur"]
        )
    ]
    return sorted(leaves, key=lambda one: one["ts"])


def render_trace(name: str, entries: list[dict[str, Any]]) -> str:
    """The page, self-contained HTML. Spans that hold others are left out: their time is in those and between them."""
    threads = {(one["pid"], one["tid"]): one["args"]["name"] for one in entries if one["name"] == "thread_name"}
    leaves = _leaves([one for one in entries if one["ph"] == "X"])
    texts = Texts()
    lanes: dict[tuple, int] = {}
    for one in leaves:
        one["args"] = one.get("args", {})
        lanes.setdefault((one["pid"], one["tid"], one["args"].get("stream", "")), len(lanes))
    begin = leaves[0]["ts"] if leaves else 0

    def named(key: str) -> list[int]:
        return [texts.number(one["args"].get(key, "")) for one in leaves]

    zeros = [0] * len(leaves)
    names = (f"{threads.get(key[:2], f'thread {key[1]}')} {key[2]}".rstrip() for key in lanes)
    data = {
        "name": name,
        "measured": True,
        "arena": 0,
        "bound": 0,
        "segments": {},
        "streams": list(names),
        "launches": {
            "op": [texts.number(one["name"]) for one in leaves],
            "module": named("module"),
            "origin": named("origin"),
            "result": named("shapes"),
            "stream": [lanes[one["pid"], one["tid"], one["args"].get("stream", "")] for one in leaves],
            "begin": [round(one["ts"] - begin, 3) for one in leaves],
            "time": [one["dur"] for one in leaves],
            "flops": zeros,
            "moved": [one["args"].get("bytes", 0) for one in leaves],
            "bytes": [one["args"].get("bytes", 0) for one in leaves],
        },
        "buffers": {"offset": [], "size": [], "first": [], "last": [], "maker": []},
        "live": zeros,
        "variables": [],
        "texts": texts.all,
    }
    return fill_template(name, data)
