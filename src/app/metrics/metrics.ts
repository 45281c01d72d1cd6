import { collectDefaultMetrics, Registry } from 'prom-client'
import type { FleetObserver } from '../../contract/attempts.ts'
import type { Lane } from '../../contract/scheduler.ts'
import type { LineResult } from '../../contract/server/batches.ts'
import type { Fallback } from '../../core/other-models/other-models.ts'
import type { ToolCallRecord } from '../../core/tool-loop/deps.ts'
import type { Metrics } from '../../http/run/metrics.ts'
import type { SpanCounts } from '../../telemetry/exporter.ts'
import { addMetric } from './exposition.ts'
import { addGenerationMetrics } from './generation-metrics.ts'
import { addModelMetrics, type ReadLoad } from './model-metrics.ts'
import { readInTurns, renderInTurns } from './render.ts'
import { addReplicaMetrics } from './replica-metrics.ts'
import { addCounter, addDistributions, BoundedNames } from './tallies.ts'

type MetricsOptions = {
  /** Called when the metrics are rendered. */
  readonly readLoad: ReadLoad
  readonly version: string
  /** The counts of spans; absent: none are recorded. */
  readonly readSpans?: (() => SpanCounts) | undefined
  /** Also reports memory, event loop delay and the like of this process. */
  readonly processMetrics?: boolean
}

export type DeclaredMetric = {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly labelNames: readonly string[]
}

/** Includes reports from outside the HTTP layer. */
type AppMetrics = Metrics & {
  /** A request got a slot after this wait, which is 0 for most. */
  slotGranted(model: string, lane: Lane, waitedMs: number): void
  fellBack(fallback: Pick<Fallback, 'model' | 'servedBy'>): void
  batchRequestEnded(result: Pick<LineResult, 'ending' | 'usage'>): void
  /** Requests of batches that wait or run. */
  batchRequestsLeft(count: number): void
  toolCalled(call: Pick<ToolCallRecord, 'tool' | 'outcome' | 'durationMs'>): void
  fleetObserver(model: string): FleetObserver
  /** In a form that can be summed with those of other processes. */
  read(): Promise<readonly unknown[]>
  /** All families, in the order of rendering. */
  readonly declared: readonly DeclaredMetric[]
}

/** Gauges named like counters, which Prometheus' own checks criticize. */
const misnamed = ['nodejs_active_resources_total', 'nodejs_active_handles_total', 'nodejs_active_requests_total']

/** Declares every metric once. docs/reference/metrics.md lists them. */
export function createMetrics({ readLoad, version, readSpans, processMetrics = true }: MetricsOptions): AppMetrics {
  const registry = new Registry()
  const httpRequests = addCounter(registry, {
    name: 'dragoman_http_requests_total',
    help: 'HTTP requests answered, by route pattern and status; 499 is a client that disconnected early.',
    labelNames: ['route', 'status'],
  })
  let requestsInFlight = 0
  addMetric(
    registry,
    { type: 'gauge', name: 'dragoman_requests_in_flight', help: 'HTTP requests being answered.', labelNames: [] },
    () => [[{}, requestsInFlight]],
  )
  const generations = addGenerationMetrics(registry)
  const cancellations = addCounter(registry, {
    name: 'dragoman_cancellations_total',
    help: 'Running requests that were cancelled.',
    labelNames: ['reason'],
  })
  const divergedPrompts = addCounter(registry, {
    name: 'dragoman_diverged_prompts_total',
    help: 'Turns of conversations whose earlier messages or tools had changed, so that a cache of their prompt was lost.',
    labelNames: ['model'],
  })
  const fallbacks = addCounter(registry, {
    name: 'dragoman_fallbacks_total',
    help: 'Requests that another model (`served`) answered, because the one that was asked for could not.',
    labelNames: ['model', 'served'],
  })
  const batchRequests = addCounter(registry, {
    name: 'dragoman_batch_requests_total',
    help: 'Requests of batches that ended here, by how: succeeded, errored or cancelled; those that expired have not begun.',
    labelNames: ['outcome'],
  })
  const batchTokens = addCounter(registry, {
    name: 'dragoman_batch_tokens_total',
    help: 'Tokens of batches by their type (input, which includes cached; cached; output); the metrics of all requests include them.',
    labelNames: ['type'],
  })
  let batchRequestsLeft = 0
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_batch_requests_left',
      help: 'Requests of batches that wait or run, on all servers of a store.',
      labelNames: [],
      aggregator: 'max',
    },
    () => [[{}, batchRequestsLeft]],
  )
  const tools = addToolMetrics(registry)
  const models = addModelMetrics(registry, readLoad)
  const replicas = addReplicaMetrics(registry, readLoad)
  addMetric(
    registry,
    {
      type: 'counter',
      name: 'dragoman_trace_spans_total',
      help: 'Spans by what became of them: exported, dropped (the collector is too slow) or failed (it did not take them).',
      labelNames: ['outcome'],
    },
    function* () {
      for (const [outcome, count] of Object.entries(readSpans?.() ?? {})) yield [{ outcome }, count]
    },
  )
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_build_info',
      help: 'Always 1; the version of Dragoman and of Node.js.',
      labelNames: ['version', 'node'],
      aggregator: 'first',
    },
    () => [[{ version, node: process.versions.node }, 1]],
  )
  if (processMetrics) {
    // Each 10 ms, its default, is half of what an idle server costs.
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 50 })
    for (const name of misnamed) registry.removeSingleMetric(name)
  }

  return {
    contentType: registry.contentType,
    declared: registry.getMetricsAsArray().map((metric) => {
      // The type omits the names of labels.
      const { name, type, help, labelNames = [] } = metric as unknown as DeclaredMetric
      return { name, type, help, labelNames }
    }),
    render: () => renderInTurns(registry),
    read: () => readInTurns(registry),
    requestStarted: () => {
      requestsInFlight += 1
    },
    requestEnded: (route, status) => {
      requestsInFlight -= 1
      httpRequests.at(route, String(status)).total += 1
    },
    slotGranted: models.slotGranted,
    fleetObserver: replicas.observerOf,
    requestCancelled: (reason) => {
      cancellations.at(reason).total += 1
    },
    promptDiverged: (model) => {
      divergedPrompts.at(model).total += 1
    },
    fellBack: ({ model, servedBy }) => {
      fallbacks.at(model, servedBy).total += 1
    },
    batchRequestEnded: ({ ending, usage }) => {
      batchRequests.at(ending).total += 1
      if (usage === undefined) return
      batchTokens.at('input').total += usage.inputTokens
      batchTokens.at('cached').total += usage.cachedInputTokens
      batchTokens.at('output').total += usage.outputTokens
    },
    batchRequestsLeft: (count) => {
      batchRequestsLeft = count
    },
    generationEnded: generations.ended,
    toolCalled: tools.called,
  }
}

const secondBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Models invent names, and requests name servers of their own. */
const maxTools = 100

function addToolMetrics(registry: Registry) {
  const calls = addCounter(registry, {
    name: 'dragoman_tool_calls_total',
    help: 'Calls of tools of the server by outcome: ok, error, timeout, defect, cancelled, refused, repeated or unknown; tools beyond the first 100 are `other`.',
    labelNames: ['tool', 'outcome'],
  })
  const seconds = addDistributions(registry, {
    name: 'dragoman_tool_call_seconds',
    help: 'How long executed calls of tools of the server took.',
    labelNames: ['tool'],
    bounds: secondBounds,
  })
  const names = new BoundedNames(maxTools)
  return {
    called: ({ tool, outcome, durationMs }: Pick<ToolCallRecord, 'tool' | 'outcome' | 'durationMs'>): void => {
      // A model may invent names.
      const name = outcome === 'unknown' ? 'unknown' : names.labelOf(tool)
      calls.at(name, outcome).total += 1
      const wasExecuted = outcome !== 'unknown' && outcome !== 'refused' && outcome !== 'repeated'
      if (wasExecuted) seconds.at(name).observe(durationMs / 1000)
    },
  }
}
