"""check_length accepts short files and names what is too long."""

import check_length


def test_short_files_pass():
    assert check_length.check_sources({f"cpp/a{i}.cc": 100 for i in range(20)}) == []


def test_each_limit_is_enforced():
    short = {f"cpp/a{i}.cc": 100 for i in range(20)}
    assert check_length.check_sources({}) == ["no source files were found"]
    assert "cpp/b.cc: 801 lines, at most 800" in check_length.check_sources({**short, "cpp/b.cc": 801})
    assert "median file has 151" in check_length.check_sources({"cpp/a.cc": 151})[0]
    many_long = {**short, **{f"cpp/b{i}.cc": 400 for i in range(3)}}
    assert "3 of 23 files have 400 lines or more" in check_length.check_sources(many_long)[0]


def test_files_are_counted_and_exit_status_says_so(tmp_path, capsys):
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp" / "a.cc").write_text("x\n" * 3)
    (tmp_path / "cpp" / "notes.txt").write_text("x\n" * 900)
    assert check_length.count_lines(tmp_path) == {"cpp/a.cc": 3}
    assert check_length.main(tmp_path, []) == 0
    (tmp_path / "cpp" / "CMakeLists.txt").write_text("x\n" * 61)
    assert check_length.main(tmp_path, []) == 1
    assert "cpp/CMakeLists.txt: 61 lines" in capsys.readouterr().out


def test_wheels_have_a_size(tmp_path):
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"x" * 100)
    assert check_length.main(tmp_path, ["--wheel", str(wheel)]) == 0
