"""Prometheus metrics. The library is loaded at the first scrape, because it slows down the start."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

#: Other methods are counted together, so that clients cannot add label values without limit.
METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Sample(Struct, frozen=True):
    """One value at the time of a scrape. Samples of the same name have the same kind, help and label names."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    value: float
    labels: dict[str, str] = {}


#: Called at every scrape.
SampleSource: TypeAlias = Callable[[], Iterable[Sample]]


class Metrics:
    def __init__(self) -> None:
        self._requests: dict[tuple[str, str, int], int] = {}
        self._latencies: dict[tuple[str, str], _Histogram] = {}
        self._sources: list[SampleSource] = []

    def add(self, source: SampleSource) -> None:
        self._sources.append(source)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response. Called when its headers are sent: the length of a stream is not latency."""
        method = method if method in METHODS else "other"
        request = (method, route, status)
        self._requests[request] = self._requests.get(request, 0) + 1
        histogram = self._latencies.get((method, route))
        if histogram is None:
            histogram = self._latencies[method, route] = _Histogram()
        histogram.observe(seconds)

    def exposition(self, measures: Iterable[Sample] = (), *, whole: bool = True) -> bytes:
        """Without `whole`, no counts of requests, which are those of all workspaces together."""
        from prometheus_client.exposition import generate_latest
        from prometheus_client.registry import CollectorRegistry

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(lambda: self.collect(measures, whole)))
        return generate_latest(registry)

    def collect(self, measures: Iterable[Sample], whole: bool) -> "Iterator[Metric]":
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily

        if whole:
            yield from self._requests_answered()
        families: dict[str, CounterMetricFamily | GaugeMetricFamily] = {}
        for sample in chain(measures, *(source() for source in self._sources)):
            kind = CounterMetricFamily if sample.kind == "counter" else GaugeMetricFamily
            family = families.get(sample.name)
            if family is None:
                family = families[sample.name] = kind(sample.name, sample.help, labels=list(sample.labels))
            family.add_metric(list(sample.labels.values()), sample.value)
        yield from families.values()

    def _requests_answered(self) -> "Iterator[Metric]":
        from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily(
            "everyagent_http_requests", "Requests answered.", labels=["method", "route", "status"]
        )
        for (method, route, status), count in self._requests.items():
            requests.add_metric([method, route, str(status)], count)
        yield requests
        latency = HistogramMetricFamily(
            "everyagent_http_request_seconds", "Time until the response headers were sent.", labels=["method", "route"]
        )
        for labels, histogram in self._latencies.items():
            latency.add_metric(list(labels), histogram.cumulative(), histogram.total)
        yield latency


class _Collector:
    """The collector interface of prometheus-client."""

    def __init__(self, metrics: "Callable[[], Iterator[Metric]]") -> None:
        self.collect = metrics


class _Histogram:
    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        bounds = [*(str(bound) for bound in BUCKETS), "+Inf"]
        return [(bound, sum(self.counts[: index + 1])) for index, bound in enumerate(bounds)]
