"""Signatures that are sound but that rules do not offer, each with its reason; missing.py finds them."""

import re

# "P(max)" or "P(min)" of an input.
_EXTREME = r"P\((max|min)\).* -> "

# Of ops whose names match the first expression, signatures whose text matches the second.
REASONS: list[tuple[str, str, str]] = [
    (
        "add|sub|rsub|mul|true_divide|trunc_divide|floor_divide|remainder|lerp|mul_add|addcmul|addcdiv|addmm|baddbmm|linear|"
        "mm|broadcast_mm|convolution|(layer|group)_norm|batch_norm_train|clamp|fmax|fmin|bitwise_and|bitwise_or|"
        "logaddexp2?|copysign|searchsorted_rows|solve_triangular|index_put|scatter_elements|window_write|pow|pow_backward|"
        "cross_entropy_.*|nll_loss_.*|plane_scatter",
        _EXTREME,
        "an extreme beside other operands: who reduces it first sends no more than for the result",
    ),
    ("eq|ne|lt|le|gt|ge|isnan|any|all|where", "", "truth values: a pending input tells them for some values only"),
    (
        "log|log2|log10|log1p|sqrt|rsqrt|acosh|logit",
        _EXTREME,
        "what loses against the extreme may lie outside of the domain",
    ),
    ("cast", r"P\(sum\)", "long integers become floats: only the last digit is rounded, finer than the search sees"),
    (
        "cast",
        r"^P\(max\) -> P\(max\)$",
        "what loses against all floats, -inf, is the least integer on some processors only",
    ),
    ("fill|after|copy", "", "an input that is not read: it lies as the result does, or as the other input"),
    ("xlogy", r"P\(sum\)", "0 log 0 is 0 of the whole, not of its terms"),
    ("cross_entropy_.*|(batch|group|layer)_norm_backward", r"P\(sum\)", "weights and statistics are made whole"),
    ("embedding_backward", r"^S\(\d\) S\(\d\) -> P\(sum\)$", "scale_grad_by_freq counts over all places"),
    # What holds for some shapes only.
    (
        "slice|slice_scatter_zeros",
        r"S\(",
        "the cut dim may be split only where all of it, or all of each unit, is taken",
    ),
    ("cat", r"^S\(\d\) -> ", "one tensor alone"),
    ("gather|scatter_elements", r"B S\(0\)|P\(sum\) S\(0\) S\(0\)", "of a 0-dim input"),
    ("softmax|log_softmax|vector_norm|logsumexp", r"P\(", "rows of one element"),
    ("sum|mean", _EXTREME, "rows of one element"),
    ("tril|triu", " -> B$", "a triangle that is empty"),
    ("prod_dim|linalg_.*|matrix_exp", r"P\(", "of one element"),
    ("convolution|convolution_weight", "unit=", "kernels that do not overlap"),
    ("resample|resample_backward|avg_pool_backward|as_strided_scatter", _EXTREME, "windows that do not overlap"),
    ("window_write", r"S\(", "windows that keep to the parts"),
    # What holds for some values only: numbers of one sign, places that are named once, ...
    (".*", r"P\((sum|max|min)\).* -> [^P]*$", "pending terms that change nothing"),
    (".*", r"P\(sum\).* -> .*P\((max|min)\)", "a sum is no extreme"),
    (".*", r"^[^P]* -> .*P\((max|min)\)", "parts that are extremes by chance"),
    ("max_dim|min_dim|argmax|argmin|amax|amin|multinomial|pinv_matrices|linalg_.*", "P", "some values only"),
    (".*_backward|maximum|minimum|masked_fill", _EXTREME, "some values only"),
    ("scatter_elements", r"^P\(sum\) B B|^S\((\d)\) S\(\1\) B", "places that lie on a part by chance"),
]


def reason_for(op: str, signature: str) -> str | None:
    """Why the op does not offer this one; None where nothing is said."""
    for ops, signatures, reason in REASONS:
        if re.fullmatch(ops, op) and re.search(signatures, signature):
            return reason
    return None
