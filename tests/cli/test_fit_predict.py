"""``labelgap fit`` and ``labelgap predict``."""

from __future__ import annotations

import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import labelgap
from cli.sample_tables import table_rows, write_rows
from labelgap import metrics
from labelgap.cli._models import ModelName, Scale, make_model, watched

pandas = pytest.importorskip("pandas")
skops = pytest.importorskip("skops.io")


def _predicted(path: str = "p.csv"):
    return pandas.read_csv(path)


@pytest.mark.filterwarnings("ignore:row 0 and 1 others have no observed label")
@pytest.mark.parametrize("name", list(ModelName))
def test_every_model_fits_saves_and_predicts(run, items, name):
    packages = {"network": "torch", "boosting": "xgboost"}
    if name in packages:
        pytest.importorskip(packages[name])
    fitted = run(
        "fit",
        items,
        "-l",
        "tag_*",
        "--item",
        "id",
        "--drop",
        "note",
        "-m",
        name,
        "-o",
        "m",
        "--json",
    )
    assert fitted.code == 0, fitted
    assert fitted.json["n_samples"] == 80
    assert 0.5 < fitted.json["fraction_known"] < 0.8
    done = run("predict", "m", items, "-o", "p.csv", "--drop", "note")
    assert done.code == 0, done
    predicted = _predicted()
    assert predicted.columns.tolist() == ["id", "tag_a", "tag_b"]
    assert predicted["id"].tolist() == [f"i{n}" for n in range(80)]
    assert predicted[["tag_a", "tag_b"]].to_numpy().min() >= 0
    assert predicted[["tag_a", "tag_b"]].to_numpy().max() <= 1


def test_networks_without_torch_say_what_to_install(run, items, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    done = run(
        "fit", items, "-l", "tag_*", "--item", "id", "--drop", "note", "-m", "network", "-o", "m"
    )
    assert done.code == 1
    assert "needs the package 'torch': pip install 'labelgap[networks]'" in done.err
    assert not Path("m").exists()


def test_several_kinds_of_models_are_saved_and_listed(run, monkeypatch):
    # networks would leave the others no weight on labels as clear as these
    monkeypatch.setattr("labelgap.mend._portfolio_members.find_spec", lambda name: None)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)).round(3)
    line, curve = X[:, 0] + X[:, 1] > 0, np.abs(X[:, 2]) > 0.7
    rows = [
        {"id": n, "a": a, "b": b, "c": c, "tag_a": int(line[n]), "tag_b": int(curve[n])}
        for n, (a, b, c) in enumerate(X)
    ]
    write_rows(Path("many.csv"), rows)
    columns = ["many.csv", "-l", "tag_*", "--item", "id", "--zeros", "negative"]
    fitted = run("fit", *columns, "-o", "m")
    assert fitted.code == 0, fitted
    said = " ".join(fitted.out.split())
    assert "a weighted mean of " in said
    assert "% (log-loss 0." in said
    run("predict", "m", "many.csv", "-o", "p.parquet")
    predicted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    library = make_pipeline(StandardScaler(), labelgap.Mend())
    read = pandas.read_csv("many.csv")
    library.fit(read[["a", "b", "c"]].to_numpy(), read[["tag_a", "tag_b"]].to_numpy(float))
    np.testing.assert_allclose(predicted, library.predict_proba(X), rtol=1e-12)
    as_json = run("fit", *columns, "-o", "m", "--json").json["leaderboard"]
    assert {row["name"] for row in as_json} == {
        "label tree",
        "linear",
        "network",
        "network on imputed labels",
        "trees",
        "neighbors",
        "kernel",
    }
    fast = run("fit", *columns, "-o", "m", "--set", "preset=fast")
    assert fast.code == 0, fast
    assert "weighted mean" not in fast.out


def test_same_as_the_library(run, items, model):
    frame = pandas.read_csv(items)
    X = frame[["age", "size"]].to_numpy()
    Y = labelgap.Labels.from_frame(frame[["tag_a", "tag_b"]])
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    library = make_pipeline(StandardScaler(), labelgap.Mend(preset="fast")).fit(X, Y)
    run("predict", model, items, "--drop", "note", "-o", "p.parquet")
    predicted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    np.testing.assert_allclose(predicted, library.predict_proba(X), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:row 0 and 1 others have no observed label")
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_saved_rmfl_predicts_what_the_library_does(run, items, kernel):
    frame = pandas.read_csv(items)
    X = np.ascontiguousarray(frame[["age", "size"]].to_numpy())
    Y = labelgap.Labels.from_frame(frame[["tag_a", "tag_b"]])
    library = labelgap.RMFL(kernel=kernel, tol=1e-4, random_state=0).fit(X, Y)
    columns = ["-l", "tag_*", "--item", "id", "--drop", "note"]
    chosen = ["-m", "rmfl", "--set", f"kernel={kernel}", "--scale", "none"]
    fitted = run("fit", items, *columns, *chosen, "-o", "m")
    assert fitted.code == 0, fitted
    run("predict", "m", items, "--drop", "note", "-o", "p.parquet")
    predicted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    np.testing.assert_allclose(predicted, library.predict_proba(X), rtol=1e-12)
    assert run("evaluate", items, "-m", "m", "--drop", "note").code == 0


def test_fit_says_what_zeros_are_taken_for(run, items):
    columns = ("-l", "tag_*", "--item", "id", "--drop", "note", "-o", "m")
    assert "zeros are taken as negative" in run("fit", items, *columns).out
    rows = [
        {**row, "tag_a": int(row["age"] > 0), "tag_b": int(row["size"] > 0)} for row in table_rows()
    ]
    full = write_rows(Path("full.csv"), rows)
    assert "zeros are taken as unlabeled" in run("fit", full, *columns, "-m", "prior").out
    given = (*columns, "-m", "prior", "--zeros", "negative", "--json")
    assert run("fit", full, *given).json["zeros"] == "negative"


@pytest.mark.parametrize("name", ["mend", "gmfs"])
def test_a_model_file_holds_no_training_rows(run, items, name):
    columns = ("-l", "tag_*", "--item", "id", "--drop", "note", "-o", "m")
    assert run("fit", items, *columns, "-m", name, "--zeros", "unlabeled").code == 0
    with zipfile.ZipFile("m") as archive:
        inner = zipfile.ZipFile(io.BytesIO(archive.read("model.skops")))
    arrays = [inner.read(name) for name in inner.namelist() if name.endswith(".npy")]
    shapes = [np.load(io.BytesIO(one)).shape for one in arrays]
    assert not [shape for shape in shapes if 80 in shape]


def test_columns_may_come_in_another_order(run, items, model):
    rows = [dict(reversed(row.items())) for row in table_rows()]
    write_rows(Path("turned.csv"), rows)
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    run("predict", model, "turned.csv", "--drop", "note", "-o", "q.csv")
    assert _predicted("p.csv").equals(_predicted("q.csv"))


def test_predict_refuses_an_option_that_would_change_nothing(fails, items, model):
    given = ("predict", model, items, "--drop", "note")
    assert "add --give labels" in fails(*given, "--threshold", "0.3")
    assert "leave out --give labels" in fails(*given, "--give", "labels", "--top", "2")


def test_labels_and_top_follow_from_the_probabilities(run, items, model):
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    run(
        "predict",
        model,
        items,
        "--drop",
        "note",
        "--give",
        "labels",
        "--threshold",
        "0.3",
        "-o",
        "q.csv",
    )
    run("predict", model, items, "--drop", "note", "--top", "1", "-o", "t.csv")
    probabilities, labels, top = (_predicted(one) for one in ("p.csv", "q.csv", "t.csv"))
    both = ["tag_a", "tag_b"]
    np.testing.assert_array_equal(labels[both], (probabilities[both] > 0.3).astype(int))
    assert top["label"].tolist() == probabilities[both].idxmax(axis=1).tolist()
    np.testing.assert_allclose(top["probability"], probabilities[both].max(axis=1))


def test_predictions_go_to_stdout_without_out(run, items, model):
    text = run("predict", model, items, "--drop", "note").out
    run("predict", model, items, "--drop", "note", "-o", "p.csv")
    assert text == Path("p.csv").read_text()
    listed = run("predict", model, items, "--drop", "note", "--json").json["predictions"]
    assert [one["id"] for one in listed] == pandas.read_csv(io.StringIO(text))["id"].tolist()


def test_text_becomes_features_of_the_model(run, items):
    assert (
        run(
            "fit",
            items,
            "-l",
            "tag_a",
            "--item",
            "id",
            "--text",
            "note",
            "--drop",
            "age,size,tag_b",
            "-o",
            "m",
        ).code
        == 0
    )
    rows = [{"id": 1, "note": "a red one"}, {"id": 2, "note": "green"}, {"id": 3, "note": ""}]
    write_rows(Path("new.csv"), rows)
    assert run("predict", "m", "new.csv", "-o", "p.csv").code == 0
    red, green, _ = _predicted()["tag_a"]
    assert red > 0.5 > green


def test_long_label_table_is_the_same_as_columns(run, items):
    pairs = [
        {"id": row["id"], "label": tag, "value": row[tag]}
        for row in table_rows()
        for tag in ("tag_a", "tag_b")
        if row[tag] != ""
    ]
    write_rows(Path("tags.csv"), pairs)
    run("fit", items, "-l", "tag_*", "--item", "id", "--drop", "note", "-o", "wide")
    done = run(
        "fit",
        items,
        "-l",
        "tag_*",
        "--label-table",
        "tags.csv",
        "--zeros",
        "unknown",
        "--item",
        "id",
        "--drop",
        "note",
        "-o",
        "long",
    )
    assert done.code == 0, done
    outputs = [run("predict", one, items, "--drop", "note").out for one in ("wide", "long")]
    assert outputs[0] == outputs[1]


def test_svmlight_files_keep_their_number_of_features(run):
    Path("train.svm").write_text("1,2 1:1 3:0.5\n2 2:1\n1 1:0.7 3:1\n 2:0.3\n2 2:0.5 1:0.1\n")
    Path("test.svm").write_text("1 1:1\n2 2:1\n")
    assert run("fit", "train.svm", "-o", "m").code == 0
    ran = run("predict", "m", "test.svm", "--json")
    assert ran.code == 0, ran
    first, second = ran.json["predictions"]
    assert first["1"] > second["1"]
    assert first["2"] < second["2"]


def test_data_sets_by_name_use_the_official_split(run, data_dir, monkeypatch):
    monkeypatch.setenv("LABELGAP_DATA", str(data_dir))
    fitted = run("fit", "emotions", "-m", "prior", "-o", "m", "--json").json
    assert (fitted["part"], fitted["n_samples"]) == ("train", 391)
    assert run("predict", "m", "emotions", "--json").json["n_samples"] == 202
    assert run("predict", "m", "emotions", "--rows", "all", "--json").json["n_samples"] == 593


def test_arff_with_xml_and_prediction_without_saying_what_labels_are(run, data_dir):
    arff = next(data_dir.glob("emotions/*train.arff*"))
    xml = next(data_dir.glob("emotions/*.xml"))
    assert run("fit", arff, "-l", xml, "-m", "prior", "-o", "m").code == 0
    ran = run("predict", "m", arff, "--json")
    assert ran.code == 0, ran
    assert (ran.json["n_samples"], ran.json["n_labels"]) == (391, 6)


def test_views_are_a_setting(run):
    """All that a fit with views learns is in the file."""
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(60, 5))
    tags = (X[:, [0, 3]] > 1).astype(int)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    frame[["tag_x", "tag_y"]] = tags
    frame.to_csv("views.csv", index=False)
    settings = ["views={'hue': 2, 'shape': 3}", "n_factors=2", "predictor=combined", "C=1"]
    options = [part for setting in settings for part in ("--set", setting)]
    fitted = run("fit", "views.csv", "-l", "tag_*", "-m", "imvwl", *options, "-o", "m")
    assert fitted.code == 0, fitted
    done = run("predict", "m", "views.csv", "-o", "p.csv")
    assert done.code == 0, done
    predicted = pandas.read_csv("p.csv")[["tag_x", "tag_y"]].to_numpy()
    assert metrics.auc(tags, predicted, average="micro") > 0.75


# -- the model file ---------------------------------------------------------------------------


def test_the_file_says_what_it_is_and_holds_no_pickle(model):
    with zipfile.ZipFile(model) as archive:
        assert sorted(archive.namelist()) == ["about.json", "model.skops"]
        about = json.loads(archive.read("about.json"))
        inner = zipfile.ZipFile(io.BytesIO(archive.read("model.skops")))
    assert about["labelgap"] == labelgap.__version__
    assert about["schema"]["names"] == ["age", "size"]
    assert about["schema"]["labels"] == ["tag_a", "tag_b"]
    assert {Path(name).suffix for name in inner.namelist()} <= {".json", ".npy", ".npz"}


def test_types_that_no_model_has_are_refused(fails, items, model):
    strange = skops.dumps({"estimator": np.random.default_rng, "vectorizer": None})
    _write_model("bad.model", model, strange)
    assert "which no model of labelgap has" in fails("predict", "bad.model", items)


def _write_model(path: str, like: Path, document: bytes) -> None:
    """A file whose checksum is right, as whoever makes one by hand can write it."""
    with zipfile.ZipFile(like) as archive:
        about = json.loads(archive.read("about.json"))
    about["sha256"] = hashlib.sha256(document).hexdigest()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("about.json", json.dumps(about))
        archive.writestr("model.skops", document)


def test_other_formats_are_refused(fails, items, model):
    with zipfile.ZipFile(model) as archive:
        document = archive.read("model.skops")
    with zipfile.ZipFile("new.model", "w") as archive:
        archive.writestr("about.json", json.dumps({"format": 99, "labelgap": "9.0"}))
        archive.writestr("model.skops", document)
    said = fails("predict", "new.model", items)
    assert "format 99" in said
    assert "fit the model again" in said


# -- what is refused --------------------------------------------------------------------------


def test_missing_file(fails):
    assert "nosuch.csv: there is no such file" in fails("fit", "nosuch.csv", "-o", "m")


def test_unknown_data_set(fails):
    said = fails("fit", "bibtexx", "-o", "m")
    assert "no data set 'bibtexx': did you mean bibtex?" in said


def test_unknown_label_column(fails, items):
    said = fails("fit", items, "-l", "colour", "-o", "m")
    assert "--labels colour" in said
    assert "its columns are id, age, size" in said


def test_no_labels_named(fails, items):
    assert "nothing says which columns are labels" in fails("fit", items, "-o", "m")


def test_value_that_is_no_label_state(fails, items):
    rows = table_rows(5)
    rows[3]["tag_a"] = 7
    write_rows(Path("bad.csv"), rows)
    said = fails("fit", "bad.csv", "-l", "tag_a", "--item", "id", "--drop", "note,tag_b", "-o", "m")
    assert "bad.csv, line 5: column 'tag_a' holds 7, which is no label" in said


def test_ids_are_no_feature(fails, items):
    said = fails("fit", items, "-l", "tag_*", "-o", "m")
    assert "column 'id' holds" in said
    assert "--drop 'id'" in said


def test_empty_feature_cell(fails):
    rows = table_rows(9)
    rows[4]["age"] = ""
    write_rows(Path("gap.csv"), rows)
    wide = ("-l", "tag_*", "--item", "id", "--drop", "note", "--empty", "refuse")
    said = fails("fit", "gap.csv", *wide, "-o", "m")
    assert "gap.csv, line 6: column 'age' of id i4 is empty; fill the cell" in said


def test_missing_columns_are_named(fails, items, model):
    rows = [{"id": row["id"], "size": row["size"]} for row in table_rows(3)]
    write_rows(Path("few.csv"), rows)
    assert "few.csv: lacks the column 'age'" in fails("predict", model, "few.csv", "-o", "p.csv")


def test_other_columns_are_named(fails, items, model):
    rows = [{"id": row["id"], "size": 1, "age": 2, "weight": 3} for row in table_rows(3)]
    write_rows(Path("more.csv"), rows)
    said = fails("predict", model, "more.csv", "-o", "p.csv")
    assert "more.csv: has the column 'weight' that the model does not know" in said


def test_other_number_of_features(fails, run):
    Path("train.svm").write_text("1 1:1 2:1\n2 2:1\n1,2 1:2\n")
    Path("wide.svm").write_text("1 1:1 9:1\n")
    run("fit", "train.svm", "-m", "prior", "-o", "m")
    assert "wide.svm, line 1" in fails("predict", "m", "wide.svm")


def test_not_a_model(fails, items):
    assert "items.csv: is not a model of labelgap" in fails("predict", items, items)
    assert "nosuch.model: there is no such model" in fails("predict", "nosuch.model", items)


def test_output_places_are_checked_before_work(fails, items, model):
    said = fails("predict", model, items, "-o", "no/folder/p.csv")
    assert "there is no folder no/folder" in said
    assert "must end in .csv or .parquet" in fails("predict", model, items, "-o", "p.txt")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("alpha", "write parameter=value"),
        ("colour=3", "has only the parameters"),
        ("alpha=-1", "'alpha' parameter"),
    ],
)
def test_bad_settings(fails, items, setting, said):
    arguments = ("-l", "tag_*", "--item", "id", "--drop", "note", "-m", "kernel-ridge")
    assert said in fails("fit", items, *arguments, "--set", setting, "-o", "m")


def test_a_failed_fit_keeps_the_model_that_was_there(run, items, model):
    before = model.read_bytes()
    assert run("fit", items, "-l", "tag_*", "-o", model).code == 2
    assert model.read_bytes() == before


def test_options_that_do_not_apply_are_refused(fails, items):
    assert "--rows train: " in fails(
        "fit",
        items,
        "-l",
        "tag_a",
        "--item",
        "id",
        "--drop",
        "note,tag_b",
        "--rows",
        "train",
        "-o",
        "m",
    )
    assert "--zero-based" in fails("fit", items, "-l", "tag_a", "--zero-based", "-o", "m")
    assert "--label-table" in fails("fit", items, "-l", "tag_a", "--value-column", "v", "-o", "m")
    assert "--zeros unknown" in fails("fit", items, "-l", "tag_a", "--zeros", "unknown", "-o", "m")


def test_a_fit_is_watched_and_forgets_it():
    heard = []
    model = make_model("bmlpl", ["n_factors=2"], Scale.NONE, np.ones((4, 2)))[-1]
    X, Y = np.random.default_rng(0).random((30, 4)), np.tile([[1, 0, 1], [0, 1, 1]], (15, 1))
    with watched(model, lambda *said: heard.append(said), "fitting"):
        model.fit(X, Y)
    assert heard[0] == ("fitting", 1, 100)
    assert heard[-1] == ("fitting", 100, 100)
    assert model.callback is None
    silent = make_model("prior", [], Scale.NONE, X)[-1]
    with watched(silent, lambda *said: heard.clear(), "fitting"):
        silent.fit(X, Y)
    assert heard


def test_arrays_without_labels_are_predicted(run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    np.savez("known.npz", X=X, Y=(X[:, :2] > 0) * 1.0)
    np.savez("new.npz", X=X[:7])
    assert run("fit", "known.npz", "-o", "arrays.model").code == 0
    ran = run("predict", "arrays.model", "new.npz", "-o", "p.csv", "--json")
    assert ran.code == 0, ran
    assert len(_predicted()) == 7
