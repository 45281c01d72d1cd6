import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Lane } from '../../contract/scheduler.ts'
import type { Metrics } from '../../http/run/metrics.ts'
import { createTallyCounter, createTallyHistogram } from './tallies.ts'

/** The current load of a model, and the tokens it has wasted. */
export type ModelLoad = {
  readonly id: string
  readonly queued: number
  readonly busy: number
  /** Those of `queued`, by lane. */
  readonly lanes: Readonly<Record<Lane, number>>
  /** Refused since the start, because the queue was full. */
  readonly refused: number
  /** Absent when the engine does not count them. */
  readonly tokensAfterCancel?: number | undefined
}

type MetricsOptions = {
  /** Called each time the metrics are rendered. */
  readonly readLoad: () => Iterable<ModelLoad>
  /** Also reports memory, event loop delay and the like of this process. */
  readonly processMetrics?: boolean
}

/** Also what others than the HTTP layer report. */
type AppMetrics = Metrics & {
  /** A request got a slot after so long a wait, which is 0 for most. */
  slotGranted(model: string, lane: Lane, waitedMs: number): void
  /** In a form that can be summed with those of other processes. */
  read(): Promise<readonly unknown[]>
}

/**
 * Declares every metric once. The durations are those of OpenTelemetry's `gen_ai.server.request.duration` and
 * `gen_ai.server.time_to_first_token`, the tokens those of `gen_ai.client.token.usage`.
 */
export function createMetrics({ readLoad, processMetrics = true }: MetricsOptions): AppMetrics {
  const registry = new Registry()
  const registers = [registry]
  if (processMetrics) collectDefaultMetrics({ register: registry })

  const httpRequests = createTallyCounter({
    name: 'dragoman_http_requests_total',
    help: 'HTTP requests answered, by route pattern and status; 499 is a client that disconnected early.',
    labelNames: ['route', 'status'],
    registers,
  })
  let requestsInFlight = 0
  new Gauge({
    name: 'dragoman_requests_in_flight',
    help: 'HTTP requests being answered.',
    registers,
    collect() {
      this.set(requestsInFlight)
    },
  })
  const generationDuration = createTallyHistogram({
    name: 'dragoman_generation_duration_seconds',
    help: 'Time from a generation request to the end of its reply, by model and outcome (ok or an error code).',
    labelNames: ['model', 'outcome'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600],
    registers,
  })
  const timeToFirstToken = createTallyHistogram({
    name: 'dragoman_time_to_first_token_seconds',
    help: 'Time from a generation request to its first generated token.',
    labelNames: ['model'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120],
    registers,
  })
  const tokens = (name: string, help: string) => createTallyCounter({ name, help, labelNames: ['model'], registers })
  const inputTokens = tokens('dragoman_input_tokens_total', 'Prompt tokens.')
  const cachedInputTokens = tokens('dragoman_cached_input_tokens_total', 'Prompt tokens that were reused from a cache.')
  const outputTokens = tokens('dragoman_output_tokens_total', 'Generated tokens.')
  const draftTokens = tokens('dragoman_draft_tokens_total', 'Tokens that speculative decoding drafted.')
  const acceptedDraftTokens = tokens('dragoman_accepted_draft_tokens_total', 'Drafted tokens that the model chose too.')
  const cancellations = new Counter({
    name: 'dragoman_cancellations_total',
    help: 'Running requests that were cancelled.',
    labelNames: ['reason'],
    registers,
  })
  const divergedPrompts = new Counter({
    name: 'dragoman_diverged_prompts_total',
    help: 'Turns of conversations whose earlier messages or tools had changed, so that a cache of their prompt was lost.',
    labelNames: ['model'],
    registers,
  })
  /** A metric of each model's load, read when rendered; models without the value are omitted. */
  const addLoadMetric = (
    Kind: typeof Gauge | typeof Counter,
    name: string,
    help: string,
    read: (load: ModelLoad) => number | undefined,
  ) =>
    new Kind({
      name,
      help,
      labelNames: ['model'],
      registers,
      collect() {
        this.reset()
        for (const load of readLoad()) {
          const value = read(load)
          if (value !== undefined) this.inc({ model: load.id }, value)
        }
      },
    })
  addLoadMetric(Gauge, 'dragoman_queue_depth', 'Requests waiting for a slot of the model.', ({ queued }) => queued)
  addLoadMetric(
    Counter,
    'dragoman_queue_refused_total',
    'Requests refused because the queue of the model was full.',
    ({ refused }) => refused,
  )
  new Gauge({
    name: 'dragoman_queue_lane_depth',
    help: 'Requests waiting for a slot of the model, by lane.',
    labelNames: ['model', 'lane'],
    registers,
    collect() {
      this.reset()
      for (const { id, lanes } of readLoad()) {
        for (const lane of ['interactive', 'background'] as const) this.set({ model: id, lane }, lanes[lane])
      }
    },
  })
  const queueWait = createTallyHistogram({
    name: 'dragoman_queue_wait_seconds',
    help: 'Time that a request waited for a slot of the model, by lane.',
    labelNames: ['model', 'lane'],
    buckets: [0.001, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    registers,
  })
  addLoadMetric(Gauge, 'dragoman_slots_busy', 'Slots of the model that are generating.', ({ busy }) => busy)
  addLoadMetric(
    Counter,
    'dragoman_tokens_after_cancel_total',
    'Tokens that were generated after their request was cancelled.',
    ({ tokensAfterCancel }) => tokensAfterCancel,
  )

  return {
    contentType: registry.contentType,
    render: () => registry.metrics(),
    read: () => registry.getMetricsAsJSON(),
    requestStarted: () => {
      requestsInFlight += 1
    },
    requestEnded: (route, status) => {
      requestsInFlight -= 1
      httpRequests.add(1, route, String(status))
    },
    slotGranted: (model, lane, waitedMs) => queueWait.observe(waitedMs / 1000, model, lane),
    requestCancelled: (reason) => cancellations.inc({ reason }),
    promptDiverged: (model) => divergedPrompts.inc({ model }),
    generationEnded: ({ model, outcome, durationMs, usage, timings }) => {
      generationDuration.observe(durationMs / 1000, model, outcome)
      if (timings?.firstTokenMs !== undefined) timeToFirstToken.observe(timings.firstTokenMs / 1000, model)
      if (usage === undefined) return
      inputTokens.add(usage.inputTokens, model)
      cachedInputTokens.add(usage.cachedInputTokens, model)
      outputTokens.add(usage.outputTokens, model)
      draftTokens.add(usage.drafts?.proposed ?? 0, model)
      acceptedDraftTokens.add(usage.drafts?.accepted ?? 0, model)
    },
  }
}
