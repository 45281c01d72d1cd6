import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { type SendResult, type SpanCounts, SpanExporter } from './exporter.ts'
import { encodeBatch } from './otlp.ts'
import type { TracingSettings } from './settings.ts'
import { createTracing } from './tracing.ts'

type Opened = {
  readonly tracing: ReturnType<typeof createTracing>
  readonly counts: () => SpanCounts
  close(): Promise<void>
}

type Surroundings = {
  readonly version: string
  onAway(reason: string): void
  onBack(): void
  /** How long spans wait for others; for tests. */
  readonly delayMs?: number
}

/** Records spans and sends them to a collector by OTLP/HTTP, as JSON. */
export function openTracing(
  { url, headers, timeoutMs, sampler, resource }: TracingSettings,
  { version, onAway, onBack, delayMs }: Surroundings,
): Opened {
  const dispatcher = new Agent({ connections: 1, connectTimeout: timeoutMs })
  // Each process is an instance, also those of one server.
  const about = { resource: { 'service.version': version, 'service.instance.id': randomUUID(), ...resource }, version }

  async function send(spans: readonly string[]): Promise<SendResult> {
    const {
      statusCode,
      headers: replied,
      body,
    } = await request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: encodeBatch(spans, about),
      signal: AbortSignal.timeout(timeoutMs),
      dispatcher,
    })
    await body.dump({ limit: 65_536 })
    return { status: statusCode, retryAfterMs: retryAfter(replied['retry-after']) }
  }

  const exporter = new SpanExporter({
    send,
    wait: (ms, signal) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined),
    onAway,
    onBack,
    ...(delayMs !== undefined && { delayMs }),
  })
  return {
    tracing: createTracing({
      sampler,
      now: () => performance.now(),
      epoch: () => Date.now(),
      export: (span) => exporter.add(span),
    }),
    counts: () => exporter.counts,
    close: async () => {
      await exporter.close()
      await dispatcher.destroy()
    },
  }
}

/** Reads a number of seconds; a date is rare, and the usual pause will do. */
function retryAfter(header: string | readonly string[] | undefined): number | undefined {
  return typeof header === 'string' && /^\d+$/.test(header) ? Number(header) * 1000 : undefined
}
