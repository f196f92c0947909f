"""Pools over one to three dims: max_pool, avg_pool, the adaptive ones, lp_pool and max_unpool.

The functions of the three ranks are the same but for the number of dims, and are made by one maker each.
"""

from collections.abc import Callable
from typing import Any

from thalweg._core._tensor import Tensor
from thalweg._registry import export, ops
from thalweg.composites.nn_conv import per_dim

__all__: list[str] = []


def _batched(x: Tensor, dims: int, op: str) -> Tensor:
    """[C, *D] or [N, C, *D] as [N, C, *D]."""
    if x.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(f"{op}: an input with {dims + 1} or {dims + 2} dims is wanted, got shape {list(x.shape)}")
    if x.shape[-dims - 1] == 0:
        raise RuntimeError(f"{op}: at least one channel is wanted, got shape {list(x.shape)}")
    return x if x.dim() == dims + 2 else x.unsqueeze(0)


def _windows(op: str, dims: int, kernel_size: Any, stride: Any, padding: Any) -> tuple[list[int], list[int], list[int]]:
    kernel = per_dim(kernel_size, dims, "kernel_size", op)
    stride = kernel if stride is None or stride == [] or stride == () else per_dim(stride, dims, "stride", op)
    return kernel, stride, per_dim(padding, dims, "padding", op)


def _named(function: Callable, name: str, doc: str, public: bool = True) -> Callable:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return export(nn=True, function=public)(function)


def _make_max_pool(dims: int) -> None:
    name = f"max_pool{dims}d"

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        values, indices = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return (values, indices) if return_indices else values

    def with_indices(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = True,
    ) -> tuple[Tensor, Tensor]:
        kernel, steps, pad = _windows(name, dims, kernel_size, stride, padding)
        spread = per_dim(dilation, dims, "dilation", name)
        values, indices = ops.max_pool(_batched(input, dims, name), kernel, steps, pad, spread, ceil_mode)
        return (values, indices) if input.dim() == dims + 2 else (values.squeeze(0), indices.squeeze(0))

    _named(
        pool,
        name,
        f"""The largest element of each window over the last {dims} dims.

    Args:
        input: [N, C, *D] or [C, *D].
        kernel_size, stride, padding, dilation: an int or one a dim; the stride is by default the kernel size.
        ceil_mode: round the output size up, so that windows may begin in the padding on the right.
        return_indices: also return the flat position of each in its plane, for max_unpool{dims}d.
    """,
    )
    _named(with_indices, f"{name}_with_indices", f"{name} that returns (values, indices).", public=dims == 1)


def _make_avg_pool(dims: int) -> None:
    name = f"avg_pool{dims}d"

    def average(
        input: Tensor,
        kernel_size: Any,
        stride: Any,
        padding: Any,
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        kernel, steps, pad = _windows(name, dims, kernel_size, stride, padding)
        result = ops.avg_pool(
            _batched(input, dims, name), kernel, steps, pad, ceil_mode, count_include_pad, divisor_override
        )
        return result if input.dim() == dims + 2 else result.squeeze(0)

    def pool1d(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        return average(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)

    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        return average(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    _named(
        pool1d if dims == 1 else pool,
        name,
        f"""The mean of each window over the last {dims} dims.

    Args:
        input: [N, C, *D] or [C, *D].
        kernel_size, stride, padding: an int or one a dim; the stride is by default the kernel size.
        ceil_mode: round the output size up.
        count_include_pad: count the zeros of the padding in the mean.
        divisor_override (two and three dims): divide by this instead of the number of elements.
    """,
        public=dims == 1,
    )


def _adaptive_size(output_size: Any, input: Tensor, dims: int, op: str) -> list[int]:
    sizes = [output_size] * dims if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(sizes) == 1:
        sizes *= dims
    if len(sizes) != dims:
        raise RuntimeError(f"{op}: output_size of one int or {dims} is wanted, got {output_size!r}")
    return [input.shape[i - dims] if size is None else size for i, size in enumerate(sizes)]


def _make_adaptive(dims: int) -> None:
    mean_name, max_name = f"adaptive_avg_pool{dims}d", f"adaptive_max_pool{dims}d"

    def mean(input: Tensor, output_size: Any) -> Tensor:
        batched = _batched(input, dims, mean_name)
        result = ops.adaptive_avg_pool(batched, _adaptive_size(output_size, input, dims, mean_name))
        return result if input.dim() == dims + 2 else result.squeeze(0)

    def largest(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        batched = _batched(input, dims, max_name)
        values, indices = ops.adaptive_max_pool(batched, _adaptive_size(output_size, input, dims, max_name))
        if input.dim() != dims + 2:
            values, indices = values.squeeze(0), indices.squeeze(0)
        return (values, indices) if return_indices else values

    doc = f"of windows over the last {dims} dims, cut so that the output has output_size; None keeps a dim's size."
    _named(mean, mean_name, f"The means {doc}", public=dims == 1)
    _named(
        largest,
        max_name,
        f"The largest elements {doc} With return_indices also their flat positions.",
        public=dims == 1,
    )


def _make_lp_pool(dims: int) -> None:
    name = f"lp_pool{dims}d"

    def pool(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
        kernel, steps, pad = _windows(name, dims, kernel_size, stride, 0)
        mean = ops.avg_pool(_batched(input, dims, name).pow(norm_type), kernel, steps, pad, ceil_mode, True, None)
        mean = mean if input.dim() == dims + 2 else mean.squeeze(0)
        count = 1
        for size in kernel:
            count *= size
        # A negative sum (odd norms of negative elements) has no root: it counts as 0.
        return (mean.sign() * mean.abs().relu() * count).pow(1.0 / norm_type)

    _named(pool, name, f"(Σ x^norm_type)^(1 / norm_type) of each window over the last {dims} dims.", public=False)


def _make_max_unpool(dims: int) -> None:
    name = f"max_unpool{dims}d"

    def unpool(
        input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
    ) -> Tensor:
        kernel, steps, pad = _windows(name, dims, kernel_size, stride, padding)
        sizes = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(input.shape[-dims:], steps, pad, kernel)]
        if output_size is not None:
            wanted = list(output_size)[-dims:]
            if len(wanted) != dims or any(abs(w - n) >= s for w, n, s in zip(wanted, sizes, steps)):
                raise ValueError(f"{name}: an output_size within a stride of {sizes} is wanted, got {output_size}")
            sizes = wanted
        values, positions = _batched(input, dims, name), _batched(indices, dims, name)
        result = ops.plane_scatter(values, positions, sizes, False)
        return result if input.dim() == dims + 2 else result.squeeze(0)

    _named(
        unpool,
        name,
        f"""Puts each value back where max_pool{dims}d found it, zeros elsewhere.

    Raises:
        IndexError: an index outside the output plane.
    """,
        public=False,
    )


for _dims in (1, 2, 3):
    _make_max_pool(_dims)
    _make_avg_pool(_dims)
    _make_adaptive(_dims)
    _make_lp_pool(_dims)
    _make_max_unpool(_dims)
