"""Results as plain data -> terminal lines, JSON and the Markdown table. Imports neither torch nor thalweg."""

import re
from collections import Counter

from . import known

TITLES = {
    "op": "Operators",
    "module": "Modules",
    "optimizer": "Optimizers",
    "array_api": "The array API standard",
    "onnx": "ONNX's node and model tests",
    "library": "einops and opt_einsum",
}
MARKS = {"passed": "ok", "failed": "FAIL", "skipped": "-", "exempt": "exempt"}


def totals(results):
    """Outcome counts over all results."""
    total = Counter()
    for r in results:
        for by in r.get("counts", {}).values():
            for counts in by.values():
                total.update(counts)
    return total


def state(r):
    """One word: passed, failed, known (to fail), missing (demanded, not offered), 'not offered' or crashed."""
    if r.get("error"):
        return "crashed"
    if r.get("missing"):
        return "missing" if r["demanded"] else "not offered"
    failed = any(c.get("failed") for by in r["counts"].values() for c in by.values())
    if failed and not r["demanded"] and known.name_of(r["name"]):
        return "known"
    return "failed" if failed else "passed"


def failed_count(r):
    return sum(c.get("failed", 0) for by in r.get("counts", {}).values() for c in by.values())


def by_check(r):
    """{check: Counter} over the dtypes."""
    merged = {}
    for by in r.get("counts", {}).values():
        for check, counts in by.items():
            merged.setdefault(check, Counter()).update(counts)
    return merged


def line(r):
    """One line on a result for the terminal."""
    word = state(r)
    if word == "crashed":
        return f"CRASH  {r['name']}: {r['error']}"
    if word == "missing":
        return f"LACKS  {r['name']}: {r['missing']}"
    if word == "not offered":
        return f"absent {r['name']}: {r['missing']} (not demanded)"
    counts = totals([r])
    tail = f"{counts['passed']} checks passed on {r['samples']} samples, {r['seconds']:.1f} s"
    if r.get("skipped"):
        tail += f", {sum(r['skipped'].values())} not offered"
    if counts["exempt"]:
        tail += f", {counts['exempt']} exempt"
    if word == "passed":
        return f"ok     {r['name']}: {tail}"
    bad = []
    for dtype, by in r["counts"].items():
        kinds = [f"{k} {c['failed']}/{c['failed'] + c.get('passed', 0)}" for k, c in by.items() if c.get("failed")]
        if kinds:
            bad.append(f"{dtype}: {', '.join(kinds)}")
    label = "known " if word == "known" else "FAIL  "
    return f"{label} {r['name']}: {counts['failed']} failed, {tail}\n       " + "\n       ".join(bad)


def failure_lines(r, limit):
    """The first failures of a result, one call each, grouped by what is wrong."""
    lines, seen = [], Counter()
    for f in r.get("failures", []):
        kind = (f["check"], re.sub(r"[-+0-9.e]+", "#", f["message"].split("\n")[0])[:48])
        seen[kind] += 1
        if seen[kind] > limit:
            continue
        lines.append(f"     {f['check']} {f['dtype']} #{f['index']}  {r['name']}({f['call']})")
        lines += [f"        {part}" for part in f["message"].split("\n")]
    hidden = sum(max(0, n - limit) for n in seen.values())
    if hidden:
        lines.append(f"     ... {hidden} more of the same (-v -v shows all that were kept)")
    return lines


def exemption_problems(results, exemptions, maximum, complete):
    """What is wrong with the exemptions: too many samples, or (after a complete run) ones that nothing needs."""
    problems = []
    samples = sum(r.get("samples", 0) for r in results)
    exempt = sum(r.get("exempt_samples", 0) for r in results)
    if samples and exempt > maximum * samples:
        problems.append(f"{exempt} of {samples} samples are exempt, at most {maximum:.0%} may be")
    used = Counter()
    for r in results:
        for key, seen in r.get("exemptions", {}).items():
            used[key] += seen["failed"]
    if complete:
        failing = {known.name_of(r["name"]) for r in results if state(r) == "known"}
        problems += [f"stale known failure, it passes or never ran: {n}" for n in known.FAILURES if n not in failing]
        problems += [f"stale exemption, its check passes or never ran: {key}" for key in exemptions if not used[key]]
    return problems


def worst(results, limit=25):
    """The results with most failures, with their first error lines."""
    ranked = sorted((r for r in results if state(r) in ("failed", "crashed", "missing")), key=_rank)
    lines = []
    for r in ranked[:limit]:
        first = r["failures"][0] if r.get("failures") else None
        text = r.get("error") or r.get("missing") or f"{first['check']} {first['dtype']}: {first['message']}"
        lines.append(f"{failed_count(r):6d}  {r['name']}: {text.splitlines()[0][:150]}")
    return lines


def _rank(r):
    return (state(r) != "crashed", -failed_count(r), state(r) != "missing", r["name"])


def _cell(counts):
    if not counts or not (counts["passed"] or counts["failed"] or counts["exempt"]):
        return "-"
    text = str(counts["passed"])
    if counts["failed"]:
        text += f", **{counts['failed']} fail**"
    if counts["exempt"]:
        text += f", {counts['exempt']} exempt"
    return text


def _table(results, checks):
    rows = ["| name | " + " | ".join(checks) + " | samples |", "| --- |" + " ---: |" * (len(checks) + 1)]
    for r in results:
        if state(r) in ("crashed", "missing"):
            text = r.get("error") or f"missing: {r['missing']}"
            rows.append(f"| `{r['name']}` | {text} |" + " |" * len(checks))
            continue
        merged = by_check(r)
        cells = " | ".join(_cell(merged.get(c)) for c in checks)
        rows.append(f"| `{r['name']}` | {cells} | {r['samples']} |")
    return rows


def _partly(results):
    """What is not offered of units that are, one line each."""
    partly = [r for r in results if r.get("skipped")]
    lines = [f"- Of `{r['name']}`: {'; '.join(f'{why} ({n})' for why, n in r['skipped'].items())}." for r in partly]
    return ["Not offered in part:", "", *lines, ""] if lines else []


def markdown(data):
    """The page of results: a table of names by checks for each suite, exemptions, and what is not offered."""
    lines = [
        "# Conformance",
        "",
        f"Generated by `tools/conformance.py` from torch {data['torch']}'s own databases and other peers' suites; do"
        " not edit. A cell counts samples that agree with the peer, over all dtypes of the op; `-` means that the check"
        " does not apply.",
        "",
    ]
    for kind, title in TITLES.items():
        results = [r for r in data["results"] if r["kind"] == kind]
        offered = [r for r in results if state(r) != "not offered"]
        if not results:
            continue
        counts, states = totals(results), Counter(state(r) for r in results)
        checks = [c for c in data["checks"] if any(c in by_check(r) for r in offered)]
        samples, exempt = (sum(r.get(k, 0) for r in results) for k in ("samples", "exempt_samples"))
        lines += [
            f"## {title}",
            "",
            f"{states['passed']} pass, {states['failed']} fail, {states['known']} are known to,"
            f" {states['missing']} demanded ones are missing,"
            f" {states['crashed']} crashed, {states['not offered']} are not offered. {counts['passed']} checks pass,"
            f" {counts['failed']} fail, {counts['exempt']} are exempt; {exempt} of {samples} samples are exempt.",
            "",
            *_table(offered, checks),
            "",
        ]
        lines += _partly(offered)
        absent = [r["name"] for r in results if state(r) == "not offered"]
        if absent:
            lines += [f"Not offered: {', '.join(f'`{n}`' for n in absent)}.", ""]
    if any(state(r) == "known" for r in data["results"]):
        lines += ["## Known failures of names that need not be offered", ""]
        lines += [*(f"- `{name}`: {reason}." for name, reason in known.FAILURES.items()), ""]
    if data["exemptions"]:
        lines += ["## Exemptions", "", *(f"- {key}" for key in data["exemptions"]), ""]
    return "\n".join(lines)
