"""Where the launcher puts its processes."""

import json
import os
import subprocess

import pytest
from launching import launch_command, program_environment

CORES = sorted(os.sched_getaffinity(0))


def cores_of_ranks(tmp_path, processes, options=()):
    """What each process finds: the cores that it may run on, and the number of threads that it is told."""
    program = tmp_path / "program.py"
    program.write_text(
        "import json, os\nprint(json.dumps([sorted(os.sched_getaffinity(0)), int(os.environ['OMP_NUM_THREADS'])]))\n"
    )
    environment = program_environment()
    environment.pop("OMP_NUM_THREADS", None)
    command = launch_command(program, processes, options=options)
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    found = dict(line.split("] ", 1) for line in lines)
    return [json.loads(found[f"[rank {rank}"]) for rank in range(processes)]


@pytest.mark.skipif(len(CORES) < 2, reason="one core cannot be shared out")
def test_processes_have_cores_of_their_own(tmp_path):
    found = cores_of_ranks(tmp_path, 2)
    assert sorted(found[0][0] + found[1][0]) == CORES
    assert [threads for _, threads in found] == [len(cores) for cores, _ in found]
    assert cores_of_ranks(tmp_path, 1) == [[CORES, len(CORES)]]


def test_they_share_cores_where_these_are_too_few_or_it_is_wished(tmp_path):
    assert cores_of_ranks(tmp_path, len(CORES) + 1) == [[CORES, 1]] * (len(CORES) + 1)
    found = cores_of_ranks(tmp_path, 2, options=["--bind-to", "none"])
    assert [cores for cores, _ in found] == [CORES, CORES]
