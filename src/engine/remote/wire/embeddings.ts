import { unlessLong } from '../../../base/turn.ts'
import type { Embeddings, EmbedInput, Ranking, RankRequest } from '../../../contract/engine.ts'
import { AppError } from '../../../contract/errors.ts'
import type { UpstreamAccess } from '../servers/upstream.ts'
import { asArray, asCount, asObject } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** The vectors of the inputs, in their order. */
export async function embedRemotely(
  inputs: readonly EmbedInput[],
  { client, endpoint, upstream, headers, signal }: UpstreamAccess,
): Promise<Embeddings> {
  const input = inputs.map((one) => (one.type === 'text' ? one.text : one.tokens))
  const body = { model: upstream.model, input, encoding_format: 'float' }
  const work = client.work(
    endpoint,
    { method: 'POST', path: '/embeddings', below: upstream.profile.below, body, headers },
    signal,
  )
  const reply = asObject(await work.catch((error: unknown) => notOffered(error, upstream, 'makes no embeddings')))
  const vectors: (Float32Array | undefined)[] = inputs.map(() => undefined)
  for (const [position, entry] of asArray(reply?.data).entries()) {
    const found = asObject(entry)
    const index = asCount(found?.index) ?? position
    if (index < vectors.length) vectors[index] = Float32Array.from(asArray(found?.embedding), Number)
    await unlessLong()
  }
  for (const vector of vectors) {
    await unlessLong()
    if (vector === undefined || vector.every(Number.isFinite)) continue
    throw new AppError('upstream-failed', 'the server behind this model sent a vector with values that are not numbers')
  }
  const complete = vectors.filter((vector) => vector !== undefined && vector.length > 0) as Float32Array[]
  if (complete.length !== inputs.length) throw incomplete(inputs.length, complete.length)
  return { vectors: complete, inputTokens: asCount(asObject(reply?.usage)?.prompt_tokens) ?? 0 }
}

/** The query, which every server requires: throws `unsupported-field` without one. */
export function queryOf({ query }: RankRequest): string {
  if (query !== undefined) return query
  const message = 'the server behind this model scores texts for a query only: send one, or choose another model'
  throw new AppError('unsupported-field', message, { at: ['query'] })
}

/** The scores of the texts for the query, in their order. */
export async function rankRemotely(
  { query, texts }: Required<RankRequest>,
  { client, endpoint, upstream, headers, signal }: UpstreamAccess,
): Promise<Ranking> {
  const body = { model: upstream.model, query, documents: texts }
  const work = client.work(endpoint, { method: 'POST', path: '/rerank', below: upstream.profile.below, body, headers }, signal)
  const json = await work.catch((error: unknown) => notOffered(error, upstream, 'ranks no texts'))
  const reply = asObject(json)
  // SGLang replies with the bare list.
  const results = asArray(reply === undefined ? json : reply.results)
  const scores: (number | undefined)[] = texts.map(() => undefined)
  for (const entry of results) {
    const found = asObject(entry)
    const index = asCount(found?.index)
    const score = found?.relevance_score ?? found?.score
    if (index !== undefined && index < scores.length && typeof score === 'number') scores[index] = score
  }
  const complete = scores.filter((score) => score !== undefined)
  if (complete.length !== texts.length) throw incomplete(texts.length, complete.length)
  const areProbabilities = upstream.profile.ranksByLogits !== true
  return { scores: complete, areProbabilities, inputTokens: asCount(asObject(reply?.usage)?.prompt_tokens) ?? 0 }
}

/** A server without the route, or started without the ability: the model is at fault, not the server. */
function notOffered(error: unknown, { profile }: UpstreamAccess['upstream'], what: string): never {
  const isMissing = error instanceof UpstreamError && error.failure.type === 'status' && error.failure.lacksRoute === true
  if (!isMissing) throw error
  const message = `the server behind this model (${profile.name}) ${what}: ${error.message}; or choose another model`
  throw new AppError('unsupported-field', message, { at: ['model'], cause: error })
}

function incomplete(wanted: number, found: number): AppError {
  return new AppError('upstream-failed', `the server behind this model answered for ${found} of ${wanted} inputs`)
}
