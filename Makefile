# Everything happens in .venv and build/; stamp files in them let a second run reuse what the first has built.
#
#   make demo [ARGS=...]         build, install and train a small GPT      make test         C++ and Python tests
#   make conformance [ARGS=...]  the peers' suites (adds torch)            make nightly      everything, whole
#   make lint                    format, lint, layers, length              make wheel        a repaired wheel, tried
#   make check-ops               every op is complete                      make test-cuda    the CUDA backend, emulated
#   make conformance-cuda        the peers' ops on CUDA, emulated          make clean        removes build/ and .venv
#   make check-cuda              the CUDA backend through nvcc             make cuda-wheel   thalweg-cuda beside it, tried

PYTHON ?= python3
JOBS ?= $(shell nproc)
ARGS ?=
TESTS ?= tests

VENV := .venv
BIN := $(VENV)/bin
BUILD := build/dev
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PATH := $(CURDIR)/$(BIN):$(PATH)

PIP_INSTALL := $(BIN)/python -m pip install --quiet
CPP := $(shell find cpp cmake python/thalweg -name '*.cc' -o -name '*.h' -o -name '*.pyx' -o -name '*.px[di]' \
         -o -name 'CMakeLists.txt' -o -name '*.cmake' -o -name 'locate_wheels.py')

.PHONY: build demo test test-cpp test-python test-doc emulator test-cuda check-cuda cuda-wheel conformance conformance-cuda conformance-sample nightly sanitize asan tsan asan-python lint format \
        check-ops wheel clean

# --- the environment and the build ---

$(VENV)/stamp-build: pyproject.toml tools/requirements.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --upgrade pip
	$(BIN)/python tools/requirements.py build run demo test > $(VENV)/requirements.txt
	$(PIP_INSTALL) cmake ninja -r $(VENV)/requirements.txt
	touch $@

$(VENV)/stamp-dev: $(VENV)/stamp-build
	$(BIN)/python tools/requirements.py dev > $(VENV)/requirements-dev.txt
	$(PIP_INSTALL) -r $(VENV)/requirements-dev.txt
	touch $@

# What NVIDIA's compiler needs beside it: its libraries, what takes objects apart, and what compiles at run time.
$(VENV)/stamp-cuda: $(VENV)/stamp-build pyproject.toml cuda/pyproject.toml
	$(BIN)/python tools/requirements.py cuda nvrtc > $(VENV)/requirements-cuda.txt
	$(PIP_INSTALL) -r $(VENV)/requirements-cuda.txt nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
	touch $@

$(VENV)/stamp-conformance: $(VENV)/stamp-build
	$(BIN)/python tools/requirements.py conformance > $(VENV)/requirements-conformance.txt
	$(PIP_INSTALL) -r $(VENV)/requirements-conformance.txt
	touch $@

$(VENV)/stamp-installed: $(VENV)/stamp-build CMakeLists.txt $(CPP)
	$(PIP_INSTALL) --no-build-isolation --no-deps --config-settings=build-dir=$(BUILD) --editable .
	touch $@

build: $(VENV)/stamp-installed

# --- what users run ---

demo: build
	$(BIN)/python examples/train_gpt.py $(ARGS)

test: test-cpp test-python test-doc

test-cpp: build
	$(BIN)/cmake -S . -B $(BUILD) -DTHALWEG_TESTS=ON
	$(BIN)/cmake --build $(BUILD)
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure

test-python: build
	$(BIN)/cmake -S . -B $(BUILD) -DTHALWEG_TOOLS=ON
	$(BIN)/cmake --build $(BUILD) --target run_graph
	$(BIN)/python -m pytest $(TESTS) --ignore=tests/conformance $(ARGS)

test-doc: build
	$(BIN)/python tools/run_doctests.py

# The CUDA backend on the emulator: needs neither a GPU nor nvcc.
EMULATED := $(CURDIR)/$(BUILD)/tests/cuda/libthalweg_cuda_emulated.so
emulator: build
	$(BIN)/cmake -S . -B $(BUILD) -DTHALWEG_CUDA_EMULATOR=ON
	$(BIN)/cmake --build $(BUILD) --target thalweg_cuda_emulated

test-cuda: emulator
	$(BIN)/cmake --build $(BUILD) --target test_cuda
	$(BIN)/ctest --test-dir $(BUILD) --output-on-failure -R '^cuda/'
	THALWEG_CUDA_EMULATOR=$(EMULATED) $(BIN)/python -m pytest -q tests/cuda $(ARGS)
	THALWEG_CUDA_EMULATOR=$(EMULATED) THALWEG_TEST_DEVICE=cuda $(BIN)/python -m pytest -q -rs \
	  $(shell cat tests/cuda/op_tests.txt) $(ARGS)

# The CUDA backend through nvcc, for one architecture: what kernels need (registers, shared memory, wide accesses, tensor
# cores) and whether docs/cuda_kernels.md says so (CHECK_CUDA=--write puts it there); that the library is whole and loads.
# The host's compiler is called what it is called in the build of the wheel, so that ccache knows libthalweg's objects.
NVCC := $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
ifeq ($(NVCC),)
check-cuda cuda-wheel:
	@echo "$@: skipped: there is no nvcc on the PATH or in /usr/local/cuda/bin, so that no kernel was compiled"
else
check-cuda: build $(VENV)/stamp-cuda
	CXX=$(CXX) $(BIN)/cmake -S . -B build/nvcc -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DTHALWEG_PYTHON=OFF \
	  -DTHALWEG_INPLACE=OFF -DTHALWEG_CUDA=ON
	$(BIN)/cmake --build build/nvcc --target thalweg_cuda
	$(BIN)/python tools/check_cuda.py build/nvcc $(CHECK_CUDA)
	$(BIN)/python tools/check_cuda_library.py build/nvcc/python/thalweg/_core/libthalweg_cuda.so
	$(BIN)/python -m pytest -q tests/python/test_compiled_kernel.py

# thalweg-cuda beside thalweg, for all architectures of a release; ARCHS=90a for one. The libraries that it links are
# other wheels'.
ARCHS ?= 80;90a;100
cuda-wheel: wheel $(VENV)/stamp-cuda
	THALWEG_CUDA_ARCHS='$(ARCHS)' $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps \
	  --config-settings=build-dir=$(CURDIR)/build/cuda-wheel -w dist/raw ./cuda
	$(BIN)/auditwheel repair --strip $(foreach library,thalweg.so cudart.so.13 cublasLt.so.13,--exclude lib$(library)) \
	  -w dist dist/raw/thalweg_cuda-*.whl
	build/wheel-try/bin/python -m pip install --quiet dist/thalweg_cuda-*.whl
	cd build && wheel-try/bin/python ../tools/try_wheel.py --cuda
endif

conformance: build $(VENV)/stamp-conformance
	$(BIN)/python tools/conformance.py $(ARGS)

# The operators' kernels for CUDA on the emulator, values and gradients. The nightly run takes more dtypes.
CUDA_DTYPES := $(if $(THALWEG_NIGHTLY),--dtypes float32$(comma)bfloat16$(comma)float16$(comma)complex64$(comma)int64$(comma)bool)
conformance-cuda: emulator $(VENV)/stamp-conformance
	THALWEG_CUDA_EMULATOR=$(EMULATED) $(BIN)/python tools/conformance.py --device cuda --demanded $(CUDA_DTYPES) $(ARGS)

# What .ci/run has time for: a twentieth of the ops, chosen by hash.
conformance-sample:
	$(MAKE) conformance ARGS="--demanded --sample-fraction 0.05"
	$(MAKE) conformance-cuda ARGS="--sample-fraction 0.05"

# --- what developers and the machines that check run ---

lint: $(VENV)/stamp-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	find cpp cuda tests python -name '*.h' -o -name '*.cc' -o -name '*.cu' | xargs $(BIN)/clang-format --dry-run --Werror
	find python -name '*.pyx' -o -name '*.px[di]' | xargs -r $(BIN)/cython-lint
	$(BIN)/codespell cpp cuda python tests tools examples docs cmake README.md CHANGELOG.md Makefile
	$(BIN)/mypy
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_length.py

format: $(VENV)/stamp-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find cpp cuda tests python -name '*.h' -o -name '*.cc' -o -name '*.cu' | xargs $(BIN)/clang-format -i

check-ops: build
	$(BIN)/python tools/check_ops.py

# The C++ tests under sanitizers. FOLDERS, a regular expression, selects tests by folder; FAMILIES, separated by
# semicolons, builds these families of ops alone.
FOLDERS ?= .*
FAMILIES ?=
sanitize: asan tsan

asan tsan: $(VENV)/stamp-build
	$(BIN)/cmake -S . -B build/$@ -G Ninja -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DTHALWEG_PYTHON=OFF \
	  -DTHALWEG_TESTS=ON '-DTHALWEG_FAMILIES=$(FAMILIES)' \
	  -DTHALWEG_SANITIZE=$(if $(filter asan,$@),address$(comma)undefined,thread)
	$(BIN)/cmake --build build/$@
	TSAN_OPTIONS=suppressions=$(CURDIR)/tests/cpp/tsan.supp \
	  $(BIN)/ctest --test-dir build/$@ --output-on-failure -R '^($(FOLDERS))/'
comma := ,

# The Python tests (TESTS, ARGS) under address and undefined. The interpreter is the one that the venv was made with,
# and gets paths, because in the venv the editable thalweg comes first; the libraries lie in the venv, not beside thalweg.
# Left out: what needs a program of another build, or a browser, which would load the sanitizers too, and gelu's error
# bound, which holds with fused multiply-adds only, and these builds have none.
SITE = $(shell $(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")
SANITIZED = THALWEG_SBP= THALWEG_NIGHTLY= LD_LIBRARY_PATH=$(CURDIR)/$(VENV)/lib:$(SITE)/scipy_openblas32/lib \
	  PYTHONPATH=$(CURDIR)/build/asan-site:$(SITE) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
	  $(shell $(BIN)/python -c "import sys; print(sys._base_executable)")
asan-python: $(VENV)/stamp-build
	rm -rf build/asan-site
	$(PIP_INSTALL) --no-build-isolation --no-deps --target build/asan-site \
	  --config-settings=build-dir=build/asan-python --config-settings=cmake.define.THALWEG_SANITIZE=address,undefined .
	$(SANITIZED) -c "import thalweg; assert 'asan-site' in thalweg.__file__, f'{thalweg.__file__} came first'"
	$(SANITIZED) -m pytest $(TESTS) --ignore=tests/conformance --ignore=tests/tools \
	  --ignore=tests/python/jit/test_run_graph.py --deselect=tests/ops/activation/test_gelu.py::test_error_bound_in_float32 \
	  -k "not browser" $(ARGS)

# Every property test explores, every signature meets every layout, and tests of long runs run long.
nightly: export HYPOTHESIS_PROFILE = explore
nightly: export THALWEG_SBP = all
nightly: export THALWEG_NIGHTLY = 1
nightly: CHECK_CUDA = --strict
nightly: lint check-ops test test-cuda check-cuda conformance conformance-cuda sanitize asan-python wheel

# A clean virtual environment gets the repaired wheel and nothing of the build.
wheel: $(VENV)/stamp-dev
	rm -rf dist build/wheel-try
	$(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --config-settings=build-dir=$(BUILD) -w dist/raw .
	LD_LIBRARY_PATH=$(CURDIR)/$(VENV)/lib $(BIN)/auditwheel repair --strip --exclude libscipy_openblas.so \
	  -w dist dist/raw/thalweg-*.whl
	$(BIN)/python tools/check_length.py --wheel dist/thalweg-*.whl
	$(PYTHON) -m venv build/wheel-try
	build/wheel-try/bin/python -m pip install --quiet dist/thalweg-*.whl
	cd build && wheel-try/bin/python ../tools/try_wheel.py

clean:
	rm -rf build dist $(VENV)
