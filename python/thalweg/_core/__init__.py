"""The binding: the compiled modules `_tensor` (the hot path) and `_native` (the rest); no logic."""
