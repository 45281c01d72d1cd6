import { setImmediate as nextTurn } from 'node:timers/promises'
import { thousandths } from '../../base/thousandths.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent, FinishReason, GeneratedToken, PromptToken } from '../../contract/event.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { AnswerStops } from '../../model-text/parse/answer-stops.ts'
import { watchReasoning } from '../shared/reasoning-watch.ts'
import { TokenTally } from '../shared/token-tally.ts'
import type { ScriptedReply } from './script.ts'

/** Chunks to send before other work of the process runs. */
const chunksPerTurn = 64

const promptTokensPerTurn = 1000

export type Plan = {
  readonly reply: ScriptedReply
  readonly inputTokens: number
  /** The prompt tokens that the request wants reported. */
  readonly promptTokens: readonly PromptToken[]
  /** For each choice. */
  readonly maxOutputTokens: number
  readonly request: GenerationRequest
  readonly outputFormat: OutputFormat | undefined
  /** The runs that `close` aborts. */
  readonly closing: AbortSignal
}

/**
 * Plays the reply, once for each choice. A single generator, because passing an event through another one costs as much as creating it.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a generator for each part would cost more than the parts
export async function* play(plan: Plan, caller: AbortSignal): AsyncGenerator<EngineEvent> {
  const { reply, inputTokens, request } = plan
  const { chunks, delayMs } = reply
  const wantedTokens = countWanted(plan)
  const startedMs = performance.now()
  let firstMs = startedMs
  let outputTokens = 0
  let reasoningTokens = 0
  // Without a combined signal: creating one costs as much as a short reply.
  const throwIfEnded = () => {
    if (caller.aborted) throw caller.reason
    if (plan.closing.aborted) throw plan.closing.reason
  }
  const progress = (readTokens: number) => {
    const elapsedMs = thousandths(performance.now() - startedMs)
    return { type: 'prompt-progress', inputTokens, cachedInputTokens: 0, readTokens, elapsedMs } as const
  }
  throwIfEnded()
  for (let from = 0; from < plan.promptTokens.length; from += promptTokensPerTurn) {
    if (from > 0) await nextTurn()
    yield { type: 'prompt-tokens', choice: 0, promptTokens: plan.promptTokens.slice(from, from + promptTokensPerTurn) }
  }
  if (request.tellsProgress === true) yield progress(0)
  for (let choice = 0; choice < request.choices; choice++) {
    const stops = new AnswerStops(request.stop, plan.outputFormat)
    const watch = watchReasoning(plan.outputFormat)
    const tally = request.logprobs === undefined ? undefined : new TokenTally<GeneratedToken>()
    let sent = 0
    let stop: string | undefined
    while (stop === undefined && sent < wantedTokens) {
      if (delayMs > 0) await pause(delayMs, [caller, plan.closing])
      else if (outputTokens % chunksPerTurn === chunksPerTurn - 1) await nextTurn()
      throwIfEnded()
      if (sent === reply.failAfter) throw scriptedFailure(sent)
      if (outputTokens === 0) {
        firstMs = performance.now()
        if (request.tellsProgress === true) yield progress(inputTokens)
        yield { type: 'prompt-read', inputTokens, cachedInputTokens: 0 }
      }
      const id = sent % chunks.length
      const chunk = chunks[id] ?? ''
      const pushed = stops.push(chunk)
      sent += 1
      outputTokens += 1
      watch?.push(chunk)
      stop = pushed.stopSequence
      if (tally === undefined) {
        if (pushed.text !== '') yield { type: 'raw-text', choice, text: pushed.text }
        continue
      }
      tally.add(certainToken(id, chunk, request.logprobs?.top ?? 0), chunk.length)
      const tokens = tally.send(pushed.text.length)
      if (stop !== undefined) tokens.push(...tally.cut())
      if (pushed.text !== '' || tokens.length > 0) yield { type: 'raw-text', choice, text: pushed.text, tokens }
    }
    reasoningTokens += watch?.tokens ?? 0
    const limited = stop === undefined && sent >= plan.maxOutputTokens
    if (stop === undefined && !limited && sent === reply.failAfter) throw scriptedFailure(sent)
    if (outputTokens === 0 && choice === 0) yield { type: 'prompt-read', inputTokens, cachedInputTokens: 0 }
    const held = stop === undefined ? stops.end() : ''
    const tokens = stop === undefined ? tally?.end() : undefined
    if (held !== '' || (tokens?.length ?? 0) > 0) {
      yield { type: 'raw-text', choice, text: held, ...(tokens !== undefined && { tokens }) }
    }
    const reason = stop !== undefined ? 'stop' : limited ? limitReason(request) : reply.finish
    // The template's own end of a turn counts as the model's.
    const asked = request.stop.find((sequence) => sequence === stop)
    yield { type: 'finish', choice, reason, ...(asked !== undefined && { stopSequence: asked }) }
  }
  yield {
    type: 'usage',
    usage: { inputTokens, cachedInputTokens: 0, outputTokens, reasoningTokens },
    timings: { prefillMs: thousandths(firstMs - startedMs), decodeMs: thousandths(performance.now() - firstMs) },
  }
}

/** Without a limit of the request, only the context ends the output. */
function limitReason({ maxOutputTokens }: GenerationRequest): FinishReason {
  return maxOutputTokens === undefined ? 'context-full' : 'length'
}

/** A model that must not end its turn continues; the script then starts over. */
function countWanted({ reply, request, maxOutputTokens }: Plan): number {
  const { length } = reply.chunks
  if (reply.finish !== 'stop' || length === 0) return Math.min(length, maxOutputTokens)
  const atLeast = request.ignoreEos ? Number.POSITIVE_INFINITY : (request.minOutputTokens ?? 0)
  return Math.min(Math.max(length, atLeast), maxOutputTokens)
}

/** A scripted chunk has probability 1. */
function certainToken(id: number, text: string, top: number): GeneratedToken {
  const shown = { id, text, bytes: [...Buffer.from(text)], logprob: 0 }
  return { ...shown, top: top > 0 ? [shown] : [] }
}

function pause(delayMs: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', end)
      const aborted = signals.find((signal) => signal.aborted)
      if (aborted === undefined) resolve()
      else reject(aborted.reason)
    }
    const timer = setTimeout(end, delayMs)
    for (const signal of signals) signal.addEventListener('abort', end, { once: true })
  })
}

function scriptedFailure(sent: number): AppError {
  return new AppError('engine-failed', `the fake engine failed after ${sent} chunks, as scripted`)
}
