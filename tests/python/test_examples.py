"""The examples at a small size: they learn, and a GPT that stops and resumes is the one that did not."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import thalweg as tw

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

import decode_rnn
import text
import train_digits
import train_gpt

TEXT = "the quick brown fox jumps over the lazy dog, and " * 400
SMALL = (
    "--steps 12 --batch 4 --context 16 --width 16 --layers 2 --heads 2 --dropout 0.2 --lr 0.02 --warmup 3 "
    "--eval-every 4 --eval-batches 2 --sample 20"
).split()


@pytest.fixture
def book(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text(TEXT)
    return ["--data", str(path)]


def test_gpt_learns(book, tmp_path, capsys):
    trainer = train_gpt.main([*book, *SMALL, "--out", str(tmp_path / "run")])
    assert [step for step, _ in trainer.validations] == [4, 8, 12]
    assert trainer.validations[-1][1] < trainer.validations[0][1] < math.log(len(trainer.vocabulary)) + 0.2
    assert (tmp_path / "run/loss.png").stat().st_size > 1000
    assert "of the bigram entropy" in capsys.readouterr().out


def test_gpt_learns_the_same_as_a_static_program(book, tmp_path):
    eager, static = (
        train_gpt.main([*book, *SMALL, "--out", str(tmp_path / name), *more])
        for name, more in (("eager", []), ("static", ["--graph"]))
    )
    assert static.losses == eager.losses and static.validations == eager.validations
    assert static.learn.trace_count == 2  # the optimizer makes its state in the first step


def test_gpt_resumes_bit_for_bit(book, tmp_path):
    whole, parts = (["--out", str(tmp_path / name)] for name in ("whole", "parts"))
    uninterrupted = train_gpt.main([*book, *SMALL, *whole])
    train_gpt.main([*book, *SMALL, *parts, "--stop", "6"])
    tw.manual_seed(1)  # what happens in between does not matter
    resumed = train_gpt.main([*book, *parts, "--resume", "--sample", "1"])
    assert resumed.losses == uninterrupted.losses and resumed.validations == uninterrupted.validations
    checkpoints = [next((tmp_path / name / "checkpoint").glob("*.safetensors")) for name in ("whole", "parts")]
    assert checkpoints[0].read_bytes() == checkpoints[1].read_bytes()


@pytest.mark.parametrize("graph", [[], ["--graph"]], ids=["eager", "static"])
@pytest.mark.parametrize("mesh, plan", [("2", "dp"), ("4", "tp"), ("2x2", "dp,tp"), ("3", "tp")])
def test_gpt_learns_the_same_on_several_devices(book, tmp_path, mesh, plan, graph):
    try:
        one = train_gpt.main([*book, *SMALL, "--out", str(tmp_path / "one")])
        where = ["--mesh", mesh, "--plan", plan, *graph]
        several = train_gpt.main([*book, *SMALL, "--out", str(tmp_path / "several"), *where])
        assert several.model.blocks[0].mlp[0].weight.is_global
        np.testing.assert_allclose(several.losses, one.losses, rtol=2e-5)
        np.testing.assert_allclose([loss for _, loss in several.validations], [loss for _, loss in one.validations],
                                   rtol=2e-5)  # fmt: skip
    finally:
        tw.env.init()


def test_gpt_goes_on_with_another_mesh(book, tmp_path):
    try:
        whole, parts = (["--out", str(tmp_path / name)] for name in ("whole", "parts"))
        uninterrupted = train_gpt.main([*book, *SMALL, *whole])
        train_gpt.main([*book, *SMALL, *parts, "--stop", "6", "--mesh", "2x2", "--plan", "tp,dp"])
        resumed = train_gpt.main([*book, *parts, "--resume", "--sample", "1", "--devices", "3"])
        np.testing.assert_allclose(resumed.losses, uninterrupted.losses, rtol=2e-5)
    finally:
        tw.env.init()


def test_gpt_refuses_to_resume_on_another_text(book, tmp_path):
    out = ["--out", str(tmp_path / "run")]
    train_gpt.main([*book, *SMALL, *out, "--stop", "1"])
    Path(book[1]).write_text(TEXT + "!")
    with pytest.raises(ValueError, match="the text"):
        train_gpt.main([*book, *out, "--resume"])


def test_vocabulary_and_entropy():
    vocabulary = text.Vocabulary.of("abab" * 20 + "z", least=5)
    assert len(vocabulary) == 3
    assert vocabulary.decode(vocabulary.encode("bazaé")) == "ba\ufffda\ufffd"
    # a is followed by a or b with equal odds, b always by a: 2/3 of the pairs hold ln 2.
    tokens = np.array([0, 0, 1] * 1000 + [0])
    assert text.bigram_entropy(tokens) == pytest.approx(2 / 3 * math.log(2))


def test_digits_learn():
    assert train_digits.main(["--epochs", "2"]) > 0.9


def test_digits_learn_the_same_as_a_static_program():
    eager, static = (
        train_digits.train(train_digits.parse_options(["--epochs", "2", "--batch", "64", *more]))
        for more in ([], ["--graph"])
    )
    assert static == eager and len(static[1]) == 46


def test_digits_do_not_depend_on_workers():
    first, second = (train_digits.main(["--epochs", "1", "--workers", n]) for n in ("0", "2"))
    assert first == second


def test_rnn_spells_until_it_stops(capsys):
    words = decode_rnn.main(["--steps", "30", "--words", "4"])
    assert len(words) == 4 and all(words)
    shown = capsys.readouterr().out
    assert "at most 1 letters: 1 steps" in shown and "1 build:" in shown
