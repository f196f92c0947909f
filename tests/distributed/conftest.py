"""The fixtures that run programs on several processes, and on several machines."""

import subprocess
import textwrap

import machines
import pytest
from launching import HEAD, Outcome, launch_command, program_environment


@pytest.fixture
def ranks(tmp_path):
    """ranks(processes, code) runs the code, which finds `tw`, `dist`, `rank` and `size`, under the launcher."""

    def run(processes: int, code: str, timeout: float = 120) -> Outcome:
        script = tmp_path / "program.py"
        script.write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
        done = subprocess.run(
            launch_command(script, processes),
            capture_output=True,
            text=True,
            timeout=timeout,
            env=program_environment(),
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(params=["tcp", "ucx"])
def transport(request, monkeypatch):
    """What machines talk over, by the environment of the programs."""
    monkeypatch.setenv("THALWEG_TRANSPORT", request.param)
    return request.param


@pytest.fixture(params=["tcp, one address", "tcp, namespaces", "ucx, namespaces"])
def network(request, monkeypatch):
    """Two machines, as machines.py says, and what they talk over."""
    transport, place = request.param.split(", ")
    monkeypatch.setenv("THALWEG_TRANSPORT", transport)
    if place == "namespaces" and (reason := machines.why_no_namespaces()):
        pytest.skip(reason)
    made = machines.OneAddress() if place == "one address" else machines.Namespaces()
    yield made
    made.close()


@pytest.fixture
def nodes(network, tmp_path):
    """nodes([processes of each machine], code) runs the code under a launcher on each; one Outcome a machine."""

    def run(processes: list[int], code: str, timeout: float = 120) -> list[Outcome]:
        script = tmp_path / "program.py"
        script.write_text(HEAD + textwrap.dedent(code), encoding="utf-8")
        return machines.finish(machines.start(network, script, processes), timeout)

    return run
