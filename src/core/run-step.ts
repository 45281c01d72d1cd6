import type { Emit } from '../base/emit.ts'
import type { RequestContext } from '../contract/context.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent, StartEvent } from '../contract/event.ts'
import type { CanonicalPath } from '../contract/field.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { Ticket } from '../contract/scheduler.ts'
import type { PresetInUse } from '../contract/server/sampling-preset.ts'
import type { Validator } from '../contract/validator.ts'
import { runCheckedWhole } from './checked-whole.ts'
import { createCallCheck, toolsToCheck } from './checks/check-calls.ts'
import { createOutputCheck, needsOutputCheck, type OutputCheck } from './checks/check-output.ts'
import { ignoredByTemplate, mayPrint, sourceFor } from './checks/ignored-by-template.ts'
import { refuseUnhonoured } from './checks/refuse-unhonoured.ts'
import { createOutputPipeline, elapsed } from './output-pipeline.ts'
import type { ConversationTurn, Noted } from './prefix/prefix-memory.ts'
import { type Fitting, prepareAgain, prepareFitting, type Shortening } from './prepare-fitting.ts'
import { needsCallsHeld, runWithRequiredCalls } from './required-calls.ts'
import { finishOfCancelled, RunObserver } from './run-observer.ts'
import { costOf, type Loading, takeSlot } from './take-slot.ts'
import { withTurns } from './templates/with-turns.ts'
import { RunClock } from './time-limits.ts'

export type StepDeps = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Validates output that a grammar does not guarantee; without one, `structured` stays `partial`. */
  readonly validator?: Validator
  /** The operator's preset in use. */
  readonly presets?: { readonly inUse: (Pick<PresetInUse, 'name'> & Partial<PresetInUse>) | undefined }
  /** Finds where a conversation differs from its turn before. */
  readonly prefixes?: { note(turn: ConversationTurn): Noted | Promise<Noted> }
} & Shortening

type Step = {
  readonly context: RequestContext
  readonly ticket: Ticket
  readonly loading: Loading
  readonly emit: Emit<GenerationEvent>
  /** The requests that run after this one on its ticket. */
  readonly later: readonly GenerationRequest[]
}

/** `refusal`: why an engine did not begin. */
type RunEnd = 'done' | { readonly refusal: unknown }

/** Runs one request, which holds a slot only while the engine generates. */
export async function runStep(
  deps: StepDeps,
  asked: GenerationRequest,
  { context, ticket, loading, emit, later }: Step,
): Promise<void> {
  const { now, validator, presets, prefixes } = deps
  const { model, signal, receivedAtMs: startedMs } = context
  const preparing = { model, signal, shortening: deps, chat: presets?.inUse?.preset?.chat }
  signal.throwIfAborted()
  const ready = loading.ready()
  if (ready !== undefined) await ready
  const loadMs = loading.totalMs
  const turned = withTurns(asked, model.engine, signal)
  const fitting = await prepareFitting(turned instanceof Promise ? await turned : turned, preparing)
  const { request, prepared, shortened } = fitting
  refuseUnhonoured(request, prepared)
  const isTextChecked = request.toolChoice.type !== 'required' && needsOutputCheck(request.output, prepared)
  const createCheck = async () => (isTextChecked ? await createOutputCheck(validator, request.output, signal) : undefined)
  const check = isTextChecked ? await createCheck() : undefined
  const declared = request.prompt.type === 'chat' ? request.prompt.tools : []
  const tools = toolsToCheck(request, prepared)
  const callCheck = tools.length === 0 ? undefined : await createCallCheck(validator, { tools, declared, signal })
  const queuedMs = now()
  const waiting = takeSlot(ticket, costOf(request, prepared, { later, principal: context.principal }), context)
  if (waiting !== undefined) await waiting
  try {
    const queueMs = elapsed(queuedMs, now())
    // A stop sequence may truncate the output, which is then not validated.
    const isValidated = check?.isComplete === true && request.stop.length === 0
    const noting = compareTurn(prefixes, request, { context, inputTokens: prepared.inputTokens })
    const start = startEvent(model.id, {
      prepared,
      isValidated,
      shortened,
      preset: presets?.inUse,
      noted: noting instanceof Promise ? await noting : noting,
      ignored: [...ignoredByTemplate(request, model.engine), ...ignoredKeys(request, prepared), ...(prepared.ignored ?? [])],
    })
    context.watch?.observe(start)
    const starting = emit(start)
    if (starting !== undefined) await starting
    const runOnce = async (current: Fitting, inner: Emit<GenerationEvent>, check?: OutputCheck): Promise<RunEnd> => {
      const timings = { queueMs, loadMs }
      const onEvent = createOutputPipeline({ now, ...current, check, callCheck, startedMs, timings, emit: inner })
      const run = new RunObserver(current.request.choices, current.prepared.inputTokens)
      const clock = new RunClock(context)
      let hasBegun = false
      let isRead = false
      try {
        const take: Emit<EngineEvent> = (event) => {
          // Stops engines that ignore their signal.
          if (signal.aborted) throw AppError.from(signal.reason)
          hasBegun ||= event.type !== 'prompt-progress' && event.type !== 'prompt-read'
          if (!isRead && event.type !== 'prompt-progress') {
            isRead = true
            context.onRead?.()
          }
          run.observe(event)
          clock.observe(event)
          context.watch?.observe(event)
          const pending = onEvent(event)
          return pending === undefined ? undefined : clock.pausedFor(pending)
        }
        await current.prepared.run(signal, take, context.onTokensAfterCancel)
        return 'done'
      } catch (error) {
        const reason = finishOfCancelled(signal)
        // Text that the parser still holds belongs to the output.
        if (reason !== undefined) await run.finishOpen(reason, onEvent)
        if (hasBegun || signal.aborted) throw error
        return { refusal: error }
      } finally {
        clock.close()
        ticket.charge(run.spent)
      }
    }
    const attempt = async (wanted: GenerationRequest, inner: Emit<GenerationEvent>, check?: OutputCheck) => {
      const current = wanted === request ? fitting : await prepareFitting(wanted, preparing)
      const first = await runOnce(current, inner, check)
      if (first === 'done') return
      // Only the server may know which requests it accepts and has room for.
      const second = await runOnce(await prepareAgain(current, first.refusal, preparing), inner, check)
      if (second !== 'done') throw second.refusal
    }
    if (needsCallsHeld(request, prepared))
      await runWithRequiredCalls(request, attempt, { repeatsByGrammar: prepared.repeatsByGrammar, emit })
    else if (check !== undefined && context.isWhole) await runCheckedWhole(request, { check, createCheck, attempt, signal, emit })
    else await attempt(request, emit, check)
  } finally {
    ticket.release()
  }
}

type Beginning = {
  readonly prepared: PreparedGeneration
  readonly isValidated: boolean
  readonly shortened: StartEvent['shortened']
  readonly preset: { readonly name: string | undefined } | undefined
  readonly noted: Noted | undefined
  readonly ignored: readonly CanonicalPath[]
}

type Known = { readonly context: RequestContext; readonly inputTokens: number | undefined }

/** Compares a conversation with what it was before. */
function compareTurn(
  prefixes: StepDeps['prefixes'],
  request: GenerationRequest,
  { context: { principal, model, session = request.forwarded?.promptCacheKey }, inputTokens }: Known,
): Noted | Promise<Noted> | undefined {
  const { id, prompt, reasoning, toolChoice, comparesWith } = request
  if (prompt.type !== 'chat') return undefined
  const isPrinted = (setting: CanonicalPath) => mayPrint(setting, prompt, model.engine)
  const readTemplate = () => sourceFor(prompt, model.engine)
  const asked = { id, prompt, reasoning, toolChoice, comparesWith, inputTokens, isPrinted, readTemplate }
  return prefixes?.note({ owner: principal.id, model: model.id, session, ...asked })
}

function startEvent(model: string, { prepared, isValidated, shortened, preset, noted, ignored }: Beginning): StartEvent {
  const { inputTokens } = prepared
  const structured = isValidated && prepared.structured === 'partial' ? 'validated' : prepared.structured
  return {
    type: 'start',
    model,
    warnings: [],
    ...(inputTokens !== undefined && { inputTokens }),
    ...(structured !== undefined && { structured }),
    ...(shortened !== undefined && { shortened }),
    ...(prepared.outputFormat?.reasoning !== undefined && { reasons: true as const }),
    ...(preset !== undefined && { preset: preset.name ?? 'unnamed' }),
    ...noted,
    ...(ignored.length > 0 && { ignored }),
  }
}

/** Keys for servers that no server uses. */
function ignoredKeys({ callerKeys }: GenerationRequest, { usesCallerKeys }: PreparedGeneration): readonly CanonicalPath[] {
  return callerKeys === undefined || usesCallerKeys === true ? [] : [['callerKeys']]
}
