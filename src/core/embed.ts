import type { EmbedRequest, EmbedResult } from '../contract/embed.ts'
import type { Engine } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import type { GenerateDeps } from './generate.ts'
import { withPlace } from './with-place.ts'

/** Embeds while holding a slot, like any generation. Throws `model-not-found` and what the engine refuses. */
export function embed(deps: GenerateDeps, request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
  const { inputs, dimensions } = request
  return withPlace(deps, request.model, async ({ id, engine, takeSlot }) => {
    if (engine.embed === undefined) throw cannotEmbed(id)
    await engine.ensureReady(signal)
    refuseDimensions(dimensions, engine)
    await takeSlot(signal)
    const { vectors, inputTokens } = await engine.embed(inputs, signal)
    signal.throwIfAborted()
    return { model: id, vectors: vectors.map((vector) => shorten(vector, dimensions)), inputTokens }
  })
}

/** The first `dimensions` numbers of a vector, made as long as 1; a vector of nothing but zeros stays what it is. Throws for NaN, and for more than there are. */
export function shorten(vector: Float32Array, dimensions = vector.length): Float32Array {
  refuseMore(dimensions, vector.length)
  const kept = vector.slice(0, dimensions)
  const length = Math.hypot(...kept)
  if (!Number.isFinite(length)) throw new AppError('engine-failed', 'the model made a vector with values that are no numbers')
  return length === 0 ? kept : kept.map((value) => value / length)
}

/** Before anything is computed, where the engine knows. */
function refuseDimensions(dimensions: number | undefined, { facts }: Engine): void {
  const { embeddingLength } = facts
  if (dimensions !== undefined && embeddingLength !== undefined) refuseMore(dimensions, embeddingLength)
}

function refuseMore(dimensions: number, length: number): void {
  if (dimensions <= length) return
  const message = `dimensions ${dimensions} is more than the model's vectors have: send at most ${length}, or leave it out`
  throw new AppError('invalid-request', message, { param: 'dimensions' })
}

function cannotEmbed(id: string): AppError {
  return new AppError('invalid-request', `the engine of model '${id}' computes no embeddings; choose another model`, {
    param: 'model',
  })
}
