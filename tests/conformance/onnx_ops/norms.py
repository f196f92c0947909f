"""Normalisation and softmax."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import op


def _rows(function, node, x):
    """Before opset 13 the dims from `axis` on are one row."""
    if node.opset >= 13:
        return function(x, node.get("axis", -1))
    axis = node.get("axis", 1) % x.ndim
    return function(x.flatten(axis), -1).reshape(x.shape)


@op("Softmax")
def softmax(node, x):
    return _rows(F.softmax, node, x)


@op("LogSoftmax")
def log_softmax(node, x):
    return _rows(F.log_softmax, node, x)


@op("BatchNormalization")
def batch_norm(node, x, scale, bias, mean, var):
    eps, training = node.get("epsilon", 1e-5), bool(node.get("training_mode", 0))
    if not training:
        return F.batch_norm(x, mean, var, scale, bias, False, 0.0, eps)
    # ONNX's running variance is the biased one, thalweg's is not: outputs 1 and 2 come from the statistics.
    dims = [d for d in range(x.ndim) if d != 1]
    keep = node.get("momentum", 0.9)
    y = F.batch_norm(x, None, None, scale, bias, True, 0.0, eps)
    found_var, found_mean = tw.var_mean(x, dims, correction=0)
    return y, keep * mean + (1 - keep) * found_mean, keep * var + (1 - keep) * found_var


@op("InstanceNormalization")
def instance_norm(node, x, scale, bias):
    return F.instance_norm(x, weight=scale, bias=bias, eps=node.get("epsilon", 1e-5))


@op("LayerNormalization")
def layer_norm(node, x, scale, bias=None):
    axis = node.get("axis", -1) % x.ndim
    eps, shape = node.get("epsilon", 1e-5), x.shape[axis:]
    y = F.layer_norm(x, shape, scale.expand(shape), None if bias is None else bias.expand(shape), eps)
    dims = list(range(axis, x.ndim))
    var, mean = tw.var_mean(x.to(tw.float32), dims, correction=0, keepdim=True)
    return y, mean, tw.rsqrt(var + eps)


@op("RMSNormalization")
def rms_norm(node, x, scale):
    shape = x.shape[node.get("axis", -1) % x.ndim :]
    return F.rms_norm(x, shape, scale.expand(shape), node.get("epsilon", 1e-5))


@op("GroupNormalization")
def group_norm(node, x, scale, bias):
    groups = node.get("num_groups")
    if scale.shape[0] == groups and scale.shape[0] != x.shape[1]:  # before opset 21: one for a group
        scale, bias = (t.repeat_interleave(x.shape[1] // groups) for t in (scale, bias))
    return F.group_norm(x, groups, scale, bias, node.get("epsilon", 1e-5))


@op("LRN")
def lrn(node, x):
    return F.local_response_norm(
        x, node.get("size"), node.get("alpha", 1e-4), node.get("beta", 0.75), node.get("bias", 1.0)
    )


@op("LpNormalization")
def lp_normalization(node, x):
    return F.normalize(x, node.get("p", 2), node.get("axis", -1))


@op("MeanVarianceNormalization")
def mean_variance(node, x):
    std, mean = tw.std_mean(x, node.get("axes", [0, 2, 3]), correction=0, keepdim=True)
    return (x - mean) / (std + 1e-9)
