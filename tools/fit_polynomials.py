"""Fits the polynomials of cpp/device/cpu/math.h and writes cpp/device/cpu/math_coefficients.h.

Each entry of FITS is a smooth function on an interval, fitted by Chebyshev interpolation in 60 digits; the printed
error is the largest absolute one. Each entry of RATIOS is a ratio of polynomials, fitted in double for a relative error
that may grow as its last argument says. Run `python tools/fit_polynomials.py` after changing an entry; it needs mpmath
and numpy.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 60
TARGET = Path(__file__).resolve().parent.parent / "cpp/device/cpu/math_coefficients.h"


def away_from_zero(f: Callable, at_zero) -> Callable:
    """f with its limit at 0, where the formula is 0/0."""
    return lambda x: mp.mpf(at_zero) if abs(x) < mp.mpf(10) ** -25 else f(x)


def exp_tail(r):
    return (mp.expm1(r) - r) / r**2


def exp2_tail(r):
    return mp.expm1(r * mp.log(2)) / r


def log_tail(z):
    s = mp.sqrt(z)
    return (mp.log((1 + s) / (1 - s)) / s - 2) / z


def sin_tail(z):
    r = mp.sqrt(z)
    return (mp.sin(r) / r - 1) / z


def cos_tail(z):
    return (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2


def atan_tail(z):
    t = mp.sqrt(z)
    return (mp.atan(t) / t - 1) / z


def asin_tail(z):
    s = mp.sqrt(z)
    return (mp.asin(s) / s - 1) / z


def erf_ratio(z):
    x = mp.sqrt(z)
    return mp.erf(x) / x - 1


def erfc_exponent(a):
    return -mp.log(mp.erfc(a))


def scaled_erfc(t):
    """exp(a^2) erfc(a) (1 + 2 a) with t = (a - 4) / (a + 4)."""
    if t > 1 - mp.mpf(10) ** -12:
        return 2 / mp.sqrt(mp.pi)
    a = 4 * (1 + t) / (1 - t)
    if a < 40:
        return mp.exp(a * a) * mp.erfc(a) * (1 + 2 * a)
    series = sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * a * a) ** k for k in range(1, 12))
    return (1 + series) / (a * mp.sqrt(mp.pi)) * (1 + 2 * a)


def mills_ratio(a):
    """(1 - cdf(a)) / exp(-a^2 / 2) of the standard normal distribution."""
    return mp.exp(a * a / 2) * mp.erfc(a / mp.sqrt(2)) / 2


def erfinv_ratio(w):
    """erfinv(x) / x with w = -log(1 - x^2)."""
    if abs(w) < mp.mpf(10) ** -25:
        return mp.sqrt(mp.pi) / 2
    complement = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))  # 1 - x, without cancellation
    x = 1 - complement
    if w < 3:
        return mp.erfinv(x) / x
    guess = mp.sqrt(w)
    y = mp.findroot(lambda v: mp.log(mp.erfc(v)) - mp.log(complement), guess)
    return y / x


FITS = [
    # name, type, formula, function, interval, number of coefficients
    ("kExp", "float", "(exp(r) - 1 - r) / r^2", away_from_zero(exp_tail, 0.5), (-0.3477, 0.3477), 5),
    ("kExp", "double", "(exp(r) - 1 - r) / r^2", away_from_zero(exp_tail, 0.5), (-0.3477, 0.3477), 11),
    ("kExp2", "float", "(2^r - 1) / r", away_from_zero(exp2_tail, mp.log(2)), (-0.5, 0.5), 6),
    ("kExp2", "double", "(2^r - 1) / r", away_from_zero(exp2_tail, mp.log(2)), (-0.5, 0.5), 13),
    ("kLog", "float", "(log((1 + s) / (1 - s)) / s - 2) / z, z = s^2", away_from_zero(log_tail, mp.mpf(2) / 3),
     (0, 0.02945), 4),
    ("kLog", "double", "(log((1 + s) / (1 - s)) / s - 2) / z, z = s^2", away_from_zero(log_tail, mp.mpf(2) / 3),
     (0, 0.02945), 8),
    ("kSin", "float", "(sin(r) / r - 1) / z, z = r^2", away_from_zero(sin_tail, -mp.mpf(1) / 6), (0, 0.6175), 3),
    ("kSin", "double", "(sin(r) / r - 1) / z, z = r^2", away_from_zero(sin_tail, -mp.mpf(1) / 6), (0, 0.6175), 8),
    ("kCos", "float", "(cos(r) - 1 + z / 2) / z^2, z = r^2", away_from_zero(cos_tail, mp.mpf(1) / 24),
     (0, 0.6175), 3),
    ("kCos", "double", "(cos(r) - 1 + z / 2) / z^2, z = r^2", away_from_zero(cos_tail, mp.mpf(1) / 24),
     (0, 0.6175), 7),
    ("kAtan", "double", "(atan(t) / t - 1) / z, z = t^2", away_from_zero(atan_tail, -mp.mpf(1) / 3), (0, 0.1716), 13),
    ("kAsin", "double", "(asin(s) / s - 1) / z, z = s^2", away_from_zero(asin_tail, mp.mpf(1) / 6), (0, 0.25), 15),
    ("kErf", "float", "erf(x) / x - 1, z = x^2", away_from_zero(erf_ratio, 2 / mp.sqrt(mp.pi) - 1), (0, 1.33), 8),
    ("kErf", "double", "erf(x) / x - 1, z = x^2", away_from_zero(erf_ratio, 2 / mp.sqrt(mp.pi) - 1), (0, 0.81), 14),
    ("kErfcExponent", "float", "-log(erfc(a)), in a - 2.6", lambda u: erfc_exponent(u + mp.mpf("2.6")),
     (-1.47, 1.47), 10),
    ("kErfc", "double", "exp(a^2) erfc(a) (1 + 2 a), t = (a - 4) / (a + 4)", scaled_erfc, (-1, 1), 27),
    ("kErfinvCentre", "double", "erfinv(x) / x, in w - 3.125, w = -log(1 - x^2)",
     lambda u: erfinv_ratio(u + mp.mpf("3.125")), (-3.125, 3.125), 24),
    ("kErfinvMiddle", "double", "erfinv(x) / x, in sqrt(w) - 3.25", lambda u: erfinv_ratio((u + mp.mpf("3.25")) ** 2),
     (-0.76, 0.76), 22),
    ("kErfinvTail", "double", "erfinv(x) / x, in sqrt(w) - 5", lambda u: erfinv_ratio((u + 5) ** 2), (-1.01, 1.2), 22),
]  # fmt: skip

RATIOS = [
    # name, formula, function, end of the interval from 0 on, coefficients above and below, growth of the error
    ("kMills", "exp(a^2 / 2) (1 - cdf(a))", mills_ratio, 13.3, (4, 5), lambda a: 1 + a * a / 2),
]


def fit_ratio(function, end: float, counts: tuple[int, int], growth) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients above and below (that one from 1 on) and the largest error over growth.

    Lawson's iteration: least squares, linear by multiplying with the last denominator, whose weights move to where the
    error is large.
    """
    a = end * ((np.cos(np.pi * (np.arange(2000) + 0.5) / 2000) + 1) / 2) ** 1.5  # denser near 0
    wanted = np.array([float(function(mp.mpf(x))) for x in a])
    allowed = wanted * growth(a)
    above, below = (np.vander(a, count, increasing=True) for count in counts)
    denominator, weights = np.ones_like(a), np.full_like(a, 1 / len(a))
    best = (np.empty(0), np.empty(0), float("inf"))
    for _ in range(120):
        columns = np.hstack([above, -wanted[:, None] * below[:, 1:]])
        row_scale = np.sqrt(weights) / (allowed * denominator)
        columns = columns * row_scale[:, None]
        column_scale = np.linalg.norm(columns, axis=0)
        c = np.linalg.lstsq(columns / column_scale, wanted * row_scale, rcond=None)[0] / column_scale
        top, bottom = c[: counts[0]], np.concatenate([[1.0], c[counts[0] :]])
        denominator = below @ bottom
        error = np.abs(above @ top / denominator - wanted) / allowed
        if error.max() < best[2]:
            best = (top, bottom, float(error.max()))
        weights = weights * (error / error.max() + 0.01) ** 0.7
        weights /= weights.sum()
    return best


def wrapped(values: list[str], width: int = 100) -> str:
    lines, line = [], "   "
    for value in values:
        if len(line) + len(value) + 2 > width:
            lines.append(line)
            line = "   "
        line += f" {value},"
    return "\n".join([*lines, line])


def table(comment: str, kind: str, name: str, coefficients: list) -> str:
    """A C++ array, from the constant term up."""
    suffix, digits = ("f", 9) if kind == "float" else ("", 17)
    values = [mp.nstr(mp.mpf(c), digits, min_fixed=0, max_fixed=0) + suffix for c in coefficients]
    head = f"inline constexpr std::array<{kind}, {len(values)}> {name}{kind.capitalize()}"
    return f"// {comment}\n{head} = {{\n{wrapped(values)}\n}};\n"


def main() -> None:
    parts = [
        "// Made by tools/fit_polynomials.py: change it there. Coefficients from the constant term up.\n"
        "// clang-format off\n#pragma once\n\n#include <array>\n\nnamespace tw::math::detail {\n"
    ]
    for name, kind, formula, function, (low, high), count in FITS:
        coefficients, error = mp.chebyfit(function, [mp.mpf(low), mp.mpf(high)], count, error=True)
        print(f"{name:16} {kind:7} {count:3} coefficients, error {mp.nstr(error, 3)}")
        comment = f"{formula}, on [{low}, {high}]: error {mp.nstr(error, 2)}"
        parts.append(table(comment, kind, name, coefficients[::-1]))
    for name, formula, function, end, counts, growth in RATIOS:
        above, below, error = fit_ratio(function, end, counts, growth)
        print(f"{name:16} float   {counts} coefficients, relative error {error:.1e}")
        comment = f"{formula}, on [0, {end}]: relative error {error:.1e}, growing; "
        parts.append(table(comment + "above", "float", name + "Above", list(above)))
        parts.append(table(comment + "below", "float", name + "Below", list(below)))
    parts.append("}  // namespace tw::math::detail\n")
    TARGET.write_text("\n".join(parts))


if __name__ == "__main__":
    main()
