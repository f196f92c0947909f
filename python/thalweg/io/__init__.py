"""Files: checkpoints (`save`, `load`, readable by PyTorch and back) and safetensors."""

from thalweg.io.checkpoint import load, save
from thalweg.io.safe import UnsafeGlobalError, add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from thalweg.io.safetensors import load_safetensors, safetensors_metadata, save_safetensors

__all__ = [
    "UnsafeGlobalError",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "load",
    "load_safetensors",
    "safe_globals",
    "safetensors_metadata",
    "save",
    "save_safetensors",
]
