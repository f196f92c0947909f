"""Kernels compiled at run time, as far as a machine without a GPU goes: machine code, parameters, arguments, errors."""

import importlib.util
import sys

import numpy as np
import pytest
import thalweg as tw
from thalweg.frontend import compiled_kernel
from thalweg.frontend.compiled_kernel import Parameter, pack_argument

SOURCE = """
struct Pair { float a; double b; };
template <class T>
__global__ void scale(T* x, const T* y, float by, int n, long long m, bool up, double d, short s, Pair p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] * by + m + up + d + s + p.a + p.b;
}
__global__ void nothing() {}
"""
has_nvrtc = importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.bindings")
with_nvrtc = pytest.mark.skipif(not has_nvrtc, reason="cuda-bindings is not installed; make check-cuda installs it")


@with_nvrtc
@pytest.mark.parametrize("capability", ["8.0", "9.0a", "10.0"])
def test_a_template_becomes_machine_code_with_the_parameters_of_its_source(capability):
    kernel = tw.cuda.compile_kernel(SOURCE, "scale<float>", compute_capability=capability)
    assert kernel.code[:4] == b"\x7fELF" and f".target sm_{capability.replace('.', '')}" in kernel.ptx
    sizes = [(p.kind[0] == "f", p.size_bytes) for p in kernel.parameters]
    pointer, struct = (False, 8), (False, 16)
    numbers = [(True, 4), (False, 4), (False, 8), (False, 1), (True, 8), (False, 2)]
    assert sizes == [pointer, pointer, *numbers, struct]
    assert tw.cuda.compile_kernel(SOURCE, "nothing", compute_capability=capability).parameters == []


@with_nvrtc
def test_a_source_that_does_not_compile_is_an_error_with_the_line():
    with pytest.raises(RuntimeError, match=r"(?s)cuda.compile_kernel: bad does not compile.*bad.cu\(2\).*nowhere"):
        tw.cuda.compile_kernel("__global__ void bad() {\n  nowhere = 1;\n}", "bad", compute_capability="9.0")
    with pytest.raises(RuntimeError, match="cuda.compile_kernel: missing does not compile"):
        tw.cuda.compile_kernel("__global__ void good() {}", "missing", compute_capability="9.0")
    with pytest.raises(RuntimeError, match="compute capability 1.0"):
        tw.cuda.compile_kernel("__global__ void good() {}", "good", compute_capability="1.0")


@with_nvrtc
def test_options_reach_the_compiler():
    source = "__global__ void sized(Number* x) { *x = 1; }"
    with pytest.raises(RuntimeError, match="Number"):
        tw.cuda.compile_kernel(source, "sized", compute_capability="9.0")
    assert tw.cuda.compile_kernel(source, "sized", compute_capability="9.0", options=["-DNumber=double"]).parameters


def test_without_cuda_python_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings.nvrtc", None)
    with pytest.raises(ImportError, match=r"cuda-python is needed.*pip install 'thalweg\[cuda\]'"):
        tw.cuda.compile_kernel("", "any", compute_capability="9.0")


@pytest.mark.skipif(tw.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_the_capability_has_to_be_told():
    with pytest.raises(tw.DeviceError, match="cuda: "):
        tw.cuda.compile_kernel("", "any")


def test_parameters_are_read_as_compilers_write_them():
    ptx = """
.visible .entry other(
	.param .u64 other_param_0
)
{ }
.weak .entry _Z1kPf(
	.param .u64 .ptr .align 1 _Z1kPf_param_0,
	.param .align 8 .b8 _Z1kPf_param_1[24]
)
.maxntid 256
{ }"""
    assert compiled_kernel.parameters_of(ptx, "_Z1kPf") == [Parameter("u64", 8), Parameter("b8", 24)]
    with pytest.raises(tw.DeviceError, match="no kernel _Z1k"):
        compiled_kernel.parameters_of(ptx, "_Z1k")


PAIR = np.zeros((), np.dtype([("a", np.float32), ("b", np.float64)], align=True))[()]


@pytest.mark.parametrize(
    ("kind", "size_bytes", "value", "wanted"),
    [
        ("f32", 4, 0.5, np.float32(0.5)),
        ("f64", 8, 2, np.float64(2)),
        ("u32", 4, -1, np.int32(-1)),
        ("u64", 8, 1 << 63, np.uint64(1 << 63)),
        ("u8", 1, True, np.bool_(True)),
        ("b8", 2, np.float16(1.5), np.float16(1.5)),
        ("b8", 16, PAIR, PAIR),
    ],
)
def test_arguments_become_the_bytes_of_their_parameter(kind, size_bytes, value, wanted):
    assert bytes(pack_argument("k: argument 0", Parameter(kind, size_bytes), value, 0)) == wanted.tobytes()


@pytest.mark.parametrize(
    ("kind", "size_bytes", "value", "error", "message"),
    [
        ("u32", 4, 1 << 32, ValueError, "4294967296 does not fit into the 4 bytes"),
        ("u32", 4, 0.5, TypeError, r"takes 4 bytes \(u32\) there: a number of this type is wanted, got 0.5"),
        ("b8", 16, 1, TypeError, "a NumPy value of these bytes is wanted, got 1"),
        ("u64", 8, np.int32(1), TypeError, "takes 8 bytes .* got 4 of int32"),
        ("u64", 8, tw.ones(2), ValueError, "a tensor on cuda:0 is wanted, got one on cpu"),
        ("u64", 8, "text", TypeError, "got 'text'"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(kind, size_bytes, value, error, message):
    with pytest.raises(error, match=f"k: argument 0: .*{message}"):
        pack_argument("k: argument 0", Parameter(kind, size_bytes), value, 0)
