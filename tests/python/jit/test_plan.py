"""What a plan says of itself: its numbers agree with each other, and its page holds all of it."""

import json
import re
import time
from html.parser import HTMLParser

import pytest
import thalweg as tw
from browser import needs_browser, probed
from thalweg import nn, optim
from thalweg._core import _native
from thalweg.jit.plan import Plan
from thalweg.nn import functional as F

# Acts as a reader does, and leaves what it saw in the page.
PROBE = """<script>
const failures = [];
addEventListener("error", event => failures.push(event.message));
setTimeout(() => {
  const chart = byId("memory"), place = chart.getBoundingClientRect();
  const act = (kind, type, more = {}) => chart.dispatchEvent(
    new kind(type, {bubbles: true, clientX: place.left + 40, clientY: place.top + 300, ...more}));
  act(WheelEvent, "wheel", {deltaY: -100});
  const zoomed = memory.to - memory.from < memory.full;
  act(PointerEvent, "pointermove");
  const tip = byId("tip").style.display === "block" && byId("tip").textContent.length > 0;
  act(MouseEvent, "dblclick");
  setTimeout(() => document.body.append(element("pre", {id: "probe", textContent: JSON.stringify({
    failures, tip, zoomed, whole: memory.to - memory.from === memory.full,
    modules: [...document.querySelectorAll("summary .name")].map(name => name.textContent),
    launches: document.querySelector("summary .number").textContent})})), 300);
}, 300);
</script>"""
VOID = {"meta", "br", "link", "input", "img", "hr"}


class Page(HTMLParser):
    """Checks that elements are closed in the order in which they were opened; keeps what script elements hold."""

    def __init__(self, text):
        super().__init__()
        self.open, self.scripts, self.links = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")
        self.links += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data


def page_of(plan, path):
    plan.html(path)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.links == [] and not re.search(r"https?://|\bfetch\b|\bimport\b", text)
    return text, json.loads(page.scripts[0])


def train_step():
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Dropout(0.1), nn.LayerNorm(16), nn.Linear(16, 4))
    optimizer = optim.AdamW(model.parameters(), lr=0.01)

    @tw.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    for _ in range(2):
        step(tw.randn(8, 6), tw.randint(0, 4, (8,)))
    return model, step


def chain_graph(length, width=1000):
    """A graph that keeps every third of its values to the end; a module for each ten ops."""
    lines = [f'graph "chain" {{\n  input %0 "x" : float32[{width}]']
    kept = [0]
    for i in range(1, length + 1):
        lines.append(f'  %{i} = exp(%{i - 1}) : float32[{width}] in "net.{i // 1000}.layer{i // 10}" at "net.py:{i}"')
        if i % 3 == 0 and i > length - 300:
            kept.append(i)
    top = length
    for i in kept:
        top += 1
        lines.append(f"  %{top} = add(%{top - 1}, %{i}) : float32[{width}]")
    return "\n".join([*lines, f"  return %{top}\n}}\n"])


def plan_of(text):
    graph = _native.Graph.parse(text)
    graph.verify()
    return Plan.of_graph(graph)


def check_numbers(plan):
    live = plan.memory()
    assert [step for step, _ in live] == list(range(len(plan.launches)))
    assert max((size for _, size in live), default=0) == plan.lower_bound_bytes <= plan.arena_bytes
    for step, size in live:
        inside = sorted((b.offset_bytes, b.size_bytes) for b in plan.buffers if b.first <= step <= b.last)
        assert sum(size for _, size in inside) == size
        for (low, height), (high, _) in zip(inside, inside[1:]):
            assert low + height <= high
        assert all(offset + height <= plan.arena_bytes for offset, height in inside)


def test_the_numbers_of_a_training_step_agree():
    model, step = train_step()
    plan = step.plan()
    check_numbers(plan)
    assert 0 < plan.lower_bound_bytes
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert plan.segment_bytes("variable") >= 3 * weights  # the weights and both moments
    assert sum(plan.variable_bytes.values()) == plan.segment_bytes("variable")
    assert plan.variable_bytes["Sequential.0"] == (6 * 16 + 16) * 4
    assert {"Sequential.0", "Sequential.3", "Sequential.4"} <= {launch.module for launch in plan.launches}
    begins = [launch.begin for launch in plan.launches]
    assert begins == sorted(begins) and all(launch.seconds > 0 for launch in plan.launches)


def test_gradients_stand_under_the_module_of_their_forward():
    model, step = train_step()
    modules = {}
    for launch in step.plan().launches:
        modules.setdefault(launch.op, []).append(launch.module)
    assert modules["gelu_backward"] == ["Sequential.1"] and modules["layer_norm_backward"] == ["Sequential.3"]
    assert set(modules["mm"]) == {"Sequential.0", "Sequential.4"}
    assert modules["cross_entropy_backward"] == [""] and modules["adam_step"] == [""]

    @tw.jit
    def penalty(x):
        (slope,) = tw.autograd.grad(model[1](x).sum(), x, create_graph=True)
        return tw.autograd.grad((slope**2).sum(), x)[0]

    penalty(tw.ones(3, requires_grad=True))
    modules = {launch.op: launch.module for launch in penalty.plan().launches}
    assert modules["gelu_backward"] == modules["exp"] == "GELU" and modules["pow_backward"] == ""


def test_costs_come_from_the_rules():
    @tw.jit
    def product(a, b):
        return (a @ b).exp()

    product(tw.ones(32, 64), tw.ones(64, 16))
    by_op = {launch.op: launch for launch in product.plan().launches}
    assert by_op["mm"].flops == 2 * 32 * 64 * 16
    assert by_op["mm"].moved_bytes == 4 * (32 * 64 + 64 * 16 + 32 * 16)
    model, step = train_step()
    adam = next(launch for launch in step.plan().launches if launch.op == "adam_step")
    weights = sum(p.numel() * 4 for p in model.parameters())
    assert adam.moved_bytes == 2 * 4 * weights  # weights, gradients, two moments: read and written
    assert by_op["mm"].output_bytes == 4 * 32 * 16 and by_op["mm"].result == "float32[32, 16]"


def test_in_place_results_and_views_are_one_buffer():
    plan = plan_of(
        """graph "g" {
          input %0 "x" : float32[64, 3]
          %1 = exp(%0) : float32[64, 3]
          %2 = transpose(%1, dim0=0, dim1=1) : float32[3, 64]
          %3 = exp(%1) : float32[64, 3]
          %4 = mm(%2, %3) : float32[3, 3]
          %5 = sum(%4) : float32[]
          return %5
        }"""
    )
    check_numbers(plan)
    big = [buffer for buffer in plan.buffers if buffer.size_bytes == 64 * 3 * 4]
    assert len(big) == 2  # %1 with its view, and %3

    chain = plan_of(chain_graph(30, 16))
    check_numbers(chain)
    assert len(chain.buffers) < len(chain.launches) - 10  # exp overwrites what nobody needs any more


def test_text_parses_back():
    _, step = train_step()
    text = step.plan().text
    assert text.startswith("plan version=") and str(_native.Plan.parse(text)) == text


def test_plan_needs_a_program():
    compiled = tw.jit(lambda x: x + 1)
    with pytest.raises(IndexError, match="it has 0 programs, each made by a call; got number 0"):
        compiled.plan()
    compiled(tw.ones(2))
    compiled(tw.ones(3))
    assert {compiled.plan(i).launches[0].result for i in (0, 1)} == {"float32[2]", "float32[3]"}


def test_a_short_table_of_it():
    _, step = train_step()
    plan = step.plan()
    assert repr(plan).startswith(f"Plan 'step': {len(plan.launches)} launches")
    assert "arena" in repr(plan) and "adam_step" in repr(plan) and len(repr(plan).splitlines()) < 20


def test_the_page_holds_every_launch_module_and_buffer(tmp_path):
    _, step = train_step()
    plan = step.plan()
    text, data = page_of(plan, tmp_path / "plan.html")
    columns = data["launches"]
    assert [data["texts"][op] for op in columns["op"]] == [launch.op for launch in plan.launches]
    assert all(len(column) == len(plan.launches) for column in columns.values())
    for launch in plan.launches:
        assert launch.module in text and launch.origin in text
    assert data["buffers"]["size"] == [buffer.size_bytes for buffer in plan.buffers]
    assert max(data["live"]) == data["bound"] == plan.lower_bound_bytes and data["arena"] == plan.arena_bytes


def test_names_cannot_break_the_page(tmp_path):
    plan = plan_of(
        r"""graph "</title><b>&" {
          input %0 "x" : float32[2]
          %1 = exp(%0) : float32[2] in "</script><script>alert(1)</script>" at "blöck \"<!--\".py:3"
          return %1
        }"""
    )
    text, data = page_of(plan, tmp_path / "plan.html")
    assert "</script><script>alert(1)</script>" in data["texts"] and "alert(1)<" not in text
    assert data["name"] == "</title><b>&" and "<title>&lt;/title&gt;&lt;b&gt;&amp;: plan</title>" in text


def test_a_graph_without_launches_has_a_page(tmp_path):
    plan = plan_of('graph "empty" {\n  return\n}\n')
    assert plan.memory() == [] and plan.arena_bytes == plan.lower_bound_bytes == 0
    page_of(plan, tmp_path / "plan.html")


def test_several_streams_and_registers():
    """Two actors that hand on a register of two slots, in four parts of a batch."""
    plan = Plan(
        _native.Plan.parse(
            """plan version=1 name="two" lower_bound_bytes=192
            device 0 "cpu"
            string 0 ""
            segment 0 size_bytes=192
            segment 1 kind=input size_bytes=256
            stream 0
            stream 1
            register 0 name="r" segment=0 offset_bytes=64 slot_bytes=64 slots=2 rate=4
            value 0 segment=1 advance_bytes=64 sizes=[16] strides=[1]
            value 1 register=0 sizes=[16] strides=[1]
            value 2 segment=0 sizes=[16] strides=[1]
            actor 0 name="a" rate=4 writes=[0]
              launch op="exp" inputs=[0] outputs=[1]
            actor 1 name="b" stream=1 rate=4 reads=[0]
              launch op="exp" inputs=[1] outputs=[2]
              launch op="exp" inputs=[2] outputs=[2] when=last
            """
        ),
        [],
    )
    assert [launch.stream for launch in plan.launches].count(0) == 4
    assert [launch.stream for launch in plan.launches].count(1) == 5
    begins = [launch.begin for launch in plan.launches]
    assert begins == sorted(begins)
    first_read = next(i for i, launch in enumerate(plan.launches) if launch.stream == 1)
    assert plan.launches[first_read].begin < plan.launches[-1].begin and first_read < 4  # the streams overlap
    slots = [buffer for buffer in plan.buffers if buffer.maker < 0]
    assert [(b.offset_bytes, b.first, b.last) for b in slots] == [(64, 0, 8), (128, 0, 8)]
    assert len(plan.buffers) == 2 + 4  # its own buffer is used anew in each firing
    assert max(size for _, size in plan.memory()) == plan.lower_bound_bytes == 192


def test_a_page_of_ten_thousand_launches(tmp_path):
    def seconds_and_bytes(length):
        graph = _native.Graph.parse(chain_graph(length))
        begin = time.process_time()
        Plan.of_graph(graph).html(tmp_path / "plan.html")
        return time.process_time() - begin, (tmp_path / "plan.html").stat().st_size

    seconds_and_bytes(100)
    small, small_bytes = seconds_and_bytes(2500)
    large, large_bytes = seconds_and_bytes(10_000)
    assert large_bytes < 2e6 and large_bytes < 5 * small_bytes
    assert large < 8 * small + 0.2 and large < 5  # linear would be 4


@needs_browser
def test_the_page_works_in_a_browser(tmp_path):
    _, step = train_step()
    plan = step.plan()
    page = tmp_path / "plan.html"
    plan.html(page)
    assert probed(page, PROBE) == {
        "failures": [],
        "launches": str(len(plan.launches)),
        "modules": ["step", "Sequential"],
        "tip": True,
        "zoomed": True,
        "whole": True,
    }
