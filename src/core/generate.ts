import { callableTools } from '../contract/callable-tools.ts'
import type { Emit } from '../contract/emit.ts'
import type { Engine, PreparedGeneration } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerationEvent } from '../contract/event.ts'
import type { GenerationRequest } from '../contract/request.ts'
import type { Validator } from '../contract/validator.ts'
import { createCallCheck, needsCallCheck } from './check-calls.ts'
import { createOutputCheck, needsOutputCheck } from './check-output.ts'
import type { Admission } from './schedule/admission.ts'
import { seal } from './seal.ts'
import { createTranslator, elapsed } from './translate-events.ts'

/** A model that can answer: its id, the engine that runs it, and who may use its slots. */
export type ServedModel = { readonly id: string; readonly engine: Engine; readonly admission: Admission }

/** What `generate` needs from the layers around it. */
export type GenerateDeps = {
  /** Throws `model-not-found`, naming what there is. */
  resolveModel(name: string): ServedModel
  /** Milliseconds of a monotonic clock. */
  now(): number
  /** Checks what grammars let through; without one, nothing is checked, and `structured` says `partial`. */
  readonly validator?: Validator
  /** What the operator says about every request, whatever its protocol. */
  readonly presets?: { apply(request: GenerationRequest): GenerationRequest }
}

/** The one use case: a request in, sealed events out. `model` is the id of the model that serves it. */
export type Generation = {
  readonly model: string
  /**
   * Generates, once: rejects for what fails before the first event; after it, the last event is `usage` or `error`. When it
   * settles, the slot is free again, and the engine has stopped working.
   */
  run(emit: Emit<GenerationEvent>): Promise<void>
  /** How the output constraint is kept; known from the first event on. */
  structured(): PreparedGeneration['structured'] | undefined
}

/** Resolves the model now (and throws `model-not-found`); everything else happens in `run`. */
export function generate(deps: GenerateDeps, asked: GenerationRequest, signal: AbortSignal): Generation {
  const model = deps.resolveModel(asked.model)
  const request = deps.presets?.apply(asked) ?? asked
  let structured: PreparedGeneration['structured'] | undefined
  const onPrepared = (how: PreparedGeneration['structured']) => {
    structured = how
  }
  return {
    model: model.id,
    run: (emit) => seal((inner) => run(deps, model, { request, signal, onPrepared, emit: inner }), emit),
    structured: () => structured,
  }
}

type Run = {
  readonly request: GenerationRequest
  readonly signal: AbortSignal
  onPrepared(structured: PreparedGeneration['structured']): void
  readonly emit: Emit<GenerationEvent>
}

async function run(
  { now, validator }: GenerateDeps,
  { engine, admission }: ServedModel,
  { request, signal, onPrepared, emit }: Run,
): Promise<void> {
  const startedMs = now()
  const place = admission.enter()
  try {
    await engine.ensureReady(signal)
    const loadMs = elapsed(startedMs, now())
    const prepared = await engine.prepare(request, signal)
    refuseUnhonoured(request, prepared)
    const check = needsOutputCheck(request.output, prepared) ? await createOutputCheck(validator, request.output) : undefined
    // A stop text may end an answer in the middle of what would have been checked.
    onPrepared(check?.isWhole === true && request.stop.length === 0 ? 'validated' : prepared.structured)
    const tools = request.prompt.type === 'chat' ? callableTools(request.prompt.tools, request.toolChoice) : []
    const callCheck = needsCallCheck(tools, prepared) ? await createCallCheck(validator, tools, signal) : undefined
    const queuedMs = now()
    await place.takeSlot(signal)
    const queueMs = elapsed(queuedMs, now())
    const onEvent = createTranslator({ now, request, prepared, check, callCheck, startedMs, timings: { queueMs, loadMs }, emit })
    await prepared.run(signal, (event) => {
      // An engine that ignores its signal must not keep a reply going that nobody wants.
      if (signal.aborted) throw AppError.from(signal.reason)
      return onEvent(event)
    })
  } finally {
    place.leave()
  }
}

/** What an engine has to know of to honour is refused where it does not say that it does. */
function refuseUnhonoured(request: GenerationRequest, { tellsPrompt, keepsMinimum }: PreparedGeneration): void {
  const engine = `the engine of model '${request.model}'`
  if (request.promptTokens !== undefined && tellsPrompt !== true) {
    const message =
      `${engine} does not tell the tokens of a prompt: leave out echo, or send the prompt as text, without logprobs and with ` +
      'at least one token to generate'
    throw new AppError('unsupported-field', message, { param: 'echo' })
  }
  if (request.minOutputTokens !== undefined && keepsMinimum !== true) {
    const message = `${engine} knows no minimum of output tokens: leave min_tokens out`
    throw new AppError('unsupported-field', message, { param: 'min_tokens' })
  }
}
