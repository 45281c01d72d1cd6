import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { embeddings, faultOf, openaiError, ranking } from '../probe/forms.ts'
import { at, listAt, numberAt } from '../probe/read.ts'
import { answered, finding, holds, moderate, rowsOf, severe, short, slight } from '../probe/row.ts'

const texts = ['The sea is blue.', 'A cat sleeps on the chair.', 'Numbers are not words.']
export const embeddingBase = ({ vectorModel: model }: Server, more: object = {}): Ask => ({
  path: '/v1/embeddings',
  body: { model, input: texts, encoding_format: 'float', ...more },
})
export const rankingBase = ({ vectorModel: model }: Server, more: object = {}): Ask => ({
  path: '/v1/rerank',
  body: { model, query: 'Which animal sleeps?', documents: texts, ...more },
})
const optional = { isOptional: true }

const vectorAt = (reply: Exchange | undefined, index: number) =>
  listAt(reply?.json, `data.${index}.embedding`) as readonly number[]

function cosine(one: readonly number[], two: readonly number[]): number {
  const dot = (a: readonly number[], b: readonly number[]) => a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0)
  return dot(one, two) / Math.sqrt(dot(one, one) * dot(two, two))
}

const scoresOf = (reply: Exchange | undefined) =>
  listAt(reply?.json, 'results').map((result) => numberAt(result, 'relevance_score') ?? Number.NaN)

export const embeddingRows = rowsOf('embeddings', {
  form: [
    severe('Each input has a vector, and the tokens are counted.', 'every search of documents'),
    answered((server) => embeddingBase(server))(([reply]) => faultOf(embeddings, reply.json)),
  ],
  order: [
    severe(
      'The vectors have the order and the indices of the inputs.',
      'every search of documents: texts get the vectors of others',
    ),
    answered((server) => [embeddingBase(server), ...texts.map((input) => embeddingBase(server, { input }))])(
      ([all, ...single]) => {
        const indices = listAt(all.json, 'data').map((entry) => at(entry, 'index'))
        if (indices.join() !== '0,1,2') return `the indices are ${indices.join(', ')}`
        const odd = texts.findIndex((_, index) => !(cosine(vectorAt(all, index), vectorAt(single[index], 0)) > 0.99))
        return odd === -1 ? undefined : `the vector of input ${odd} among others is not that of the input alone`
      },
    ),
  ],
  different: [
    severe('Different texts have different vectors of the same length.', 'every search of documents'),
    answered((server) => embeddingBase(server))(([reply]) => {
      const [one, two] = [vectorAt(reply, 0), vectorAt(reply, 1)]
      if (one.length !== two.length) return `they have ${one.length} and ${two.length} numbers`
      return cosine(one, two) > 0.99999 ? 'two texts have the same vector' : undefined
    }),
  ],
  base64: [
    severe('With `base64`, the bytes are the numbers.', "OpenAI's SDKs, which ask for it"),
    answered((server) => [embeddingBase(server), embeddingBase(server, { encoding_format: 'base64' })])(([plain, packed]) => {
      const text = at(packed?.json, 'data.0.embedding')
      if (typeof text !== 'string') return 'they come as a list'
      const bytes = Buffer.from(text, 'base64')
      const numbers = Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readFloatLE(index * 4))
      const wanted = vectorAt(plain, 0)
      return numbers.length === wanted.length && cosine(numbers, wanted) > 0.999
        ? undefined
        : `they are ${numbers.length} other numbers, not ${wanted.length}`
    }),
  ],
  usage: [
    moderate('The tokens of the inputs are counted.', 'those who pay for tokens'),
    answered((server) => [embeddingBase(server, { input: texts[0] }), embeddingBase(server)])(([one, all]) => {
      const [few = 0, many = 0] = [one, all].map((reply) => numberAt(reply?.json, 'usage.prompt_tokens'))
      return few > 0 && many > few ? undefined : `one text counts ${few} tokens, three count ${many}`
    }),
  ],
  dimensions: [
    slight('`dimensions` is honoured or refused.', 'databases with a fixed length'),
    answered(
      (server) => embeddingBase(server, { dimensions: 8 }),
      optional,
    )(([reply]) => (vectorAt(reply, 0).length === 8 ? undefined : `8 are asked for, and ${vectorAt(reply, 0).length} come`)),
  ],
  errors: [
    moderate('An input that is not text is refused with 400.', 'developers'),
    function* (server) {
      const reply = yield embeddingBase(server, { input: { text: 'Hello.' } })
      if (reply.status < 400 || reply.status >= 500) return finding(`the server answers ${reply.status}`)
      const fault = faultOf(openaiError, reply.json)
      return fault === undefined ? holds : finding(`${fault}: ${short(reply.text)}`)
    },
  ],
})

export const rankingRows = rowsOf('rerank', {
  form: [
    severe('Each document has its index and its relevance.', 'searches that rank'),
    answered((server) => rankingBase(server))(([reply]) => {
      const indices = listAt(reply.json, 'results').map((result) => at(result, 'index'))
      return (
        faultOf(ranking, reply.json) ??
        ([...indices].sort().join() === '0,1,2' ? undefined : `the indices are ${indices.join(', ')}`)
      )
    }),
  ],
  sorted: [
    severe('The most relevant comes first.', 'searches that take the first'),
    answered((server) => rankingBase(server))(([reply]) => {
      const scores = scoresOf(reply)
      return scores.every((score, index) => index === 0 || score <= (scores[index - 1] ?? 0))
        ? undefined
        : `the scores are ${scores.join(', ')}`
    }),
  ],
  top: [
    moderate('`top_n` limits the results to the best.', 'searches that take the first'),
    answered((server) => [rankingBase(server), rankingBase(server, { top_n: 1 })])(([all, one]) => {
      const [best, found] = [at(all.json, 'results.0.index'), listAt(one?.json, 'results')]
      return found.length === 1 && at(found[0], 'index') === best
        ? undefined
        : `${found.length} results come, the first is ${at(found[0], 'index')}, the best is ${best}`
    }),
  ],
  indices: [
    severe('The indices are those of the request, in any order of the documents.', 'searches: the wrong document wins'),
    answered((server) => [rankingBase(server), rankingBase(server, { documents: [...texts].reverse() })])(([one, two]) => {
      const scoreOf = (reply: Exchange | undefined, index: number) =>
        numberAt(
          listAt(reply?.json, 'results').find((result) => at(result, 'index') === index),
          'relevance_score',
        ) ?? Number.NaN
      const odd = texts.findIndex(
        (_, index) =>
          !(
            Math.abs(scoreOf(one, index) - scoreOf(two, texts.length - 1 - index)) <
            0.02 * Math.max(1, Math.abs(scoreOf(one, index)))
          ),
      )
      return odd === -1
        ? undefined
        : `document ${odd} has ${scoreOf(one, odd)}, and ${scoreOf(two, texts.length - 1 - odd)} in the reverse order`
    }),
  ],
  empty: [
    slight('A request without documents is refused.', 'developers'),
    function* (server) {
      const { status } = yield rankingBase(server, { documents: undefined })
      return status >= 400 && status < 500 ? holds : finding(`the server answers ${status}`)
    },
  ],
})
