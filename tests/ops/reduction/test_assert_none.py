import pytest
import thalweg as tw
from thalweg._registry import ops


def test_it_raises_what_it_is_told_and_says_where():
    flags = tw.zeros(2, 3, dtype=tw.bool)
    assert ops.assert_none(flags, "ValueError", "t: zeros are wanted") is None
    flags[1, 2] = True
    for error in (ValueError, IndexError, RuntimeError):
        with pytest.raises(error, match=r"^t: zeros are wanted \(not so at \[1, 2\]\)$"):
            ops.assert_none(flags, error.__name__, "t: zeros are wanted")
    with pytest.raises(ValueError, match=r"not so at \[2, 1\]"):
        ops.assert_none(flags.T, "ValueError", "t: zeros are wanted")
    assert ops.assert_none(tw.zeros(0, dtype=tw.bool), "ValueError", "empty") is None
    with pytest.raises(ValueError, match=r"not so at \[\]"):
        ops.assert_none(tw.tensor(True), "ValueError", "0-dim")


def test_it_wants_bools():
    with pytest.raises(TypeError, match="assert_none: a condition of dtype bool is wanted, got float32"):
        ops.assert_none(tw.zeros(2), "ValueError", "no")


@pytest.mark.parametrize("count", [100_000])
def test_one_among_many_is_found(count):
    flags = tw.zeros(count, dtype=tw.bool)
    flags[count - 1] = True
    with pytest.raises(ValueError, match=rf"\[{count - 1}\]"):
        ops.assert_none(flags, "ValueError", "none")
