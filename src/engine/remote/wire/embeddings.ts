import type { Embeddings, EmbedInput, Ranking, RankRequest } from '../../../contract/engine.ts'
import { AppError } from '../../../contract/errors.ts'
import type { UpstreamAccess } from '../servers/upstream.ts'
import { asArray, asCount, asObject } from '../transport/loose-json.ts'

/** Vectors of texts or tokens, in their order. */
export async function embedRemotely(
  inputs: readonly EmbedInput[],
  { client, endpoint, upstream, signal }: UpstreamAccess,
): Promise<Embeddings> {
  const input = inputs.map((one) => (one.type === 'text' ? one.text : one.tokens))
  const body = { model: upstream.model, input, encoding_format: 'float' }
  const reply = asObject(await client.work(endpoint, { method: 'POST', path: '/embeddings', body }, signal))
  const vectors: (Float32Array | undefined)[] = inputs.map(() => undefined)
  for (const [position, entry] of asArray(reply?.data).entries()) {
    const found = asObject(entry)
    const index = asCount(found?.index) ?? position
    if (index < vectors.length) vectors[index] = Float32Array.from(asArray(found?.embedding).map(Number))
  }
  const whole = vectors.filter((vector) => vector !== undefined && vector.length > 0) as Float32Array[]
  if (whole.length !== inputs.length) throw lacking(inputs.length, whole.length)
  return { vectors: whole, inputTokens: asCount(asObject(reply?.usage)?.prompt_tokens) ?? 0 }
}

/** The query, without which no server scores texts: throws `unsupported-field` when there is none. */
export function queryOf({ query }: RankRequest): string {
  if (query !== undefined) return query
  const message = 'the server behind this model scores texts for a query only: send one, or choose another model'
  throw new AppError('unsupported-field', message, { param: 'query' })
}

/** Scores of texts for a query, in their order. */
export async function rankRemotely(
  { query, texts }: Required<RankRequest>,
  { client, endpoint, upstream, signal }: UpstreamAccess,
): Promise<Ranking> {
  const body = { model: upstream.model, query, documents: texts }
  const said = await client.work(endpoint, { method: 'POST', path: '/rerank', body }, signal)
  const reply = asObject(said)
  // SGLang answers with the bare list.
  const results = asArray(reply === undefined ? said : reply.results)
  const scores: (number | undefined)[] = texts.map(() => undefined)
  for (const entry of results) {
    const found = asObject(entry)
    const index = asCount(found?.index)
    const score = found?.relevance_score ?? found?.score
    if (index !== undefined && index < scores.length && typeof score === 'number') scores[index] = score
  }
  const whole = scores.filter((score) => score !== undefined)
  if (whole.length !== texts.length) throw lacking(texts.length, whole.length)
  const areProbabilities = upstream.profile.ranksByLogits !== true
  return { scores: whole, areProbabilities, inputTokens: asCount(asObject(reply?.usage)?.prompt_tokens) ?? 0 }
}

function lacking(wanted: number, found: number): AppError {
  return new AppError('engine-failed', `the server behind this model answered for ${found} of ${wanted} inputs`)
}
