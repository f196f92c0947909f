"""Who starts processes, and what happens when some do not come."""

import subprocess
import sys

import pytest
from launching import program_environment
from thalweg.distributed.launch import free_port

PROGRAM = """
import thalweg as tw, thalweg.distributed as dist
dist.init_process_group(timeout=20)
x = tw.ones(3) * (dist.get_rank() + 1)
dist.all_reduce(x)
print(dist.get_rank(), dist.get_world_size(), x.tolist(), tw.env.get_local_rank(), tw.env.get_node_size())
"""

STARTERS = {
    "torchrun": lambda rank: {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank},
    "torchrun's store": lambda rank: {"RANK": rank, "WORLD_SIZE": 2, "TORCHELASTIC_USE_AGENT_STORE": True},
    "mpirun": lambda rank: {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": 2},
    "mpiexec": lambda rank: {"PMI_RANK": rank, "PMI_SIZE": 2},
    "Slurm": lambda rank: {"SLURM_STEP_ID": 0, "SLURM_PROCID": rank, "SLURM_NTASKS": 2},
}


def start(program: str, **variables: object) -> subprocess.Popen:
    environment = program_environment() | {name: str(value) for name, value in variables.items()}
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )


@pytest.mark.parametrize("starter", STARTERS)
def test_processes_that_others_start_find_each_other(starter):
    port = free_port()
    started = [
        start(PROGRAM, MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **STARTERS[starter](rank)) for rank in range(2)
    ]
    for rank, process in enumerate(started):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.split() == f"{rank} 2 [3.0, 3.0, 3.0] {rank} 1".split()


@pytest.mark.parametrize("starter", ["torchrun", "mpirun", "Slurm"])
def test_processes_on_several_machines_find_each_other(starter):
    port = free_port()
    where = {"SLURM_STEP_NODELIST": "localhost,other[01-04]"} if starter == "Slurm" else {"MASTER_ADDR": "127.0.0.1"}
    started = [
        start(PROGRAM, MASTER_PORT=port, THALWEG_HOST=f"node{rank}", **where, **STARTERS[starter](rank))
        for rank in range(2)
    ]
    for rank, process in enumerate(started):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.split() == f"{rank} 2 [3.0, 3.0, 3.0] 0 2".split()


def test_mpirun_on_several_machines_has_to_say_where_process_0_is():
    process = start(PROGRAM, OMPI_COMM_WORLD_RANK=1, OMPI_COMM_WORLD_SIZE=2, OMPI_COMM_WORLD_LOCAL_SIZE=1)
    assert "ValueError: the environment variable MASTER_ADDR is wanted" in process.communicate(timeout=60)[1]


def test_an_address_may_stand_in_the_program():
    port = free_port()
    program = PROGRAM.replace("timeout=20", f"init_method='tcp://127.0.0.1:{port}', rank=RANK, world_size=2")
    started = [start(program.replace("RANK", str(rank))) for rank in range(2)]
    for rank, process in enumerate(started):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.startswith(f"{rank} 2 ")


def test_who_does_not_come_is_named():
    program = PROGRAM.replace("timeout=20", "timeout=0.5")
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port(), "WORLD_SIZE": 3}
    first = start(program, RANK=0, **common)
    assert "CommError: rendezvous at 127.0.0.1:" in (err := first.communicate(timeout=60)[1])
    assert "processes [1, 2] of 3 did not come in time" in err
    other = start(program, RANK=2, **common)
    err = other.communicate(timeout=60)[1]
    assert "nobody answers at 127.0.0.1:" in err and first.returncode == other.returncode == 1


def test_a_variable_that_is_no_number_is_named():
    process = start(PROGRAM, MASTER_ADDR="127.0.0.1", MASTER_PORT="http", RANK=0, WORLD_SIZE=2)
    assert "ValueError: the environment variable MASTER_PORT should be a number, got 'http'" in process.communicate()[1]
