"""The benchmarks: thalweg beside torch, BLAS and a copy of memory; `python tools/bench/run.py --help` says more."""
