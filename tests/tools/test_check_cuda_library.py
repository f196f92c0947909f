"""What tools/check_cuda_library.py makes of what readelf and ldd say."""

import check_cuda_library
import pytest

WHOLE = ["libthalweg.so", "libcudart.so.13", "libcublasLt.so.13", "libstdc++.so.6", "libc.so.6"]


def dynamic(names):
    return "".join(f" 0x0000000000000001 (NEEDED)             Shared library: [{name}]\n" for name in names)


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        (WHOLE, []),
        ([*WHOLE, "libcuda.so.1"], ["links libcuda.so.1"]),
        ([*WHOLE, "libtbb.so.12"], ["links libtbb.so.12"]),
        (WHOLE[1:], ["does not link libthalweg.so"]),
    ],
)
def test_only_what_is_there_everywhere_may_be_linked(names, problems):
    assert check_cuda_library.wrong_links(dynamic(names)) == problems


def test_symbols_and_libraries_that_are_not_found_are_told():
    said = "\tlibm.so.6 => /lib/libm.so.6 (0x1)\n\tlibnone.so => not found\nundefined symbol: _Zf\t(./a.so)\n"
    assert check_cuda_library.left_open(said) == ["libnone.so => not found", "undefined symbol: _Zf\t(./a.so)"]
