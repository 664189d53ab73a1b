"""The loops, once each: batch EM, online EM and Gibbs over blocks of rows.

A model that fits here writes four things (see :class:`labelgap.fitting.RowModel`): a step that is
local to a block of rows, statistics that add up, a global step that takes their sum, and the
objective. Rows may lie in memory, on disk or on a cluster (:class:`labelgap.fitting.Rows`); the
loops do not know which.
"""

from labelgap.fitting._block_folder import BlockFolder, DiskStore, write_blocks
from labelgap.fitting._chains import (
    ChainSamples,
    CredibleInterval,
    Diagnosis,
    diagnose,
    draw_chains,
    interval_levels,
    solve_to_tolerance,
)
from labelgap.fitting._checkpoint import Checkpoint, CheckpointError
from labelgap.fitting._dask_rows import DaskArrays, DaskRows
from labelgap.fitting._factor_map import FactorMap
from labelgap.fitting._loops import (
    EM,
    Gibbs,
    OnlineEM,
    fitting_settings,
    n_batches,
    run_em,
    run_gibbs,
    run_online,
    run_passes,
    shuffled_batches,
    take_batch,
)
from labelgap.fitting._monitor import FitDivergedError, FitWarning, Monitor, Progress, Trace
from labelgap.fitting._open_rows import feature_blocks, is_elsewhere, open_rows, row_source
from labelgap.fitting._parquet_rows import LongLabels, ParquetRows, WideLabels
from labelgap.fitting._progress import ProgressBar, counting
from labelgap.fitting._row_blocks import (
    ArrayRows,
    LocalRows,
    PreparedBlocks,
    RowModel,
    Rows,
    RowSource,
    add,
    blend_stats,
    row_slices,
    scale,
    sum_of,
)
from labelgap.fitting._stored_features import StoredFeatures, sum_rows, take_rows
from labelgap.fitting._threads import in_threads

__all__ = [
    "EM",
    "ArrayRows",
    "BlockFolder",
    "ChainSamples",
    "Checkpoint",
    "CheckpointError",
    "CredibleInterval",
    "DaskArrays",
    "DaskRows",
    "Diagnosis",
    "DiskStore",
    "FactorMap",
    "FitDivergedError",
    "FitWarning",
    "Gibbs",
    "LocalRows",
    "LongLabels",
    "Monitor",
    "OnlineEM",
    "ParquetRows",
    "PreparedBlocks",
    "Progress",
    "ProgressBar",
    "RowModel",
    "RowSource",
    "Rows",
    "StoredFeatures",
    "Trace",
    "WideLabels",
    "add",
    "blend_stats",
    "counting",
    "diagnose",
    "draw_chains",
    "feature_blocks",
    "fitting_settings",
    "in_threads",
    "interval_levels",
    "is_elsewhere",
    "n_batches",
    "open_rows",
    "row_slices",
    "row_source",
    "run_em",
    "run_gibbs",
    "run_online",
    "run_passes",
    "scale",
    "shuffled_batches",
    "solve_to_tolerance",
    "sum_of",
    "sum_rows",
    "take_batch",
    "take_rows",
    "write_blocks",
]
