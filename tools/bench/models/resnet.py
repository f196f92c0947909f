"""ResNet-18 for 32x32 images: He et al., arXiv:1512.03385, with a 3x3 stem and no first pooling."""

from typing import Any

import numpy as np

from bench.frameworks import Framework

BATCH, CLASSES = 32, 10
STAGES = [(64, 1), (128, 2), (256, 2), (512, 2)]  # channels, stride of the first block


def _forward_flops() -> int:
    side, channels, total = 32, 64, 2 * 32 * 32 * 64 * 3 * 9
    for width, stride in STAGES:
        side //= stride
        per_pixel = (channels + 3 * width) * width * 9 + (channels * width if stride > 1 else 0)
        total += 2 * side * side * per_pixel
        channels = width
    return total


FLOPS = 3 * BATCH * _forward_flops()


def build(fw: Framework) -> Any:
    """The module."""
    nn, F = fw.nn, fw.F

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
            self.shortcut = nn.Sequential()
            if stride != 1 or inputs != width:
                self.shortcut = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

        def forward(self, x: Any) -> Any:
            y = F.relu(self.norm1(self.conv1(x)))
            return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))

    layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for width, stride in STAGES:
        layers += [Block(inputs, width, stride), Block(width, width, 1)]
        inputs = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES))


def batch(fw: Framework) -> tuple[Any, Any]:
    """Images and classes."""
    rng = np.random.default_rng(0)
    images = rng.standard_normal((BATCH, 3, 32, 32), dtype=np.float32)
    return fw.tensor(images), fw.tensor(rng.integers(0, CLASSES, BATCH))


def loss(fw: Framework, model: Any, x: Any, y: Any) -> Any:
    """Mean cross entropy."""
    return fw.F.cross_entropy(model(x), y)


def optimizer(fw: Framework, model: Any) -> Any:
    """Momentum SGD, all parameters in one kernel."""
    return fw.module.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
