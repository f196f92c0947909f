"""torch and thalweg behind one small interface, so that each check is written once."""

import warnings

import thalweg as tw
import torch

from . import names
from .convert import ToThalweg, ToTorch


class Side:
    """How to convert, seed, call and differentiate in one framework."""

    def __init__(self, module, converter, is_torch):
        self.module, self.converter, self.is_torch = module, converter, is_torch
        self.Tensor = module.Tensor

    def target(self, fn):
        return fn if self.is_torch else names.retarget(fn)

    def function(self, op):
        return op.op if self.is_torch else names.function_of(op)

    def inputs(self, sample):
        """(input, args, kwargs, memo): fresh tensors; memo maps id(tensor of the sample) to the fresh one."""
        convert = self.converter()
        input, args, kwargs = convert((sample.input, sample.args, sample.kwargs))
        return input, args, kwargs, convert.memo

    def call(self, fn, input, args, kwargs, seed=42):
        self.module.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fn(input, *args, **kwargs)

    def grad(self, outputs, inputs, cotangents, create_graph=False):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.module.autograd.grad(outputs, inputs, cotangents, create_graph=create_graph, allow_unused=True)

    def no_grad(self):
        return self.module.no_grad()


TORCH = Side(torch, ToTorch, True)
THALWEG = Side(tw, ToThalweg, False)
