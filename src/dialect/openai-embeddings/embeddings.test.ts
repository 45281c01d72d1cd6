import { expect, test } from 'vitest'
import type { CanonicalPath } from '../../contract/field.ts'
import { decodeEmbeddings, embeddingRequestSchema } from './embeddings.ts'
import { embeddingFields } from './fields.ts'

const body = { model: 'm', input: 'a' }

test('the field table and the schema have the same fields', () => {
  const accepted = embeddingFields.filter(({ treatment }) => treatment !== 'refused').map(({ name }) => name)
  expect(Object.keys(embeddingRequestSchema.shape).sort()).toEqual(accepted.sort())
})

test.each<[object, object]>([
  [{ dimensions: 5 }, { request: { dimensions: 5 } }],
  [{ encoding_format: 'base64' }, { format: 'base64' }],
  [{ model: 'other' }, { request: { model: 'other' } }],
  [{ input: [[1], [2]] }, { request: { inputs: [{ tokens: [1] }, { tokens: [2] }] } }],
  [{ input: [1, 2] }, { request: { inputs: [{ tokens: [1, 2] }] } }],
  [{ input: ['a', [1]] }, { request: { inputs: [{ text: 'a' }, { tokens: [1] }] } }],
])('%j changes the request', (fields, expected) => {
  expect(decodeEmbeddings({ ...body, ...fields })).toMatchObject(expected)
})

test.each<[string, unknown, string]>([
  ['none', [], 'at least one input'],
  ['many texts', Array(2049).fill('a'), 'at most 2048 inputs'],
  ['many lists of token ids', Array(2049).fill([1]), 'at most 2048 inputs'],
])('of %s, the number is what is wrong', (_, input, expected) => {
  expect(() => decodeEmbeddings({ ...body, input })).toThrow(`input: expected ${expected}, got `)
})

test.each(['input_type', 'task', 'prompt_name', 'instruction', 'truncate_prompt_tokens'])(
  '%s, which would change the vectors, is refused',
  (name) => {
    expect(() => decodeEmbeddings({ ...body, [name]: 'query' })).toThrow(
      expect.objectContaining({ code: 'unsupported-field', param: name }),
    )
  },
)

test('nulls, and who the end user is, change nothing; what is not known is named', () => {
  const nameOf = expect.any(Function)
  const plain = { request: { model: 'm', inputs: [{ type: 'text', text: 'a' }] }, format: 'float', ignored: [], nameOf }
  expect(decodeEmbeddings(body)).toEqual(plain)
  expect(decodeEmbeddings({ ...body, dimensions: null, encoding_format: null, user: 'u' })).toEqual(plain)
  expect(decodeEmbeddings({ ...body, more: 'query' })).toEqual({ ...plain, ignored: ['more'] })
})

test.each<[unknown, CanonicalPath, string]>([
  ['a', ['inputs', 0], 'input'],
  [[1, 2], ['inputs', 0], 'input'],
  [['a'], ['inputs', 0], 'input'],
  [['a', 'b'], ['inputs', 1], 'input[1]'],
  [[[1], [2]], ['inputs', 1], 'input[1]'],
  [['a', 'b'], ['inputs'], 'input'],
  ['a', ['dimensions'], 'dimensions'],
  ['a', ['model'], 'model'],
])('of the input %j, the caller knows %j as %s', (input, path, name) => {
  expect(decodeEmbeddings({ ...body, input }).nameOf(path)).toBe(name)
})
