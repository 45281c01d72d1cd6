import { expect, test } from 'vitest'
import { decodeStackRerank } from './rerank.ts'

const body = { model: 'm', query: { type: 'text', text: 'q' }, items: ['a', { text: 'b' }, { type: 'text', text: 'c' }] }

test('query and items are texts or text parts, and results are the best first, as many as wanted', () => {
  const { model, request, ignored, encode } = decodeStackRerank({ ...body, max_num_results: 2, priority: 1 })
  expect({ model, request, ignored }).toEqual({
    model: 'm',
    request: { query: 'q', texts: ['a', 'b', 'c'] },
    ignored: ['priority'],
  })
  expect(encode({ scores: [0, 2, -2], areProbabilities: false, inputTokens: 9, model: 'served' })).toEqual({
    data: [
      { index: 1, relevance_score: 1 / (1 + Math.exp(-2)) },
      { index: 0, relevance_score: 0.5 },
    ],
  })
})

test.each([
  ['an image as the query', { query: { image_url: { url: 'data:' } } }, 'query', 'unsupported-field'],
  ['an image as an item', { items: ['a', { type: 'image_url', image_url: { url: 'x' } }] }, 'items[1]', 'unsupported-field'],
  ['an item without a text', { items: [{ type: 'text' }] }, 'items[0].text', 'invalid-request'],
  ['an empty item', { items: [''] }, 'items[0]', 'invalid-request'],
  ['no item', { items: [] }, 'items', 'invalid-request'],
  ['no result', { max_num_results: 0 }, 'max_num_results', 'invalid-request'],
])('%s is refused by name', (_, fields, param, code) => {
  expect(() => decodeStackRerank({ ...body, ...fields })).toThrow(expect.objectContaining({ param, code }))
})

test('a failure names the field of the client', () => {
  const { nameOf } = decodeStackRerank(body)
  expect([nameOf(['texts', 1]), nameOf(['texts']), nameOf(['model']), nameOf(['query'])]).toEqual([
    'items[1]',
    'items',
    'model',
    'query',
  ])
})
