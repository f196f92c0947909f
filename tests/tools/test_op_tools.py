"""Schemas are taken apart, stubs and reference are written from them, and check_ops names every missing part."""

import ast

import check_ops
import gen_reference
import gen_stubs
import pytest
from op_registry import Param, parse_schema

GELU = {
    "name": "gelu",
    "schema": 'gelu(Tensor input, *, str approximate="none") -> Tensor',
    "doc": "Gaussian error linear unit.",
    "family": "activation",
    "has_grad": True,
    "no_grad_reason": "",
    "has_sbp": True,
    "has_cost": True,
    "has_infer": True,
    "composite": False,
    "view": False,
    "kernels": ["cpu"],
    "exposed": ["nn.functional"],
    "outputs": ["result"],
}


def op(schema, *exposed, **changes):
    return {**GELU, "schema": schema, "name": schema.partition("(")[0], "exposed": list(exposed), **changes}


def test_a_schema_is_taken_apart():
    schema = parse_schema('f(Tensor input, int[2] pad=[0, 1], *, str mode="a,b") -> (Tensor values, Tensor indices)')
    assert schema.name == "f"
    assert schema.params == [
        Param("input", "Tensor", None, False, False),
        Param("pad", "int[2]", "[0, 1]", False, False),
        Param("mode", "str", '"a,b"', True, False),
    ]
    assert schema.outputs == [("Tensor", "values"), ("Tensor", "indices")]
    assert parse_schema("zeros(int[]... size) -> Tensor").params == [Param("size", "int[]", None, False, True)]


@pytest.mark.parametrize("text", ["f(Tensor x)", "f(Tensor) -> Tensor", "Tensor"])
def test_a_malformed_schema_is_an_error(text):
    with pytest.raises(ValueError, match="schema: wanted"):
        parse_schema(text)


@pytest.mark.parametrize(
    ("schema", "place", "expected"),
    [
        (GELU["schema"], "nn.functional", 'def gelu(input: Tensor, *, approximate: str = "none") -> Tensor: ...'),
        (
            "add(Tensor input, Tensor other) -> Tensor",
            "inplace",
            "def add_(self, other: Tensor | complex) -> Tensor: ...",
        ),
        (
            "cat(Tensor[] tensors, int dim=0) -> Tensor",
            "function",
            "def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor: ...",
        ),
        (
            "split(Tensor input, int[] sizes) -> Tensor[]",
            "method",
            "def split(self, sizes: int | Sequence[int]) -> tuple[Tensor, ...]: ...",
        ),
        (
            "zeros(int[]... size, *, dtype? dtype=None) -> Tensor",
            "function",
            "def zeros(*size: int | Sequence[int], dtype: dtype | None = None) -> Tensor: ...",
        ),
        (
            "uniform(Tensor input, float from=0.0) -> Tensor",
            "inplace",
            "def uniform_(self, from_: float = 0.0) -> Tensor: ...",
        ),
        (
            "linalg_norm(Tensor input, Tensor? out) -> Tensor",
            "linalg",
            "def norm(input: Tensor, out: Tensor | complex | None = None) -> Tensor: ...",
        ),
    ],
)
def test_signatures(schema, place, expected):
    found = gen_stubs.signature(op(schema, place), place)
    assert found == expected
    ast.parse(found)


def test_outputs_that_python_does_not_see_are_left_out():
    norm = op("norm(Tensor input) -> (Tensor result, Tensor mean)", "function")
    assert gen_stubs.signature(norm, "function").endswith("-> Tensor: ...")
    assert gen_stubs.signature({**norm, "outputs": ["result", "mean"]}, "function").endswith(
        "-> tuple[Tensor, Tensor]: ..."
    )


def test_a_template_is_filled_where_it_says():
    ops = [op("neg(Tensor input) -> Tensor", "function", "method"), op("hidden(Tensor x) -> Tensor")]
    text = gen_stubs.fill("class Tensor:\n    # ops: method\n\n# ops: function\n# ops: linalg\n", ops, [])
    assert text == (
        "class Tensor:\n    def neg(self) -> Tensor: ...\n\ndef neg(input: Tensor) -> Tensor: ...\n# no ops\n"
    )


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"doc": " "}, "doc"),
        ({"has_infer": False}, "inference"),
        ({"kernels": []}, "kernel"),
        ({"has_grad": False}, "gradient"),
        ({"has_sbp": False}, "sbp"),
        ({"has_cost": False}, "cost"),
        ({"name": "untested"}, "test"),
    ],
)
def test_each_missing_part_is_named(change, part, monkeypatch):
    assert check_ops.missing_parts(GELU, {"gelu"}) == []
    broken = {**GELU, **change}
    assert check_ops.missing_parts(broken, {"gelu"}) == [part]
    monkeypatch.setitem(check_ops.REASONS, (broken["name"], part), "stated")
    assert check_ops.missing_parts(broken, {"gelu"}) == []


def test_composites_views_and_ops_with_a_reason_need_less():
    bare = {**GELU, "has_grad": False, "has_sbp": False, "has_cost": False, "has_infer": False, "kernels": []}
    assert check_ops.missing_parts({**bare, "composite": True}, {"gelu"}) == []
    assert check_ops.missing_parts({**GELU, "kernels": [], "view": True}, {"gelu"}) == []
    assert check_ops.missing_parts({**GELU, "has_grad": False, "no_grad_reason": "flat"}, {"gelu"}) == []


def test_what_cuda_lacks_needs_a_reason(monkeypatch):
    ops = [{**GELU, "name": name} for name in ("gelu", "linalg_qr")]
    assert check_ops.cuda_problems(ops, {"gelu", "linalg_qr"})[0].startswith("ON_THE_CPU_ALONE: by_rows is not")
    monkeypatch.setattr(check_ops, "ON_THE_CPU_ALONE", {"linalg_qr": "stated"})
    assert check_ops.cuda_problems(ops, {"gelu"}) == []
    assert check_ops.cuda_problems(ops, set()) == ["gelu: no kernel for CUDA"]
    assert check_ops.cuda_problems(ops, {"gelu", "linalg_qr"}) == ["ON_THE_CPU_ALONE: linalg_qr is not"]


def test_kernels_for_cuda_are_found_by_their_names(tmp_path):
    folder = tmp_path / "cuda" / "ops"
    folder.mkdir(parents=True)
    one = 'void kernels_a(T& table) { table.add("one", k); }\n'
    more = (
        'void kernels_b(T& table) {\n  for (auto op : {"two", "three"}) table.add(op, k);\n}\nint f() { g("four"); }\n'
    )
    (folder / "a.cu").write_text(one)
    (folder / "b.cu").write_text(more)
    assert check_ops.cuda_kernels(tmp_path) == {"one", "two", "three"}
    formulas = tmp_path / "cpp" / "ops" / "act"
    formulas.mkdir(parents=True)
    (formulas / "c_formula.h").write_text(
        'template <class Ops>\nvoid add_c(Ops ops) {\n  ops.floats("five", F());\n}\n'
    )
    assert "five" not in check_ops.cuda_kernels(tmp_path)
    (folder / "c.cu").write_text("void kernels_c(T& table) { ops::add_c(PointwiseOps(table)); }\n")
    assert check_ops.cuda_kernels(tmp_path) == {"one", "two", "three", "five"}
    assert check_ops.kernels_without_definition(tmp_path, set()) == ["add_c: a kernel for five, which no file defines"]


def test_an_empty_registry_is_a_problem(tmp_path):
    assert check_ops.check([], tmp_path) == ["the registry is empty: nothing was checked"]


def test_a_kernel_without_definition_is_found(tmp_path):
    folder = tmp_path / "cpp" / "ops" / "activation"
    folder.mkdir(parents=True)
    (folder / "gelu_cpu.cc").write_text('t.add("gelu", f);\nt.add("gleu", f);\n')
    assert check_ops.kernels_without_definition(tmp_path, {"gelu"}) == [
        "cpp/ops/activation/gelu_cpu.cc: a kernel for gleu, which no file defines"
    ]


def test_the_reference_page_lists_public_ops():
    page = gen_reference.page([GELU, op("hidden(Tensor x) -> Tensor")])
    assert "## activation" in page and "### gelu" in page and "`tw.nn.functional.gelu`" in page
    assert "hidden" not in page
