"""Python's own control flow in traced functions: `if`, `while` and `for` over tensors become parts of the program."""
