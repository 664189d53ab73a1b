"""The loops, once each: batch EM, online EM and Gibbs over blocks of rows.

A model that fits here writes four things (see :class:`labelgap.fitting.RowModel`): a step that is
local to a block of rows, statistics that add up, a global step that takes their sum, and the
objective. Rows may lie in memory, on disk or on a cluster (:class:`labelgap.fitting.Rows`); the
loops do not know which.
"""

from labelgap.fitting._batches import n_batches, run_passes, shuffled_batches, take_batch
from labelgap.fitting._chains import ChainRecord, run_chains
from labelgap.fitting._checkpoint import Checkpoint, CheckpointError
from labelgap.fitting._dask import DaskRows
from labelgap.fitting._dask_arrays import DaskArrays
from labelgap.fitting._diagnostics import CredibleInterval, Diagnosis, diagnose
from labelgap.fitting._disk import DiskStore
from labelgap.fitting._disk_blocks import BlockFolder, write_blocks
from labelgap.fitting._loops import run_em, run_gibbs, run_online
from labelgap.fitting._model import RowModel
from labelgap.fitting._monitor import FitDivergedError, FitWarning, Monitor, Progress, Trace
from labelgap.fitting._open import open_rows, row_source
from labelgap.fitting._parquet import ParquetRows
from labelgap.fitting._parquet_labels import LongLabels, WideLabels
from labelgap.fitting._rows import LocalRows, MemoryStore, Rows, row_slices
from labelgap.fitting._settings import EM, Gibbs, OnlineEM, fitting_settings
from labelgap.fitting._sources import ArrayRows, PreparedBlocks, RowSource
from labelgap.fitting._stats import add, scale

__all__ = [
    "EM",
    "ArrayRows",
    "BlockFolder",
    "ChainRecord",
    "Checkpoint",
    "CheckpointError",
    "CredibleInterval",
    "DaskArrays",
    "DaskRows",
    "Diagnosis",
    "DiskStore",
    "FitDivergedError",
    "FitWarning",
    "Gibbs",
    "LocalRows",
    "LongLabels",
    "MemoryStore",
    "Monitor",
    "OnlineEM",
    "ParquetRows",
    "PreparedBlocks",
    "Progress",
    "RowModel",
    "RowSource",
    "Rows",
    "Trace",
    "WideLabels",
    "add",
    "diagnose",
    "fitting_settings",
    "n_batches",
    "open_rows",
    "row_slices",
    "row_source",
    "run_chains",
    "run_em",
    "run_gibbs",
    "run_online",
    "run_passes",
    "scale",
    "shuffled_batches",
    "take_batch",
    "write_blocks",
]
