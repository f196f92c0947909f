"""Elementwise operators, casts and products of matrices."""

import functools
import math

import thalweg as tw
import thalweg.nn.functional as F

from .registry import NotOffered, dtype, op, simple

simple({
    "Abs": tw.abs, "Acos": tw.acos, "Acosh": tw.acosh, "Add": tw.add, "And": tw.logical_and, "Asin": tw.asin,
    "Asinh": tw.asinh, "Atan": tw.atan, "Atanh": tw.atanh, "BitwiseAnd": tw.bitwise_and,
    "BitwiseNot": tw.bitwise_not, "BitwiseOr": tw.bitwise_or, "BitwiseXor": tw.bitwise_xor, "Ceil": tw.ceil,
    "Cos": tw.cos, "Cosh": tw.cosh, "Det": tw.linalg.det, "Equal": tw.eq,
    "Erf": tw.erf, "Exp": tw.exp, "Floor": tw.floor,
    "Greater": tw.gt, "GreaterOrEqual": tw.ge, "HardSwish": F.hardswish, "IsNaN": tw.isnan, "Less": tw.lt,
    "LessOrEqual": tw.le, "Log": tw.log, "MatMul": tw.matmul, "Mish": F.mish, "Mul": tw.mul, "Neg": tw.neg,
    "Not": tw.logical_not, "Or": tw.logical_or, "Reciprocal": tw.reciprocal, "Relu": tw.relu, "Round": tw.round,
    "Sigmoid": tw.sigmoid, "Sign": tw.sign, "Sin": tw.sin, "Sinh": tw.sinh, "Softplus": F.softplus,
    "Softsign": F.softsign, "Sqrt": tw.sqrt, "Sub": tw.sub, "Tan": tw.tan, "Tanh": tw.tanh, "Where": tw.where,
    "Xor": tw.logical_xor, "Identity": lambda x: x,
})  # fmt: skip


@op("Div")
def div(node, a, b):
    whole = not (a.is_floating_point() or a.is_complex())
    return tw.div(a, b, rounding_mode="trunc") if whole else tw.div(a, b)


@op("Mod")
def mod(node, a, b):
    return tw.fmod(a, b) if node.get("fmod", 0) else tw.remainder(a, b)


@op("Pow")
def power(node, a, b):
    return tw.pow(a, b).to(a.dtype)


@op("BitShift")
def bit_shift(node, a, b):
    return tw.bitwise_left_shift(a, b) if node.get("direction") == "LEFT" else tw.bitwise_right_shift(a, b)


@op("PRelu")
def prelu(node, x, slope):
    if slope.numel() == 1 or node.opset < 7:  # one slope, or one for each channel
        return F.prelu(x, slope.reshape(-1))
    return tw.where(x < 0, slope * x, x)


@op("Gelu")
def gelu(node, x):
    return F.gelu(x, approximate=node.get("approximate", "none"))


@op("Elu")
def elu(node, x):
    return F.elu(x, node.get("alpha", 1.0))


@op("Selu")
def selu(node, x):
    alpha, gamma = node.get("alpha"), node.get("gamma")
    if alpha is None and gamma is None:
        return F.selu(x)
    return gamma * F.elu(x, alpha)


@op("Celu")
def celu(node, x):
    return F.celu(x, node.get("alpha", 1.0))


@op("LeakyRelu")
def leaky_relu(node, x):
    return F.leaky_relu(x, node.get("alpha", 0.01))


@op("ThresholdedRelu")
def thresholded_relu(node, x):
    return F.threshold(x, node.get("alpha", 1.0), 0.0)


@op("HardSigmoid")
def hard_sigmoid(node, x):
    alpha, beta = node.get("alpha", 0.2), node.get("beta", 0.5)
    if math.isclose(alpha, 1 / 6, rel_tol=1e-6) and beta == 0.5:
        return F.hardsigmoid(x)
    return tw.clamp(alpha * x + beta, 0, 1)


@op("Shrink")
def shrink(node, x):
    lambd, bias = node.get("lambd", 0.5), node.get("bias", 0.0)
    if bias == 0:
        return F.hardshrink(x, lambd)
    if bias == lambd:
        return F.softshrink(x, lambd)
    return tw.where(x < -lambd, x + bias, tw.where(x > lambd, x - bias, tw.zeros_like(x)))


@op("Swish")
def swish(node, x):
    alpha = node.get("alpha", 1.0)
    return F.silu(x) if alpha == 1 else x * tw.sigmoid(alpha * x)


@op("Clip")
def clip(node, x, low=None, high=None):
    low, high = node.get("min", low), node.get("max", high)
    return x.clone() if low is None and high is None else tw.clamp(x, low, high)


@op("Max")
def maximum(node, *inputs):
    return functools.reduce(tw.maximum, inputs)


@op("Min")
def minimum(node, *inputs):
    return functools.reduce(tw.minimum, inputs)


@op("Sum")
def total(node, *inputs):
    return functools.reduce(tw.add, inputs)


@op("Mean")
def mean(node, *inputs):
    return functools.reduce(tw.add, inputs) / len(inputs)


@op("IsInf")
def is_inf(node, x):
    up, down = node.get("detect_positive", 1), node.get("detect_negative", 1)
    if up and down:
        return tw.isinf(x)
    return tw.isposinf(x) if up else tw.isneginf(x) if down else tw.zeros_like(x, dtype=tw.bool)


@op("Cast")
def cast(node, x):
    return x.to(dtype(node.get("to")))


@op("CastLike")
def cast_like(node, x, like):
    return x.to(like.dtype)


@op("BitCast")
def bit_cast(node, x):
    return x.view(dtype(node.get("to")))


@op("Gemm")
def gemm(node, a, b, c=None):
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    a, b = (a.t() if node.get("transA", 0) else a), (b.t() if node.get("transB", 0) else b)
    return alpha * tw.mm(a, b) if c is None else tw.addmm(c, a, b, beta=beta, alpha=alpha)


@op("Einsum")
def einsum(node, *inputs):
    return tw.einsum(node.get("equation"), *inputs)


@op("Dropout")
def dropout(node, x, ratio=None, training=None):
    ratio = node.get("ratio", 0.5) if ratio is None else float(ratio)
    training = bool(training) if training is not None else False
    if training and ratio:
        raise NotOffered("Dropout with the draws of ONNX's reference")
    return F.dropout(x, ratio, training), tw.ones_like(x, dtype=tw.bool)
