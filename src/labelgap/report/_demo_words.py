"""The verdict of the demo in plain words, from its numbers."""

from __future__ import annotations

from labelgap.report._demo_result import DemoMethod, DemoResult


def recovered_words(result: DemoResult) -> str:
    """What became of the hidden labels."""
    right = result.n_right / max(result.n_hidden, 1)
    found = result.n_found / max(result.n_hidden_yes, 1)
    all_no = 1 - result.n_hidden_yes / max(result.n_hidden, 1)
    return (
        f"Of the {result.n_hidden:,} hidden entries, {right:.0%} were filled in correctly "
        f"(answering no everywhere would get {all_no:.0%}), and {found:.0%} of the "
        f"{result.n_hidden_yes:,} hidden yeses were found."
    )


def unseen_words(result: DemoResult) -> str:
    """How unseen rows fare, against complete labels and against the naive alternatives."""
    precision = result.model.unseen["average_precision"]
    best = result.ceiling.unseen["average_precision"]
    return (
        f"On {result.n_test:,} rows it had never seen, the model ranks the right labels first with "
        f"average precision {precision:.3f}; had no label been hidden, it would be {best:.3f}."
    )


def naive_words(result: DemoResult) -> str:
    """Whom the model is ahead of, and whom not, in ranking and in decisions."""
    return " ".join(
        _ahead_and_behind(result.naive, metric, task)
        for metric, task in (("average_precision", "ranking"), ("f1_micro", "yes/no decisions"))
    )


def verdict(result: DemoResult) -> str:
    """One sentence: better than all naive alternatives, or not."""
    ahead = [one for one in result.naive if _standing(one, "average_precision") == "better"]
    behind = [one for one in result.naive if _standing(one, "average_precision") == "worse"]
    hidden = f"In this run on {result.dataset}, with {result.share:.0%} of the labels hidden"
    if len(ahead) == len(result.naive):
        return (
            f"{hidden}, learning from what is known ranked unseen rows better than every naive "
            "alternative."
        )
    if behind:
        names = _listed([one.name.lower() for one in behind])
        return f"{hidden}, {names} ranked unseen rows better than the model here."
    ties = _listed([one.name.lower() for one in result.naive if one not in ahead])
    return (
        f"{hidden}, learning from what is known was ahead of {len(ahead)} of {len(result.naive)} "
        f"naive alternatives in ranking, and level with {ties}."
    )


def _ahead_and_behind(naive: list[DemoMethod], metric: str, task: str) -> str:
    words = {"better": "clearly ahead of", "even": "level with", "worse": "clearly behind"}
    parts = []
    for standing, how in words.items():
        names = [one.name.lower() for one in naive if _standing(one, metric) == standing]
        if names:
            parts.append(f"{how} {_listed(names)}")
    return f"In {task}, the model is {'; '.join(parts)}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _standing(other: DemoMethod, metric: str) -> str:
    low, high = other.lead[metric]
    return "better" if low > 0 else "worse" if high < 0 else "even"
