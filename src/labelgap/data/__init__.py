"""Data sets: readers for the formats of the field, and benchmark sets by name."""

from labelgap.data._annotation_exports import write_preannotations
from labelgap.data._arff import read_arff
from labelgap.data._arff_header import read_label_xml
from labelgap.data._arrays import read_array_pickle, read_npz
from labelgap.data._contents import ChecksumError, DataFormatError, DatasetUnavailableError
from labelgap.data._dataset import Dataset, stack_splits
from labelgap.data._frames import DATABASES, TableName, read_frame
from labelgap.data._load import cache_folder, load_dataset
from labelgap.data._matlab import read_mat, read_mat_views
from labelgap.data._pairs import read_svmlight, read_xc
from labelgap.data._registry import DatasetInfo, dataset_info, list_datasets
from labelgap.data._table_readers import TABLE_SUFFIXES
from labelgap.data._tables import add_words, fit_tfidf, match_columns, read_label_table, read_table

__all__ = [
    "DATABASES",
    "TABLE_SUFFIXES",
    "ChecksumError",
    "DataFormatError",
    "Dataset",
    "DatasetInfo",
    "DatasetUnavailableError",
    "TableName",
    "add_words",
    "cache_folder",
    "dataset_info",
    "fit_tfidf",
    "list_datasets",
    "load_dataset",
    "match_columns",
    "read_arff",
    "read_array_pickle",
    "read_frame",
    "read_label_table",
    "read_label_xml",
    "read_mat",
    "read_mat_views",
    "read_npz",
    "read_svmlight",
    "read_table",
    "read_xc",
    "stack_splits",
    "write_preannotations",
]
