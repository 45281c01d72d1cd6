import type { Registry } from 'prom-client'
import type { GenerationRecord, Usage } from '../../contract/usage.ts'
import { addCounter, addDistributions, BoundedNames } from './tallies.ts'

/** Those of OpenTelemetry's `gen_ai.server.time_per_output_token`. */
const perTokenBounds = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5]
const tokenBounds = [1, 10, 50, 100, 500, 1000, 5000, 10_000, 50_000, 100_000, 500_000]
const firstTokenBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const durationBounds = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60, 120, 300, 600]
/** Further keys are `other`. */
const maxKeys = 200

/**
 * The times and costs of generations. The durations are those of OpenTelemetry's `gen_ai.server.request.duration` and
 * `gen_ai.server.time_to_first_token`.
 */
export function addGenerationMetrics(registry: Registry) {
  const duration = addDistributions(registry, {
    name: 'dragoman_generation_duration_seconds',
    help: 'Time from a generation request to the end of its reply, by model and outcome (ok or an error code).',
    labelNames: ['model', 'outcome'],
    bounds: durationBounds,
  })
  const firstToken = addDistributions(registry, {
    name: 'dragoman_time_to_first_token_seconds',
    help: 'Time from a generation request to its first generated token.',
    labelNames: ['model'],
    bounds: firstTokenBounds,
  })
  const perToken = addDistributions(registry, {
    name: 'dragoman_time_per_output_token_seconds',
    help: 'Time from the first token of a complete reply to its end, divided by the tokens after the first.',
    labelNames: ['model'],
    bounds: perTokenBounds,
  })
  const tokens = (name: string, help: string) => addCounter(registry, { name, help, labelNames: ['model'] })
  const input = tokens('dragoman_input_tokens_total', 'Prompt tokens.')
  const cachedInput = tokens('dragoman_cached_input_tokens_total', 'Prompt tokens that were reused from a cache.')
  const prompt = addCounter(registry, {
    name: 'dragoman_prompt_tokens_total',
    help: 'Prompt tokens by their source: computed, or reused from slot, memory, disk or upstream (the cache of another server).',
    labelNames: ['model', 'source'],
  })
  const output = tokens('dragoman_output_tokens_total', 'Generated tokens.')
  const drafted = (name: string, help: string) => addCounter(registry, { name, help, labelNames: ['model', 'kind'] })
  const drafts = drafted(
    'dragoman_draft_tokens_total',
    'Tokens that speculative decoding drafted, by its kind: ngram, certain (by a grammar), model (a draft model), mtp, eagle3, or server (a llama-server).',
  )
  const acceptedDrafts = drafted('dragoman_accepted_draft_tokens_total', 'Drafted tokens that the model chose too.')
  const finished = addCounter(registry, {
    name: 'dragoman_finished_choices_total',
    help: 'Choices of replies that ended, by the reason: stop, length, tool-calls and others.',
    labelNames: ['model', 'reason'],
  })
  const keyRequests = addCounter(registry, {
    name: 'dragoman_key_requests_total',
    help: 'Generation requests by the name of their key and outcome; keys beyond the first 200 are `other`.',
    labelNames: ['key', 'outcome'],
  })
  const keyTokens = addCounter(registry, {
    name: 'dragoman_key_tokens_total',
    help: 'Tokens by the name of the key and their type (input, which includes cached; cached; output).',
    labelNames: ['key', 'type'],
  })
  const keys = new BoundedNames(maxKeys)
  const sizes = (name: string, help: string) =>
    addDistributions(registry, { name, help, labelNames: ['model'], bounds: tokenBounds })
  const inputSizes = sizes('dragoman_request_input_tokens', 'Prompt tokens of a request.')
  const outputSizes = sizes('dragoman_request_output_tokens', 'Generated tokens of a request.')

  return {
    ended({ model, caller, outcome, durationMs, usage, timings, finishReasons = [] }: GenerationRecord): void {
      const firstMs = timings?.firstTokenMs
      const key = keys.labelOf(caller)
      duration.at(model, outcome).observe(durationMs / 1000)
      keyRequests.at(key, outcome).total += 1
      if (firstMs !== undefined) firstToken.at(model).observe(firstMs / 1000)
      for (const reason of finishReasons) finished.at(model, reason).total += 1
      if (usage === undefined) return
      const { inputTokens, cachedInputTokens, outputTokens } = usage
      if (firstMs !== undefined && outputTokens > 1 && outcome === 'ok')
        perToken.at(model).observe((durationMs - firstMs) / 1000 / (outputTokens - 1))
      input.at(model).total += inputTokens
      cachedInput.at(model).total += cachedInputTokens
      const sources = sourcesOf(usage)
      for (const source of sourceNames) if (sources[source] > 0) prompt.at(model, source).total += sources[source]
      output.at(model).total += outputTokens
      inputSizes.at(model).observe(inputTokens)
      outputSizes.at(model).observe(outputTokens)
      for (const [kind, { proposed, accepted }] of Object.entries(usage.drafts?.kinds ?? {})) {
        drafts.at(model, kind).total += proposed
        acceptedDrafts.at(model, kind).total += accepted
      }
      keyTokens.at(key, 'input').total += inputTokens
      keyTokens.at(key, 'cached').total += cachedInputTokens
      keyTokens.at(key, 'output').total += outputTokens
    },
  }
}

const sourceNames = ['computed', 'slot', 'memory', 'disk', 'upstream'] as const

function sourcesOf({ inputTokens, cachedInputTokens, cachedIn = {} }: Usage) {
  const { slot = 0, memory = 0, disk = 0 } = cachedIn
  const upstream = cachedInputTokens - slot - memory - disk
  return { computed: inputTokens - cachedInputTokens, slot, memory, disk, upstream }
}
