"""The two sides as one interface: thalweg and torch have the same names, so a benchmark is written once for both."""

import importlib
from types import ModuleType
from typing import Any

import numpy as np

OURS, TORCH = "thalweg", "torch"


class NotOffered(Exception):
    """A side lacks a name that a benchmark needs."""


class Framework:
    """A framework's module, its functional namespace, and what has another name on the two sides."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: ModuleType = importlib.import_module(name)

    @property
    def nn(self) -> Any:
        """The layers."""
        return self.module.nn

    @property
    def F(self) -> Any:
        """nn.functional."""
        return self.module.nn.functional

    def tensor(self, array: np.ndarray, requires_grad: bool = False) -> Any:
        """A tensor that owns a copy of the array."""
        result = self.module.tensor(array)
        return result.requires_grad_() if requires_grad else result

    def random(self, *shape: int, dtype: str = "float32", requires_grad: bool = False) -> Any:
        """Normal numbers, the same for both sides."""
        array = np.random.default_rng(len(shape)).standard_normal(shape, dtype=np.float32)
        result = self.tensor(array).to(getattr(self.module, dtype))
        return result.detach().requires_grad_() if requires_grad else result

    def set_threads(self, count: int) -> None:
        """How many threads kernels use."""
        self.module.set_num_threads(count)

    def load(self, model: Any, seed: int = 0) -> Any:
        """The same numbers into the parameters of either side's model: uniform, scaled by the fan-in."""
        rng = np.random.default_rng(seed)
        with self.module.no_grad():
            for _, parameter in model.named_parameters():
                shape = tuple(parameter.shape)
                if len(shape) > 1:
                    bound = 1.0 / np.sqrt(np.prod(shape[1:]))
                    values = rng.uniform(-bound, bound, shape)
                else:  # scales of norms stay one, biases become zero
                    values = np.zeros(shape) if float(parameter.detach().reshape(-1)[0]) != 1.0 else np.ones(shape)
                parameter.data = self.tensor(values.astype(np.float32))
        return model

    def numpy(self, value: Any) -> np.ndarray:
        """A result as an array."""
        return value.detach().numpy() if hasattr(value, "detach") else np.asarray(value)


def missing_name(error: Exception) -> str | None:
    """What an error of our side says is not there; None for errors of another kind."""
    if isinstance(error, NotImplementedError):
        return str(error)
    if not isinstance(error, AttributeError):
        return None
    text = str(error)
    return text if "thalweg" in text or "no op named" in text else None
