"""check_layers finds each kind of breach in a small tree, and nothing in a sound one."""

from pathlib import Path

import check_layers
import pytest

SOUND = {
    "cpp/base/error.h": "",
    "cpp/device/kernel.h": '#include "base/error.h"\n',
    "cpp/ir/node.h": '#include "base/error.h"\n',
    "cpp/ops/math/gelu.h": '#include "base/error.h"\nnamespace tw::ops {\nstruct GeluAttrs {\n};\n}\n',
    "cpp/ops/math/gelu.cc": '#include "ir/node.h"\n#include "ops/math/gelu.h"\n',
    "cpp/ops/math/gelu_cpu.cc": '#include <cmath>\n#include "device/kernel.h"\n#include "ops/math/gelu.h"\n',
    "cpp/ops/math/gelu_formula.h": '#include <cmath>\n#include "base/error.h"\n#include "ops/math/gelu.h"\n',
    "cuda/common/platform.h": '#include "tests/cuda/emulator/device.h"\n',
    "cpp/ops/math/gelu_cpu.h": "",
    "cuda/ops/math/gelu.cu": '#include "cuda/common/platform.h"\n#include "ops/math/gelu_formula.h"\n',
    "tests/cuda/emulator/device.h": "",
    "python/thalweg/__init__.py": "from thalweg import nn\n",
    "python/thalweg/nn/__init__.py": "from .linear import Linear\n",
    "python/thalweg/nn/linear.py": "from . import init\n",
    "python/thalweg/nn/init.py": "import math\n",
    "python/thalweg/nn/utils/__init__.py": "",
}


def problems(root: Path, **changes: str) -> list[str]:
    for place, text in {**SOUND, **changes}.items():
        path = root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [*check_layers.check_cpp(root), *check_layers.check_cuda(root), *check_layers.check_types(root),
            *check_layers.check_python(root), *check_layers.check_names(root)]  # fmt: skip


def test_a_sound_tree_has_no_problem(tmp_path):
    assert problems(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "text", "expected"),
    [
        ("cpp/base/error.h", '#include "device/kernel.h"\n', "base may not include device/kernel.h"),
        ("cpp/ir/node.h", '#include "device/kernel.h"\n', "ir may not include device/kernel.h"),
        ("cpp/ops/math/gelu.h", '#include "ir/node.h"\n', "a kernel reaches ir/node.h"),
        ("cpp/ops/math/gelu.cc", '#include "device/kernel.h"\n', "a definition reaches device/kernel.h"),
        ("cpp/ops/math/gelu_formula.h", '#include "device/kernel.h"\n', "a formula reaches device/kernel.h"),
        ("cpp/ops/math/gelu_formula.h", '#include "ir/node.h"\n', "a formula reaches ir/node.h"),
        ("cpp/ops/math/gelu_formula.h", '#include "ops/math/gelu_cpu.h"\n', "a formula reaches ops/math/gelu_cpu.h"),
        ("cpp/ops/math/gelu_formula.h", '#include "cuda/common/platform.h"\n', "is not a file of cpp/"),
        ("cpp/ops/math/gelu_cpu.cc", "#include <Python.h>\n", "only the binding may"),
        ("cpp/ops/math/gelu_cpu.cc", '#include "gelu.h"\n', "is not a file of cpp/"),
        ("cpp/device/kernel.h", '#include "cuda/kernel.h"\n', "is not a file of cpp/"),
        ("cuda/ops/math/gelu.cu", '#include "ir/node.h"\n', "cuda may not include ir/node.h"),
        ("cuda/ops/math/gelu.cu", '#include "tests/cuda/emulator/device.h"\n', "cuda may not include tests"),
        ("cuda/common/platform.h", '#include "gelu.h"\n', "cuda may not include gelu.h"),
        ("cpp/ops/tanh.h", "namespace tw::ops {\nstruct GeluAttrs {\n};\n}\n", "both define tw::ops::GeluAttrs"),
        ("cpp/utils/x.h", "", "not a folder of the table"),
        ("cpp/device/string_utils.h", "", "nothing is named utils"),
        ("python/thalweg/nn/init.py", "from thalweg import nn\n", "imports in a cycle"),
        ("python/thalweg/nn/init.py", "if True:\n    from .linear import Linear\n", "imports in a cycle"),
        ("python/thalweg/nn/init.py", "def f():\n    import math\n", "import inside f()"),
        ("python/thalweg/nn/init.py", "class A:\n    def f(self):\n        import math\n", "import inside f()"),
    ],
)
def test_each_breach_is_found(tmp_path, place, text, expected):
    found = problems(tmp_path, **{place: text})
    assert any(expected in problem for problem in found), found


def test_imports_for_type_checkers_may_go_round(tmp_path):
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .linear import Linear\n"
    assert problems(tmp_path, **{"python/thalweg/nn/init.py": text}) == []
