import type { Emit } from '../base/emit.ts'
import { isObject } from '../base/json.ts'
import { unlessLong } from '../base/turn.ts'
import { addUsage } from '../canonical/add-usage.ts'
import { mergeSampling } from '../canonical/merge-sampling.ts'
import type { RequestContext } from '../contract/context.ts'
import { AppError } from '../contract/errors.ts'
import type { FinishReason, GenerationEvent, Usage } from '../contract/event.ts'
import type { JsonObject } from '../contract/request.ts'
import type { Sampling } from '../contract/sampling.ts'
import type { ResponseStatus, StoredItem } from '../contract/store.ts'
import { finishOfCancelled } from '../core/run-observer.ts'
import type { DecodedResponse } from '../dialect/openai-responses/decode.ts'
import { createResponseEncoder, type ResponseEncoder, type ResponseEvent } from '../dialect/openai-responses/encode/encoder.ts'
import { withSampling } from '../dialect/openai-responses/response-head.ts'
import { type CompactedLong, type Compaction, compact, compactLong } from './compaction.ts'
import type { ResponsesDeps } from './deps.ts'
import { EventWriter } from './event-writer.ts'
import { generateFitting } from './fitting.ts'
import type { FoundReferences } from './references.ts'
import { isOver } from './settled.ts'

type RunParts = {
  readonly decoded: DecodedResponse
  readonly references: FoundReferences
  readonly context: RequestContext
  readonly createdAtMs: number
  /** False: a warm-up, which generates nothing. */
  readonly generates: boolean
  /** Called once, when the run is closed. */
  release(): void
}

export type RunListener = {
  /** Called with each canonical event before it is encoded. */
  observe(event: GenerationEvent): void
  emit: Emit<readonly ResponseEvent[]>
}

/** The sampling of a response: its own, and the defaults of the operator and of the model, as far as known. */
function samplingOf({ presets }: ResponsesDeps, { decoded: { request }, context }: RunParts): Sampling {
  return mergeSampling(context.model.engine.facts.sampling ?? {}, (presets?.apply(request) ?? request).sampling)
}

/** A background response is presumed dead after this long without a heartbeat of its process. */
export const leaseMs = 15_000

const noTokens = { inputTokens: 0, cachedInputTokens: 0, outputTokens: 0, reasoningTokens: 0 }

/** One response, from its request to its stored form. Close it. */
export class ResponseRun {
  readonly parts: RunParts
  readonly encoder: ResponseEncoder
  readonly #deps: ResponsesDeps
  /** Only for background streams, which can be resumed in another process. */
  readonly #writer: EventWriter | undefined
  #isStored = false
  /** The store failed when the response was last written. */
  isUnstored = false
  /** The items that `truncation: auto` hid from the model. */
  dropped: readonly string[] = []

  constructor(deps: ResponsesDeps, parts: RunParts) {
    this.#deps = deps
    this.parts = parts
    const { background, stream, head, style } = parts.decoded
    this.encoder = createResponseEncoder({ head: withSampling(head, samplingOf(deps, parts)), style })
    if (deps.store !== undefined && background && stream) {
      const onFailure = (error: unknown) => deps.onFailure(error, 'the events of a response could not be stored', this.id)
      this.#writer = new EventWriter({ id: this.id, responses: deps.store.responses, onFailure })
    }
  }

  get id(): string {
    return this.parts.context.id
  }

  get owner(): string {
    return this.parts.context.principal.id
  }

  get status(): ResponseStatus {
    return this.encoder.status
  }

  snapshot(): JsonObject {
    const snapshot = this.encoder.snapshot()
    return this.isUnstored ? unstored(snapshot) : snapshot
  }

  /** Input and output with everything before: the history of a response that continues this one. */
  get history(): readonly StoredItem[] {
    const { references, decoded } = this.parts
    return [...references.history, ...decoded.input(), ...this.encoder.output]
  }

  /** Begins as a background response. Rejects when it cannot be stored. */
  async queue(emit: Emit<readonly ResponseEvent[]>): Promise<void> {
    const events = this.encoder.queued()
    await this.#save()
    this.#writer?.add(events)
    await emit(events)
  }

  /**
   * Generates. The response is stored before its last events are emitted. Rejects for failures before the first event after the start, with
   * nothing stored; later failures are in the last events.
   */
  async run({ observe, emit }: RunListener): Promise<void> {
    const { decoded, context, generates } = this.parts
    const { isCompactionTriggered: isTriggered } = decoded
    await unlessLong()
    const { long, compaction, cancelled } = await this.#compact()
    const onEvent = (given: GenerationEvent) => {
      const event = withUsage(given, compaction?.usage)
      observe(event)
      const encoded = this.#encode(event)
      if (isOver(this.status)) return this.#end(encoded, emit)
      const isStart = event.type === 'start'
      const events = isStart && compaction !== undefined ? [...encoded, ...this.encoder.add(compaction.item)] : encoded
      this.#writer?.add(events)
      return isStart && decoded.background ? this.#trySave().then(() => emit(events)) : emit(events)
    }
    if (!generates || isTriggered || cancelled !== undefined) {
      for (const event of emptyGeneration(context.model.id, cancelled)) await onEvent(event)
      return
    }
    const onDropped = (ids: readonly string[]) => {
      this.dropped = ids
    }
    await generateFitting(this.#deps, long?.decoded ?? decoded, { context, emit: onEvent, onDropped })
  }

  /** `cancelled`: how the response ends if it was cancelled meanwhile. */
  async #compact(): Promise<{ long?: CompactedLong; compaction?: Compaction; cancelled?: FinishReason }> {
    const { decoded, context, generates } = this.parts
    if (!generates) return {}
    try {
      if (decoded.isCompactionTriggered) return { compaction: await compact(this.#deps, decoded.request, context) }
      const long = await compactLong(this.#deps, decoded, context)
      return long === undefined ? {} : { long, compaction: long }
    } catch (error) {
      const cancelled = finishOfCancelled(context.signal)
      if (cancelled === undefined) throw error
      return { cancelled }
    }
  }

  /** Ends a response that `run` rejected, and whose caller knows. */
  async fail(thrown: unknown, { observe, emit }: RunListener): Promise<void> {
    if (isOver(this.status)) return
    const event: GenerationEvent = { type: 'error', error: AppError.from(thrown) }
    observe(event)
    await this.#end(this.#encode(event), emit)
  }

  close(): void {
    this.parts.release()
  }

  #encode(event: GenerationEvent): readonly ResponseEvent[] {
    if (event.type !== 'error') return this.encoder.encode(event)
    if (event.error.code === 'cancelled') return this.encoder.cancelled()
    const { decoded, context } = this.parts
    const error = this.#deps.shownTo(context.principal, event.error.inWordsOf(decoded.nameOf))
    return this.encoder.encode({ type: 'error', error })
  }

  async #end(events: readonly ResponseEvent[], emit: Emit<readonly ResponseEvent[]>): Promise<void> {
    this.#writer?.add(events)
    await this.#writer?.flush()
    await this.#trySave()
    await emit(this.isUnstored ? events.map(ofUnstored) : events)
  }

  /** The caller gets its reply even if it cannot be stored: a response that continues it is then refused. */
  async #trySave(): Promise<void> {
    try {
      await this.#save()
      this.isUnstored = false
    } catch (error) {
      this.isUnstored = true
      this.#deps.onFailure(error, 'a response could not be stored', this.id)
    }
  }

  async #save(): Promise<void> {
    const { store, wallClock } = this.#deps
    const { decoded, references, createdAtMs } = this.parts
    if (store === undefined || !decoded.store) return
    // It was deleted while it ran, perhaps by another process, and must not return.
    if (this.#isStored && (await store.responses.find(this.owner, this.id)) === undefined) return
    const { previousId, conversationId } = references
    const { output: _, ...json } = this.snapshot()
    await store.responses.save({
      id: this.id,
      owner: this.owner,
      createdAtMs,
      status: this.status,
      json,
      input: decoded.input(),
      output: this.encoder.output,
      ...(previousId !== undefined && { previousId }),
      ...(conversationId !== undefined && { conversationId }),
      ...(!isOver(this.status) && { leaseUntilMs: wallClock() + leaseMs }),
    })
    this.#isStored = true
  }
}

/** The response of an event tells its reader that it cannot be continued. */
function ofUnstored(event: ResponseEvent): ResponseEvent {
  return isObject(event.response) ? { ...event, response: unstored(event.response) } : event
}

function unstored(response: JsonObject): JsonObject {
  return { ...response, store: false }
}

function withUsage(event: GenerationEvent, more: Usage | undefined): GenerationEvent {
  return event.type === 'usage' && more !== undefined ? { ...event, usage: addUsage(event.usage, more) } : event
}

function emptyGeneration(model: string, reason: FinishReason = 'stop'): readonly GenerationEvent[] {
  return [
    { type: 'start', model, warnings: [] },
    { type: 'finish', choice: 0, reason },
    { type: 'usage', usage: noTokens, timings: {} },
  ]
}
