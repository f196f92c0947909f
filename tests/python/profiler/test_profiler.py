"""Profiles: what ran, nested as it ran, with names, modules, lines and times; and the files made of them."""

import gzip
import inspect
import json
import re
import threading
import time

import pytest
import thalweg as tw
from thalweg import nn, optim
from thalweg.jit.context import tracing
from thalweg.nn import functional as F
from thalweg.profiler import ProfilerActivity, profile, record_function, schedule


def inside(inner, outer):
    """Whether an event ran inside another, on the same thread."""
    return inner.thread == outer.thread and outer.start <= inner.start and inner.end <= outer.end + 1e-3


def named(prof, name):
    return [event for event in prof.events() if event.name == name]


def model_and_step():
    tw.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 4))
    optimizer = optim.SGD(model.parameters(), lr=0.01)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return model, step, (tw.randn(32, 64), tw.zeros(32, dtype=tw.int64))


def test_eager_ops_are_seen_with_bytes_and_modules():
    model, _, (x, _) = model_and_step()
    with profile() as prof:
        model(x)
        x + 1
    linear = [event for event in prof.events() if event.kind == "op" and event.module == "Sequential.0"]
    assert linear
    call = named(prof, "Sequential.0")[0]
    assert call.kind == "module" and all(inside(event, call) for event in linear)
    assert call.parent is named(prof, "Sequential")[0]
    add = named(prof, "add")[-1]
    assert add.module == "" and add.bytes == 2 * 32 * 64 * 4 + 4  # two tensors, and a number of their dtype
    assert tracing.watcher is None


def test_shapes_and_lines_are_seen_where_they_are_asked_for():
    def f(x):
        return x @ x.t()

    x = tw.ones(3, 5)
    with profile(record_shapes=True, with_stack=True) as prof:
        f(x)
    product = named(prof, "mm")[0]
    assert product.shapes == "[3, 5], [5, 3]"
    assert product.origin == f"{__file__}:{inspect.getsourcelines(f)[1] + 1}"
    with profile() as prof:
        f(x)
    assert named(prof, "mm")[0].shapes == "" and named(prof, "mm")[0].origin == ""


def test_launches_of_programs_are_seen_inside_their_firing():
    _, step, data = model_and_step()
    step = tw.jit(step)
    for _ in range(3):
        step(*data)
    with profile() as prof:
        for _ in range(4):
            step(*data)
    firings = named(prof, "step")
    assert len(firings) == 4 and {one.kind for one in firings} == {"actor"}
    launches = [event for event in prof.events() if event.kind == "launch"]
    plan = step.plan()
    assert [one.name for one in launches] == [launch.op for launch in plan.launches] * 4
    assert [one.module for one in launches] == [launch.module for launch in plan.launches] * 4
    assert [one.origin for one in launches] == [launch.origin for launch in plan.launches] * 4
    assert {one.stream for one in launches} == {"compute 0"} and {one.program for one in launches} == {"step"}
    for launch in launches:
        assert launch.parent in firings and inside(launch, launch.parent)
        assert launch.bytes > 0
    for firing in firings:
        within = [one for one in launches if one.parent is firing]
        assert len(within) == len(plan.launches)
        times = sum(one.duration for one in within)
        assert times <= firing.duration + 1e-3
        assert firing.self_time == pytest.approx(firing.duration - times, abs=1e-3)
    assert sum(one.duration for one in launches) > 0.3 * sum(one.duration for one in firings)


def test_nothing_is_seen_outside_the_block():
    _, step, data = model_and_step()
    step = tw.jit(step)
    step(*data)
    with profile() as prof:
        pass
    step(*data)
    tw.ones(3) + 1
    assert prof.events() == []


def test_asynchronous_steps_are_seen_on_their_thread():
    compiled = tw.jit(lambda x: x.exp().sum(), asynchronous=True)
    compiled(tw.ones(8))
    tw.synchronize()
    with profile() as prof:
        compiled(tw.ones(8))
    firing = next(event for event in prof.events() if event.kind == "actor")
    assert prof._threads[firing.thread].startswith("tw-steps")


def test_threads_are_told_apart():
    x = tw.ones(4)
    with profile() as prof:
        x.exp()
        thread = threading.Thread(target=x.cos)
        thread.start()
        thread.join()
    assert named(prof, "exp")[0].thread != named(prof, "cos")[0].thread


def test_annotations_nest():
    @record_function("outer")
    def f():
        with record_function("inner"):
            tw.ones(2)

    f()  # outside a profile, it only runs
    with profile() as prof:
        f()
    outer, inner, full = prof.events()
    assert [outer.name, inner.name, full.name] == ["outer", "inner", "full"]
    assert inner.parent is outer and full.parent is inner and outer.kind == "annotation"


def test_averages_sum_by_name():
    x = tw.ones(1000, 100)
    with profile(record_shapes=True) as prof, record_function("all"):
        for _ in range(3):
            x.exp()
        x[:10].exp()
    sums = {one.key: one for one in prof.key_averages()}
    assert sums["exp"].count == 4
    assert sums["exp"].bytes == 3 * 2 * 400_000 + 2 * 4000
    assert sums["exp"].cpu_time_total == pytest.approx(sum(event.duration for event in named(prof, "exp")))
    assert sums["exp"].cpu_time == pytest.approx(sums["exp"].cpu_time_total / 4)
    assert sums["all"].cpu_time_total >= sums["exp"].cpu_time_total
    assert sums["all"].self_cpu_time_total < sums["all"].cpu_time_total
    whole = sum(one.self_cpu_time_total for one in sums.values())
    assert whole == pytest.approx(sums["all"].cpu_time_total, rel=1e-6)
    shapes = [one.input_shapes for one in prof.key_averages(group_by_input_shape=True) if one.key == "exp"]
    assert shapes == ["[1000, 100]", "[10, 100]"]


def test_the_table_has_a_row_for_each_name():
    x = tw.ones(1000)
    with profile() as prof:
        for _ in range(2):
            x.exp()
        x.cos()
    text = prof.key_averages().table(sort_by="count", row_limit=1, header="mine")
    lines = text.splitlines()
    assert lines[0] == "mine" and lines[2].split()[0] == "Name"
    assert lines[4].split()[0] == "exp" and "cos" not in text
    assert lines[-1].startswith("Self CPU time total: ")
    assert "cos" in str(prof.key_averages())
    with pytest.raises(ValueError, match="sort_by is one of"):
        prof.key_averages().table(sort_by="name")


def test_a_schedule_records_some_steps():
    ready = []
    plan = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    assert "".join(plan(step).name[-1] for step in range(10)) == "EEPDEEPDEE"
    with profile(schedule=plan, on_trace_ready=lambda prof: ready.append(prof.events())) as prof:
        for i in range(10):
            tw.full((i + 1,), 1.0)
            prof.step()
    assert [[event.name for event in events if event.kind == "step"] for events in ready] == [
        ["ProfilerStep#3", "ProfilerStep#4"],
        ["ProfilerStep#7", "ProfilerStep#8"],
    ]
    assert [event.bytes for event in ready[0] if event.kind == "op"] == [16, 20]
    with pytest.raises(ValueError, match="not negative"):
        schedule(wait=-1, warmup=0, active=1)


def test_mistakes_are_errors():
    with profile():
        with pytest.raises(RuntimeError, match="another profile"), profile():
            pass
        tw.ones(1)
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        profile().events()
    with pytest.raises(ValueError, match="activities"):
        profile(activities=["cuda"])
    profile(activities=[ProfilerActivity.CPU])


def test_a_profile_ends_when_the_block_raises():
    with pytest.raises(ZeroDivisionError), profile() as prof:
        tw.ones(2)
        1 / 0  # noqa: B018
    assert [event.name for event in prof.events()] == ["full"]
    with profile() as again:
        tw.zeros(2)
    assert [event.name for event in again.events()] == ["full"]


def chrome_trace(tmp_path, name="trace.json"):
    model, step, data = model_and_step()
    step = tw.jit(step)
    for _ in range(3):
        step(*data)
    with profile() as prof:
        begin = time.perf_counter()
        for _ in range(3):
            step(*data)
        model(data[0])
        seconds = time.perf_counter() - begin
    prof.export_chrome_trace(tmp_path / name)
    return prof, tmp_path / name, seconds, step


def test_chrome_traces_hold_what_ran(tmp_path):
    prof, path, seconds, step = chrome_trace(tmp_path)
    entries = json.loads(path.read_text())["traceEvents"]
    spans = [entry for entry in entries if entry["ph"] == "X"]
    names = {entry["tid"]: entry["args"]["name"] for entry in entries if entry["name"] == "thread_name"}
    assert {entry["tid"] for entry in spans} == names.keys()
    modules = [entry for entry in spans if entry["cat"] == "module" and "program" in entry["args"]]
    assert len(spans) - len(modules) == len(prof.events())
    launches = [entry for entry in spans if entry["cat"] == "launch"]
    assert [entry["name"] for entry in launches] == [launch.op for launch in step.plan().launches] * 3
    assert {entry["args"].get("module", "") for entry in launches} == {one.module for one in step.plan().launches}
    assert all(entry["args"]["origin"].split(":")[0].endswith(".py") for entry in launches if "origin" in entry["args"])
    assert any(entry["cat"] == "cpu_op" and entry["args"].get("module") == "Sequential.0" for entry in spans)
    firings = [entry for entry in spans if entry["cat"] == "actor"]
    for entry in launches:  # each inside one firing
        around = [one for one in firings if one["ts"] <= entry["ts"] + 2e-3]
        assert entry["ts"] + entry["dur"] <= around[-1]["ts"] + around[-1]["dur"] + 5e-3
    for entry in launches:  # and inside a span of each module around it
        path, around = entry["args"].get("module", ""), []
        for one in modules:
            if one["ts"] <= entry["ts"] and entry["ts"] + entry["dur"] <= one["ts"] + one["dur"] + 2e-3:
                around.append(one["name"])
        assert around == [path[: end.start()] for end in re.finditer(r"\.|$", path) if path]
    assert {entry["name"] for entry in modules} == {"Sequential", "Sequential.0", "Sequential.1", "Sequential.2"}
    outer = [event for event in prof.events() if event.parent is None]
    assert sum(event.duration for event in outer) <= seconds * 1e6


def test_compressed_traces_hold_the_same(tmp_path):
    prof, path, _, _ = chrome_trace(tmp_path, "trace.json.gz")
    assert len(json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]) > len(prof.events())


def test_tracing_inside_a_profile_gives_modules_to_both():
    model, step, data = model_and_step()
    with profile() as prof:
        compiled = tw.jit(lambda x: model(x))
        with tw.no_grad():
            compiled(data[0])
        model(data[0])
    assert {launch.module for launch in compiled.plan().launches} >= {"Sequential.0", "Sequential.1"}
    assert named(prof, "Sequential.0")
