"""Two machines: two launchers whose processes share no memory, on this machine's own address or in two namespaces of
its network, between which real TCP runs over a pair of virtual cards."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from launching import Outcome, launch_command, program_environment
from thalweg.distributed.launch import free_port


def why_no_namespaces() -> str:
    """Why namespaces cannot be made here; empty when they can."""
    if shutil.which("ip") is None:
        return "the command ip (iproute2) is not installed"
    name = f"tw{os.getpid()}try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if made.returncode != 0:
        return f"network namespaces may not be made here: {made.stderr.strip()}"
    veth = ["ip", "link", "add", f"{name}0", "netns", name, "type", "veth", "peer", "name", f"{name}1", "netns", name]
    linked = subprocess.run(veth, capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", name], check=True)
    return f"virtual network cards may not be made here: {linked.stderr.strip()}" if linked.returncode else ""


class OneAddress:
    """Machines that are told apart by their names alone."""

    def __init__(self) -> None:
        self.address = "127.0.0.1"

    def prefix(self, node: int) -> list[str]:
        """What goes before a command that is to run on a machine."""
        return ["env", f"THALWEG_HOST=node{node}"]

    def close(self) -> None:
        """Nothing is left."""


class Namespaces:
    """Machines with networks of their own."""

    def __init__(self) -> None:
        self.names = [f"tw{os.getpid()}n{node}" for node in range(2)]
        self.cards = [f"tw{os.getpid()}v{node}" for node in range(2)]
        self.address = "10.201.77.1"
        for name in self.names:
            self._ip("netns", "add", name)
        ends = [part for card, name in zip(self.cards, self.names, strict=True) for part in (card, "netns", name)]
        self._ip("link", "add", *ends[:3], "type", "veth", "peer", "name", *ends[3:])
        for node, (card, name) in enumerate(zip(self.cards, self.names, strict=True)):
            self._ip("-n", name, "addr", "add", f"10.201.77.{node + 1}/24", "dev", card)
            for device in (card, "lo"):
                self._ip("-n", name, "link", "set", device, "up")

    def _ip(self, *arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True, capture_output=True)

    def prefix(self, node: int) -> list[str]:
        """What goes before a command that is to run on a machine."""
        return ["ip", "netns", "exec", self.names[node]]

    def cut(self) -> None:
        """The cable between the two is pulled."""
        self._ip("-n", self.names[1], "link", "set", self.cards[1], "down")

    def close(self) -> None:
        """Nothing is left."""
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def start(network: OneAddress | Namespaces, script: Path, processes: list[int]) -> list[subprocess.Popen]:
    """A launcher on each machine, with so many processes there."""
    port = free_port()
    started = []
    for node in range(len(processes)):
        command = launch_command(
            script, ",".join(map(str, processes)),
            options=("--nnodes", str(len(processes)), "--node-rank", str(node), "--master-addr", network.address,
                     "--master-port", str(port)),
        )  # fmt: skip
        started.append(
            subprocess.Popen(
                [*network.prefix(node), *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=program_environment(),
            )  # fmt: skip
        )
    return started


def finish(started: list[subprocess.Popen], timeout: float = 120) -> list[Outcome]:
    """What became of each machine's launcher."""
    deadline = time.monotonic() + timeout
    outcomes = []
    try:
        for process in started:
            out, err = process.communicate(timeout=max(deadline - time.monotonic(), 1))
            outcomes.append(Outcome(process.returncode, out, err))
    finally:
        for process in started:
            process.terminate()
            process.wait()
    return outcomes
