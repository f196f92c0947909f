"""The fixture that runs programs on several processes."""

import subprocess
import textwrap

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
