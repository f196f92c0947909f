"""Launches of kernels compiled at run time: what they compute on a GPU; on the emulator, how far they come."""

import importlib.util
import os

import pytest
import thalweg as tw

EMULATED = "THALWEG_CUDA_EMULATOR" in os.environ
pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings")),
    reason="cuda-bindings is not installed; make check-cuda installs it",
)
on_a_gpu = pytest.mark.skipif(EMULATED, reason="the emulator runs no machine code")
SCALE = """
template <class T>
__global__ void scale(T* x, double by, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
"""
REVERSE = """
extern __shared__ int held[];
__global__ void reverse(int* x) {
  held[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
}
"""


def test_the_current_gpu_is_compiled_for():
    properties = tw.cuda.get_device_properties()
    kernel = tw.cuda.compile_kernel(SCALE, "scale<float>")
    assert f".target sm_{properties['major']}{properties['minor']}" in kernel.ptx


def test_arguments_are_checked_before_the_launch():
    kernel, x = tw.cuda.compile_kernel(SCALE, "scale<float>"), tw.ones(4, device="cuda")
    with pytest.raises(TypeError, match="scale<float>: 3 arguments are wanted, got 1"):
        kernel(args=[x])
    with pytest.raises(ValueError, match="argument 0: a tensor on cuda:0 is wanted, got one on cpu"):
        kernel(args=[x.cpu(), 2.0, 4])
    with pytest.raises(TypeError, match="argument 1: the kernel takes 8 bytes"):
        kernel(args=[x, x, 4])
    with pytest.raises(ValueError, match=r"scale<float>: grid: one to three numbers above zero are wanted, got \(0,\)"):
        kernel(grid=0, args=[x, 2.0, 4])


@pytest.mark.skipif(not EMULATED, reason="there is a driver")
def test_without_a_driver_a_launch_says_so():
    kernel, x = tw.cuda.compile_kernel(SCALE, "scale<float>"), tw.ones(4, device="cuda")
    with pytest.raises(tw.DeviceError, match=r"kernel scale<float> cannot be launched: .*(libcuda|driver)"):
        kernel(grid=1, block=32, args=[x, 2.0, 4])
    assert x.tolist() == [1.0] * 4


@on_a_gpu
@pytest.mark.parametrize(("dtype", "name"), [(tw.float32, "float"), (tw.float64, "double"), (tw.int32, "int")])
def test_a_kernel_computes_on_tensors_in_the_order_of_its_stream(dtype, name):
    kernel = tw.cuda.compile_kernel(SCALE, f"scale<{name}>")
    x = tw.arange(1000, device="cuda").to(dtype)
    kernel(grid=(4,), block=(256,), args=[x, 3, x.numel()])
    assert (x + 1).tolist() == [3 * i + 1 for i in range(1000)]
    stream = tw.cuda.Stream()
    stream.wait_stream(tw.cuda.current_stream())
    kernel(grid=4, block=256, args=[x, 2, 500], stream=stream)
    stream.synchronize()
    assert x.tolist() == [3 * i * (2 if i < 500 else 1) for i in range(1000)]


@on_a_gpu
@pytest.mark.parametrize("shared_mem", [4 * 128, 64 << 10])
def test_dynamic_shared_memory_is_what_was_asked_for(shared_mem):
    x = tw.arange(128, device="cuda").to(tw.int32)
    tw.cuda.compile_kernel(REVERSE, "reverse")(block=128, args=[x], shared_mem=shared_mem)
    assert x.tolist() == list(range(127, -1, -1))


@on_a_gpu
def test_a_launch_that_the_driver_refuses_is_an_error():
    kernel = tw.cuda.compile_kernel(SCALE, "scale<float>")
    with pytest.raises(tw.DeviceError, match=r"kernel scale<float>: cuLaunchKernel failed: CUDA_ERROR"):
        kernel(block=(2048,), args=[tw.ones(4, device="cuda"), 2.0, 4])
