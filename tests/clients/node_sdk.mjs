// Sends the chain of chain.json with the OpenTelemetry SDK, a tracer provider per service.
//
// usage: node_sdk.mjs grpc|http ENDPOINT        prints the trace id

import { readFileSync } from 'node:fs';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, diag, DiagLogLevel, trace } from '@opentelemetry/api';
import { OTLPTraceExporter as GrpcExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as HttpExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';

const [transport, endpoint] = process.argv.slice(2);
const compression = 'gzip';
const newExporter = () => transport === 'grpc'
  ? new GrpcExporter({ url: endpoint, compression })
  : new HttpExporter({ url: `${endpoint}/v1/traces`, compression });

// A failed export is told to the diagnostics logger alone.
let failures = 0;
const fail = (...what) => { failures += 1; console.error(...what); };
diag.setLogger({ error: fail, warn: fail, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);

const providers = new Map();
function tracer(service) {
  if (!providers.has(service)) {
    providers.set(service, new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': service, 'service.namespace': `node-${transport}`, 'host.name': `${service}-1`,
      }),
      spanProcessors: [new BatchSpanProcessor(newExporter())],
    }));
  }
  return providers.get(service).getTracer('chain', '1.0');
}

const started = Date.now() - 2000;
const spans = [];
for (const step of JSON.parse(readFileSync(new URL('chain.json', import.meta.url)))) {
  const parent = step.parent === undefined
    ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, spans[step.parent]);
  const span = tracer(step.service).startSpan(step.name, {
    kind: SpanKind[step.kind], attributes: step.attributes, startTime: started + step.start_ms,
  }, parent);
  if (step.error) span.setStatus({ code: SpanStatusCode.ERROR, message: step.error });
  span.end(started + step.end_ms);
  spans.push(span);
}
for (const provider of providers.values()) {
  await provider.forceFlush();
  await provider.shutdown();
}
console.log(spans[0].spanContext().traceId);
process.exitCode = failures ? 1 : 0;
