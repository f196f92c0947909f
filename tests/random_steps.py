"""Steps of random programs: views, writes and arithmetic on tensors made before."""

import numpy as np
import thalweg as tw
from hypothesis import strategies as st

SHAPE = (2, 3, 4)

VIEWS = {
    "transpose": lambda t, i: t.transpose(0, -1) if t.ndim else t,
    "select": lambda t, i: t[i % t.shape[0]] if t.ndim and t.shape[0] else t,
    "slice": lambda t, i: t[i % 2 :: 1 + i % 2] if t.ndim else t,
    "reshape": lambda t, i: t.reshape(-1),
    "unsqueeze": lambda t, i: t.unsqueeze(0) if t.ndim < 5 else t,
    "diagonal": lambda t, i: t.diagonal() if t.ndim >= 2 else t,
    "detach": lambda t, i: t.detach(),
}
WRITES = {
    "add": lambda t, o: t.add_(1.5),
    "mul": lambda t, o: t.mul_(-0.5),
    "copy": lambda t, o: t.copy_(o.sum()),
    "fill": lambda t, o: t.fill_(3.0),
    "sub": lambda t, o: t.sub_(o.mean()),
    "zero": lambda t, o: t.zero_(),
}
MAKES = {
    "exp": lambda t, o: t.tanh(),
    "add": lambda t, o: t + o.sum(),
    "clone": lambda t, o: t.clone(),
    "double": lambda t, o: t * 2,
    "sum": lambda t, o: t.sum(),
    "cat": lambda t, o: tw.cat([t.reshape(-1), o.reshape(-1)[:3]]),
}
STEP = st.one_of(
    st.tuples(st.just("view"), st.sampled_from(sorted(VIEWS)), st.integers(0, 9), st.integers(0, 3)),
    st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), st.integers(0, 9), st.integers(0, 9)),
    st.tuples(st.just("make"), st.sampled_from(sorted(MAKES)), st.integers(0, 9), st.integers(0, 9)),
)


def assert_same(result, expected):
    """Up to the order of sums, which follows memory: values of a graph lie in it otherwise than eager views."""
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
