import { callableTools, isFunctionTool } from '../contract/callable-tools.ts'
import type { RequestContext } from '../contract/context.ts'
import type { Emit } from '../contract/emit.ts'
import type { PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent, StartEvent } from '../contract/event.ts'
import { field } from '../contract/field.ts'
import type { GenerationRecord } from '../contract/record.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { Ticket } from '../contract/scheduler.ts'
import type { Validator } from '../contract/validator.ts'
import { createCallCheck, needsCallCheck } from './check-calls.ts'
import { createOutputCheck, needsOutputCheck } from './check-output.ts'
import { generateInTurn } from './generate-in-turn.ts'
import { createTranslator, elapsed } from './output-pipeline.ts'
import { seal } from './seal.ts'

/** What `generate` needs from the layers around it. */
export type GenerateDeps = {
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Checks what grammars let through; without one, nothing is checked, and `structured` says `partial`. */
  readonly validator?: Validator
  /** What the operator says about every request, whatever its protocol. */
  readonly presets?: {
    readonly inUse: { readonly name: string | undefined } | undefined
    apply(request: GenerationRequest): GenerationRequest
  }
  /** Told of every generation when it has ended. */
  record?(record: GenerationRecord): void
}

/** A generation that can be run once. */
export type Generation = {
  /**
   * Generates: rejects for what fails before the first event after `start`; later, the last event is `usage` or `error`. When it
   * settles, the slot is free again, and the engine has stopped working.
   */
  run(emit: Emit<GenerationEvent>): Promise<void>
}

type Requests = readonly [GenerationRequest, ...GenerationRequest[]]

/**
 * The one use case: requests in, sealed events out. Several requests run one after the other on one ticket; their choices are
 * counted on, their usage is summed.
 */
export function generate(deps: GenerateDeps, requests: Requests, context: RequestContext): Generation {
  const { model } = context
  return {
    async run(emit) {
      let outcome: Pick<GenerationRecord, 'outcome' | 'usage' | 'timings'> = { outcome: 'engine-failed' }
      try {
        await seal(
          (inner) => runAll(deps, requests, { context, emit: inner }),
          (event) => {
            if (event.type === 'usage') outcome = { outcome: 'ok', usage: event.usage, timings: event.timings }
            else if (event.type === 'error') outcome = { outcome: event.error.code }
            return emit(event)
          },
        )
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

async function runAll(deps: GenerateDeps, [first, ...rest]: Requests, { context, emit }: Run): Promise<void> {
  const { model, signal } = context
  const ticket = model.scheduler.enter(context)
  try {
    const startedMs = deps.now()
    await ticket.ready(signal)
    const loadMs = elapsed(startedMs, deps.now())
    // Only the first has waited for the model: the times of all are summed.
    const runOne = (request: GenerationRequest, inner: Emit<GenerationEvent>) =>
      runStep(deps, deps.presets?.apply(request) ?? request, {
        context,
        ticket,
        loadMs: request === first ? loadMs : 0,
        emit: inner,
      })
    if (rest.length === 0) await runOne(first, emit)
    else await generateInTurn([first, ...rest], runOne, emit)
  } finally {
    ticket.leave()
  }
}

type Step = Run & { readonly ticket: Ticket; readonly loadMs: number }

/** One request, which holds a slot from its first token to its last. */
async function runStep(
  { now, validator, presets }: GenerateDeps,
  request: GenerationRequest,
  { context, ticket, loadMs, emit }: Step,
): Promise<void> {
  const { model, signal, receivedAtMs: startedMs } = context
  refuseOtherTools(request)
  const prepared = await model.engine.prepare(request, signal)
  refuseUnhonoured(request, prepared)
  const check = needsOutputCheck(request.output, prepared) ? await createOutputCheck(validator, request.output) : undefined
  const tools = request.prompt.type === 'chat' ? callableTools(request.prompt.tools, request.toolChoice) : []
  const callCheck = needsCallCheck(tools, prepared) ? await createCallCheck(validator, tools, signal) : undefined
  const queuedMs = now()
  await ticket.slot(costOf(request, prepared), signal)
  try {
    const queueMs = elapsed(queuedMs, now())
    // A stop sequence may end an answer in the middle of what would have been checked.
    const isValidated = check?.isWhole === true && request.stop.length === 0
    const starting = emit(startEvent(model.id, { prepared, isValidated, preset: presets?.inUse }))
    if (starting !== undefined) await starting
    const onEvent = createTranslator({ now, request, prepared, check, callCheck, startedMs, timings: { queueMs, loadMs }, emit })
    await prepared.run(signal, (event) => {
      // An engine that ignores its signal must not keep a reply going that nobody wants.
      if (signal.aborted) throw AppError.from(signal.reason)
      if (event.type === 'usage') ticket.charge(event.usage.inputTokens + event.usage.outputTokens)
      return onEvent(event)
    })
  } finally {
    ticket.release()
  }
}

function costOf({ maxOutputTokens }: GenerationRequest, { inputTokens }: PreparedGeneration) {
  return { ...(inputTokens !== undefined && { inputTokens }), ...(maxOutputTokens !== undefined && { maxOutputTokens }) }
}

type Beginning = {
  readonly prepared: PreparedGeneration
  readonly isValidated: boolean
  readonly preset: { readonly name: string | undefined } | undefined
}

function startEvent(model: string, { prepared, isValidated, preset }: Beginning): StartEvent {
  const { inputTokens } = prepared
  const structured = isValidated ? 'validated' : prepared.structured
  return {
    type: 'start',
    model,
    warnings: [],
    ...(inputTokens !== undefined && { inputTokens }),
    ...(structured !== undefined && { structured }),
    ...(preset !== undefined && { preset: preset.name ?? 'unnamed' }),
  }
}

/** No engine runs other tools than functions, and nothing else does yet. */
function refuseOtherTools({ prompt }: GenerationRequest): void {
  const index = prompt.type === 'chat' ? prompt.tools.findIndex((tool) => !isFunctionTool(tool)) : -1
  if (index === -1 || prompt.type !== 'chat') return
  const message = `${field('prompt', 'tools', index)} is a tool of type '${prompt.tools[index]?.type}', which is not supported: declare a function`
  throw new AppError('unsupported-field', message, { at: ['prompt', 'tools', index] })
}

/** What an engine must know of to honour is refused where it does not say that it does. */
function refuseUnhonoured(request: GenerationRequest, { reportsPrompt, keepsMinimum }: PreparedGeneration): void {
  const engine = `the engine of model '${request.model}'`
  if (request.promptTokens !== undefined && reportsPrompt !== true) {
    const message =
      `${engine} does not report the tokens of a prompt: leave out ${field('promptTokens')}, or send the prompt as text, without ` +
      `${field('logprobs')} and with at least one token to generate`
    throw new AppError('unsupported-field', message, { at: ['promptTokens'] })
  }
  if (request.minOutputTokens !== undefined && keepsMinimum !== true) {
    const message = `${engine} cannot keep a minimum of output tokens: leave ${field('minOutputTokens')} out`
    throw new AppError('unsupported-field', message, { at: ['minOutputTokens'] })
  }
}
