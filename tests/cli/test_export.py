"""``labelgap export``: the file predicts what the model predicts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.sample_tables import table_rows, write_rows

pandas = pytest.importorskip("pandas")
pytest.importorskip("skops.io")
runtime = pytest.importorskip("onnxruntime", reason="pip install 'labelgap[test]'")

WIDE = ("-l", "tag_*", "--item", "id", "--drop", "note")


def _predict(path: str, X: np.ndarray) -> tuple[np.ndarray, dict[str, str]]:
    session = runtime.InferenceSession(path)
    about = session.get_modelmeta().custom_metadata_map
    return session.run(["probabilities"], {"features": X})[0], about


@pytest.mark.parametrize("name", ["binary-relevance", "mllcs", "prior"])
@pytest.mark.filterwarnings("ignore")
def test_the_graph_predicts_what_the_model_predicts(run, name):
    rows = table_rows(60)
    rows[4]["age"] = rows[7]["size"] = ""
    items = write_rows(Path("items.csv"), rows)
    options = ("--empty", "mean", "-m", name)
    assert run("fit", items, *WIDE, *options, "-o", "m").code == 0
    ran = run("export", "m", "-o", "m.onnx", "--json")
    assert ran.code == 0, ran
    assert ran.json["n_features"] == 2
    assert run("predict", "m", items, "--drop", "note", "-o", "p.parquet").code == 0
    wanted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    given, about = _predict("m.onnx", pandas.read_csv(items)[["age", "size"]].to_numpy())
    np.testing.assert_allclose(given, wanted, atol=1e-5)
    assert json.loads(about["feature_names"]) == ["age", "size"]
    assert json.loads(about["label_names"]) == ["tag_a", "tag_b"]


def test_selected_features_and_single_precision(run, items):
    fitted = run("fit", items, *WIDE, "--features", 1, "--scale", "max-abs", "-o", "m")
    assert fitted.code == 0, fitted
    assert run("export", "m", "-o", "m.onnx", "--dtype", "float32").code == 0
    assert run("predict", "m", items, "--drop", "note", "-o", "p.parquet").code == 0
    wanted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    X = pandas.read_csv(items)[["age", "size"]].to_numpy(dtype=np.float32)
    np.testing.assert_allclose(_predict("m.onnx", X)[0], wanted, atol=1e-5)


def test_what_is_refused(fails, run, items, model):
    assert "--out tags.bin: the name must end in .onnx" in fails("export", model, "-o", "tags.bin")
    assert "there is no such model" in fails("export", "absent.model", "-o", "x.onnx")
    assert run("fit", items, *WIDE, "-m", "neighbors", "-o", "near").code == 0
    said = fails("export", "near", "-o", "x.onnx")
    assert "near: KNeighborsLabels is not linear in its features" in said
    assert "(labelgap fit --model binary-relevance)" in said
    mixed = ("-l", "tag_*", "--item", "id", "-m", "binary-relevance", "-o", "mixed")
    assert run("fit", items, *mixed).code == 0
    assert "fit it again with --drop 'note'" in fails("export", "mixed", "-o", "x.onnx")


@pytest.mark.parametrize("numbers", [True, False])
def test_a_model_of_texts_is_exported_with_its_words(run, numbers):
    rows = table_rows(60)
    rows[3]["note"], rows[4]["age"] = "", ""
    items = write_rows(Path("items.csv"), rows)
    only = () if numbers else ("--drop", "age", "--drop", "size")
    read = ("-l", "tag_*", "--item", "id", "--text", "note", "--empty", "mean", *only)
    assert run("fit", items, *read, "-m", "binary-relevance", "-o", "m").code == 0
    ran = run("export", "m", "-o", "m.onnx")
    assert ran.code == 0, ran
    assert "words" in ran.out
    assert run("predict", "m", items, *only, "-o", "p.parquet").code == 0
    wanted = pandas.read_parquet("p.parquet")[["tag_a", "tag_b"]].to_numpy()
    table = pandas.read_csv(items, keep_default_na=False)
    given = {"texts": table["note"].to_numpy(dtype=object)}
    if numbers:
        given["features"] = table[["age", "size"]].replace("", np.nan).to_numpy(dtype=float)
    found = runtime.InferenceSession("m.onnx").run(["probabilities"], given)[0]
    np.testing.assert_allclose(found, wanted, atol=1e-6)
