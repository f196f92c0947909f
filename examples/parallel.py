"""Lays the GPT out over several devices, by nothing but the sbp of its tensors.

The devices stand in an array, and each axis of it has a role: along "dp" every device has the whole model and a part of
the batch; along "tp" it has some heads of every attention and some columns of every MLP (Shoeybi et al., Megatron-LM,
2019). What has to move between devices, and when, follows from that.
"""

import math

import numpy as np
import thalweg as tw
from gpt import GPT
from thalweg.sbp import broadcast, sbp, split


class Mesh:
    """Devices in an array of a shape such as "2x2", with a role for each axis, such as "dp,tp".

    `device` is "cpu" or "cuda". A process that is alone in its job is cut into as many devices; under `thalweg run`
    each process is one of them.
    """

    def __init__(self, shape: str, roles: str, device: str = "cpu") -> None:
        sizes = [int(size) for size in shape.split("x")]
        self.roles = roles.split(",")
        if len(self.roles) != len(sizes) or not set(self.roles) <= {"dp", "tp"}:
            raise ValueError(f"--plan: dp or tp for each of the {len(sizes)} axes of --mesh is wanted, got {roles}")
        count = math.prod(sizes)
        if tw.env.get_world_size() == len(tw.env.addressable_ranks()):
            tw.env.init(devices_per_process=count)
        if tw.env.get_world_size() != count:
            raise ValueError(f"--mesh: {shape} has {count} devices, but the job has {tw.env.get_world_size()}")
        self.placement = tw.placement(device, np.arange(count).reshape(sizes))

    def along(self, role: str, how: sbp) -> list[sbp]:
        """`how` on the axes with a role, broadcast on the others."""
        return [how if found == role else broadcast for found in self.roles]

    def batch(self, samples: tw.Tensor) -> tw.Tensor:
        """A batch that every process has, cut among the axes for data."""
        return self.everywhere(samples).to_global(sbp=self.along("dp", split(0)))

    def everywhere(self, tensor: tw.Tensor) -> tw.Tensor:
        """A tensor that every process has, on every device."""
        return tensor.to_global(self.placement, [broadcast] * len(self.roles), check_meta=False)

    def place(self, model: GPT) -> None:
        """Lays out the parameters and buffers of a model, in place."""
        for name, module in model.named_modules():
            for key, parameter in module.named_parameters(recurse=False):
                how = self.along("tp", split_of(name, key, model))
                whole = self.everywhere(parameter.detach())
                setattr(module, key, tw.nn.Parameter(whole.to_global(sbp=how)))
            for key, buffer in module.named_buffers(recurse=False):
                setattr(module, key, self.everywhere(buffer))


def split_of(module: str, key: str, model: GPT) -> sbp:
    """How tensor parallelism cuts a parameter: rows of what makes units, columns of what reads them."""
    attention = model.blocks[0].attention
    heads = attention.query.weight.shape[0] // attention.heads  # cut between heads only
    if module.endswith(("query", "key", "value")):
        return split(0, unit=heads)
    if module.endswith("mlp.0"):
        return split(0)
    if key == "weight" and module.endswith("attention.output"):
        return split(1, unit=heads)
    if key == "weight" and module.endswith("mlp.2"):
        return split(1)
    return broadcast
