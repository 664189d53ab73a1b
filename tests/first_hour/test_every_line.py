"""What once made a newcomer stumble, each with the tests that would see it again.

Paths are below ``tests``. A name that no test has any more fails here.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PYTHON, COMMANDS = "first_hour/test_scikit_learn.py", "first_hour/test_command_line.py"
OWN, REVIEW = "first_hour/test_own_tables.py", "first_hour/test_review_page.py"
CITIZENS = "model_selection/test_scikit_learn_citizens.py"
REPORT_PAGE = "report/test_audit_page_in_browser.py"
REVIEW_PAGE = "review/test_review_in_browser.py"
SITE = "docs/test_site_in_browser.py"

LINES: dict[str, list[str]] = {
    # scikit-learn citizens
    "cross_validate, GridSearchCV, cross_val_predict and names of scores take NaN": [
        f"{PYTHON}::test_cross_validation_with_a_number_and_a_name",
        f"{PYTHON}::test_a_search",
        f"{PYTHON}::test_a_split_keeps_the_fractions",
        f"{PYTHON}::test_scikit_learns_own_tools_take_labels_and_ours_are_named_for_nan",
        f"{CITIZENS}::test_a_score_counts_known_entries_of_the_rows_left_out",
    ],
    "Mend: sample_weight, set_output, thresholds, class_weight": [
        f"{PYTHON}::test_weights_groups_frames_and_thresholds",
    ],
    "Mend: partial_fit": [f"{PYTHON}::test_rows_that_come_in_parts"],
    "groups in every internal split": [
        f"{PYTHON}::test_groups_are_in_one_part_of_every_internal_split"
    ],
    "n_jobs and progress in long fits": [
        f"{PYTHON}::test_long_fits_count_and_use_several_processes",
        f"{PYTHON}::test_trees_that_take_a_while_say_how_far_they_are",
    ],
    "skops takes a pipeline with Mend": [f"{PYTHON}::test_a_pipeline_in_a_file"],
    "LinearSVC with a rare label": [f"{PYTHON}::test_margins_of_a_label_with_three_relevant_rows"],
    "an audit in a terminal, a notebook and frames, with names and index": [
        f"{PYTHON}::test_an_audit_fits_a_terminal",
        f"{PYTHON}::test_an_audit_is_a_card_in_a_notebook_with_names_of_the_frame",
    ],
    # command line
    "fit learns from the table that audit finds gaps in": [
        f"{COMMANDS}::test_the_table_that_is_audited_is_the_table_that_is_fitted"
    ],
    "one name for the option of zeros": [f"{COMMANDS}::test_one_option_says_what_zeros_mean"],
    "hide recommends what runs": [f"{COMMANDS}::test_what_hide_recommends_can_be_run"],
    "--decisions takes the database of a review": [
        f"{COMMANDS}::test_decisions_go_from_file_to_file",
        f"{OWN}::test_from_the_table_to_a_file_for_other_programs",
    ],
    "decisions export, import, merge": [f"{COMMANDS}::test_decisions_go_from_file_to_file"],
    "a second --text is refused": [f"{COMMANDS}::test_an_option_is_given_once"],
    "no error prints a column of text": [
        f"{COMMANDS}::test_a_column_of_text_is_not_printed_whole",
        "cli/test_raw_tables.py::test_long_cells_are_not_printed_whole",
    ],
    "select says how far it is": [
        f"{COMMANDS}::test_choosing_features_says_how_far_it_is",
        f"{COMMANDS}::test_choosing_features_of_a_table_is_watched",
    ],
    "impute adds nothing to a complete table": [f"{COMMANDS}::test_a_complete_table_is_left_alone"],
    "extend runs as its help and hide say": [
        f"{COMMANDS}::test_extend_runs_as_its_help_says",
        f"{COMMANDS}::test_what_hide_recommends_can_be_run",
    ],
    "evaluate says when figures are in-sample, and none twice": [
        f"{COMMANDS}::test_figures_of_the_training_rows_are_called_that"
    ],
    "names of metrics mean what scikit-learn's mean": [
        f"{PYTHON}::test_names_of_metrics_mean_what_scikit_learns_mean"
    ],
    "export takes models of texts": [
        f"{OWN}::test_from_the_table_to_a_file_for_other_programs",
        "export/test_words.py::test_words_are_weighed_as_by_scikit_learn",
    ],
    "no error is that of a numpy internal": [
        f"{COMMANDS}::test_errors_are_ours_and_not_those_of_numpy"
    ],
    "one recommendation": [f"{COMMANDS}::test_everybody_recommends_the_same_first_model"],
    # report and review
    "the report shows texts and cells": [
        f"{COMMANDS}::test_a_report_shows_what_the_item_says",
        f"{REPORT_PAGE}::test_an_item_shows_its_cells",
    ],
    "the report fits a phone": [
        f"{REPORT_PAGE}::test_fits_the_window_in_light_and_dark",
        f"{REPORT_PAGE}::test_a_table_that_goes_on_to_the_right_says_so",
    ],
    "the last answer of a batch can be taken back": [
        f"{REVIEW}::test_the_last_answer_of_a_batch_can_be_taken_back"
    ],
    "nothing was before the first answer; similar items, marked words, meaning and examples": [
        f"{REVIEW}::test_all_that_a_question_needs_is_on_the_page"
    ],
    "all labels of an item at once, others than suggested, comments, unsure, disagreements": [
        f"{REVIEW}::test_all_labels_comments_and_what_cannot_be_told"
    ],
    "reviewers: agreement, and several at once on one database": [
        f"{REVIEW_PAGE}::test_two_reviewers_and_what_they_differ_about",
        "review/test_tally.py::test_agreement_is_cohens_kappa",
        "review/test_store.py::test_processes_lose_nothing",
        "review/test_server.py::test_two_reviewers_at_once_lose_nothing",
    ],
    "no serious finding of axe-core": [
        f"{REPORT_PAGE}::test_no_serious_finding_of_axe",
        f"{REVIEW_PAGE}::test_no_serious_finding_of_axe",
    ],
    # docs
    "no page is cut or longer than 12,000 px": [f"{SITE}::test_no_page_is_cut_or_endless"],
    "Audit is in the navigation": [f"{SITE}::test_the_audit_is_in_the_navigation"],
    "the first page and the index of the reference say what things are": [
        f"{SITE}::test_the_first_page_and_the_reference_are_more_than_links"
    ],
    "three notebooks with pictures": [
        f"{SITE}::test_notebooks_show_pictures",
        "docs/test_notebooks.py::test_a_notebook_was_run_as_its_script_is",
    ],
    # beyond the list
    "suggestions go back to the tasks they are about": [
        f"{OWN}::test_suggestions_go_back_to_the_tasks_they_are_about"
    ],
    "a column of ids that is read as a feature is said": [
        f"{OWN}::test_a_column_of_ids_that_is_read_as_a_feature_is_said"
    ],
    "what a fit left out is no feature of new rows": [
        f"{OWN}::test_what_a_fit_left_out_is_no_feature_of_new_rows"
    ],
    "a database and a long table say which option is missing": [
        f"{OWN}::test_a_database_is_asked_for_its_tables"
    ],
    "columns of labels that nobody named are proposed": [
        f"{COMMANDS}::test_the_column_that_lists_labels_is_named",
        f"{COMMANDS}::test_columns_of_yes_and_no_are_named",
    ],
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_has_its_tests(line):
    for test in LINES[line]:
        file, name = test.split("::")
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}, test
