import type { Emit } from '../base/emit.ts'
import { inTurn } from '../base/emit.ts'
import { callableTools } from '../canonical/callable-tools.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EventOf, GenerationEvent } from '../contract/event.ts'
import { field } from '../contract/field.ts'
import { isTruncated } from '../contract/is-truncated.ts'
import type { GenerationRequest } from '../contract/request.ts'

type Held = { events: GenerationEvent[]; hasRefused: boolean; hasText: boolean }
type Attempt = (request: GenerationRequest, emit: Emit<GenerationEvent>) => Promise<void>

/** A choice that writes this much without a call counts as making none. */
const maxHeld = 100_000

/** Whether the engine may leave out a call that the request requires. */
export function needsCallsHeld({ prompt, toolChoice }: GenerationRequest, { callsAreCertain }: PreparedGeneration): boolean {
  if (callsAreCertain === true || toolChoice.type !== 'required' || prompt.type !== 'chat') return false
  return callableTools(prompt.tools, toolChoice).length > 0
}

/**
 * Runs a request that requires a call. Output before a choice's call is held until the call begins; choices without one are generated once
 * more. Rejects with `invalid-output` if they make none again.
 */
export async function runWithRequiredCalls(
  request: GenerationRequest,
  attempt: Attempt,
  { repeatsByGrammar = false, emit }: { readonly repeatsByGrammar?: boolean | undefined; readonly emit: Emit<GenerationEvent> },
): Promise<void> {
  const first = new CallHolder(emit, repeatsByGrammar)
  await attempt(request, first.take)
  const { missing } = first
  if (missing.length === 0) {
    if (first.usage !== undefined) await emit(first.usage)
    return
  }
  const second = new CallHolder(
    (event) => emit('choice' in event ? { ...event, choice: missing[event.choice] ?? 0 } : event),
    false,
  )
  await attempt(again(request, missing.length), second.take)
  if (second.missing.length > 0) throw withoutCall()
  if (second.usage !== undefined) await emit(sum(first.usage, second.usage))
}

/** Passes on the events of choices that have made a call, or ended incomplete. */
class CallHolder {
  readonly #emit: Emit<GenerationEvent>
  readonly #missesInText: boolean
  readonly #held = new Map<number, Held>()
  readonly #passed = new Set<number>()
  /** Choices that ended without a call. */
  readonly missing: number[] = []
  usage: EventOf<'usage'> | undefined

  /** `missesInText`: text instead of a call counts as a missing call, even if the output was truncated. */
  constructor(emit: Emit<GenerationEvent>, missesInText: boolean) {
    this.#emit = emit
    this.#missesInText = missesInText
  }

  readonly take: Emit<GenerationEvent> = (event) => {
    if (event.type === 'usage') {
      this.usage = event
      return undefined
    }
    if (!('choice' in event) || this.#passed.has(event.choice)) return this.#emit(event)
    const { choice } = event
    const held = this.#held.get(choice) ?? { events: [], hasRefused: false, hasText: false }
    this.#held.set(choice, held)
    held.events.push(event)
    if (event.type === 'refusal-delta') held.hasRefused = true
    if (event.type === 'text-delta') held.hasText = true
    if (event.type === 'finish' && !held.hasRefused && (!isTruncated(event) || (this.#missesInText && wroteText(event, held)))) {
      this.missing.push(choice)
      this.#held.delete(choice)
      return undefined
    }
    if (held.events.length > maxHeld) throw withoutCall()
    if (event.type !== 'tool-call-start' && event.type !== 'finish') return undefined
    this.#passed.add(choice)
    this.#held.delete(choice)
    return inTurn(held.events, this.#emit)
  }
}

function wroteText({ reason }: EventOf<'finish'>, { hasText }: Held): boolean {
  return hasText && reason === 'length'
}

/** Repeats choices with another seed: the same one would give the same output. */
export function again(request: GenerationRequest, choices: number): GenerationRequest {
  const { seed } = request.sampling
  const toolChoice =
    request.toolChoice.type === 'required' ? { ...request.toolChoice, isRepeated: true as const } : request.toolChoice
  const sampling = seed === undefined ? request.sampling : { ...request.sampling, seed: seed + request.choices }
  return { ...request, toolChoice, sampling, choices }
}

/** Counts the prompt once. */
export function sum(first: EventOf<'usage'> | undefined, second: EventOf<'usage'>): EventOf<'usage'> {
  if (first === undefined) return second
  const usage = {
    ...first.usage,
    outputTokens: first.usage.outputTokens + second.usage.outputTokens,
    reasoningTokens: first.usage.reasoningTokens + second.usage.reasoningTokens,
  }
  const decodeMs = (first.timings.decodeMs ?? 0) + (second.timings.decodeMs ?? 0)
  return { ...second, usage, timings: { ...second.timings, decodeMs } }
}

function withoutCall(): AppError {
  const message = `the model made no call, although ${field('toolChoice')} requires one. Try again, or let it decide`
  return new AppError('invalid-output', message, { at: ['toolChoice'] })
}
