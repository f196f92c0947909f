"""The command: torch's databases and other peers' suites through thalweg, in worker processes.

tools/conformance.py gelu matmul --dtypes float32,float64 -v    a few ops, failures in full
tools/conformance.py                                            everything, JSON and the Markdown table
tools/conformance.py --device cuda --demanded                   the operators' kernels for CUDA (THALWEG_CUDA_EMULATOR)
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from . import pool, summary

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("op", "module", "optimizer", "array_api", "onnx", "library")


def parse(argv):
    parser = argparse.ArgumentParser(
        prog="conformance", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "names",
        nargs="*",
        help="ops (gelu, nn.functional.gelu, norm.fro), modules (nn.GELU), optimizers, xp.add, onnx.Add, einops",
    )
    parser.add_argument("--dtypes", default="", help="comma separated; default: all that torch supports for the op")
    parser.add_argument("--checks", default="", help="comma separated; default: all (--checks help lists them)")
    parser.add_argument("--suite", default="", help=f"{', '.join(KINDS)}; default: all (or what the names match)")
    parser.add_argument("--demanded", action="store_true", help="only the names that must be offered")
    parser.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="of thalweg's tensors; torch's stay on the CPU"
    )
    parser.add_argument("--sample-fraction", type=float, default=1.0, help="this part of the names, chosen by hash")
    parser.add_argument(
        "-v", "--verbose", action="count", default=0, help="show failing calls; twice: all that are kept"
    )
    parser.add_argument("-j", "--jobs", type=int, default=0, help="worker processes (default: 1 for names, 2 for all)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one op")
    parser.add_argument("--json", type=Path, help="write results here (default for a full run: build/conformance.json)")
    parser.add_argument("--markdown", type=Path, help="write the table here (docs/conformance.md is this, generated)")
    parser.add_argument("--from-json", type=Path, help="write the table from earlier results; runs nothing")
    parser.add_argument("--here", action="store_true", help="run in this process (for a debugger)")
    args = parser.parse_args(argv)
    args.dtypes = [d for d in args.dtypes.split(",") if d]
    args.checks = [c for c in args.checks.split(",") if c]
    if args.device != "cpu":
        args.suite = args.suite or "op"
        if args.suite != "op":
            parser.error(f"--device {args.device} runs the suite op alone, not {args.suite}")
    return args


class _Here:
    """The worker's interface in this process."""

    def run(self, unit, seconds):
        from . import suites

        return {"result": suites.run(unit)}

    def stop(self):
        pass


def _listing(worker, args):
    kinds = args.suite.split(",") if args.suite else list(KINDS)
    unit = {
        "kind": "list",
        "device": args.device,
        "suites": kinds,
        "words": args.names,
        "demanded": args.demanded,
        "checks": args.checks,
    }
    answer = worker.run(dict(unit, fraction=args.sample_fraction), pool.START_SECONDS)
    if "error" in answer:
        raise SystemExit(f"conformance: {answer['error']}")
    return answer["result"]


def _units(listing, args):
    common = {"device": args.device, "dtypes": args.dtypes, "checks": args.checks}
    return [dict(common, kind=kind, name=name) for kind, names in listing["names"].items() for name in names]


def _result(unit, answer):
    if "result" in answer:
        return dict(answer["result"], kind=unit["kind"])
    return {
        "kind": unit["kind"],
        "name": unit["name"],
        "demanded": True,
        "counts": {},
        "failures": [],
        "samples": 0,
        "error": answer["error"] + ("\n" + answer["trace"] if "trace" in answer else ""),
        "seconds": 0.0,
    }


def _run(args):
    """All units; (results in the databases' order, listing)."""
    stderr = None if args.verbose else subprocess.DEVNULL
    worker = _Here() if args.here else pool.Worker(stderr)
    listing = _listing(worker, args)
    units = _units(listing, args)
    results = {}
    few = bool(args.names)

    def done(unit, answer):
        r = _result(unit, answer)
        results[unit["kind"], unit["name"]] = r
        if few or summary.state(r) in ("failed", "crashed", "missing"):
            print(summary.line(r))
        if few or args.verbose:
            for text in summary.failure_lines(r, 100 if args.verbose > 1 else 2 if args.verbose else 1):
                print(text)
        if not few and len(results) % 50 == 0:
            print(f"... {len(results)} of {len(units)}", flush=True)

    if args.here:
        for unit in units:
            done(unit, worker.run(unit, 0))
    else:
        jobs = args.jobs or (1 if len(units) < 20 else 2)
        pool.run_all(units, min(jobs, max(1, len(units))), args.timeout, done, stderr, worker)
    return [results[u["kind"], u["name"]] for u in units], listing


def _write(data, args, full):
    target = args.json or (ROOT / "build" / "conformance.json" if full else None)
    if target:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(data, indent=1) + "\n")
        print(f"wrote {target}")
    if args.markdown:
        args.markdown.parent.mkdir(parents=True, exist_ok=True)
        args.markdown.write_text(summary.markdown(data))
        print(f"wrote {args.markdown}")


def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    if args.from_json:
        _write(json.loads(args.from_json.read_text()), args, False)
        return 0
    start = time.perf_counter()
    results, listing = _run(args)
    narrowed = args.names or args.dtypes or args.checks or args.suite or args.demanded or args.sample_fraction < 1
    data = {"results": results, **{k: listing[k] for k in ("torch", "checks", "exemptions")}}
    allowed = 1.0 if args.names else listing["max_fraction"]  # a fraction of a few ops says nothing
    problems = summary.exemption_problems(results, listing["exemptions"], allowed, not narrowed)
    _write(data, args, not narrowed)
    if not args.names:
        print("\nworst:", *summary.worst(results), sep="\n")
    for text in problems:
        print(text)
    states = [summary.state(r) for r in results]
    counts = ", ".join(
        f"{states.count(s)} {s}" for s in ("passed", "failed", "known", "missing", "crashed", "not offered")
    )
    samples = sum(r["samples"] for r in results)
    exempt = sum(r.get("exempt_samples", 0) for r in results)
    print(f"{counts}; {exempt} of {samples} samples exempt; {time.perf_counter() - start:.0f} s")
    bad = problems or any(s in ("failed", "missing", "crashed") for s in states)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
