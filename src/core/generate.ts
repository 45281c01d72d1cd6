import { createCallCheck } from './check-calls.ts'
import { createOutputCheck } from './check-output.ts'
import type { Engine, PreparedGeneration } from './engine.ts'
import { AppError } from './errors.ts'
import type { GenerationEvent } from './event.ts'
import { createOutputParser } from './parse/output-parser.ts'
import type { GenerationRequest } from './request.ts'
import type { Admission } from './schedule/admission.ts'
import { seal } from './seal.ts'
import type { Validator } from './validation/output-validator.ts'

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

/** The one use case: a request in, a sealed stream of events out. `model` is the id of the model that serves it. */
export type Generation = {
  readonly model: string
  readonly events: AsyncIterable<GenerationEvent>
  /** How the output constraint is kept; known from the first event on. */
  readonly structured: PreparedGeneration['structured'] | undefined
}

/**
 * Resolves the model now (and throws `model-not-found`); everything else happens while the events are read. However the
 * iteration ends, the slot is free again only after the engine has stopped working.
 */
export function generate(deps: GenerateDeps, asked: GenerationRequest, signal: AbortSignal): Generation {
  const model = deps.resolveModel(asked.model)
  const request = deps.presets?.apply(asked) ?? asked
  let structured: PreparedGeneration['structured'] | undefined
  const onPrepared = (how: PreparedGeneration['structured']) => {
    structured = how
  }
  return {
    model: model.id,
    events: seal(run(deps, model, { request, signal, onPrepared })),
    get structured() {
      return structured
    },
  }
}

type Run = {
  readonly request: GenerationRequest
  readonly signal: AbortSignal
  onPrepared(structured: PreparedGeneration['structured']): void
}

async function* run(
  { now, validator }: GenerateDeps,
  { engine, admission }: ServedModel,
  { request, signal, onPrepared }: Run,
): AsyncGenerator<GenerationEvent, void, void> {
  const startedMs = now()
  let firstTokenMs: number | undefined
  const place = admission.enter()
  try {
    await engine.ensureReady(signal)
    const loadMs = elapsed(startedMs, now())
    const prepared = await engine.prepare(request, signal)
    refuseUnhonoured(request, prepared)
    const check = await createOutputCheck(validator, request.output, prepared)
    onPrepared(check === undefined ? prepared.structured : 'validated')
    const queuedMs = now()
    await place.takeSlot(signal)
    const queueMs = elapsed(queuedMs, now())
    const { prompt, toolChoice, parallelToolCalls, output } = request
    const tools = prompt.type === 'chat' ? prompt.tools : []
    const callCheck = createCallCheck(validator, tools, prepared)
    const parser = createOutputParser({ format: prepared.outputFormat, tools, toolChoice, parallelToolCalls, output })
    for await (const event of prepared.run(signal)) {
      // An engine that ignores its signal must not keep a reply going that nobody wants.
      if (signal.aborted) throw AppError.from(signal.reason)
      switch (event.type) {
        case 'raw-text':
          firstTokenMs ??= elapsed(startedMs, now())
          // Not `yield*`: on a generator it costs as much per event as everything else here together (measured).
          for (const parsed of parser.push(event)) {
            check?.see(parsed)
            callCheck?.see(parsed)
            yield parsed
          }
          break
        case 'finish':
          for (const parsed of parser.end(event.choice, event.reason)) {
            check?.see(parsed)
            if (event.reason !== 'length' || parsed.type !== 'tool-call-end') callCheck?.see(parsed)
            yield parsed
          }
          // What was cut off says so itself, and a call is no text.
          if (event.reason === 'stop' && parser.calls(event.choice) === 0) await check?.judge(event.choice)
          await callCheck?.judge(event.choice, event.reason)
          // An engine cannot know that its text was a call.
          yield event.reason === 'stop' && parser.calls(event.choice) > 0 ? { ...event, reason: 'tool-calls' } : event
          break
        case 'reasoning-start':
          for (const parsed of parser.interrupt(event.choice)) yield parsed
          yield event
          break
        case 'text-delta':
        case 'reasoning-delta':
        case 'tool-call-start':
          // What the engine tells as a call comes behind the text that it left to be read.
          if (event.type === 'tool-call-start') {
            for (const parsed of parser.interrupt(event.choice)) {
              check?.see(parsed)
              callCheck?.see(parsed)
              yield parsed
            }
          }
          check?.see(event)
          callCheck?.see(event)
          firstTokenMs ??= elapsed(startedMs, now())
          yield event
          break
        case 'tool-call-delta':
        case 'tool-call-end':
          callCheck?.see(event)
          yield event
          break
        case 'usage':
          yield {
            ...event,
            // What the engine counted is exact; ours takes a piece of text for a token.
            usage: event.usage.reasoningTokens > 0 ? event.usage : { ...event.usage, reasoningTokens: parser.reasoningTokens },
            timings: { queueMs, loadMs, ...event.timings, ...(firstTokenMs !== undefined && { firstTokenMs }) },
          }
          break
        case 'prompt-read':
        case 'prompt-tokens':
        case 'text-start':
        case 'text-end':
        case 'reasoning-end':
        case 'error':
          yield event
          break
      }
    }
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

function elapsed(fromMs: number, toMs: number): number {
  return Math.round(toMs - fromMs)
}
