"""`thalweg show` of a trace: the page holds what ran longest inside everything else, lane by lane."""

import json
import re

import pytest
import thalweg as tw
from browser import needs_browser, probed
from thalweg.cli.main import main
from thalweg.profiler import profile, record_function
from thalweg.profiler.trace_page import is_trace, read_trace

# Acts as a reader does, and leaves what it saw in the page.
PROBE = """<script>
const failures = [];
addEventListener("error", event => failures.push(event.message));
setTimeout(() => {
  const chart = byId("streams"), place = chart.getBoundingClientRect();
  chart.dispatchEvent(new WheelEvent("wheel", {bubbles: true, deltaY: -100, clientX: place.left + 40}));
  const zoomed = streams.to - streams.from < streams.full;
  setTimeout(() => document.body.append(element("pre", {id: "probe", textContent: JSON.stringify({
    failures, zoomed, memory: byId("memory") !== null,
    modules: [...document.querySelectorAll("summary .name")].map(name => name.textContent),
    launches: document.querySelector("summary .number").textContent})})), 300);
}, 300);
</script>"""


def trace(tmp_path, name="run.json"):
    model = tw.nn.Sequential(tw.nn.Linear(8, 8), tw.nn.Tanh())
    step = tw.jit(lambda x: model(x).sum())
    with tw.no_grad():
        step(tw.ones(2, 8))
        with profile() as prof:
            step(tw.ones(2, 8))
            with record_function("outside"):
                tw.ones(3).exp()
    prof.export_chrome_trace(tmp_path / name)
    return prof, step


def page_data(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


@pytest.mark.parametrize("name", ["run.json", "run.json.gz"])
def test_show_draws_a_trace(tmp_path, capsys, name):
    prof, step = trace(tmp_path, name)
    page = tmp_path / "run.html"
    assert main(["show", str(tmp_path / name), "-o", str(page)]) == 0
    assert re.search(r"html: (\d+) events", capsys.readouterr().out)[1] == str(len(prof.events()) + 3)  # and modules
    data = page_data(page.read_text())
    ops = [data["texts"][op] for op in data["launches"]["op"]]
    assert ops == ["full"] + [launch.op for launch in step.plan().launches] + ["full", "exp"]
    lanes = [data["streams"][lane].split()[-2:] for lane in data["launches"]["stream"]]
    assert lanes[1:-2] == [["compute", "0"]] * len(step.plan().launches)
    modules = {data["texts"][module] for module in data["launches"]["module"]}
    assert {"Sequential.0", "Sequential.1"} <= modules
    leaves = [event for event in prof.events() if event.kind in ("op", "launch")]
    assert data["launches"]["time"] == [pytest.approx(event.duration, abs=1e-3) for event in leaves]
    assert data["launches"]["begin"][0] == 0 and data["measured"] is True


def test_what_is_no_trace_is_an_error(tmp_path, capsys):
    for text in ("{", "[1]", '{"traceEvents": 3}', '{"other": []}'):
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="a Chrome trace is wanted"):
            read_trace(tmp_path / "bad.json")
        assert main(["show", str(tmp_path / "bad.json")]) == 1
    capsys.readouterr()


def test_saved_graphs_are_no_traces():
    for size in (0x7B, 0x5B, 0x8B1F):  # whose first bytes look like JSON, or like a compressed file
        assert not is_trace(size.to_bytes(8, "little") + b'{"__metadata__"')
    assert is_trace(b'{"traceEvents": []}') and is_trace(b" [") and is_trace(b"\x1f\x8b\x08\0")
    assert not is_trace(b"graph f {")


@needs_browser
def test_the_page_works_in_a_browser(tmp_path):
    prof, _ = trace(tmp_path)
    assert main(["show", str(tmp_path / "run.json")]) == 0
    page = tmp_path / "run.html"
    assert probed(page, PROBE) == {
        "failures": [],
        "zoomed": True,
        "memory": False,
        "modules": ["run.json", "Sequential"],
        "launches": str(len([event for event in prof.events() if event.kind in ("op", "launch")])),
    }
