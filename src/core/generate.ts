import type { Emit } from '../base/emit.ts'
import { thousandths } from '../base/thousandths.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { MediaReader } from '../contract/media.ts'
import type { GenerationRequest, GenerationRequests } from '../contract/request.ts'
import type { Ticket } from '../contract/scheduler.ts'
import type { BegunGeneration } from '../contract/tracing.ts'
import type { GenerationRecord } from '../contract/usage.ts'
import { withFunctions } from './custom-tools/with-functions.ts'
import { generateSeveral } from './generate-several.ts'
import { refuseUnread } from './media/refuse-unread.ts'
import { readMedia } from './media/with-media.ts'
import { originOf } from './origin-of.ts'
import { chooseVersion } from './other-models/choose-version.ts'
import { runWithFallback } from './other-models/fallback.ts'
import { type MirroredCopy, mirroredCopy } from './other-models/mirror.ts'
import type { OtherModels } from './other-models/other-models.ts'
import { ReaderBuffer } from './reader-buffer.ts'
import { finishOfCancelled, RunObserver } from './run-observer.ts'
import { runStep, type StepDeps } from './run-step.ts'
import { seal } from './seal.ts'
import { Loading } from './take-slot.ts'
import { type TemplateDeps, withTemplate } from './templates/with-template.ts'

export type GenerateDeps = StepDeps &
  TemplateDeps & {
    /** The operator's preset for all requests, in any protocol. */
    readonly presets?: {
      readonly inUse: { readonly name: string | undefined } | undefined
      apply(request: GenerationRequest): GenerationRequest
    }
    /** Finds the models that serve in place of others; absent: none do. */
    readonly others?: OtherModels
    /** Reads the media that requests refer to; absent: requests with media are refused. */
    readonly media?: MediaReader
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

/**
 * Requests in, sealed events out. Several requests have one ticket, consecutive choice numbers and summed usage, and run side by side on
 * slots that nobody else wants.
 */
export function generate(deps: GenerateDeps, asked: GenerationRequests, context: RequestContext): Generation {
  return {
    async run(emit) {
      if (context.trace !== undefined) context.trace.generationBegan?.(begunGeneration(asked[0], context))
      context.watch?.began(context.model.id)
      let { model } = context
      /** The model whose failure the request reports. */
      let first = model
      let copy: MirroredCopy | undefined
      let outcome: Pick<GenerationRecord, 'outcome' | 'usage' | 'timings' | 'finishReasons' | 'diverged'> = {
        outcome: 'engine-failed',
      }
      let failure: AppError | undefined
      try {
        const requests = namesTemplate(asked) ? await withTemplates(deps, asked, context) : asked
        copy = mirroredCopy(requests, context, deps.others)
        if (copy !== undefined) runCopy(deps, copy)
        const chosen = chooseVersion(context, requests[0], deps.others)
        first = chosen.model
        const { end, finishReasons, diverged } = await runWithFallback(context, {
          chosen,
          others: deps.others,
          emit,
          run: (current, outer) => {
            model = current.model
            return seal((inner) => runToEnd(deps, requests, { context: current, emit: inner }), outer, current.signal)
          },
        })
        if (end.type === 'error') failure = end.error
        const isCut = finishOfCancelled(context.signal) !== undefined
        outcome =
          end.type === 'error'
            ? { outcome: end.error.code, finishReasons }
            : { outcome: isCut ? 'cancelled' : 'ok', usage: end.usage, timings: end.timings, finishReasons }
        if (diverged !== undefined) outcome = { ...outcome, diverged }
      } catch (error) {
        failure = AppError.from(error).countingTools(mostTools(asked))
        outcome = { outcome: failure.code }
        model = first
        throw failure.overflow === undefined ? error : failure
      } finally {
        copy?.stop()
        const durationMs = deps.now() - context.receivedAtMs
        const { id, principal, batch } = context
        const record = { id, caller: principal.id, batch, model: model.id, durationMs, ...outcome }
        deps.record?.(record)
        context.trace?.generationEnded?.(record)
        context.watch?.ended(record, failure)
      }
    },
  }
}

function namesTemplate(requests: GenerationRequests): boolean {
  return requests.some(({ prompt }) => prompt.type === 'chat' && typeof prompt.template === 'string')
}

function mostTools(requests: GenerationRequests): number {
  return Math.max(...requests.map(({ prompt }) => (prompt.type === 'chat' ? prompt.tools.length : 0)))
}

/** Runs first: an unknown template must not wait for anything, and copies are rendered with the request's template. */
async function withTemplates(
  deps: TemplateDeps,
  [first, ...rest]: GenerationRequests,
  context: RequestContext,
): Promise<GenerationRequests> {
  const find = (request: GenerationRequest) => withTemplate(deps, request, context)
  return [await find(first), ...(await Promise.all(rest.map(find)))]
}

/** Nobody waits for a copy; its outcome is in the records. */
function runCopy({ others: _, prefixes: __, ...deps }: GenerateDeps, { requests, context }: MirroredCopy): void {
  generate(deps, requests, context)
    .run(() => undefined)
    .catch(() => undefined)
}

type GenerationContext = { readonly context: RequestContext; readonly emit: Emit<GenerationEvent> }

/** Runs requests; their reader gets the last events when the slot is free. */
async function runToEnd(
  deps: GenerateDeps,
  requests: GenerationRequests,
  { context: given, emit }: GenerationContext,
): Promise<void> {
  const context = inLane(given, requests[0])
  const buffer = new ReaderBuffer(emit, context.signal)
  let ticket: Ticket | undefined
  const enter = () => {
    // A request that is already cancelled needs no place in the queue, which may be full.
    context.signal.throwIfAborted()
    ticket ??= context.model.scheduler.enter(context)
    return ticket
  }
  try {
    const owner = context.principal.id
    const origin = originOf(context)
    const preset = (request: GenerationRequest) => ({ owner, origin, ...(deps.presets?.apply(request) ?? request) })
    const first = preset(requests[0])
    const rest = requests.slice(1).map(preset)
    if (rest.length === 0) await runOne(deps, first, { context, enter, emit: buffer.take, later: [] })
    else
      await generateSeveral([first, ...rest], {
        context,
        enter,
        emit: buffer.take,
        runOne: (request, { signal, ...around }) =>
          runOne(deps, request, { ...around, context: { ...context, signal }, later: request === first ? rest : [] }),
        ...(deps.onFailed !== undefined && { onFailed: deps.onFailed }),
      })
  } finally {
    ticket?.leave()
    context.onWorkEnded?.()
    const reader = buffer.finish()
    if (reader !== undefined) await reader
  }
}

/** Puts a request into its lane: OpenAI's `flex` tier is slower, and may wait. */
function inLane(context: RequestContext, { forwarded }: GenerationRequest): RequestContext {
  return context.lane === undefined && forwarded?.serviceTier === 'flex' ? { lane: 'background', ...context } : context
}

type One = GenerationContext & {
  enter(): Ticket
  /** The requests that run after this one on its ticket. */
  readonly later: readonly GenerationRequest[]
}

/** Runs one request, with its media and its custom tools. When cancelled, it may still give the output so far as its reply. */
async function runOne(deps: GenerateDeps, request: GenerationRequest, { context, enter, emit, later }: One): Promise<void> {
  const { model, signal } = context
  const reply = new RunObserver(request.choices, 0, deps.now)
  const observed: Emit<GenerationEvent> = (event) => {
    reply.observe(event)
    return emit(event)
  }
  let media: Awaited<ReturnType<typeof readMedia<GenerationRequest>>>
  let functions: Awaited<ReturnType<typeof withFunctions>>
  try {
    const ticket = enter()
    const loading = new Loading(ticket, { now: deps.now, signal })
    const reading = refuseUnread(request, { engine: model.engine, ready: () => loading.ready(), media: deps.media })
    if (reading !== undefined) await reading
    // Most requests have neither, and wait for nothing.
    const withBytes = readMedia(deps, { request, caller: context })
    if (withBytes !== undefined) media = await withBytes
    const complete = media?.request ?? request
    const replacing = withFunctions(complete, { validator: deps.validator, signal, emit: observed })
    if (replacing !== undefined) functions = await replacing
    await runStep(deps, functions?.request ?? complete, { context, ticket, loading, emit: functions?.emit ?? observed, later })
  } catch (error) {
    const reason = finishOfCancelled(signal)
    if (reason === undefined) throw functions?.restore(error) ?? error
    const totalMs = thousandths(deps.now() - context.receivedAtMs)
    await reply.complete({ model: model.id, totalMs }, reason, emit)
  } finally {
    media?.release()
  }
}

/** A generation as its span shows it. */
function begunGeneration(request: GenerationRequest, { session }: RequestContext): BegunGeneration {
  const { sampling, choices, output, reasoning, maxOutputTokens, isMaxOutputAssumed } = request
  return {
    sampling,
    choices,
    form: forms[output.type],
    effort: reasoning.effort,
    maxOutputTokens: isMaxOutputAssumed === true ? undefined : maxOutputTokens,
    session,
  }
}

const forms: Readonly<Record<GenerationRequest['output']['type'], BegunGeneration['form']>> = {
  text: undefined,
  'json-object': 'json',
  'json-schema': 'json',
  regex: 'text',
  gbnf: 'text',
  tagged: 'text',
}
