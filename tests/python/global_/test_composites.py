"""Every composite written in Python runs on global tensors and gives what one device would.

CALLS has a call of each; what is exported and not in it fails a test.
"""

import math
import zlib

import numpy as np
import pytest
import thalweg as tw
from thalweg import _registry
from thalweg.nn import functional as F

S, B, P = tw.sbp.split, tw.sbp.broadcast, tw.sbp.partial_sum
LA, TWO = tw.linalg, tw.placement("cpu", [0, 1])


class Maker:
    """Makes the tensors of a call: local ones, or the same laid out on two devices."""

    def __init__(self, seed, spread):
        self.rng, self.seed, self.count, self.spread = np.random.default_rng(seed), seed, 0, spread

    def __call__(self, *shape, low=-1.0, high=1.0):
        return self._made(self.rng.uniform(low, high, shape).astype("float32"), P)

    def ints(self, high, *shape, low=0):
        return self._made(self.rng.integers(low, high, shape), B)

    def bools(self, *shape):
        return self._made(self.rng.integers(0, 2, shape).astype(bool), B)

    def spd(self, size):
        x = self.rng.uniform(-1, 1, (size, size))
        return self._made((x @ x.T + size * np.eye(size)).astype("float32"), B)

    def made(self, values, dtype="float32"):
        return self._made(np.asarray(values, dtype), B)

    def _made(self, array, rarely):
        tensor = tw.tensor(array)
        self.count += 1
        if not self.spread:
            return tensor
        choice = (self.seed + 3 * self.count) % 4
        how = rarely if choice == 3 else B if choice == 2 or not array.ndim else S(choice % array.ndim)
        return tensor.to_global(TWO, how)


def same(*names):
    """The functions of tw.nn.functional or tw that are called with one matrix."""
    return {name: lambda t, f=name: getattr(F, f, None)(t(4, 6)) for name in names}


def method(name, *args):
    return lambda t: getattr(t(4, 6, low=0.1), name)(*args)


def pool(name, dims, *args):
    return lambda t: getattr(F, name)(t(2, 3, *[6, 8, 4][:dims]), *args)


POOLS = {"avg_pool": (2,), "max_pool": (2,), "lp_pool": (2.0, 2), "adaptive_avg_pool": (2,), "adaptive_max_pool": (2,)}


def pooled(t, dims):
    return getattr(F, f"max_pool{dims}d_with_indices")(t(2, 3, *[6, 8, 4][:dims]), 2)


UNARY = "relu relu_ relu6 elu elu_ selu selu_ celu celu_ silu mish hardswish hardsigmoid hardtanh hardtanh_ leaky_relu"
UNARY += " leaky_relu_ rrelu_ softsign tanhshrink glu rrelu"

CALLS = {
    **same(*UNARY.split()),
    "threshold": lambda t: F.threshold(t(4, 6), 0.1, 2.0),
    "threshold_": lambda t: F.threshold_(t(4, 6), 0.1, 2.0),
    "prelu": lambda t: F.prelu(t(4, 6), t(6)),
    # comparison
    "where": lambda t: tw.where(t(4, 6) > 0, 1.0, t(4, 6)),
    "_where_method": lambda t: t(4, 6).where(t.bools(4, 6), 0.5),
    "isclose": lambda t: tw.isclose(t(4, 6), t(4, 6), atol=0.5),
    "allclose": lambda t: tw.allclose(t(4, 6), t(4, 6), atol=3.0),
    "equal": lambda t: tw.equal(t(4, 6), t(4, 6)),
    # creation
    "vander": lambda t: tw.vander(t(4), 3),
    "linalg_vander": lambda t: LA.vander(t(4, 3)),
    "diag": lambda t: tw.diag(t(5)) + tw.diag(t(5, 5)),
    "diag_embed": lambda t: tw.diag_embed(t(4, 3), 1),
    "diagflat": lambda t: tw.diagflat(t(2, 3)),
    "diagonal_scatter": lambda t: tw.diagonal_scatter(t(4, 6), t(4)),
    "select_scatter": lambda t: tw.select_scatter(t(4, 6), t(6), 0, 1),
    "slice_scatter": lambda t: tw.slice_scatter(t(4, 6), t(2, 6), 0, 1, 3),
    "copy_": lambda t: t(4, 6).copy_(t(6)),
    "fill_diagonal_": lambda t: [t(6, 4).fill_diagonal_(2.0), t(3, 3, 3).fill_diagonal_(1.0)],
    "einsum": lambda t: tw.einsum("ij,jk->ki", t(4, 6), t(6, 3)),
    # factorisations
    "solve_ex": lambda t: LA.solve_ex(t.spd(4), t(4, 3)),
    "solve": lambda t: LA.solve(t.spd(4), t(4)),
    "linalg_solve_triangular": lambda t: LA.solve_triangular(t.spd(4), t(4, 3), upper=True),
    "inv": lambda t: LA.inv(t.spd(4)),
    "inverse": lambda t: tw.inverse(t.spd(4)),
    "det": lambda t: tw.det(t.spd(4)),
    "slogdet": lambda t: tw.slogdet(t.spd(4)),
    "logdet": lambda t: tw.logdet(t.spd(4)),
    "linalg_cholesky": lambda t: LA.cholesky(t.spd(4)),
    "cholesky": lambda t: tw.cholesky(t.spd(4)),
    "cholesky_solve": lambda t: tw.cholesky_solve(t(4, 2), t.spd(4).tril()),
    "cholesky_inverse": lambda t: tw.cholesky_inverse(t.spd(4).tril()),
    "qr": lambda t: tw.qr(t.spd(4)),
    "svd": lambda t: [tw.svd(t.spd(4))[1], tw.svd(t(4, 3), compute_uv=False)],
    "tensorinv": lambda t: LA.tensorinv(t.spd(6).reshape(6, 2, 3), 1),
    "tensorsolve": lambda t: LA.tensorsolve(t.spd(6).reshape(2, 3, 6), t(2, 3)),
    # indexing
    "nonzero": lambda t: t.ints(2, 4, 6).nonzero(as_tuple=True),
    "argwhere": lambda t: tw.argwhere(t.ints(2, 4, 6)),
    "masked_select": lambda t: tw.masked_select(t(4, 6), t.bools(6)),
    "masked_scatter": lambda t: tw.masked_scatter(t(4, 6), t.bools(4, 6), t(24)),
    "masked_scatter_": lambda t: [t(4, 6).masked_scatter_(t.bools(4, 6), t(24)), t().masked_scatter_(t.bools(), t(2))],
    "scatter": lambda t: tw.scatter(t(4, 6), 1, t.ints(6, 4, 1), 2.0),
    "scatter_": lambda t: t(4, 6).scatter_(1, t.ints(6, 4, 1), t(4, 1)),
    "scatter_add": lambda t: tw.scatter_add(t(4, 6), 0, t.ints(4, 3, 6), t(3, 6)),
    "scatter_add_": lambda t: t(4, 6).scatter_add_(0, t.ints(4, 3, 6), t(3, 6)),
    "scatter_reduce": lambda t: tw.scatter_reduce(t(4, 6), 0, t.ints(4, 3, 6), t(3, 6), "mean"),
    "scatter_reduce_": lambda t: t(4, 6).scatter_reduce_(0, t.ints(4, 3, 6), t(3, 6), "amax"),
    "index_select": lambda t: tw.index_select(t(4, 6), 1, t.ints(6, 3)),
    "index_add": lambda t: tw.index_add(t(4, 6), 1, t.ints(6, 3), t(4, 3), alpha=2),
    "index_add_": lambda t: t(4, 6).index_add_(1, t.ints(6, 3), t(4, 3)),
    "index_copy": lambda t: tw.index_copy(t(4, 6), 0, t.made([2, 0], "int64"), t(2, 6)),
    "index_copy_": lambda t: t(4, 6).index_copy_(0, t.made([2, 0], "int64"), t(2, 6)),
    "index_fill": lambda t: [tw.index_fill(t(4, 6), 0, t.ints(4, 2), v) for v in (2.0, t())],
    "index_fill_": lambda t: t(4, 6).index_fill_(1, t.ints(6, 2), 1.0),
    "index_reduce": lambda t: tw.index_reduce(t(4, 6), 0, t.ints(4, 3), t(3, 6), "prod"),
    "index_reduce_": lambda t: t(4, 6).index_reduce_(0, t.ints(4, 3), t(3, 6), "amin"),
    "take": lambda t: tw.take(t(4, 6), t.ints(24, 5)),
    "take_along_dim": lambda t: tw.take_along_dim(t(4, 6), t.ints(6, 4, 2), 1),
    "put": lambda t: tw.put(t(4, 6), t.ints(24, 3), t(3), True),
    "put_": lambda t: t(4, 6).put_(t.made([1, 9, 5], "int64"), t(3)),
    "one_hot": lambda t: [F.one_hot(t.ints(5, 4)), F.one_hot(t.ints(5, 4, 2), 6), F.one_hot(t.ints(5, 0), 3)],
    # joining
    "concat": lambda t: tw.concat([t(4, 6), t(2, 6)]),
    "concatenate": lambda t: tw.concatenate([t(4, 6), t(4, 2)], axis=1),
    "atleast_1d": lambda t: tw.atleast_1d(t(), t(3)),
    "atleast_2d": lambda t: tw.atleast_2d(t(), t(3)),
    "atleast_3d": lambda t: tw.atleast_3d(t(), t(3)),
    "hstack": lambda t: tw.hstack([t(4, 2), t(4, 3)]),
    "vstack": lambda t: tw.vstack([t(4, 2), t(3, 2)]),
    "row_stack": lambda t: tw.row_stack([t(2), t(2)]),
    "dstack": lambda t: tw.dstack([t(4, 2), t(4, 2)]),
    "column_stack": lambda t: tw.column_stack([t(4), t(4, 2)]),
    "unbind": lambda t: tw.unbind(t(4, 6), 1),
    "narrow_copy": method("narrow_copy", 1, 1, 2),
    "narrow": lambda t: tw.narrow(t(4, 6), 0, 1, 2),
    "split_with_sizes": lambda t: tw.split_with_sizes(t(4, 6), [1, 3]),
    "split": lambda t: tw.split(t(4, 6), 4, 1),
    "chunk": lambda t: tw.chunk(t(4, 6), 3, 1),
    "tensor_split": lambda t: tw.tensor_split(t(4, 6), (1, 3), 1),
    "hsplit": lambda t: tw.hsplit(t(4, 6), 2),
    "vsplit": lambda t: tw.vsplit(t(4, 6), 2),
    "dsplit": lambda t: tw.dsplit(t(4, 3, 6), 2),
    "block_diag": lambda t: tw.block_diag(t(2, 3), t(3, 1)),
    "meshgrid": lambda t: tw.meshgrid(t(2), t(3)),
    "cartesian_prod": lambda t: tw.cartesian_prod(t(2), t(3)),
    "combinations": lambda t: [tw.combinations(t(4)), tw.combinations(t(2), 3)],
    # lu
    "lu_factor": lambda t: LA.lu_factor(t.spd(4)),
    "lu": lambda t: LA.lu(t.spd(4)),
    "lu_unpack": lambda t: [tw.lu_unpack(*LA.lu_factor(t.spd(4))), tw.lu_unpack(*LA.lu_factor(t.spd(4)), False, False)],
    "linalg_lu_solve": lambda t: LA.lu_solve(*LA.lu_factor(t.spd(4)), t(3, 4), left=False),
    "lu_solve": lambda t: tw.lu_solve(t(4, 2), *LA.lu_factor(t.spd(4))),
    "scaled_dot_product_attention": lambda t: [
        F.scaled_dot_product_attention(t(2, 4, 5, 8), t(2, 2, 6, 8), t(2, 2, 6, 8), enable_gqa=True),
        F.scaled_dot_product_attention(t(2, 4, 5, 8), t(2, 4, 5, 8), t(2, 4, 5, 8), is_causal=True),
        F.scaled_dot_product_attention(t(2, 4, 5, 8), t(2, 4, 5, 8), t(2, 4, 5, 8), None, 0.3, True),
    ],
    # losses over classes
    "cross_entropy": lambda t: [
        F.cross_entropy(t(4, 6), t.ints(6, 4)),
        F.cross_entropy(t(4, 6, 3), t.ints(6, 4, 3, low=1), t(6, low=0), ignore_index=2, label_smoothing=0.1),
        F.cross_entropy(t(4, 6), t(4, 6, low=0)),
    ],
    "nll_loss": lambda t: [
        F.nll_loss(t(4, 6), t.ints(6, 4), ignore_index=2),
        F.nll_loss(t(4, 6, 3), t.ints(6, 4, 3), t(6, low=0)),
    ],
    "ctc_loss": lambda t: F.ctc_loss(t(8, 2, 5).log_softmax(-1), t.ints(5, 2, 3, low=1), [8, 7], [3, 2]),
    "ctc_loss_function": lambda t: tw.ctc_loss(t(8, 2, 5).log_softmax(-1), t.ints(5, 2, 3, low=1), [8, 7], [3, 2]),
    # convolutions
    "conv1d": lambda t: F.conv1d(t(2, 4, 8), t(6, 2, 3), t(6), groups=2),
    "conv2d": lambda t: F.conv2d(t(2, 4, 6, 6), t(6, 4, 3, 3), t(6), padding="same"),
    "conv3d": lambda t: F.conv3d(t(2, 2, 4, 4, 4), t(4, 2, 3, 3, 3), stride=2),
    "conv_transpose1d": lambda t: F.conv_transpose1d(t(2, 4, 8), t(4, 3, 3), t(3), stride=2),
    "conv_transpose2d": lambda t: F.conv_transpose2d(t(2, 4, 6, 6), t(4, 2, 3, 3), groups=2),
    "conv_transpose3d": lambda t: F.conv_transpose3d(t(2, 2, 4, 4, 4), t(2, 3, 2, 2, 2)),
    # dropout
    "dropout": lambda t: F.dropout(t(4, 6)),
    "feature_dropout": lambda t: tw.feature_dropout(t(4, 6)),
    "dropout1d": lambda t: F.dropout1d(t(4, 6)) + F.dropout1d(t(4, 6, 5))[..., 0],
    "dropout2d": lambda t: F.dropout2d(t(4, 6, 2, 2), inplace=True),
    "dropout3d": lambda t: F.dropout3d(t(4, 6, 2, 2)),
    "alpha_dropout": lambda t: F.alpha_dropout(t(4, 6), training=True),
    "feature_alpha_dropout": lambda t: F.feature_alpha_dropout(t(4, 6), training=True),
    # embedding
    "embedding": lambda t: F.embedding(t.ints(6, 4, 3), t(6, 5), padding_idx=2),
    "embedding_bag": lambda t: [
        *[F.embedding_bag(t.ints(6, 4, 3), t(6, 5), mode=mode, padding_idx=1) for mode in ("sum", "mean", "max")],
        F.embedding_bag(t.ints(6, 7), t(6, 5), t.made([0, 2, 2], "int64"), mode="sum", per_sample_weights=t(7)),
    ],
    # images
    "grid_sample": lambda t: F.grid_sample(t(2, 3, 4, 5), t(2, 3, 3, 2), padding_mode="reflection"),
    "affine_grid": lambda t: F.affine_grid(t(2, 2, 3), [2, 3, 4, 5]),
    "interpolate": lambda t: [
        F.interpolate(t(2, 3, 4, 4), scale_factor=2),
        F.interpolate(t(2, 3, 8, 8), size=3, mode="bilinear", antialias=True),
        F.interpolate(t(2, 3, 8), size=3, mode="area"),
    ],
    "upsample": lambda t: F.upsample(t(2, 3, 4), 8),
    "upsample_nearest": lambda t: F.upsample_nearest(t(2, 3, 4), 8),
    "upsample_bilinear": lambda t: F.upsample_bilinear(t(2, 3, 4, 4), 8),
    "pixel_shuffle": lambda t: F.pixel_shuffle(t(2, 8, 3, 3), 2),
    "pixel_unshuffle": lambda t: F.pixel_unshuffle(t(2, 2, 4, 4), 2),
    "channel_shuffle": lambda t: F.channel_shuffle(t(2, 6, 3, 3), 2),
    "unfold": lambda t: F.unfold(t(2, 3, 4, 4), 2),
    "fold": lambda t: F.fold(t(2, 12, 9), 4, 2),
    "pad": lambda t: [F.pad(t(2, 4, 6), (1, 2), mode, None) for mode in ("constant", "reflect", "circular")],
    # losses
    "mse_loss": lambda t: F.mse_loss(t(4, 6), t(4, 6)),
    "l1_loss": lambda t: F.l1_loss(t(4, 6), t(4, 6)),
    "smooth_l1_loss": lambda t: F.smooth_l1_loss(t(4, 6), t(4, 6)),
    "huber_loss": lambda t: F.huber_loss(t(4, 6), t(4, 6)),
    "binary_cross_entropy": lambda t: F.binary_cross_entropy(t(4, 6).sigmoid(), t(4, 6).sigmoid()),
    "binary_cross_entropy_with_logits": lambda t: F.binary_cross_entropy_with_logits(
        t(4, 6), t(4, 6).sigmoid(), t(6), pos_weight=t(6, low=0)
    ),
    "kl_div": lambda t: F.kl_div(t(4, 6), t(4, 6).softmax(1), reduction="batchmean"),
    "poisson_nll_loss": lambda t: F.poisson_nll_loss(t(4, 6), t(4, 6, low=0.1, high=5.0), full=True),
    "gaussian_nll_loss": lambda t: [
        F.gaussian_nll_loss(t(4, 6), t(4, 6), 0.5),
        F.gaussian_nll_loss(t(4, 6), t(4, 6), t(4, low=0.1), full=True),
    ],
    "soft_margin_loss": lambda t: F.soft_margin_loss(t(4, 6), t(4, 6).sign()),
    "multilabel_soft_margin_loss": lambda t: F.multilabel_soft_margin_loss(t(4, 6), t(4, 6).sigmoid(), t(6)),
    "pairwise_distance": lambda t: F.pairwise_distance(t(4, 6), t(4, 6)),
    "cosine_similarity": lambda t: F.cosine_similarity(t(4, 6), t(4, 6)),
    "hinge_embedding_loss": lambda t: F.hinge_embedding_loss(t(4, 6), t(4, 6).sign()),
    "margin_ranking_loss": lambda t: F.margin_ranking_loss(t(4), t(4), t(4).sign(), 0.5),
    "cosine_embedding_loss": lambda t: F.cosine_embedding_loss(t(4, 6), t(4, 6), t(4).sign()),
    "triplet_margin_with_distance_loss": lambda t: F.triplet_margin_with_distance_loss(t(4, 6), t(4, 6), t(4, 6)),
    "triplet_margin_loss": lambda t: F.triplet_margin_loss(t(4, 6), t(4, 6), t(4, 6), swap=True),
    "multi_margin_loss": lambda t: F.multi_margin_loss(t(4, 6), t.ints(6, 4), weight=t(6, low=0)),
    "multilabel_margin_loss": lambda t: F.multilabel_margin_loss(t(4, 6), t.ints(6, 4, 6, low=-1)),
    # normalisation
    "batch_norm": lambda t: F.batch_norm(t(4, 6), t(6), t(6, low=0), t(6), t(6), training=True),
    "batch_norm_function": lambda t: tw.batch_norm(t(4, 6), t(6), t(6), t(6), t(6, low=0.1), False, 0.1, 1e-5),
    "instance_norm": lambda t: F.instance_norm(t(4, 6, 5), t(6), t(6, low=0)),
    "rms_norm": lambda t: F.rms_norm(t(4, 6), [6], t(6)),
    "local_response_norm": lambda t: F.local_response_norm(t(4, 6, 5), 3),
    "softmax": lambda t: F.softmax(t(4, 6), 1),
    "log_softmax": lambda t: F.log_softmax(t(4, 6), 0),
    "softmin": lambda t: F.softmin(t(4, 6), 1),
    "normalize": lambda t: F.normalize(t(4, 6)),
    "linalg_vector_norm": lambda t: LA.vector_norm(t(4, 6), 3.0, 0),
    "matrix_norm": lambda t: [LA.matrix_norm(t(2, 4, 6)), LA.matrix_norm(t(4, 6), "nuc")],
    "linalg_norm": lambda t: LA.norm(t(4, 6)),
    "norm": lambda t: tw.norm(t(4, 6), 1, 1),
    "dist": lambda t: tw.dist(t(4, 6), t(6)),
    # ordering
    "argsort": lambda t: tw.argsort(t(4, 6), 0),
    "msort": lambda t: tw.msort(t(4, 6)),
    "median": lambda t: [tw.median(t(4, 6)), *tw.median(t(4, 6), 0), tw.median(t(0))],
    "nanmedian": lambda t: tw.nanmedian(t(4, 6)),
    "quantile": lambda t: [tw.quantile(t(4, 6), 0.3, 0), tw.quantile(t(4, 6), t(2, low=0), interpolation="midpoint")],
    "nanquantile": lambda t: tw.nanquantile(t(4, 6), 0.3),
    "unique": lambda t: tw.unique(t.ints(4, 3, 6), return_counts=True),
    "unique_consecutive": lambda t: tw.unique_consecutive(t.ints(2, 9)),
    "searchsorted": lambda t: [tw.searchsorted(t(6).sort()[0], v) for v in (t(4, 3), 0.2)],
    "bucketize": lambda t: tw.bucketize(t(4, 6), t(5).sort()[0]),
    # pointwise
    "pow": lambda t: tw.pow(t(4, 6), 2) + tw.pow(2, t(4, 6)),
    "__rdiv__": lambda t: t(4, 6, low=0.1).__rdiv__(2),
    "float_power": lambda t: [tw.float_power(t(4, 6), 2), tw.float_power(0.7, t(4, 6))],
    "float_power_": lambda t: t.made(np.ones((4, 6)), "float64").float_power_(2),
    "ldexp": lambda t: tw.ldexp(t(4, 6), t.ints(3, 6)),
    "ldexp_": lambda t: t(4, 6).ldexp_(t.ints(3, 6)),
    "polygamma": lambda t: tw.polygamma(1, t(4, 6, low=0.1)),
    "_polygamma_method": method("polygamma", 1),
    "_abs_in_place": method("abs_"),
    **{name: method(name) for name in "positive deg2rad rad2deg deg2rad_ rad2deg_".split()},
    "pow_": method("pow_", 2.0),
    "polygamma_": method("polygamma_", 1),
    "mvlgamma": lambda t: tw.mvlgamma(t(4, 6, low=2.0, high=3.0), 2),
    "mvlgamma_": lambda t: t(4, 6, low=2.0, high=3.0).mvlgamma_(2),
    "entr": lambda t: tw.special.entr(t(4, 6)),
    "ndtr": lambda t: tw.special.ndtr(t(4, 6)),
    "ndtri": lambda t: tw.special.ndtri(t(4, 6, low=0.1, high=0.9)),
    # products
    "tensordot": lambda t: tw.tensordot(t(4, 6), t(6, 3), 1),
    "kron": lambda t: tw.kron(t(2, 3), t(3, 2)),
    "cross": lambda t: tw.cross(t(4, 3), t(4, 3)),
    "linalg_cross": lambda t: LA.cross(t(4, 3), t(4, 3)),
    "trace": lambda t: tw.trace(t(4, 6)),
    "multi_dot": lambda t: LA.multi_dot([t(4, 6), t(6, 3), t(3)]),
    "chain_matmul": lambda t: tw.chain_matmul(t(4, 6), t(6, 3)),
    "matrix_power": lambda t: [tw.matrix_power(t.spd(4), n) for n in (-1, 0, 3)],
    "linalg_matrix_power": lambda t: LA.matrix_power(t.spd(4), 2),
    "linalg_diagonal": lambda t: LA.diagonal(t(4, 6)),
    "linalg_matmul": lambda t: LA.matmul(t(4, 6), t(6, 3)),
    "vecdot": lambda t: LA.vecdot(t(4, 6), t(4, 6)),
    "bilinear": lambda t: F.bilinear(t(4, 6), t(4, 3), t(5, 6, 3), t(5)),
    "matrix_rank": lambda t: [LA.matrix_rank(t.spd(4)), LA.matrix_rank(t.spd(4), atol=1.0)],
    "linalg_pinv": lambda t: [LA.pinv(t(4, 6)), LA.pinv(t(4, 6), atol=0.1)],
    "pinverse": lambda t: tw.pinverse(t(4, 6)),
    "lstsq": lambda t: [LA.lstsq(t(6, 4), t(6, 2), driver=driver) for driver in ("gels", "gelsy", "gelsd")],
    "cond": lambda t: [LA.cond(t.spd(4)), LA.cond(t.spd(4), 1)],
    # random numbers
    "rand_like": lambda t: tw.rand_like(t(4, 6)),
    "randn_like": lambda t: tw.randn_like(t(4, 6)),
    "randint_like": lambda t: tw.randint_like(t(4, 6), 5),
    "normal": lambda t: tw.normal(t(4, 6), t(6, low=0)),
    "bernoulli": lambda t: tw.bernoulli(t(4, 6, low=0)),
    "bernoulli_": lambda t: t(4, 6).bernoulli_(0.3),
    "random_": lambda t: t(4, 6).random_(5),
    # reductions
    "max": lambda t: [*tw.max(t(4, 6), 0), tw.max(t(4, 6))],
    "min": lambda t: [*tw.min(t(4, 6), 0), tw.min(t(4, 6), other=t(6))],
    "aminmax": lambda t: tw.aminmax(t(4, 6)),
    "prod": lambda t: tw.prod(t(4, 6)),
    "count_nonzero": lambda t: tw.count_nonzero(t.ints(2, 4, 6)),
    "var": lambda t: tw.var(t(4, 6)),
    "std": lambda t: tw.std(t(4, 6), 1),
    "var_mean": lambda t: tw.var_mean(t(4, 6)),
    "std_mean": lambda t: tw.std_mean(t(4, 6), 0),
    "nansum": lambda t: tw.nansum(t(4, 6)),
    "nanmean": lambda t: tw.nanmean(t(4, 6)),
    # shapes
    "transpose": lambda t: tw.transpose(t(4, 6), 0, 1),
    "view": method("view", 2, 12),
    "view_as": lambda t: t(4, 6).view_as(t(8, 3)),
    "expand_as": lambda t: t(6).expand_as(t(4, 6)),
    "reshape_as": lambda t: t(4, 6).reshape_as(t(8, 3)),
    "flatten": lambda t: tw.flatten(t(4, 6, 2), 1),
    "unflatten": lambda t: tw.unflatten(t(4, 6), 1, (2, 3)),
    "ravel": lambda t: tw.ravel(t(4, 6)),
    "movedim": lambda t: tw.movedim(t(4, 6, 2), 0, 2),
    "moveaxis": lambda t: tw.moveaxis(t(4, 6, 2), 0, 1),
    "t": lambda t: tw.t(t(4, 6)),
    "as_strided": lambda t: tw.as_strided(t(4, 6), (2, 3), (6, 1), 1),
    "adjoint": lambda t: tw.adjoint(t(4, 6)),
    "broadcast_to": lambda t: tw.broadcast_to(t(6), (4, 6)),
    "broadcast_tensors": lambda t: tw.broadcast_tensors(t(6), t(4, 1)),
    "repeat": method("repeat", 2, 1),
    "tile": lambda t: tw.tile(t(4, 6), (2,)),
    "repeat_interleave": lambda t: [
        tw.repeat_interleave(t(4, 6), 2, 0),
        tw.repeat_interleave(t(3, 6), [1, 0, 2], 0),
        tw.repeat_interleave(t(3, 6), t.made([1, 0, 2], "int64"), 0),
        tw.repeat_interleave(t.made([1, 0, 2], "int64")),
    ],
    "squeeze_": lambda t: t(4, 6, 1).squeeze_(2),
    "unsqueeze_": method("unsqueeze_", 1),
    "t_": method("t_"),
    **{name: method(name, 0, 1) for name in ("transpose_", "swapaxes_", "swapdims_")},
    "fliplr": lambda t: tw.fliplr(t(4, 6)),
    "flipud": lambda t: tw.flipud(t(4, 6)),
    "roll": lambda t: tw.roll(t(4, 6), 2, 1),
    "rot90": lambda t: tw.rot90(t(4, 6)),
    # statistics
    "diff": lambda t: tw.diff(t(4, 6), 2, 0),
    "trapezoid": lambda t: tw.trapezoid(t(4, 6), t(6)),
    "trapz": lambda t: tw.trapz(t(4, 6)),
    "cumulative_trapezoid": lambda t: tw.cumulative_trapezoid(t(4, 6)),
    "cov": lambda t: [tw.cov(t(4, 6)), tw.cov(t(4, 6), fweights=t.ints(4, 6, low=1), aweights=t(6, low=0.1))],
    "corrcoef": lambda t: tw.corrcoef(t(4, 6)),
    "cdist": lambda t: tw.cdist(t(4, 6), t(3, 6)),
    "pdist": lambda t: tw.pdist(t(4, 6)),
    "gradient": lambda t: tw.gradient(t(4, 6), spacing=[2.0, t(6).sort()[0]], edge_order=2),
    "renorm": lambda t: tw.renorm(t(4, 6), 2, 1, 0.5),
    "renorm_": method("renorm_", 2, 0, 0.5),
    # membership and positions
    "isin": lambda t: tw.isin(t.ints(9, 4, 6), t.ints(9, 3)),
    "isreal": lambda t: tw.isreal(t(4, 6)),
    "unravel_index": lambda t: tw.unravel_index(t.ints(24, 5), (2, 3, 4)),
    "gumbel_softmax": lambda t: F.gumbel_softmax(t(4, 6)),
}
for _dims in (1, 2, 3):
    for _kind, _arguments in POOLS.items():
        CALLS[f"{_kind}{_dims}d"] = pool(f"{_kind}{_dims}d", _dims, *_arguments)
    CALLS[f"max_pool{_dims}d_with_indices"] = lambda t, dims=_dims: pooled(t, dims)
    CALLS[f"max_unpool{_dims}d"] = lambda t, dims=_dims: getattr(F, f"max_unpool{dims}d")(*pooled(t, dims), 2)

# They take no tensor, or none that may be global.
LEFT_OUT = {
    "arange", "range_", "linspace", "logspace", "eye", "tril_indices", "triu_indices", "broadcast_shapes",
    "rand", "randn", "randint", "randperm", "resize_", "resize_as_", "as_strided_",
}  # fmt: skip


def composites():
    """The names of the composites' functions."""
    tables = (_registry.FUNCTIONS, _registry.NN_FUNCTIONS, _registry.LINALG, _registry.SPECIAL, vars(tw.Tensor))
    functions = {f for table in tables for f in table.values() if getattr(f, "__module__", "") and callable(f)}
    return {f.__name__ for f in functions if str(getattr(f, "__module__", "")).startswith("thalweg.composites.")}


def test_every_composite_is_called():
    assert composites() == set(CALLS) | LEFT_OUT


def test_a_view_that_is_copied_takes_no_place():
    spread = tw.ones(4, 6).to_global(TWO, S(0))
    with pytest.raises(RuntimeError, match=r"as_strided_: the parts of a tensor on cpu\[0, 1\] S\(0\) cannot be seen"):
        spread.as_strided_((2, 3), (6, 1))


def flat(value):
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in flat(part)]
    return [value]


@pytest.mark.parametrize("name", CALLS)
def test_gives_what_one_device_would(name):
    for number in range(4):
        results = []
        for spread in (False, True):
            tw.manual_seed(number)
            seed = zlib.crc32(name.encode()) + number
            results.append(flat(CALLS[name](Maker(seed, spread))))
        for expected, found in zip(*results, strict=True):
            if not isinstance(expected, tw.Tensor):
                assert found == expected or (math.isnan(found) and math.isnan(expected))
                continue
            assert found.is_global and found.dtype == expected.dtype
            np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-4, atol=2e-5)
