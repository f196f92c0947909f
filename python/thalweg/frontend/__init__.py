"""The Python half of Tensor: creation, conversion, printing, pickling, gradients. Importing it attaches the methods."""

from thalweg.frontend import (
    conversion,
    creation,
    device,
    dtypes,
    global_tensor,
    gradients,
    layout,
    pickling,
    placement,
    precision,
    printing,
    protocols,
    random,
    storage,
    threads,
)

__all__ = [
    "conversion",
    "creation",
    "device",
    "dtypes",
    "global_tensor",
    "gradients",
    "layout",
    "pickling",
    "placement",
    "precision",
    "printing",
    "protocols",
    "random",
    "storage",
    "threads",
]
