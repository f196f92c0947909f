"""run_doctests finds the examples of nested modules, fails on a wrong one, and fails when there are none."""

import sys

import pytest
import run_doctests


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "sample_package"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "inner" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [name for name in sys.modules if name.startswith("sample_package")]:
        del sys.modules[name]


@pytest.mark.parametrize(("text", "status"), [('""">>> 1 + 1\n2\n"""', 0), ('""">>> 1 + 1\n3\n"""', 1), ("", 1)])
def test_exit_status(package, text, status, capsys):
    (package / "inner" / "deep.py").write_text(text)
    (package / "inner" / "libthalweg.so").write_bytes(b"no module")
    assert run_doctests.main("sample_package") == status
    assert "doctests:" in capsys.readouterr().out
