"""Losses."""

import thalweg as tw
import thalweg.nn.functional as F

from .registry import op


def _options(node):
    ignored = node.get("ignore_index")
    return {"reduction": node.get("reduction", "mean"), "ignore_index": -100 if ignored is None else ignored}


@op("SoftmaxCrossEntropyLoss")
def cross_entropy(node, scores, labels, weights=None):
    loss = F.cross_entropy(scores, labels.to(tw.int64), weights, **_options(node))
    return (loss, F.log_softmax(scores, 1)) if node.wants(1) else loss


@op("NegativeLogLikelihoodLoss")
def nll(node, x, target, weight=None):
    return F.nll_loss(x, target.to(tw.int64), weight, **_options(node))
