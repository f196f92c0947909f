"""The benchmark suite's own arithmetic: turns, ratios, results that disagree, names that are missing, tables."""

import numpy as np
import pytest
from bench import readme, table
from bench.blas import Blas
from bench.frameworks import OURS, TORCH, NotOffered, missing_name
from bench.machine import Machine
from bench.measure import Contender, best_of, ratio_of, rounds_of, timed
from bench.rows import Context, Row, check_same, measure_row


class Side:
    """A framework as measure_row sees it."""

    def set_threads(self, count):
        self.threads = count

    def numpy(self, value):
        return np.asarray(value)


def context():
    return Context({OURS: Side(), TORCH: Side()}, Machine(2, 1e-9, 1e-11), 2)


def constant(name, value):
    return Contender(name, lambda: value)


def test_contenders_take_turns_in_a_turning_order():
    order = []
    contenders = [Contender(name, lambda name=name: order.append(name) or 1.0) for name in "abc"]
    samples = rounds_of(contenders, 3)
    assert "".join(order) == "abcbcacab" and all(len(values) == 3 for values in samples.values())


def test_ratios_are_taken_within_a_round():
    ratio = ratio_of([1.0, 10.0, 1.0, 1.0, 1.0], [2.0, 20.0, 2.0, 2.0, 4.0])
    assert ratio.median == 0.5 and ratio.low == 0.5 and ratio.high == 0.5


def test_short_calls_are_repeated():
    calls = []
    assert timed(lambda: calls.append(1), turn_s=0.001)() < 0.001
    assert len(calls) > 50


def test_the_best_peer_counts_and_the_floor_is_no_peer():
    assert best_of({"a": [3.0], "b": [2.0]}, ["a", "b"]) == "b"
    contenders = [constant(OURS, 1.0), constant(TORCH, 4.0), constant("torch, other", 2.0), constant("copy", 0.5)]
    row = Row("r", 0.4, lambda c: contenders, floor_name="copy", floor_scale=1.5)
    result = measure_row(row, context(), 4)
    assert (result.ratio, result.peer_name, result.met) == (0.5, "torch, other", False)
    assert result.floor_ratio == pytest.approx(1 / 0.75)
    again = Row("r", 0.4, lambda c: contenders, floor_name="copy", floor_scale=1.5, or_floor=1.4)
    assert measure_row(again, context(), 4).met


def test_a_missing_name_is_a_note_and_a_fault_is_not():
    def missing(_):
        raise NotOffered("no conv2d")

    def broken(_):
        raise ZeroDivisionError

    assert measure_row(Row("r", 1.0, missing), context(), 1).note == "not offered: no conv2d"
    with pytest.raises(ZeroDivisionError):
        measure_row(Row("r", 1.0, broken), context(), 1)
    assert missing_name(AttributeError("module 'thalweg' has no attribute 'x'"))
    assert missing_name(AttributeError("'int' object has no attribute 'x'")) is None


def test_sides_that_disagree_are_not_measured():
    check_same(Side(), [1.0, np.ones(2)], Side(), [1.0, np.ones(2)], 1e-6)
    for wrong in ([1.0, np.zeros(2)], [1.0, np.ones(3)], [float("nan"), np.ones(2)]):
        with pytest.raises(AssertionError, match="disagree"):
            check_same(Side(), wrong, Side(), [1.0, np.ones(2)], 1e-6)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("form", ["plain", "a", "b"])
def test_blas_computes_the_product_however_it_is_split(threads, form):
    rng = np.random.default_rng(0)
    a = rng.random((40, 70), np.float32) if form != "a" else rng.random((70, 40), np.float32).T
    b = rng.random((70, 90), np.float32) if form != "b" else rng.random((90, 70), np.float32).T
    blas = Blas()
    for way in (blas.own_threads, blas.split):
        c = np.zeros((40, 90), np.float32)
        way(a, b, c, threads)()
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_amounts_have_units():
    assert table.amount(2.5e-6, "s") == "2.5 µs" and table.amount(3e9, "B") == "2.79 GiB"
    assert table.amount(0.0421, "s") == "42.1 ms" and table.amount(None, "s") == "-"


def test_the_readme_section_is_replaced():
    result = measure_row(Row("r", 0.4, lambda c: [constant(OURS, 1.0), constant(TORCH, 2.0)]), context(), 4).as_dict()
    report = {"machine": {"cpu": "c", "cores": 2, "python": "3", "load": 9.0}, "versions": {"torch": "2"}, "rounds": 4,
              "results": [result]}  # fmt: skip
    before = f"head\n{readme.BEGIN}\nold\n{readme.END}\ntail"
    after = readme.replaced(before, readme.section(report))
    assert after.startswith("head") and after.endswith("tail") and "old" not in after
    assert "| r | 2 | 1 s | 2 s torch | 0.5 (0.5-0.5) | 0.4 | no |" in after and "busy" in after
    with pytest.raises(ValueError, match="markers|wanted"):
        readme.replaced("nothing", "x")
