"""Pages in a real browser: for tests of what a reader sees and does."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

_BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

needs_browser = pytest.mark.skipif(
    _BROWSER is None,
    reason="no chromium or google-chrome is on PATH; it is a system package, which `make test` does not install: "
    "install one of them to run the page for real",
)


def probed(page: Path, script: str) -> Any:
    """Runs a page with a script at its end, and returns the JSON that it leaves in an element with the id "probe"."""
    assert _BROWSER
    page.write_text(page.read_text().replace("</body>", script + "</body>"))
    command = [_BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=3000", "--dump-dom"]
    shown = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=False).stdout
    found = re.search(r'<pre id="probe">(.*?)</pre>', shown, re.DOTALL)
    assert found, shown[-2000:]
    return json.loads(html.unescape(found[1]))
