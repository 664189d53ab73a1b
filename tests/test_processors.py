from __future__ import annotations

import pytest

import processors


def test_a_machine_can_play_its_own_processor():
    assert set(processors.blas_kernels(None)) & set().union(*processors.CORE_TYPES.values())
    assert processors.another_core_type() in {None, *processors.supported_core_types()}


def test_failures_are_found_in_what_pytest_prints(tmp_path):
    test = tmp_path / "test_one.py"
    test.write_text("def test_a():\n    assert 0\n\ndef test_b():\n    pass\n")
    status, failed, last = processors.run([str(test)], {})
    assert status == 1
    assert [name.rpartition("::")[2] for name in failed] == ["test_a"]
    assert "1 failed, 1 passed" in last


def test_what_is_sampled_exists():
    tests = (*processors.SAMPLE, *processors.COMPARING)
    missing = [path for path in tests if not (processors.ROOT / path).exists()]
    assert not missing


def test_a_run_without_tests_is_no_success(capsys, tmp_path):
    assert processors.report([str(tmp_path / "nothing.py")], {"this one": {}})
    assert "| none |" not in capsys.readouterr().out


@pytest.mark.slow
def test_a_sample_of_the_suite_passes_on_every_processor():
    found = {}
    for name, variables in processors.variants().items():
        _, failed, last = processors.run(
            [*processors.SAMPLE, "-k", processors.SAMPLED_CHECKS], variables
        )
        found[name] = failed or last
    assert all("passed" in last and "failed" not in last for last in found.values()), found
