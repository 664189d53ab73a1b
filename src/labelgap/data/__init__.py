"""Data sets: readers for the formats of the field, and benchmark sets by name."""

from labelgap.data._arff import read_arff
from labelgap.data._arrays import read_npz
from labelgap.data._cache import cache_folder
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.data._errors import ChecksumError, DataFormatError, DatasetUnavailableError
from labelgap.data._load import load_dataset
from labelgap.data._matlab import read_mat, read_mat_views
from labelgap.data._mulan_xml import read_label_xml
from labelgap.data._pairs import read_svmlight, read_xc
from labelgap.data._pickles import read_array_pickle
from labelgap.data._registry import DatasetInfo, dataset_info, list_datasets
from labelgap.data._tables import read_table

__all__ = [
    "ChecksumError",
    "DataFormatError",
    "Dataset",
    "DatasetInfo",
    "DatasetUnavailableError",
    "cache_folder",
    "dataset_info",
    "list_datasets",
    "load_dataset",
    "read_arff",
    "read_array_pickle",
    "read_label_xml",
    "read_mat",
    "read_mat_views",
    "read_npz",
    "read_svmlight",
    "read_table",
    "read_xc",
    "stack_splits",
]
