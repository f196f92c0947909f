"""Helpers around modules: clipping gradients, vectors of all parameters, packed sequences, norms of weights."""

from thalweg.nn.utils import rnn
from thalweg.nn.utils.clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from thalweg.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters
from thalweg.nn.utils.spectral_norm import remove_spectral_norm, spectral_norm
from thalweg.nn.utils.weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
