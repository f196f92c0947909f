"""Ranks that fail, die, are stuck or call something else: the others hear of it, and say who and where."""

import os
import re
import signal
import subprocess
import time

import pytest
from launching import HEAD, launch_command, program_environment


def test_a_failure_ends_all_and_comes_last(ranks):
    # U065: rank 1 raises before an all-reduce.
    start = time.monotonic()
    outcome = ranks(
        3,
        """
        if rank == 1: raise KeyError("what rank 1 has to say")
        dist.all_reduce(tw.ones(4))
        """,
    )
    assert outcome.code == 1
    assert time.monotonic() - start < 30
    assert outcome.err.rstrip().endswith("KeyError: 'what rank 1 has to say'")
    assert "thalweg run: rank 1 failed first, with exit code 1" in outcome.err
    for rank in (0, 2):
        assert re.search(
            rf"\[rank {rank}\] .*CommError: all_reduce of float32 \[4\] \(sum\) at .*program.py:\d+: "
            r"rank \d of group \[0, 1, 2\] has ended",
            outcome.err,
        )


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.1])
def test_a_killed_rank_is_noticed_within_seconds(ranks, delay):
    outcome = ranks(
        3,
        f"""
        x = tw.ones(200_000)
        dist.barrier()
        start = time.monotonic()
        if rank == 2:
            import threading
            threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGKILL)).start()
        try:
            while True: dist.all_reduce(x, dist.ReduceOp.MAX)
        except tw.CommError as error:
            print(f"noticed after {{time.monotonic() - start < 5}}: {{error}}")
        """,
    )
    assert outcome.code == 128 + signal.SIGKILL
    assert "rank 2 failed first, with signal SIGKILL" in outcome.err
    lines = [line for line in outcome.out.splitlines() if "noticed" in line]
    assert len(lines) == 2 and all("noticed after True: all_reduce of float32" in line for line in lines)
    assert any("rank 2 of group [0, 1, 2] has ended" in line for line in lines)


def test_a_stuck_rank_is_named_when_the_time_is_over(ranks):
    outcome = ranks(
        2,
        """
        pair = dist.new_group(timeout=1.5)
        dist.barrier(pair)
        if rank == 1:
            time.sleep(4)
            sys.exit()
        try: dist.broadcast(tw.zeros(3), 0, group=pair)
        except tw.CommError as error: print(error)
        """,
    )
    assert outcome.code == 0, outcome.err
    assert re.search(
        r"broadcast of float32 \[3\] with root 0 at .*program.py:\d+: not complete within 1500 ms in group \[0, 1\]: "
        r"waiting for rank 1",
        outcome.out,
    )


def test_a_wait_can_be_interrupted_and_its_call_goes_on(ranks):
    outcome = ranks(
        2,
        """
        import threading
        if rank == 0:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            start = time.monotonic()
            work = dist.barrier(async_op=True)
            try: work.wait()
            except KeyboardInterrupt: print("interrupted", time.monotonic() - start < 2)
            work.wait()
        else:
            time.sleep(2.5)
            dist.barrier()
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out == "[rank 0] interrupted True\n"


MISMATCHES = {
    "op": (
        "dist.all_reduce(x) if rank == 0 else dist.broadcast(x, 0)",
        "all_reduce of float32 [4] (sum)",
        "broadcast of float32 [4] with root 0",
    ),
    "shape": ("dist.all_reduce(x if rank == 0 else x[:3])", "all_reduce of float32 [4]", "all_reduce of float32 [3]"),
    "dtype": ("dist.all_reduce(x if rank == 0 else x.to(tw.int32))", "of float32 [4]", "of int32 [4]"),
    "root": ("dist.broadcast(x, rank)", "with root 0", "with root 1"),
    "reduction": ("dist.all_reduce(x, dist.ReduceOp.MAX if rank else dist.ReduceOp.SUM)", "(sum)", "(max)"),
    "split": (
        "dist.all_to_all_single(tw.zeros(4 + rank), x, [3, 2] if rank else None)",
        "sends 8 bytes",
        "which wants 12",
    ),
}


@pytest.mark.parametrize("kind", MISMATCHES)
def test_calls_that_do_not_fit_are_errors_on_every_rank(ranks, kind):
    call, first, second = MISMATCHES[kind]
    outcome = ranks(
        2,
        f"""
        x = tw.ones(4)
        try: {call}
        except tw.CommError as error: print(error)
        """,
    )
    assert outcome.code == 0, outcome.err
    for rank in (0, 1):
        (line,) = [line for line in outcome.out.splitlines() if line.startswith(f"[rank {rank}]")]
        assert "calls that do not fit together" in line and first in line and second in line
        assert len(re.findall(r"program\.py:\d+", line)) == 2


def test_another_order_is_an_error_on_every_rank(ranks):
    outcome = ranks(
        3,
        """
        a, b = tw.ones(4), tw.ones(2)
        try:
            for x in (a, b) if rank else (b, a): dist.all_reduce(x)
        except tw.CommError as error: print(error)
        """,
    )
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("rank 0: all_reduce of float32 [2] (sum)") == 3
    assert outcome.out.count("rank 2: all_reduce of float32 [4] (sum)") == 3


def running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_outlives_the_launcher(tmp_path, number):
    script = tmp_path / "program.py"
    script.write_text(HEAD + "print(os.getpid())\ndist.barrier()\ntime.sleep(600)\n", encoding="utf-8")
    launcher = subprocess.Popen(launch_command(script, 2), stdout=subprocess.PIPE, text=True, env=program_environment())
    pids = [int(launcher.stdout.readline().split("] ")[1]) for _ in range(2)]
    assert all(map(running, pids))
    os.kill(launcher.pid, number)
    code = launcher.wait(timeout=20)
    launcher.stdout.close()
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    deadline = time.monotonic() + 10
    while any(map(running, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(running, pids))


def test_the_launcher_runs_modules_and_passes_arguments_and_codes_on(tmp_path):
    (tmp_path / "someprogram.py").write_text(
        "import os, sys\nprint(sys.argv[1:], os.environ['LOCAL_RANK'])\nsys.exit(7)\n"
    )
    command = launch_command("someprogram", 2, "--flag", "3")
    command.insert(command.index("someprogram"), "-m")
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=program_environment())
    assert done.returncode == 7
    assert sorted(done.stdout.splitlines()) == [f"[rank {r}] ['--flag', '3'] {r}" for r in range(2)]
