"""The command line: `thalweg`, or `python -m thalweg`."""
