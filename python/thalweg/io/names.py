"""The names that PyTorch writes into checkpoints, and what they are here.

A checkpoint's pickle names classes of `torch`; thalweg writes the same names, so that either can read the other's.
"""

import thalweg as tw

# Class of a storage in a checkpoint -> dtype of its elements.
STORAGE_DTYPES = {
    "DoubleStorage": "float64",
    "FloatStorage": "float32",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
    "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}

DTYPE_STORAGES = {dtype: storage for storage, dtype in STORAGE_DTYPES.items()}

# Names of dtypes as torch spells them; an old spelling maps to the dtype's own name.
DTYPE_ALIASES = {"double": "float64", "float": "float32", "half": "float16", "long": "int64", "int": "int32"}


def dtype_of(name):
    """The dtype named `name` in a checkpoint (`"float32"`), or None where no such dtype is known here."""
    dtype = getattr(tw, DTYPE_ALIASES.get(name, name), None)
    return dtype if isinstance(dtype, tw.dtype) else None
