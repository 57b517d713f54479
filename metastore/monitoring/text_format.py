"""How Prometheus reads metrics: text format 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

Sample = tuple[str, Mapping[str, str], float]  # suffix of the name, labels, value


def one(name: str, kind: str, text: str, value: float) -> Iterator[str]:
    """Yields the lines of a metric without labels."""
    return metric(name, kind, text, [("", {}, value)])


def histogram(
    labels: Mapping[str, str], bounds: Sequence[float], counts: Sequence[float], total: float
) -> list[Sample]:
    """Returns the samples of a histogram. `counts`: of each bucket alone, the last one without a bound."""
    samples: list[Sample] = []
    so_far = 0.0
    for bound, count in zip((*bounds, float("inf")), counts, strict=True):
        so_far += count
        text = "+Inf" if bound == float("inf") else f"{bound:g}"
        samples.append(("_bucket", {**labels, "le": text}, so_far))
    return [*samples, ("_sum", labels, total), ("_count", labels, so_far)]


def metric(name: str, kind: str, text: str, samples: Iterable[Sample]) -> Iterator[str]:
    """Yields the lines of a metric."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for suffix, labels, value in samples:
        pairs = ",".join(f'{label}="{_escaped(content)}"' for label, content in labels.items())
        yield f"{name}{suffix}{{{pairs}}} {value!r}" if pairs else f"{name}{suffix} {value!r}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
