import type { RequestContext } from '../contract/context.ts'
import type { Emit } from '../contract/emit.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { EngineEvent, GenerationEvent, StartEvent } from '../contract/event.ts'
import type { CanonicalPath } from '../contract/field.ts'
import type { MediaReader } from '../contract/media.ts'
import type { GenerationRecord } from '../contract/record.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { Ticket } from '../contract/scheduler.ts'
import type { Validator } from '../contract/validator.ts'
import { createCallCheck, toolsToCheck } from './check-calls.ts'
import { createOutputCheck, needsOutputCheck } from './check-output.ts'
import { costOf } from './cost.ts'
import { withFunctions } from './custom-tools/with-functions.ts'
import { CutShort, finishOfCancelled, OpenChoices } from './cut-short.ts'
import { Delivery } from './delivery.ts'
import { generateSeveral } from './generate-several.ts'
import { ignoredByTemplate } from './ignored-by-template.ts'
import { inLane } from './lane.ts'
import { Loading } from './loading.ts'
import { createOutputPipeline, elapsed } from './output-pipeline.ts'
import type { Turn } from './prefix-memory.ts'
import { prepareFitting } from './prepare-fitting.ts'
import { refuseOtherTools, refuseUnhonoured } from './refuse-unhonoured.ts'
import { refuseUnread } from './refuse-unread.ts'
import { needsCallsHeld, runWithRequiredCalls } from './required-calls.ts'
import { seal } from './seal.ts'
import { SpentTokens } from './spent-tokens.ts'
import { RunClock, slotInTime } from './time-limits.ts'
import { withMedia } from './with-media.ts'

/** What `generate` gets from the layers around it. */
export type GenerateDeps = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Validates output that a grammar does not guarantee; without one, `structured` stays `partial`. */
  readonly validator?: Validator
  /** The operator's preset for all requests, in any protocol. */
  readonly presets?: {
    readonly inUse: { readonly name: string | undefined } | undefined
    apply(request: GenerationRequest): GenerationRequest
  }
  /** Reads the media that requests refer to; absent: requests with media are refused. */
  readonly media?: MediaReader
  /** Finds where a conversation differs from its turn before. */
  readonly prefixes?: { note(turn: Turn): CanonicalPath | undefined }
  /** Called once per generation, when it has ended. */
  record?(record: GenerationRecord): void
  /** Called with the index of the request, of several, whose failure ended all. */
  onFailed?(index: number): void
}

/** A generation that can be run once. */
export type Generation = {
  /**
   * Rejects for failures before the first event after `start`; later, the last event is `usage` or `error`. When that is emitted, the
   * engine has stopped and the slot is free.
   */
  run(emit: Emit<GenerationEvent>): Promise<void>
}

type Requests = readonly [GenerationRequest, ...GenerationRequest[]]

/**
 * Requests in, sealed events out. Several requests have one ticket, consecutive choice numbers and summed usage, and run side by side on
 * slots that nobody else wants.
 */
export function generate(deps: GenerateDeps, requests: Requests, context: RequestContext): Generation {
  const { model } = context
  return {
    async run(emit) {
      let outcome: Pick<GenerationRecord, 'outcome' | 'usage' | 'timings'> = { outcome: 'engine-failed' }
      try {
        const end = await seal((inner) => runToEnd(deps, requests, { context, emit: inner }), emit)
        const isCut = finishOfCancelled(context.signal) !== undefined
        outcome =
          end.type === 'error'
            ? { outcome: end.error.code }
            : { outcome: isCut ? 'cancelled' : 'ok', usage: end.usage, timings: end.timings }
      } catch (error) {
        outcome = { outcome: AppError.from(error).code }
        throw error
      } finally {
        const durationMs = deps.now() - context.receivedAtMs
        deps.record?.({ id: context.id, caller: context.principal.id, model: model.id, durationMs, ...outcome })
      }
    },
  }
}

type Run = { readonly context: RequestContext; readonly emit: Emit<GenerationEvent> }

/** Runs requests; their reader gets the last events when the slot is free. */
async function runToEnd(deps: GenerateDeps, requests: Requests, { context: given, emit }: Run): Promise<void> {
  const context = inLane(given, requests[0])
  const delivery = new Delivery(emit, context.signal)
  let ticket: Ticket | undefined
  const enter = () => {
    // A request that was cancelled before it came needs no place in the queue, which may be full.
    context.signal.throwIfAborted()
    ticket ??= context.model.scheduler.enter(context)
    return ticket
  }
  try {
    const owner = context.principal.id
    const preset = (request: GenerationRequest) => ({ owner, ...(deps.presets?.apply(request) ?? request) })
    const first = preset(requests[0])
    const rest = requests.slice(1).map(preset)
    if (rest.length === 0) await runOrCutShort(deps, first, { context, enter, emit: delivery.take, later: [] })
    else
      await generateSeveral([first, ...rest], {
        context,
        enter,
        emit: delivery.take,
        runOne: (request, { signal, ...around }) =>
          runOrCutShort(deps, request, { ...around, context: { ...context, signal }, later: request === first ? rest : [] }),
        ...(deps.onFailed !== undefined && { onFailed: deps.onFailed }),
      })
  } finally {
    ticket?.leave()
    context.onWorkEnded?.()
    const reader = delivery.finish()
    if (reader !== undefined) await reader
  }
}

type Step = Run & {
  /** The requests that run after this one on its ticket. */
  readonly later: readonly GenerationRequest[]
}

/** Runs one request. Cancelled, it may still give a reply: the output so far. */
async function runOrCutShort(
  deps: GenerateDeps,
  request: GenerationRequest,
  { enter, emit, ...step }: Step & { enter(): Ticket },
): Promise<void> {
  const { model, signal } = step.context
  const cutShort = new CutShort(request)
  try {
    const ticket = enter()
    const observed: Emit<GenerationEvent> = (event) => {
      cutShort.observe(event)
      return emit(event)
    }
    const loading = new Loading(ticket, { now: deps.now, signal })
    const reading = refuseUnread(request, { engine: model.engine, ready: () => loading.ready(), media: deps.media })
    if (reading !== undefined) await reading
    await withMedia(deps, { request, caller: step.context }, (complete) =>
      withFunctions(complete, { validator: deps.validator, signal, emit: observed }, (wanted, inner) =>
        runStep(deps, wanted, { ticket, loading, emit: inner, ...step }),
      ),
    )
  } catch (error) {
    const reason = finishOfCancelled(signal)
    if (reason === undefined) throw error
    await cutShort.end(model.id, reason, emit)
  }
}

/** Runs one request, which holds a slot only while the engine generates. */
async function runStep(
  { now, validator, presets, prefixes }: GenerateDeps,
  request: GenerationRequest,
  { context, ticket, loading, emit, later }: Step & { readonly ticket: Ticket; readonly loading: Loading },
): Promise<void> {
  const { model, signal, receivedAtMs: startedMs } = context
  signal.throwIfAborted()
  refuseOtherTools(request)
  const ready = loading.ready()
  if (ready !== undefined) await ready
  const loadMs = loading.totalMs
  const prepared = await prepareFitting(model.engine, request, signal)
  refuseUnhonoured(request, prepared)
  const isTextChecked = request.toolChoice.type !== 'required' && needsOutputCheck(request.output, prepared)
  const check = isTextChecked ? await createOutputCheck(validator, request.output, signal) : undefined
  const declared = request.prompt.type === 'chat' ? request.prompt.tools : []
  const tools = toolsToCheck(request, prepared)
  const callCheck = tools.length === 0 ? undefined : await createCallCheck(validator, { tools, declared, signal })
  const queuedMs = now()
  const waiting = slotInTime(ticket, costOf(request, prepared, { later, principal: context.principal }), context)
  if (waiting !== undefined) await waiting
  try {
    const queueMs = elapsed(queuedMs, now())
    // A stop sequence may truncate the output, which is then not validated.
    const isValidated = check?.isComplete === true && request.stop.length === 0
    const starting = emit(
      startEvent(model.id, {
        prepared,
        isValidated,
        preset: presets?.inUse,
        divergedAt: findDivergence(prefixes, request, context),
        ignored: [...ignoredByTemplate(request, model.engine), ...ignoredKeys(request, prepared), ...(prepared.ignored ?? [])],
      }),
    )
    if (starting !== undefined) await starting
    const attempt = async (wanted: GenerationRequest, inner: Emit<GenerationEvent>) => {
      const current = wanted === request ? prepared : await prepareFitting(model.engine, wanted, signal)
      const timings = { queueMs, loadMs }
      const onEvent = createOutputPipeline({
        now,
        request: wanted,
        prepared: current,
        check,
        callCheck,
        startedMs,
        timings,
        emit: inner,
      })
      const open = new OpenChoices(wanted.choices)
      const spent = new SpentTokens(current.inputTokens)
      const clock = new RunClock(context, now)
      try {
        const take: Emit<EngineEvent> = (event) => {
          // Stops engines that ignore their signal.
          if (signal.aborted) throw AppError.from(signal.reason)
          spent.observe(event)
          open.observe(event)
          clock.observe(event)
          const pending = onEvent(event)
          return pending === undefined ? undefined : clock.pausedFor(pending)
        }
        await current.run(signal, take, context.onLateTokens)
      } catch (error) {
        const reason = finishOfCancelled(signal)
        // What the parser holds belongs to the output.
        if (reason !== undefined) await open.finish(reason, onEvent)
        throw error
      } finally {
        clock.close()
        ticket.charge(spent.total)
      }
    }
    if (needsCallsHeld(request, prepared))
      await runWithRequiredCalls(request, attempt, { repeatsByGrammar: prepared.repeatsByGrammar, emit })
    else await attempt(request, emit)
  } finally {
    ticket.release()
  }
}

type Beginning = {
  readonly prepared: PreparedGeneration
  readonly isValidated: boolean
  readonly preset: { readonly name: string | undefined } | undefined
  readonly divergedAt: CanonicalPath | undefined
  readonly ignored: readonly CanonicalPath[]
}

function findDivergence(
  prefixes: GenerateDeps['prefixes'],
  { prompt, forwarded }: GenerationRequest,
  { principal, model, session = forwarded?.promptCacheKey }: RequestContext,
): CanonicalPath | undefined {
  return prompt.type === 'chat' ? prefixes?.note({ owner: principal.id, model: model.id, session, prompt }) : undefined
}

function startEvent(model: string, { prepared, isValidated, preset, divergedAt, ignored }: Beginning): StartEvent {
  const { inputTokens } = prepared
  const structured = isValidated && prepared.structured === 'partial' ? 'validated' : prepared.structured
  return {
    type: 'start',
    model,
    warnings: [],
    ...(inputTokens !== undefined && { inputTokens }),
    ...(structured !== undefined && { structured }),
    ...(prepared.outputFormat?.reasoning !== undefined && { reasons: true as const }),
    ...(preset !== undefined && { preset: preset.name ?? 'unnamed' }),
    ...(divergedAt !== undefined && { divergedAt }),
    ...(ignored.length > 0 && { ignored }),
  }
}

/** Keys for servers, where no server takes one of them. */
function ignoredKeys({ callerKeys }: GenerationRequest, { usesCallerKeys }: PreparedGeneration): readonly CanonicalPath[] {
  return callerKeys === undefined || usesCallerKeys === true ? [] : [['callerKeys']]
}
