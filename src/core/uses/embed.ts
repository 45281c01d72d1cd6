import type { RequestContext } from '../../contract/context.ts'
import type { EmbedRequest, EmbedResult, Engine } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import { estimatePrompt } from '../estimate-tokens.ts'
import { originOf } from '../origin-of.ts'
import { takeSlot } from '../take-slot.ts'
import { workInTime } from '../time-limits.ts'
import { cutToFit } from './cut-to-fit.ts'
import { withTicket } from './with-ticket.ts'

/** Computes embeddings on a slot of the model. Rejects with the engine's refusals. */
export async function embed({ inputs, cuts, ...rest }: EmbedRequest, context: RequestContext): Promise<EmbedResult> {
  if (cuts !== true) return embedAll({ inputs, ...rest }, context)
  const { result, cut } = await cutToFit(inputs, (fitting) => embedAll({ inputs: fitting, ...rest }, context), context)
  return { ...result, cut }
}

function embedAll({ inputs, dimensions, callerKeys }: EmbedRequest, context: RequestContext): Promise<EmbedResult> {
  const { signal } = context
  return withTicket(context, async ({ id, engine, ticket }) => {
    const { embedder } = engine.capabilities
    if (embedder === undefined) throw cannotEmbed(id)
    await ticket.ready(signal)
    refuseDimensions(dimensions, engine)
    const expected = inputs.reduce((sum, input) => sum + estimatePrompt(input), 0)
    await takeSlot(ticket, { inputTokens: expected, maxOutputTokens: 0 }, context)
    const calledFor = { origin: originOf(context), ...(callerKeys !== undefined && { callerKeys }) }
    const { vectors, inputTokens } = await workInTime(context, () => embedder.embed(inputs, signal, calledFor))
    ticket.charge(inputTokens)
    context.watch?.hasRead(inputTokens)
    signal.throwIfAborted()
    return { model: id, vectors: vectors.map((vector) => shorten(vector, dimensions)), inputTokens }
  })
}

/** The first `dimensions` numbers of a vector, normalized to length 1 unless all are 0. Throws for NaN, and if the vector is shorter. */
export function shorten(vector: Float32Array, dimensions = vector.length): Float32Array {
  refuseMore(dimensions, vector.length)
  const kept = vector.slice(0, dimensions)
  const length = Math.sqrt(kept.reduce((sum, value) => sum + value * value, 0))
  if (!Number.isFinite(length))
    throw new AppError('engine-failed', 'the model returned a vector with values that are not numbers')
  return length === 0 ? kept : kept.map((value) => value / length)
}

/** Refuses before anything is computed, if the engine reports the length of its vectors. */
function refuseDimensions(dimensions: number | undefined, { facts }: Engine): void {
  const { embeddingLength } = facts
  if (dimensions !== undefined && embeddingLength !== undefined) refuseMore(dimensions, embeddingLength)
}

function refuseMore(dimensions: number, length: number): void {
  if (dimensions <= length) return
  const message = `${field('dimensions')} ${dimensions} is more than the model's vectors have: send at most ${length}, or leave it out`
  throw new AppError('invalid-request', message, { at: ['dimensions'] })
}

function cannotEmbed(id: string): AppError {
  return new AppError('invalid-request', `the engine of model '${id}' does not compute embeddings; choose another model`, {
    at: ['model'],
  })
}
