import type { Registry } from 'prom-client'
import type { FinishReason } from '../../contract/usage.ts'
import { Distribution } from './distribution.ts'
import { addHistogram, addMetric, type Declaration, type Labels } from './exposition.ts'
import type { GenerationMetrics } from './generation-metrics.ts'
import type { ModelLoad, ModelMetrics, ReadLoad } from './model-metrics.ts'
import type { Counts, Tallies } from './tallies.ts'

type Sources = {
  readonly readLoad: ReadLoad
  readonly generations: GenerationMetrics
  readonly models: ModelMetrics
  /** Milliseconds of the epoch. */
  epoch(): number
}

/** vLLM's word for how a reply ended. */
const finishedReasons: Partial<Record<FinishReason, string>> = { length: 'length', 'context-full': 'length', cancelled: 'abort' }

const labelsOf = (model: string): Labels => ({ model_name: model, engine: '0' })
const labelNames = ['model_name', 'engine']

/**
 * The same numbers by the names of vLLM's metrics, for dashboards and gateways that know those. Nothing is counted for them: they are
 * other views of what is counted anyway. What has no true value here, such as `vllm:kv_cache_usage_perc`, is left out.
 */
export function addVllmMetrics(registry: Registry, { readLoad, generations, models, epoch }: Sources): void {
  const addGauge = (declaration: Omit<Declaration, 'labelNames'>, read: (load: ModelLoad) => number) =>
    addMetric(registry, { type: 'gauge', labelNames, ...declaration }, function* () {
      for (const load of readLoad()) yield [labelsOf(load.id), read(load)]
    })
  const addCounter = (declaration: Omit<Declaration, 'labelNames'>, counts: Counts) =>
    addMetric(registry, { type: 'counter', labelNames, ...declaration }, function* () {
      for (const [model, tallies] of counts.groups()) yield [labelsOf(model), tallies.get('')?.total ?? 0]
    })
  /** `second`: only those with this second label. */
  const addSeconds = (declaration: Omit<Declaration, 'labelNames'>, tallies: Tallies<Distribution>, second?: string) =>
    addHistogram(registry, { labelNames, ...declaration }, function* () {
      for (const [model, all] of tallies.groups()) {
        const [first] = all.values()
        if (first === undefined) continue
        const chosen = second === undefined ? all.values() : [all.get(second)].flatMap((one) => one ?? [])
        yield [labelsOf(model), Distribution.sum(first.bounds, chosen)]
      }
    })

  addGauge({ name: 'vllm:num_requests_running', help: 'Requests that run: dragoman_slots_busy.' }, ({ busy }) => busy)
  addGauge({ name: 'vllm:num_requests_waiting', help: 'Requests that wait: dragoman_queue_depth.' }, ({ queued }) => queued)
  addCounter({ name: 'vllm:prompt_tokens_total', help: 'dragoman_input_tokens_total.' }, generations.input)
  addCounter({ name: 'vllm:generation_tokens_total', help: 'dragoman_output_tokens_total.' }, generations.output)
  addCounter({ name: 'vllm:prefix_cache_queries_total', help: 'dragoman_input_tokens_total.' }, generations.input)
  addCounter({ name: 'vllm:prefix_cache_hits_total', help: 'dragoman_cached_input_tokens_total.' }, generations.cachedInput)
  addMetric(
    registry,
    {
      type: 'counter',
      name: 'vllm:request_success_total',
      help: 'dragoman_finished_choices_total, as stop, length or abort.',
      labelNames: [...labelNames, 'finished_reason'],
    },
    function* () {
      for (const [model, byReason] of generations.finished.groups()) {
        const counts: Record<string, number> = { stop: 0, length: 0, abort: 0 }
        for (const [reason, { total }] of byReason) {
          const word = finishedReasons[reason as FinishReason] ?? 'stop'
          counts[word] = (counts[word] ?? 0) + total
        }
        for (const [reason, count] of Object.entries(counts)) yield [{ ...labelsOf(model), finished_reason: reason }, count]
      }
    },
  )
  addSeconds({ name: 'vllm:time_to_first_token_seconds', help: 'dragoman_time_to_first_token_seconds.' }, generations.firstToken)
  addSeconds(
    { name: 'vllm:request_time_per_output_token_seconds', help: 'dragoman_time_per_output_token_seconds.' },
    generations.perToken,
  )
  addSeconds(
    { name: 'vllm:e2e_request_latency_seconds', help: 'dragoman_generation_duration_seconds of complete replies.' },
    generations.duration,
    'ok',
  )
  addSeconds({ name: 'vllm:request_queue_time_seconds', help: 'dragoman_queue_wait_seconds, of both lanes.' }, models.queueWait)
  addSeconds({ name: 'vllm:request_prompt_tokens', help: 'dragoman_request_input_tokens.' }, generations.inputSizes)
  addSeconds({ name: 'vllm:request_generation_tokens', help: 'dragoman_request_output_tokens.' }, generations.outputSizes)
  addMetric(
    registry,
    {
      type: 'gauge',
      name: 'vllm:lora_requests_info',
      help: 'The adapters of a model, all of which are loaded; the value is the time.',
      labelNames: ['max_lora', 'waiting_lora_adapters', 'running_lora_adapters'],
      aggregator: 'max',
    },
    function* () {
      for (const { adapters = [] } of readLoad()) {
        if (adapters.length === 0) continue
        yield [
          { max_lora: String(adapters.length), waiting_lora_adapters: '', running_lora_adapters: adapters.join(',') },
          epoch() / 1000,
        ]
      }
    },
  )
}
