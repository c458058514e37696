"""A wrong command line in one sentence, like a wrong scenario: the mistake, the right form, the next step."""

from collections.abc import Sequence

from typer._click import exceptions

from testbed.errors import BadInput
from testbed.message import Message

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "./run.sh startup --engine sim",
        "./run.sh startup --set policy=previous --quick",
        "./run.sh startup --engine sim --repeat 5",
    ),
    "list": ("./run.sh list", "./run.sh list --json"),
    "show": ("./run.sh show startup", "./run.sh show dumbbell --set links.core.rate=1mbit"),
    "compare": (
        "./run.sh compare --scenario startup base: new:policy=delivery-rate",
        "./run.sh compare --engines sim,vkernel startup",
        "./run.sh compare --same-bytes startup",
    ),
    "cross-check": ("./run.sh compare --engines sim,vkernel startup",),
    "repeatable": ("./run.sh compare --same-bytes startup --runs 3",),
    "verify": ("./run.sh verify results/startup/latest", "./run.sh verify --rerun results/startup/latest"),
    "table": ("./run.sh table speed-table --engine sim", "./run.sh speed-table --rows 1 --dry-run"),
    "sweep": ("./run.sh sweep window-rtt", "./run.sh window-rtt --quick --dry-run"),
    "all": ("./run.sh all --quick --engine sim", "./run.sh all --engine mininet,vkernel"),
    "bench": ("./run.sh bench sim --quick", "./run.sh bench links --only rate,rtt"),
    "report": ("./run.sh report results/startup/latest", "./run.sh report --pdf results/startup/latest"),
    "export": ("./run.sh export results/startup/latest", "./run.sh export --parquet results/startup/latest"),
    "bundle": ("./run.sh bundle results/startup/latest", "./run.sh bundle results/all/latest --output all.zip"),
    "reference": ("./run.sh reference results/all/latest mine",),
    "doctor": ("./run.sh doctor",),
    "up": ("sudo ./run.sh up",),
    "down": ("sudo ./run.sh down",),
    "clean": ("sudo ./run.sh clean",),
    "shell": ("sudo ./run.sh shell startup", "sudo ./run.sh shell startup h2 -c 'ip link'"),
    "guest": (
        "./run.sh guest -- ping -c 3 127.0.0.1",
        "./run.sh guest --scenario startup --background h2=my-server -- my-client h2",
        "./run.sh guest --repeat 100 -- ./mine.test",
    ),
    "selftest": ("./run.sh selftest mptcp", "./run.sh selftest mptcp mptcp_connect --repeat 20"),
    "completion": (
        "source <(./run.sh completion bash)   # or zsh; in ~/.bashrc by its full path",
        "./run.sh completion fish > ~/.config/fish/completions/run.sh.fish",
    ),
    "graph": ("./run.sh graph dumbbell -o dumbbell.svg", "./run.sh graph startup --format mermaid"),
    "import": ("./run.sh import lab.clab.yml", "./run.sh import my_topo.py --class MyTopo -o mine.yaml"),
    "docs": ("./run.sh docs", "./run.sh docs --serve"),
    "conform": ("sudo ./run.sh conform 'python3 mine.py'",),
    "new": ("./run.sh new mine", "./run.sh new ~/experiments/mine.yaml"),
    "validate": ("./run.sh validate", "./run.sh validate ~/experiments/mine.yaml"),
    "test": ("./run.sh test ruff mypy",),
    "cluster": ("./run.sh cluster up hosts.yml", "./run.sh cluster status"),
}
"""Verb → command lines, the simplest first."""


def in_the_help(verb: str, text: str) -> str:
    """A verb's help with its examples behind the first paragraph, before all else."""
    first, _, rest = text.partition("\n\n")
    lines = [f"  {one}" for one in EXAMPLES.get(verb, ())]
    reported = "\n".join(["\b", "For example:", *lines]) if lines else ""
    return "\n\n".join(part for part in (first, reported, rest) if part)


UsageError = exceptions.UsageError
NoArguments = exceptions.NoArgsIsHelpError
CODES = {
    "MissingParameter": "usage.missing",
    "NoSuchOption": "usage.no-such-option",
    "BadOptionUsage": "usage.option-value",
    "BadParameter": "usage.bad-value",
}
"""Codes of Click's errors, by their classes; that of all others is ``usage.wrong``."""


def as_bad_input(error: exceptions.UsageError, arguments: Sequence[str]) -> BadInput:
    """The error as :class:`BadInput`; ``arguments`` are those of the command line, its verb first if it has one."""
    from pydantic import ValidationError

    verb = " ".join(error.ctx.command_path.split()[1:]) if error.ctx else arguments[0]
    said = " ".join(
        error.format_message().replace("Value error, ", "").replace("Input should", "should").split()
    ).rstrip(".")
    if isinstance(error.__cause__, ValidationError):
        value = repr(error.__cause__.errors()[0]["input"])
        said += "" if value in said else f", not {value}"
    code = CODES.get(type(error).__name__, "usage.wrong")
    hint = " ".join(["./run.sh", *verb.split(), "--help has all."])
    examples = EXAMPLES.get(verb.partition(" ")[0])
    if examples and code == "usage.missing":
        hint = f"For example: {examples[0]}\n{hint}"
    return BadInput.of(Message(code, said[0].lower() + said[1:]).at(verb), hint)
