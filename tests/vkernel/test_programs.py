"""``./run.sh guest``: any program in a guest, for one seed or many; what is not the same twice is found and named."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed import paths
from testbed.machine.guest_kernel import Kernel

Guest = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def guest(exact_kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    """Call ``guest`` in a folder of its own."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("NCP_TESTBED_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("PYTHONPATH", str(paths.CHECKOUT))

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "testbed", "guest", *arguments]
        return subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)

    return call


@pytest.fixture
def latest(tmp_path: Path) -> Path:
    return tmp_path / "results" / "guest" / "latest"


def outcomes(latest: Path) -> dict[int, dict[str, object]]:
    return {run["seed"]: run for run in json.loads((latest / "runs.json").read_text())["runs"]}


def compiled(source: str, folder: Path) -> str:
    """A C program in the folder that the guest sees."""
    subprocess.run(
        ["gcc", "-O1", "-pthread", "-x", "c", "-", "-o", folder / "program"], input=source.encode(), check=True
    )
    return "./program"


def test_output_files_and_exit_code_come_out_and_time_leaps(guest: Guest, latest: Path, tmp_path: Path) -> None:
    (tmp_path / "work" / "input").write_text("42\n")
    done = guest("--", "sh", "-c", "pwd; cat input; echo $SEED > $OUT/seed; touch no; sleep 3600; exit 7")
    assert done.returncode == 7, done.stderr
    assert done.stdout == "/work\n42\n"
    assert "Read-only file system" in done.stderr
    assert "exit code 7, 3600.0" in done.stderr
    assert (latest / "1" / "out" / "seed").read_text() == "1\n"


def test_a_program_that_does_not_end_is_ended_in_virtual_time(guest: Guest) -> None:
    done = guest("--timeout", "90s", "--", "sleep", "infinity")
    assert done.returncode == 124
    assert "90.0" in done.stderr


def test_seeds_differ_and_each_ends_as_it_did_before(guest: Guest, latest: Path) -> None:
    chance = "import os, sys; sys.exit(os.urandom(1)[0] < 100)"
    done = guest("--repeat", "6", "--seed", "10", "--", "python3", "-c", chance)
    first = outcomes(latest)
    failed = [seed for seed, run in first.items() if run["code"]]
    assert list(first) == [10, 11, 12, 13, 14, 15]
    assert 0 < len(failed) < 6, "by chance, which the seeds fix"
    assert done.returncode == 1
    assert f"{6 - len(failed)} of 6 ended with 0" in done.stdout
    assert sorted(int(path.name) for path in latest.iterdir() if path.is_dir()) == failed, "only those that failed stay"
    assert (latest / str(failed[0]) / "guest" / "events").stat().st_size > 0
    assert guest("--seed", str(failed[0]), "--", "python3", "-c", chance).returncode == 1


def test_the_same_seed_is_the_same_twice(guest: Guest) -> None:
    done = guest("--check", "--", "python3", "-c", "import os, time; print(os.urandom(8), time.time_ns(), os.getpid())")
    assert done.returncode == 0, done.stdout
    assert "1 of 1 ended with 0" in done.stdout


def test_real_time_that_leaks_in_is_named(guest: Guest, latest: Path) -> None:
    done = guest("--check", "--", "sh", "-c", "touch /out/x; date -r /out/x +%N")
    assert done.returncode == 1
    assert "not the same twice: " in done.stdout
    assert "date[" in done.stdout
    assert "write → 10, data " in done.stdout
    assert (latest / "1-again" / "guest" / "stdout").read_text() != (latest / "1" / "guest" / "stdout").read_text()


def test_real_randomness_that_leaks_in_is_named(guest: Guest, tmp_path: Path) -> None:
    program = """
        #include <stdio.h>
        int main(void) {
            unsigned long x;
            __asm__ volatile("1: rdrand %0; jnc 1b" : "=r"(x));
            return !printf("%lx\\n", x);
        }
    """
    done = guest("--check", "--", compiled(program, tmp_path / "work"))
    assert done.returncode == 1
    assert "program[" in done.stdout
    assert " write → " in done.stdout


def test_the_speed_of_this_machine_that_leaks_in_is_named(guest: Guest, tmp_path: Path) -> None:
    program = """
        #include <pthread.h>
        #include <stdio.h>
        #include <unistd.h>
        static volatile int over;
        static void *wait(void *arg) { usleep(1000); over = 1; return arg; }
        int main(void) {
            pthread_t other; unsigned long turns = 0;
            pthread_create(&other, 0, wait, 0);
            while (!over) turns++;
            return !printf("%lu\\n", turns);
        }
    """
    done = guest("--check", "--", compiled(program, tmp_path / "work"))
    assert done.returncode == 1
    assert "not the same twice: " in done.stdout
    assert "not exact   1 runs: a program computed for a second without a system call" in done.stdout


def test_behind_links_hosts_have_names_and_a_failed_seed_its_capture(guest: Guest, latest: Path) -> None:
    ask = "getent hosts h2-slow && ip netns exec h2 true && echo hi | socat -u - TCP:h2-fast:7000; sleep 1; exit 5"
    done = guest(
        "--scenario", "startup", "--background", "h2=socat -u TCP-LISTEN:7000 -", "--repeat", "2", "--", "sh", "-c", ask
    )
    assert done.returncode == 1, done.stderr
    assert "0 of 2 ended with 0" in done.stdout
    kept = latest / "2"
    assert (kept / "out" / "h2.log").read_text() == "hi\n"
    assert "198.18.2.2" in (kept / "guest" / "stdout").read_text()
    assert {path.name for path in (kept / "out" / "traces").iterdir()} == {
        "fast-h1.pcap",
        "fast-h2.pcap",
        "slow-h1.pcap",
        "slow-h2.pcap",
    }
    rows = (kept / "out" / "links.csv").read_text().splitlines()
    assert len(rows) == 5, "each direction of each link was measured"


def test_bad_input_is_refused_before_anything_boots(guest: Guest, tmp_path: Path) -> None:
    for arguments, said in (
        (("--scenario", "startup", "--on", "h9", "--", "true"), "h9"),
        (("--scenario", "startup", "--background", "iperf3 -s", "--", "true"), "--background h2=my-server"),
        (("--on", "h2", "--", "true"), "--scenario"),
        (("--repeat", "3"), "a command is missing"),
        (("--timeout", "soon", "--", "true"), "soon"),
        (("--scenario", "startp", "--", "true"), "startup"),
    ):
        done = guest(*arguments)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr
    assert not (tmp_path / "results").exists()
