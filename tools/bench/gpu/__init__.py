"""The same measurements on a GPU; tools/gpu_check.py runs them."""
