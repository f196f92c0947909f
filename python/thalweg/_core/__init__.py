"""The binding: _tensor (the Tensor type and the ops) and _native (the rest)."""
