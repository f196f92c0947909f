"""tools/run_graph gives what Python gives, bit for bit, and one sentence for bad input."""

import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import thalweg as tw
from thalweg import nn

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))

from gpt import GPT

ROOT = Path(__file__).parents[3]
# `make test` and `make test-python` build it in the first of these.
PROGRAM = next((p for p in (ROOT / "build/dev/run_graph", ROOT / "build/run_graph") if p.exists()), None)


def run(*words, status=0):
    assert PROGRAM, "run_graph is not built: cmake -DTHALWEG_TOOLS=ON, target run_graph (make test-python does it)"
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout if status == 0 else result.stderr


def checksum(tensor):
    return f"{zlib.crc32(tensor.detach().contiguous().numpy().tobytes()):08x}"


@pytest.fixture
def model(tmp_path):
    return tmp_path / "model.tw"


def give(folder, name, tensor):
    path = folder / f"{name}.safetensors"
    tw.io.save_safetensors({name: tensor}, path)
    return "--input", f"{name}={path}"


def test_gpt_bit_for_bit(model, tmp_path):
    tw.manual_seed(0)
    gpt = GPT(vocabulary=11, context=8, width=16, layers=2, heads=2, dropout=0.1).eval()
    tokens = tw.randint(0, 11, (3, 8))
    tw.save_graph(model, lambda tokens: {"logits": gpt(tokens)}, tokens)
    out = tmp_path / "out.safetensors"
    printed = run(model, *give(tmp_path, "tokens", tokens), "--repeat", 3, "--output", out)
    wanted = gpt(tokens).detach()
    assert tw.io.load_safetensors(out)["logits"].numpy().tobytes() == wanted.numpy().tobytes()
    assert f"input tokens: int64[3, 8], checksum {checksum(tokens)}\n" in printed
    assert f"result logits: float32[3, 8, 11], checksum {checksum(wanted)}\n" in printed
    assert len(re.findall(r"^run \d: \d+\.\d+ ms$", printed, re.M)) == 3


def test_state_and_random_numbers_go_on_from_run_to_run(model, tmp_path):
    layers = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5))
    x = tw.randn(5, 3)
    tw.save_graph(model, lambda x: (layers(x), layers[0].running_mean), x)
    tw.manual_seed(7)
    for _ in range(3):
        y = layers(x)
    printed = run(model, *give(tmp_path, "x", x), "--repeat", 3, "--seed", 7)
    assert f"result 0: float32[5, 3], checksum {checksum(y)}\n" in printed
    assert f"result 1: float32[3], checksum {checksum(layers[0].running_mean)}\n" in printed


def test_control_flow_and_what_it_draws(model, tmp_path):
    layers = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))

    def f(x, n):
        i = tw.tensor(0)
        while i < n:
            x = layers(x).tanh()
            i = i + 1
            if x.abs().max() > 10:
                break
        return x + tw.rand(3)

    x, n = tw.randn(5, 3), tw.tensor(3)
    tw.save_graph(model, f, x, n)
    tw.manual_seed(7)
    with tw.no_grad():
        for _ in range(2):
            y = f(x, n)
    printed = run(model, *give(tmp_path, "x", x), *give(tmp_path, "n", n), "--repeat", 2, "--seed", 7)
    assert f"result result: float32[5, 3], checksum {checksum(y)}\n" in printed


def test_numbers(model, tmp_path):
    weight = nn.Parameter(tw.tensor([1.0, -2.0]))
    optimizer = tw.optim.SGD([weight], lr=0.1)

    def step(x):
        with tw.enable_grad():
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()
        return weight.detach() * 1

    x = tw.tensor([0.3, 0.7])
    step(x)
    tw.save_graph(model, step, x)
    optimizer.param_groups[0]["lr"] = 0.25
    printed = run(model, *give(tmp_path, "x", x), "--number", "lr=0.25")
    assert f"checksum {checksum(step(x))}\n" in printed.partition("result")[2]


def test_random_inputs_are_the_same_each_time(model):
    tw.save_graph(model, lambda x, i: x[i], tw.ones(4, 2), tw.tensor([1, 3]))
    first, second = (re.findall("(?:input|result) .*", run(model, "--random")) for _ in range(2))
    assert first == second and len(first) == 3


def test_bad_input_is_one_sentence(model, tmp_path):
    tw.save_graph(model, lambda x: x + 1, tw.ones(2))
    other = give(tmp_path, "x", tw.ones(3))
    damaged = tmp_path / "damaged.tw"
    damaged.write_bytes(model.read_bytes()[:-5])
    for words, message in [
        ([], "a graph is wanted"),
        ([tmp_path / "nowhere.tw"], "nowhere.tw: cannot be opened: No such file"),
        ([damaged, "--random"], "damaged.tw: its tensors should have|damaged.tw: .*it ends after|damaged.tw: .*wanted"),
        ([model], 'input "x" is missing'),
        ([model, *other], r'input "x" must be float32\[2\], got float32\[3\]'),
        ([model, "--input", f"y={tmp_path}/x.safetensors", "--random"], 'there is no input "y"'),
        ([model, "--input", f"x={model}"], 'input "x": .*0 others'),
        ([model, "--random", "--repeat", "0"], "--repeat wants an integer from 1 on, got 0"),
        ([model, "--random", "--number", "lr=1"], 'there is no number "lr"'),
        ([model, "--fast", "1"], "unknown option --fast"),
        ([model, "--random", "--output", tmp_path / "no/out"], "cannot be written: No such file"),
    ]:
        said = run(*words, status=1)
        assert re.search(message, said) and said.startswith("run_graph: ") and said.count("\n") == 1, said


def test_sizes_that_may_differ(model, tmp_path):
    tw.save_graph(model, lambda x: x.cumsum(0), tw.ones(3), dynamic_shapes={"x": {0: "n"}})
    printed = run(model, *give(tmp_path, "x", tw.arange(5.0)))
    assert f"float32[5], checksum {checksum(tw.arange(5.0).cumsum(0))}\n" in printed
    assert "input x: float32[3]" in run(model, "--random")
