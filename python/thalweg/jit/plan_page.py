"""A plan, or a measured trace, as one self-contained HTML page: plan_page.html with its data in it."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

__all__ = ["Texts", "fill_template", "render"]

_TEMPLATE = Path(__file__).with_name("plan_page.html")


class Texts:
    """Texts that many launches share, by number."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self.all)
            self.all.append(text)
        return self._numbers[text]


def page_data(plan: Any) -> dict[str, Any]:
    """What the page draws, in columns: entry i of each list of `launches` is that of launch i; times in microseconds.

    Texts are numbers into `texts`; `live` holds bytes, one for each launch.
    """
    texts = Texts()
    launches, buffers = plan.launches, plan.buffers
    return {
        "name": plan.name,
        "measured": False,
        "arena": plan.arena_bytes,
        "bound": plan.lower_bound_bytes,
        "segments": {
            kind: [plan.segment_count(kind), plan.segment_bytes(kind)]
            for kind in ("variable", "constant", "input", "output")
        },
        "streams": plan.streams,
        "launches": {
            "op": [texts.number(launch.op) for launch in launches],
            "module": [texts.number(launch.module) for launch in launches],
            "origin": [texts.number(launch.origin) for launch in launches],
            "result": [texts.number(launch.result) for launch in launches],
            "stream": [launch.stream for launch in launches],
            "begin": [round(launch.begin * 1e6, 3) for launch in launches],
            "time": [round(launch.seconds * 1e6, 3) for launch in launches],
            "flops": [round(launch.flops) for launch in launches],
            "moved": [round(launch.moved_bytes) for launch in launches],
            "bytes": [launch.output_bytes for launch in launches],
        },
        "buffers": {
            "offset": [buffer.offset_bytes for buffer in buffers],
            "size": [buffer.size_bytes for buffer in buffers],
            "first": [buffer.first for buffer in buffers],
            "last": [buffer.last for buffer in buffers],
            "maker": [buffer.maker for buffer in buffers],
        },
        "live": [size for _, size in plan.memory()],
        "variables": [[texts.number(module), size] for module, size in plan.variable_bytes.items()],
        "texts": texts.all,
    }


def render(plan: Any) -> str:
    """The page."""
    return fill_template(plan.name, page_data(plan))


def fill_template(name: str, values: dict[str, Any]) -> str:
    """The page of what `page_data` describes."""
    data = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    template = _TEMPLATE.read_text(encoding="utf-8")
    head, middle, tail = template.split("@@@")  # the title, then the data
    # A "<" could end the script element that holds the data; JSON allows it inside strings only.
    return head + html.escape(name) + middle + data.replace("<", "\\u003c") + tail
