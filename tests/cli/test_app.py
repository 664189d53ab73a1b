"""The door: help, version, exit codes, missing packages, a real process."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from importlib import util

import pytest

import labelgap
from labelgap.cli import main
from labelgap.cli._app import COMMANDS, _joined_lines


def test_help_names_every_command_and_the_exit_codes(run):
    ran = run("--help")
    assert ran.code == 0
    for command in COMMANDS:
        assert command in ran.out
    assert "Exit codes" in ran.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_shows_examples_and_common_options(run, command):
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"labelgap {command}" in ran.out.split("Examples")[1]
    assert "--json" in ran.out
    assert "--debug" in ran.out


def test_the_list_of_commands_says_what_their_help_says():
    for name, summary in COMMANDS.items():
        function = getattr(importlib.import_module(f"labelgap.cli.{name}"), name)
        assert summary == function.__doc__.strip().split("\n\n")[0], name


def test_help_imports_no_numerics():
    """The list of commands is there at once: a command is imported when it is called."""
    heavy = ["sklearn", "scipy.optimize", "numba", "pandas", "labelgap.labels"]
    code = (
        "import sys; from labelgap.cli import main; sys.argv = ['labelgap', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('IMPORTED', *(sys.modules.keys() & {set(heavy)!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "datasets" in done.stdout
    assert done.stdout.rstrip().endswith("IMPORTED")


def test_version(run):
    assert run("--version").out == f"labelgap {labelgap.__version__}\n"


@pytest.mark.parametrize("arguments", [["nosuch"], ["fit"], ["demo", "--fraction", "2"]])
def test_wrong_usage_is_exit_code_2(run, arguments):
    ran = run(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err


def test_missing_packages_give_a_message_and_exit_code_1(monkeypatch, capsys):
    found = util.find_spec
    monkeypatch.setattr(
        "labelgap.cli.find_spec", lambda name: None if name == "rich" else found(name)
    )
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    assert capsys.readouterr().err == (
        "labelgap: the command line needs rich: pip install 'labelgap[cli]'\n"
    )


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("skops.io", ["fit", "yeast", "-o", "m"]), ("jinja2", ["demo", "-d", "generated"])],
)
def test_missing_extras_are_named_before_any_work(run, monkeypatch, workplace, module, arguments):
    monkeypatch.setitem(sys.modules, module, None)
    ran = run(*arguments)
    assert ran.code == 1
    package = module.split(".")[0]
    assert f"needs the package '{package}': pip install 'labelgap[cli]'" in ran.err
    assert list(workplace.iterdir()) == []


@pytest.mark.parametrize("module", ["labelgap", "labelgap.cli"])
def test_as_a_process(module):
    environment = {name: value for name, value in os.environ.items() if name != "LABELGAP_DATA"}
    command = [sys.executable, "-m", module, "datasets", "yeast", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_labels"] == 14
    assert done.stderr == ""


def test_debug_shows_the_traceback_and_the_message(run):
    ran = run("fit", "nosuch.csv", "-o", "m", "--debug")
    assert ran.code == 2
    assert "Traceback" in ran.err
    assert "nosuch.csv: there is no such file" in ran.err


def test_unexpected_errors_are_exit_code_1_without_traceback(run, monkeypatch):
    def broken():
        raise RuntimeError("out of luck")

    monkeypatch.setattr("labelgap.cli.datasets.list_datasets", broken)
    ran = run("datasets")
    assert ran.code == 1
    assert "unexpected RuntimeError: out of luck; run again with --debug" in ran.err
    assert "Traceback" not in ran.err


def test_interrupted_is_exit_code_130(run, monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("labelgap.cli.datasets.list_datasets", interrupted)
    assert run("datasets").code == 130


def test_paragraphs_are_joined_and_examples_keep_their_lines():
    text = """One
    two.

    \b  first
      second
    """
    assert _joined_lines(text) == "One two.\n\n\b  first\n  second"
