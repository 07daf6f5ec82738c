"""The same for Prometheus, on this machine alone."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ..errors import ConfigError
from .events import Event, Kind, label
from .show import Lags, Listener

PREFIX = "dbt_dynamic"
SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Behind(Collector):
    """Seconds that each table is behind, at the moment it is asked."""

    def __init__(self, lags: Lags) -> None:
        self._lags = lags

    def collect(self) -> Iterator[GaugeMetricFamily]:
        text = "Seconds since the first commit of a source that the table does not hold."
        gauge = GaugeMetricFamily(f"{PREFIX}_lag_seconds", text, labels=["model"])
        for name, seconds in self._lags().items():
            gauge.add_metric([label(name)], seconds)
        yield gauge


def serve(port: int, lags: Lags) -> Listener:
    """Answers on 127.0.0.1 from now on until the process ends. Raises ConfigError where the port is taken."""
    registry = CollectorRegistry()
    registry.register(Behind(lags))
    refreshes = Counter(
        f"{PREFIX}_refreshes", "Refreshes that committed or found no change.", ["model", "code"], registry=registry
    )
    failures = Counter(f"{PREFIX}_failures", "Refreshes that failed.", ["model"], registry=registry)
    conflicts = Counter(
        f"{PREFIX}_conflicts", "Refreshes that another run was faster with.", ["model"], registry=registry
    )
    rows = Counter(f"{PREFIX}_rows", "Rows that refreshes changed.", ["model", "change"], registry=registry)
    took = Histogram(f"{PREFIX}_refresh_seconds", "Time of a refresh.", ["model"], buckets=SECONDS, registry=registry)
    behind = Histogram(
        f"{PREFIX}_commit_to_commit_seconds", "From a commit of a source to the one of the table that holds it.",
        ["model"], buckets=SECONDS, registry=registry,
    )  # fmt: skip

    def tell(event: Event) -> None:
        fields = event.fields
        if event.kind is Kind.FAILED:
            failures.labels(event.label).inc()
        elif event.kind is Kind.CONFLICT:
            conflicts.labels(event.label).inc()
        elif event.kind is Kind.REFRESHED:
            refreshes.labels(event.label, fields["code"]).inc()
            took.labels(event.label).observe(fields["seconds"])
            behind.labels(event.label).observe(fields["lag"])
            for change in ("inserted", "updated", "deleted"):
                rows.labels(event.label, change).inc(fields[f"rows_{change}"])

    try:
        start_http_server(port, addr="127.0.0.1", registry=registry)
    except OSError as error:
        raise ConfigError(
            f"--metrics-port {port} cannot be used.", why=error.strerror or str(error), remedy="choose another"
        ) from error
    return tell
