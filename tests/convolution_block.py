"""A convolution and what may follow it in a static program, for the tests of its epilogues on each device."""

from thalweg import nn
from thalweg.nn import functional as F


class Block(nn.Module):
    """relu(norm(conv(x)) + residual), with each of these or without."""

    def __init__(self, conv: nn.Module, norm: bool = True, residual: bool = True, relu: bool = True) -> None:
        super().__init__()
        self.conv = conv
        self.norm = nn.BatchNorm2d(conv.out_channels) if norm else None
        self.residual, self.relu = residual, relu
        if self.norm is not None:
            for tensor in (self.norm.running_mean, self.norm.weight, self.norm.bias):
                tensor.data.normal_()
            self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x, other):
        y = self.conv(x)
        y = y if self.norm is None else self.norm(y)
        y = y + other if self.residual else y
        return F.relu(y) if self.relu else y


def ops_of(compiled):
    return [launch.op for launch in compiled.plan().launches]
