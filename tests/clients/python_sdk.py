"""Sends the chain of chain.json with the OpenTelemetry SDK, a tracer provider per service.

usage: python_sdk.py grpc|http ENDPOINT        prints the trace id
"""

import json
import pathlib
import sys
import time

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode

transport, endpoint = sys.argv[1:]
if transport == "grpc":
    from grpc import Compression
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    exporter = lambda: OTLPSpanExporter(endpoint, insecure=True, compression=Compression.Gzip)
else:
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    exporter = lambda: OTLPSpanExporter(f"{endpoint}/v1/traces", compression=Compression.Gzip)

providers = {}


def tracer(service):
    if service not in providers:
        resource = Resource.create({"service.name": service, "service.namespace": f"python-{transport}",
                                    "host.name": f"{service}-1"})
        providers[service] = TracerProvider(resource=resource)
        providers[service].add_span_processor(BatchSpanProcessor(exporter()))
    return providers[service].get_tracer("chain", "1.0")


started = time.time_ns() - 2_000_000_000
spans = []
for step in json.loads(pathlib.Path(__file__).with_name("chain.json").read_text()):
    parent = trace.set_span_in_context(spans[step["parent"]]) if "parent" in step else None
    span = tracer(step["service"]).start_span(
        step["name"], parent, SpanKind[step["kind"]], step["attributes"],
        start_time=started + step["start_ms"] * 1_000_000)
    if step.get("error"):
        span.set_status(Status(StatusCode.ERROR, step["error"]))
    span.end(started + step["end_ms"] * 1_000_000)
    spans.append(span)
for provider in providers.values():
    if not provider.force_flush(10_000):
        sys.exit("a provider could not flush its spans")
    provider.shutdown()
print(format(spans[0].get_span_context().trace_id, "032x"))
