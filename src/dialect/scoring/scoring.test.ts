import { describe, expect, test } from 'vitest'
import { AppError } from '../../contract/errors.ts'
import { field } from '../../contract/field.ts'
import { decodeRerank, decodeScoreEvaluation } from './scoring.ts'

const body = { model: 'm', query: 'q', documents: ['a', { text: 'b' }, 'c'] }
const scored = { scores: [0, 2, -2], areProbabilities: false, inputTokens: 9, model: 'served' }

describe('reranking', () => {
  test('reads texts in both spellings', () => {
    const { request, ignored } = decodeRerank({ ...body, priority: 1 })
    expect(request).toEqual({ query: 'q', texts: ['a', 'b', 'c'] })
    expect(ignored).toEqual(['priority'])
  })

  test('names what it does not know inside documents, each once', () => {
    const documents = ['a', { text: 'b', title: 'B' }, { text: 'c', title: 'C', id: null }]
    expect(decodeRerank({ ...body, documents }).ignored).toEqual(['documents[].title'])
  })

  test('tells probabilities, the best first', () => {
    expect(decodeRerank(body).encode(scored)).toEqual({
      object: 'list',
      model: 'served',
      results: [
        { index: 1, relevance_score: 1 / (1 + Math.exp(-2)) },
        { index: 0, relevance_score: 0.5 },
        { index: 2, relevance_score: 1 / (1 + Math.exp(2)) },
      ],
      usage: { prompt_tokens: 9, total_tokens: 9 },
    })
  })

  test('tells probabilities of the model’s own as they are', () => {
    const own = { ...scored, scores: [0.1, 0.9, 0.1], areProbabilities: true }
    expect(decodeRerank({ ...body, top_n: 2, return_documents: true }).encode(own)).toMatchObject({
      results: [
        { index: 1, relevance_score: 0.9, document: { text: 'b' } },
        { index: 0, relevance_score: 0.1, document: { text: 'a' } },
      ],
    })
  })
})

test.each([
  ['ranking-head', undefined, { method: 'ranking_head' }],
  ['log-likelihood', [3, 0, 2], { method: 'log_likelihood', scored_tokens: [3, 0, 2] }],
] as const)(
  'an evaluation by %s has the raw values in the order of the texts, and says what they are',
  (method, counts, said) => {
    const { request, encode } = decodeScoreEvaluation({ model: 'm', messages: ['x', 'y', 'z'], max_length: 5 })
    expect(request).toEqual({ texts: ['x', 'y', 'z'], maxTokens: 5 })
    const truncated = [false, true, false]
    const result = {
      truncated,
      scores: [0, 2, -2],
      method,
      inputTokens: 9,
      model: 'served',
      ...(counts && { scoredTokens: counts }),
    }
    expect(encode(result)).toEqual({
      id: expect.stringMatching(/^scoreval-[\da-f]{32}$/),
      object: 'score.evaluation',
      model: 'served',
      scores: [0, 2, -2],
      ...said,
      truncated,
      usage: { prompt_tokens: 9, total_tokens: 9 },
    })
  },
)

const evaluation = { model: 'm', messages: ['x', 'y'] }
test.each([
  [`${field('texts', 1)} has 9 tokens`, ['texts', 1], 'documents[1] has 9 tokens', 'documents[1]'],
  [`the limit is 3, but ${field('texts', 0)} has 9`, ['texts', 0], 'the limit is 3, but documents[0] has 9', 'documents[0]'],
  ['no such model', ['model'], 'no such model', 'model'],
])('the failure %j is in the words of the body', (message, at, expected, param) => {
  const error = new AppError('invalid-request', message, { at })
  expect(error.inWordsOf(decodeRerank(body).nameOf)).toMatchObject({ message: expected, param })
  const inEvaluation = { message: expected.replace('documents', 'messages'), param: param.replace('documents', 'messages') }
  expect(error.inWordsOf(decodeScoreEvaluation(evaluation).nameOf)).toMatchObject(inEvaluation)
})
