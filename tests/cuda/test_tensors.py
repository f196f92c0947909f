"""Tensors on CUDA devices: making, moving, printing, and what must not be mixed."""

import numpy as np
import pytest
import thalweg as tw

CUDA = tw.device("cuda:0")


def test_creation():
    for x, values in [
        (tw.tensor([1.0, 2.0], device="cuda"), [1, 2]),
        (tw.zeros(2, device="cuda"), [0, 0]),
        (tw.ones(2, device=0), [1, 1]),
        (tw.full((2,), 7, device=tw.device("cuda")), [7, 7]),
        (tw.as_tensor(np.array([3, 4]), device="cuda"), [3, 4]),
        (tw.zeros(2, device="cuda").new_ones(2), [1, 1]),
        (tw.zeros_like(tw.ones(2, device="cuda")), [0, 0]),
        (tw.full_like(tw.ones(2), 5, device="cuda"), [5, 5]),
    ]:
        assert x.device == CUDA and x.is_cuda and not x.is_cpu and x.get_device() == 0
        assert x.tolist() == values
    assert tw.empty_like(tw.ones(2, device="cuda"), device="cpu").device == tw.device("cpu")
    assert tw.zeros(2).device == tw.device("cpu") and tw.zeros(2).get_device() == -1


def test_moving():
    x = tw.arange(12.0).reshape(3, 4)
    there = x.to("cuda")
    assert there.to("cuda") is there and x.to("cpu") is x and x.cpu() is x
    assert there.cpu().tolist() == x.tolist()
    assert x.cuda(1).device == tw.device("cuda:1")
    assert there.to("cuda:1").cpu().tolist() == x.tolist()
    both = x.to("cuda", tw.bfloat16)
    assert both.device == CUDA and both.dtype == tw.bfloat16
    assert x.to(both).dtype == tw.bfloat16
    # What lies without gaps moves as it lies.
    assert x.t().cuda().stride() == x.t().stride()
    assert x[:, 1:3].cuda().tolist() == [[1, 2], [5, 6], [9, 10]]
    assert there[:, 1:3].cpu().tolist() == [[1, 2], [5, 6], [9, 10]]
    assert tw.zeros(0, 3).cuda().cpu().shape == (0, 3)


def test_copy_between_devices():
    x = tw.zeros(2, 3)
    x.copy_(tw.ones(2, 3, device="cuda"))
    assert x.sum() == 6
    there = tw.zeros(2, 3, device="cuda")
    there[:, 1] = tw.tensor([5.0, 6.0])
    assert there.tolist() == [[0, 5, 0], [0, 6, 0]]


def test_values_come_to_the_host():
    x = tw.tensor([[1.5, -2.0]], device="cuda")
    assert x[0, 1].item() == -2 and float(x[0, 0]) == 1.5 and bool(x[0, 0] > 1)
    assert repr(x) == "tensor([[ 1.5000, -2.0000]], device='cuda:0')"
    assert repr(x.half()) == "tensor([[ 1.5000, -2.0000]], device='cuda:0', dtype=thalweg.float16)"
    assert x.cpu().numpy().tolist() == [[1.5, -2.0]]
    with pytest.raises(TypeError, match=r"the tensor lies on cuda:0; call cpu\(\) first"):
        x.numpy()
    with pytest.raises(NotImplementedError, match="only memory of the CPU can be shared so far"):
        x.__dlpack__()


def test_devices_must_agree():
    here, there, other = tw.ones(2), tw.ones(2, device="cuda"), tw.ones(2, device="cuda:1")
    with pytest.raises(ValueError, match="add: all tensors must lie on one device, got cpu and cuda:0"):
        here + there
    with pytest.raises(ValueError, match="mul: all tensors must lie on one device, got cuda:0 and cuda:1"):
        there * other
    with pytest.raises(ValueError, match="add: all tensors must lie on one device, got cpu and cuda:0"):
        here.add_(there)
    with pytest.raises(ValueError, match="add: a tensor on cpu cannot be written by one on cuda:0"):
        tw.tensor(1.0).add_(there[0])
    # A number goes along, in a tensor too.
    assert (there + 1).tolist() == (1 + there).tolist() == (there + tw.tensor(1.0)).tolist() == [2, 2]
    assert (2 * other).device == tw.device("cuda:1")


def test_gradients_cross_devices():
    x = tw.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x.cuda() * tw.tensor([2.0, 3.0, 4.0], device="cuda")
    assert y.requires_grad and "ToDevice" not in repr(y)
    y.backward(tw.ones(3, device="cuda"))
    assert x.grad.device == tw.device("cpu") and x.grad.tolist() == [2, 3, 4]
    z = tw.ones(3, device="cuda", requires_grad=True)
    (z.cpu() * 5).sum().backward()
    assert z.grad.device == CUDA and z.grad.tolist() == [5, 5, 5]


def test_an_op_without_a_kernel_says_so():
    with pytest.raises(
        NotImplementedError, match="linalg_eig: .* for device cuda:0; move its operands to the CPU first"
    ):
        tw.linalg.eig(tw.ones(2, 2, device="cuda"))
    with pytest.raises(NotImplementedError, match="mm: matrix products of dtype int64 are not supported on CUDA"):
        tw.mm(tw.ones(2, 2, dtype=tw.int64, device="cuda"), tw.ones(2, 2, dtype=tw.int64, device="cuda"))


def test_composites_make_new_tensors_beside_their_input():
    x = tw.tensor([1.0, 2.0], device="cuda")
    assert tw.diag_embed(x).tolist() == [[1, 0], [0, 2]] and tw.diag_embed(x).device == CUDA
    assert tw.zeros(2).device == tw.device("cpu")
    bags = tw.nn.functional.embedding_bag(tw.tensor([0, 1, 1], device="cuda"), tw.tensor([[1.0], [4.0]], device="cuda"),
                                          tw.tensor([0, 2], device="cuda"), mode="sum")  # fmt: skip
    assert bags.tolist() == [[5], [4]] and bags.device == CUDA
