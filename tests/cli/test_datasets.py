"""``labelgap datasets``."""

from __future__ import annotations

from labelgap.data import dataset_info, list_datasets


def test_lists_the_registry_as_table_and_as_json(run):
    shown, machine = run("datasets"), run("datasets", "--json")
    assert shown.code == machine.code == 0
    assert [one["name"] for one in machine.json["datasets"]] == list_datasets()
    for name in list_datasets():
        assert name in shown.out
    bibtex = next(one for one in machine.json["datasets"] if one["name"] == "bibtex")
    assert (bibtex["n_samples"], bibtex["n_features"], bibtex["n_labels"]) == (7395, 1836, 159)
    assert bibtex["split"] == [4880, 2515]


def test_says_where_a_set_is(run, data_dir, monkeypatch):
    assert run("datasets", "yeast", "--json").json["where"] == "fetch"
    assert run("datasets", "science", "--json").json["where"] == "nowhere"
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    assert run("datasets", "yeast", "--json").json["where"] == "folder"


def test_finds_sets_in_the_cache(run, workplace):
    cache = workplace.parent / f"{workplace.name}-cache" / "datasets"
    cache.mkdir(parents=True)
    (cache / "yeast-0123-v1.npz").touch()
    assert run("datasets", "yeast", "--json").json["where"] == "cache"
    assert run("datasets", "yeast_multiview", "--json").json["where"] != "cache"


def test_details_hold_licence_citation_and_sources(run):
    info, ran = dataset_info("yeast"), run("datasets", "yeast", "--json")
    assert ran.json["citation"] == info.citation
    assert ran.json["licence"] == info.licence
    assert ran.json["sources"] == [str(source) for source in info.sources]
    assert "14 labels" in run("datasets", "yeast").out


def test_fetch_loads_and_reports(run, data_dir, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    ran = run("datasets", "emotions", "--fetch", "--json")
    assert ran.code == 0
    assert ran.json["n_samples"] == 593
    assert "593 rows" in ran.err


def test_unknown_name_suggests_a_near_one(fails):
    assert "no data set 'yaest': did you mean yeast?" in fails("datasets", "yaest")


def test_fetch_needs_a_name(fails):
    assert "--fetch: say which data set" in fails("datasets", "--fetch")
