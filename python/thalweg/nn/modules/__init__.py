"""The modules, a file per concept; each file's __all__ says what it offers."""

from thalweg.nn.modules import (
    activation,
    attention,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    lazy,
    linear,
    linear_cross_entropy,
    loss,
    normalization,
    padding,
    parameter_container,
    pooling,
    rnn,
    shape,
    sparse,
    transformer,
)
from thalweg.nn.modules.activation import *  # noqa: F403
from thalweg.nn.modules.attention import *  # noqa: F403
from thalweg.nn.modules.batchnorm import *  # noqa: F403
from thalweg.nn.modules.container import *  # noqa: F403
from thalweg.nn.modules.conv import *  # noqa: F403
from thalweg.nn.modules.distance import *  # noqa: F403
from thalweg.nn.modules.dropout import *  # noqa: F403
from thalweg.nn.modules.lazy import *  # noqa: F403
from thalweg.nn.modules.linear import *  # noqa: F403
from thalweg.nn.modules.linear_cross_entropy import *  # noqa: F403
from thalweg.nn.modules.loss import *  # noqa: F403
from thalweg.nn.modules.normalization import *  # noqa: F403
from thalweg.nn.modules.padding import *  # noqa: F403
from thalweg.nn.modules.parameter_container import *  # noqa: F403
from thalweg.nn.modules.pooling import *  # noqa: F403
from thalweg.nn.modules.rnn import *  # noqa: F403
from thalweg.nn.modules.shape import *  # noqa: F403
from thalweg.nn.modules.sparse import *  # noqa: F403
from thalweg.nn.modules.transformer import *  # noqa: F403

_FILES = (
    activation, attention, batchnorm, container, conv, distance, dropout, lazy, linear, linear_cross_entropy,
    loss, normalization, padding, parameter_container, pooling, rnn, shape, sparse, transformer,
)  # fmt: skip

__all__ = sorted(name for file in _FILES for name in file.__all__)
