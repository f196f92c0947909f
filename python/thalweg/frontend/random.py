"""Seeds and generators. A generator counts draws: the same seed and order of calls give the same numbers."""

import os

from thalweg._core import _native
from thalweg._core._tensor import Tensor, dtype_by_name
from thalweg.frontend.from_data import tensor
from thalweg.jit.context import tracing

__all__ = ["Generator", "default_generator", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]

_MASK = 2**64 - 1


def _check_not_traced() -> None:
    if tracing.current is not None:
        raise RuntimeError(
            "Generator: a traced function cannot seed a generator or set its state, which would be done in the trace "
            "only: do it outside"
        )


class Generator:
    """A source of random numbers apart from the global one; random functions take it as generator=.

    >>> import thalweg as tw
    >>> g = tw.Generator().manual_seed(3)
    >>> g.initial_seed()
    3
    """

    def __init__(self, device: object = "cpu") -> None:
        self._use(_native.GeneratorHandle(0))

    def _use(self, native: "_native.GeneratorHandle") -> None:
        self._native = native
        self._handle = native.capsule()

    def manual_seed(self, seed: int) -> "Generator":
        """Starts anew from a seed."""
        _check_not_traced()
        self._native.set_state(int(seed) & _MASK, 0)
        return self

    def seed(self) -> int:
        """Starts anew from a seed that the operating system draws, and returns it."""
        drawn = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(drawn)
        return drawn

    def initial_seed(self) -> int:
        """The seed that this generator started from."""
        return self._native.seed()

    def get_state(self) -> Tensor:
        """Seed and number of draws, as an int64 tensor of two elements."""
        if tracing.current is not None:
            raise RuntimeError("Generator: its state is not known in a traced function: ask for it outside")
        signed = self._native.seed()
        return tensor(
            [signed - 2**64 if signed >= 2**63 else signed, self._native.draws()], dtype=dtype_by_name("int64")
        )

    def set_state(self, new_state: Tensor) -> "Generator":
        """Goes on from where get_state() was called."""
        _check_not_traced()
        seed, draws = new_state.tolist()
        self._native.set_state(seed & _MASK, draws)
        return self

    def clone_state(self) -> "Generator":
        """Another generator that will draw the same numbers."""
        return Generator().set_state(self.get_state())

    def __getstate__(self) -> list:
        return self.get_state().tolist()

    def __setstate__(self, state: list) -> None:
        self._use(_native.GeneratorHandle(0))
        self._native.set_state(state[0] & _MASK, state[1])


default_generator = Generator.__new__(Generator)
default_generator._use(_native.default_generator())


def manual_seed(seed: int) -> Generator:
    """Seeds the global generator.

    >>> import thalweg as tw
    >>> _ = tw.manual_seed(0)
    >>> tw.initial_seed()
    0
    """
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the global generator from the operating system, and returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the global generator."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the global generator, as an int64 tensor."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Puts the global generator back to a state of get_rng_state()."""
    default_generator.set_state(new_state)
