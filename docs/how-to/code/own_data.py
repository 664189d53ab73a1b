"""Your own files: label columns, long label tables, text."""

# ruff: noqa: E402  (each part of the page imports what it uses)

# [files]
from pathlib import Path
from tempfile import TemporaryDirectory

folder = TemporaryDirectory()
items, pairs = Path(folder.name, "items.csv"), Path(folder.name, "pairs.csv")
items.write_text(
    "id,length,age,note,urgent,legal\n"
    "a,3.0,1,please call back,1,0\n"
    "b,1.5,4,contract attached,,1\n"
    "c,2.5,2,call about the contract,0,\n"
)
pairs.write_text("id,label,value\na,urgent,1\nb,legal,1\nc,urgent,0\n")

# [wide]
from labelgap.data import read_table

wide = read_table(items, label_columns=["urgent", "legal"], drop=["id", "note"])
print(wide)
print(wide.Y.to_dense())

# [long]
long = read_table(
    items,
    label_table=pairs,
    item="id",
    value="value",
    implicit="unknown",
    text="note",
    drop=["urgent", "legal"],
)
print(long)
print(long.label_names, long.feature_names[:4])
print(long.Y.to_dense())

# [clean]
folder.cleanup()
