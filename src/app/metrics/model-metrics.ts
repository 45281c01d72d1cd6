import type { Registry } from 'prom-client'
import type { EngineState, ServerReport } from '../../contract/engine.ts'
import type { Lane, SchedulerLoad } from '../../contract/scheduler.ts'
import type { ServedModel } from '../../contract/served-model.ts'
import { addMetric, type Declaration, type Labels } from './exposition.ts'
import { addDistributions } from './tallies.ts'

export type ModelLoad = SchedulerLoad & {
  readonly id: string
  readonly state: EngineState['type']
  /** How long its last load took; absent before. */
  readonly loadSeconds?: number | undefined
  /** Absent when the engine does not count them. */
  readonly tokensAfterCancel?: number | undefined
  /** The replicas of a remote model. */
  readonly servers?: readonly ServerReport[] | undefined
}

/** Everything but its load times, which the engine does not know. */
export function loadOf({ id, scheduler, engine }: Pick<ServedModel, 'id' | 'scheduler' | 'engine'>): ModelLoad {
  return {
    id,
    ...scheduler.load,
    state: engine.state.type,
    tokensAfterCancel: engine.tokensAfterCancel,
    servers: engine.capabilities.fleet?.replicas(),
  }
}

export type ReadLoad = () => readonly ModelLoad[]

const states: readonly EngineState['type'][] = ['stopped', 'starting', 'loading', 'ready', 'draining', 'failed']
const queueBounds = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

/** The state and the queue of each model, read when rendered: a removed model has no values. */
export function addModelMetrics(registry: Registry, readLoad: ReadLoad) {
  /** Models without the value are omitted. */
  const add = (
    type: 'counter' | 'gauge',
    { read, ...declaration }: Omit<Declaration, 'labelNames'> & { read(load: ModelLoad): number | undefined },
  ) =>
    addMetric(registry, { type, labelNames: ['model'], ...declaration }, function* () {
      for (const load of readLoad()) {
        const value = read(load)
        if (value !== undefined) yield [{ model: load.id }, value]
      }
    })
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_model_state',
      help: 'Whether the model is in this state: 1 or 0; of several processes, the share of those in which it is.',
      labelNames: ['model', 'state'],
      aggregator: 'average',
    },
    function* () {
      for (const { id, state } of readLoad()) {
        for (const name of states) yield [{ model: id, state: name }, name === state ? 1 : 0]
      }
    },
  )
  add('gauge', {
    name: 'dragoman_model_load_seconds',
    help: 'How long the last load of the model took; of a remote model, until the first of its servers was known.',
    aggregator: 'max',
    read: ({ loadSeconds }) => loadSeconds,
  })
  add('gauge', { name: 'dragoman_queue_depth', help: 'Requests waiting for a slot of the model.', read: ({ queued }) => queued })
  add('counter', {
    name: 'dragoman_queue_refused_total',
    help: 'Requests refused because the queue of the model was full.',
    read: ({ refused }) => refused,
  })
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'dragoman_queue_lane_depth',
      help: 'Requests waiting for a slot of the model, by lane.',
      labelNames: ['model', 'lane'],
    },
    function* (): Iterable<readonly [Labels, number]> {
      for (const { id, lanes } of readLoad()) {
        for (const lane of ['interactive', 'background'] as const) yield [{ model: id, lane }, lanes[lane]]
      }
    },
  )
  const queueWait = addDistributions(registry, {
    name: 'dragoman_queue_wait_seconds',
    help: 'Time that a request waited for a slot of the model, by lane.',
    labelNames: ['model', 'lane'],
    bounds: queueBounds,
  })
  add('gauge', { name: 'dragoman_slots', help: 'Requests that the model can generate in parallel.', read: ({ slots }) => slots })
  add('gauge', { name: 'dragoman_slots_busy', help: 'Slots of the model that are generating.', read: ({ busy }) => busy })
  add('counter', {
    name: 'dragoman_tokens_after_cancel_total',
    help: 'Tokens that were generated after their request was cancelled.',
    read: ({ tokensAfterCancel }) => tokensAfterCancel,
  })
  return {
    slotGranted: (model: string, lane: Lane, waitedMs: number) => queueWait.at(model, lane).observe(waitedMs / 1000),
  }
}
