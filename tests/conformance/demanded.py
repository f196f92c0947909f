"""The op names that must be offered, by group; a name here that thalweg lacks is a failure.

Names are those of torch's database (its `name`; every variant of a name counts). Names outside the list that thalweg
lacks are reported as "not offered".
"""

_FUNCTIONAL = "nn.functional."

GROUPS = {
    "creation": "zeros ones full empty arange linspace eye zeros_like ones_like full_like empty_like randn_like"
    " rand_like randint_like tril triu nn.functional.one_hot meshgrid",
    "pointwise": "add sub mul div true_divide floor_divide remainder fmod neg positive pow float_power rsub __radd__"
    " __rsub__ __rmul__ __rdiv__ __rmod__ __rpow__ exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2"
    " sinh cosh tanh asinh acosh atanh sqrt rsqrt reciprocal square abs sign round floor ceil trunc clamp clamp_min"
    " clamp_max minimum maximum erf sigmoid where lerp addcmul addcdiv isnan isinf isfinite eq ne lt le gt ge"
    " logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not"
    " bitwise_left_shift bitwise_right_shift __rand__ __ror__ __rxor__",
    "reduction": "sum mean prod amax amin max min argmax argmin any all var std norm logsumexp cumsum cumprod nansum"
    " median topk sort argsort unique bincount count_nonzero",
    "shape": "reshape view transpose permute flatten unflatten squeeze unsqueeze expand repeat tile cat stack split"
    " chunk unbind flip roll narrow select diagonal unfold nn.functional.unfold nn.functional.pad as_strided"
    " contiguous clone to reshape_as view_as expand_as broadcast_to t T mT",
    "linear algebra": "matmul __rmatmul__ mm bmm addmm baddbmm dot outer einsum nn.functional.linear"
    " nn.functional.bilinear tensordot kron trace linalg.norm",
    "indexing": "__getitem__ gather scatter scatter_add scatter_reduce index_select index_add index_put masked_fill"
    " masked_select take_along_dim nonzero searchsorted nn.functional.embedding nn.functional.embedding_bag",
    "random": "randn randint bernoulli multinomial normal uniform nn.functional.dropout nn.functional.dropout2d"
    " nn.functional.dropout3d",
    "neural": " ".join(
        _FUNCTIONAL + name
        for name in (
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d max_pool2d"
            " max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d"
            " adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d batch_norm"
            " layer_norm group_norm instance_norm rms_norm relu relu6 elu selu celu gelu silu mish hardswish"
            " hardsigmoid hardtanh leaky_relu prelu rrelu softplus softsign tanhshrink softshrink hardshrink"
            " logsigmoid threshold glu softmin scaled_dot_product_attention interpolate pixel_shuffle grid_sample"
            " cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy"
            " binary_cross_entropy_with_logits kl_div cosine_similarity ctc_loss triplet_margin_loss"
            " triplet_margin_with_distance_loss margin_ranking_loss multi_margin_loss multilabel_margin_loss"
            " soft_margin_loss multilabel_soft_margin_loss cosine_embedding_loss hinge_embedding_loss"
        ).split()
    )
    + " softmax log_softmax",
}

NAMES = frozenset(name for group in GROUPS.values() for name in group.split())

MODULES = frozenset(
    "nn." + name
    for name in (
        "Linear Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d MaxPool1d MaxPool2d"
        " MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d"
        " AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm GroupNorm"
        " InstanceNorm1d InstanceNorm2d InstanceNorm3d RMSNorm ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Hardswish"
        " Hardsigmoid Hardtanh LeakyReLU PReLU RReLU Softplus Softsign Tanhshrink Softshrink Hardshrink LogSigmoid"
        " Threshold GLU Softmin Softmax LogSoftmax Sigmoid Tanh CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss"
        " HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss CTCLoss TripletMarginLoss TripletMarginWithDistanceLoss"
        " MarginRankingLoss MultiMarginLoss MultiLabelMarginLoss SoftMarginLoss MultiLabelSoftMarginLoss"
        " CosineEmbeddingLoss HingeEmbeddingLoss CosineSimilarity Embedding EmbeddingBag Dropout Dropout2d Dropout3d"
        " RNN LSTM GRU RNNCell LSTMCell GRUCell MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer"
        " TransformerEncoder Transformer Flatten Unflatten Identity PixelShuffle Upsample Unfold ZeroPad1d ZeroPad2d"
        " ZeroPad3d ConstantPad1d ConstantPad2d ConstantPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d"
        " ReplicationPad1d ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d CircularPad3d"
    ).split()
)

OPTIMIZERS = frozenset("SGD Adam AdamW Adagrad RMSprop Adadelta".split())

# Factors that are defined up to signs and phases: compared as the database compares their gradients, through the
# sample's output_process_fn_grad.
UP_TO_SIGNS = frozenset("svd linalg.svd linalg.eig linalg.eigh".split())
# Memory that nobody wrote: never compared in value.
UNWRITTEN = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split()
)
