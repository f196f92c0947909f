"""where finds an op by its registration, also when it shares a file, and says so when there is none."""

import where


def write(root, place, text):
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_every_place_is_found(tmp_path, capsys):
    write(tmp_path, "cpp/ops/act/gelu.cc", '// x\nr.op("gelu(Tensor input) -> Tensor");\n r.op("gelu_grad(Tensor g)")')
    write(tmp_path, "cpp/ops/act/gelu.h", "struct GeluAttrs {};\n")
    write(tmp_path, "cpp/ops/act/gelu_formula.h", "struct GeluFormula {};\n")
    write(tmp_path, "cpp/ops/act/gelu_cpu.cc", 'table.add("gelu", f); table.add("gelu_grad", g);\n')
    write(tmp_path, "cpp/ops/act/other.cc", 'op<"gelu">(x)\n')
    write(tmp_path, "tests/ops/act/test_gelu.py", "tw.gelu(x)\n")
    write(tmp_path, "docs/reference/ops.md", "gelugelu\n")
    assert where.main(tmp_path, "gelu") == 0
    assert capsys.readouterr().out.splitlines() == [
        "definition  cpp/ops/act/gelu.cc:2",
        "attributes  cpp/ops/act/gelu.h:1",
        "formulas    cpp/ops/act/gelu_formula.h:1",
        "kernel      cpp/ops/act/gelu_cpu.cc:1",
        "used by     cpp/ops/act/other.cc:1",
        "tests       tests/ops/act/test_gelu.py:1",
    ]
    write(tmp_path, "cpp/ops/act/smooth.cc", 'r.op("silu(Tensor input) -> Tensor"); r.op("elu(Tensor input)")')
    write(tmp_path, "cpp/ops/act/smooth_formula.h", '\nops.floats("silu", F());\n  ops.template shaped<E>("elu");')
    assert where.places(tmp_path, "silu")["kernel"] == ["cpp/ops/act/smooth_formula.h:2"]
    assert where.places(tmp_path, "elu")["kernel"] == ["cpp/ops/act/smooth_formula.h:3"]
    assert where.places(tmp_path, "gelu_grad")["definition"] == ["cpp/ops/act/gelu.cc:3"]


def test_an_unknown_op_is_an_error(tmp_path, capsys):
    assert where.main(tmp_path, "gelu") == 1
    assert "no op is named gelu" in capsys.readouterr().err
