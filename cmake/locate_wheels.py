"""Prints where the build's libraries lie, as `NAME=path` lines for CMake.

They come as wheels. TBB and oneDNN put their files outside site-packages (in prefix/lib), and under pip's build
isolation the prefix is a temporary overlay, so the wheels' own file lists are asked instead of sys.prefix.
"""

import sys
from importlib import metadata

WANTED = {
    "TBB_DIR": ("tbb-devel", "TBBConfig.cmake"),
    "DNNL_DIR": ("onednn-devel-cpu-gomp", "dnnl-config.cmake"),
    "OPENBLAS_INCLUDE": ("scipy-openblas32", "cblas.h"),
    "OPENBLAS_LIB": ("scipy-openblas32", "libscipy_openblas.so"),
    "PYBIND11_DIR": ("pybind11", "pybind11Config.cmake"),
    "UCX_API": ("libucx-cu13", "ucp.h"),
    "UCX_LIB": ("libucx-cu13", "libucp.so.0"),
}
# `locate_wheels.py cuda`: what libthalweg_cuda links. The versions must fit the compiler, nvcc 13.0.
WANTED_FOR_CUDA = {
    "CUBLAS_LIB": ("nvidia-cublas", "libcublasLt.so.13"),
    "CUDA_LIB": ("nvidia-cuda-runtime", "libcudart.so.13"),
}
# Without these the library has no convolutions, or no collectives of several GPUs. They are loaded when first used.
OPTIONAL_FOR_CUDA = {
    "CUDNN_LIB": ("nvidia-cudnn-cu13", "libcudnn.so.9"),
    "NCCL_LIB": ("nvidia-nccl-cu13", "libnccl.so.2"),
}


def is_installed(distribution: str) -> bool:
    """Whether there is such a package, of any version."""
    return any(metadata.distributions(name=distribution))


def folder_of(distribution: str, file_name: str) -> str:
    """The folder that holds `file_name` of an installed wheel; exits with a sentence when it is missing."""
    try:
        files = metadata.files(distribution) or []
    except metadata.PackageNotFoundError:
        sys.exit(f"build: the package {distribution} is not installed for {sys.executable}")
    for file in files:
        if file.name == file_name:
            return str(file.locate().resolve().parent)
    sys.exit(f"build: the package {distribution} has no file named {file_name}")


if __name__ == "__main__":
    cuda = sys.argv[1:] == ["cuda"]
    for name, (distribution, file_name) in (WANTED_FOR_CUDA if cuda else WANTED).items():
        print(f"{name}={folder_of(distribution, file_name)}")
    for name, (distribution, file_name) in (OPTIONAL_FOR_CUDA if cuda else {}).items():
        print(f"{name}={folder_of(distribution, file_name) if is_installed(distribution) else ''}")
