"""Tables of vectors, read by index."""

from __future__ import annotations

import thalweg as tw
from thalweg.nn import functional as F
from thalweg.nn import init
from thalweg.nn.module import Module
from thalweg.nn.parameter import Parameter

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """The weight [num_embeddings, embedding_dim], the row of padding_idx kept at zero, and what both tables share."""

    def _make_table(self, num_embeddings, embedding_dim, padding_idx, weight, requires_grad, device, dtype):
        name = type(self).__name__
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ValueError(f"{name}: padding_idx within {num_embeddings} rows is wanted, got {padding_idx}")
            padding_idx %= num_embeddings
        if weight is not None and tuple(weight.shape) != (num_embeddings, embedding_dim):
            raise ValueError(f"{name}: weight {[num_embeddings, embedding_dim]} is wanted, got {list(weight.shape)}")
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        drawn = weight is None
        if drawn:
            weight = tw.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
        self.weight = Parameter(weight, requires_grad=requires_grad)
        if drawn:
            self.reset_parameters()

    def reset_parameters(self):
        """Draws the rows from N(0, 1); the padding row is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with tw.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, **options):
        """A table that holds `embeddings` [rows, dim]; with freeze it is not trained."""
        if embeddings.dim() != 2:
            raise ValueError(f"from_pretrained: 2 dims are wanted, got {embeddings.dim()}")
        table = cls(*embeddings.shape, _weight=embeddings, **options)
        table.weight.requires_grad_(not freeze)
        return table


class Embedding(_Table):
    """The rows of a table at given indices: int [*] to [*, embedding_dim].

    Args:
        num_embeddings, embedding_dim: the shape of the table.
        padding_idx: a row that starts at zero and gets no gradient.
        max_norm, norm_type: rows that are read are first scaled down, in place, to this norm.
        scale_grad_by_freq: divide a row's gradient by how often it was read.
        sparse: ask for sparse gradients.

    Errors: IndexError for an index outside the table.

    >>> import thalweg as tw
    >>> tuple(tw.nn.Embedding(10, 3)(tw.tensor([[1, 2], [4, 9]])).shape)
    (2, 2, 3)
    """

    def __init__(
        self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
        sparse=False, _weight=None, _freeze=False, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make_table(num_embeddings, embedding_dim, padding_idx, _weight, not _freeze, device, dtype)

    def forward(self, input):
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows, without the rows in between.

    Inputs: indices [bags, size], or [indices] with offsets [bags], where each bag begins; per_sample_weights of the
    indices' shape, for mode "sum" only. Result: [bags, embedding_dim]; an empty bag gives zeros.

    Args:
        mode: "sum", "mean" or "max".
        include_last_offset: offsets has one more entry, the number of indices.
        the others: as for Embedding; padding_idx is left out of the bag.

    >>> import thalweg as tw
    >>> tuple(tw.nn.EmbeddingBag(10, 3, mode="sum")(tw.tensor([1, 2, 4]), tw.tensor([0, 2])).shape)
    (2, 3)
    """

    def __init__(
        self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
        sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None,
    ):  # fmt: skip
        super().__init__()
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.include_last_offset = include_last_offset
        self._make_table(num_embeddings, embedding_dim, padding_idx, _weight, True, device, dtype)

    def forward(self, input, offsets=None, per_sample_weights=None):
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self):
        return f"{super().extra_repr()}, mode={self.mode!r}"
