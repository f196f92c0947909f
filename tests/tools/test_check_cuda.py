"""What tools/check_cuda.py finds in the output of cuobjdump, which a script stands in for."""

import check_cuda
import pytest

FORWARD = "_ZN2tw4cuda23attention_forward_tilesINS_8bfloat16ELi64EEEvNS0_7ProblemIT_EE"
GROUPS = FORWARD.replace("23attention_forward_tiles", "24attention_forward_groups")
ROWS = "_ZN2tw4cuda11reduce_rowsIffLi4ENS0_3SumIfEEEEvT2_NS0_10ReducePassEb"
PACKED = "_ZN2tw4cuda16pointwise_kernelILi4EfEEvT_"
LOAD, STORE, PRODUCT = "LDGSTS.E.BYPASS.128 [R1], desc[R2]", "STG.E.128 desc[R4], R8", "HMMA.16816.F32.BF16 R4, R8"
COPY, GROUP_PRODUCT = "UTMALDG.4D [UR8], [UR4]", "HGMMA.64x128x16.F32.BF16 R24, gdesc[UR20], RZ, !UPT"


def fake_cuobjdump(folder, kernels):
    """A program that answers for an object of these kernels: name to (stack bytes, lines of code)."""
    usage = "".join(
        f" Function {name}:\n  REG:40 STACK:{stack} SHARED:512 LOCAL:0 CONSTANT[0]:400\n"
        for name, (stack, _) in kernels.items()
    )
    code = "".join(
        f"\tFunction : {name}\n" + "".join(f"  /*0000*/  {line} ;\n" for line in lines)
        for name, (_, lines) in kernels.items()
    )
    (folder / "usage").write_text(usage)
    (folder / "code").write_text(code)
    tool = folder / "cuobjdump"
    tool.write_text(f'#!/bin/sh\n[ "$1" = --dump-sass ] && exec cat {folder}/code\nexec cat {folder}/usage\n')
    tool.chmod(0o755)
    return str(tool)


@pytest.mark.parametrize(
    ("name", "stack", "lines", "problems"),
    [
        (FORWARD, 0, [LOAD, STORE, PRODUCT], []),
        (FORWARD, 0, [LOAD, STORE], ["has no products"]),
        (FORWARD, 0, ["LDGSTS.E.64 [R1]", STORE, PRODUCT], ["has no wide loads"]),
        (FORWARD, 0, [LOAD, "STG.E.64 [R1]", PRODUCT], ["has no wide stores"]),
        (GROUPS, 0, [COPY, GROUP_PRODUCT, STORE], []),
        (GROUPS, 0, [LOAD, PRODUCT, STORE], ["has no group products", "has no tile copies"]),
        (FORWARD, 24, [LOAD, STORE, PRODUCT], ["has 24 bytes of its data in memory"]),
        (PACKED, 0, ["LDG.E.128.CONSTANT R4", "STG.E R1"], []),
        (PACKED, 0, ["LDG.E.64 R4", "STG.E R1"], ["has no 128-bit access"]),
        (PACKED.replace("ILi4E", "ILi1E"), 0, ["LDG.E.64 R4"], []),
        (ROWS, 0, ["LDG.E.64 R4"], ["has no 128-bit access"]),
        (ROWS, 0, ["LDG.E.128 R4"], []),
    ],
)
def test_what_a_kernel_lacks_is_told(tmp_path, name, stack, lines, problems):
    tool = fake_cuobjdump(tmp_path, {name: (stack, lines)})
    kernels, found = check_cuda.check_object(tool, tmp_path / "attention.cu.o")
    assert [(k.file, k.name, k.registers, k.shared) for k in kernels] == [("attention.cu", name, 40, 512)]
    assert len(found) == len(problems)
    for line, problem in zip(found, problems, strict=True):
        assert line.startswith("attention.cu") and problem in line


def test_a_listed_file_may_keep_data_in_memory(tmp_path):
    tool = fake_cuobjdump(tmp_path, {"_ZN2tw4cuda5thingEv": (16, [])})
    assert check_cuda.check_object(tool, tmp_path / "trigonometric.cu.o")[1] == []
    assert len(check_cuda.check_object(tool, tmp_path / "other.cu.o")[1]) == 1


def test_a_listed_kernel_may_and_others_of_its_file_may_not(tmp_path):
    renorm, lookup = "_ZN2tw4cuda13renorm_kernelIfEEv", "_ZN2tw4cuda11lookup_rowsIfLi1EEEv"
    tool = fake_cuobjdump(tmp_path, {renorm: (8, []), lookup: (8, [])})
    problems = check_cuda.check_object(tool, tmp_path / "embedding.cu.o")[1]
    assert problems == [f"embedding.cu: {lookup} has 8 bytes of its data in memory"]


def test_a_kernel_that_reads_half_of_what_it_passes_may_have_narrow_accesses(tmp_path):
    half = PACKED.replace("EfEEvT_", "E13ImaginaryPartEEvT_")
    assert check_cuda.PACKED.search(half)
    tool = fake_cuobjdump(tmp_path, {half: (0, ["LDG.E R4"])})
    assert check_cuda.check_object(tool, tmp_path / "complex.cu.o")[1] == []


def test_the_table_has_the_most_of_each_kernel(tmp_path):
    tool = fake_cuobjdump(tmp_path, {FORWARD: (0, []), FORWARD.replace("Li64E", "Li128E"): (8, [])})
    kernels, _ = check_cuda.check_object(tool, tmp_path / "attention.cu.o")
    assert check_cuda.summary(kernels)[2:] == ["| attention.cu | `attention_forward_tiles` | 2 | 40 | 512 | 8 |"]


def test_a_page_that_says_something_else_is_told_and_written(monkeypatch, tmp_path):
    monkeypatch.setattr(check_cuda, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    assert check_cuda.compare(page, "new", write=False) == [
        "page.md is out of date: make check-cuda CHECK_CUDA=--write"
    ]
    assert check_cuda.compare(page, "new", write=True) == []
    page.write_text("old")
    assert len(check_cuda.compare(page, "new", write=False)) == 1


def test_the_slowest_compilations_are_named():
    log = "# ninja log v5\n0\t2000\t1\tcuda/ops/a/b.cu.o\tff\n500\t9500\t1\tcuda/ops/a/c.cu.o\tff\n0\t7\t1\tx.so\tff\n"
    assert check_cuda.slowest(log) == "nvcc took 11 s: c.cu 9 s, b.cu 2 s, ..."
