import { describe, expect, test } from 'vitest'
import { decodeMetadata, encodePage, readListQuery, readPageQuery } from './lists.ts'

describe('metadata', () => {
  test('replaces what was there; null is none', () => {
    expect(decodeMetadata({ metadata: { a: 'b' } })).toEqual({ a: 'b' })
    expect(decodeMetadata({ metadata: null })).toEqual({})
  })

  test.each<[string, object]>([
    ['17 pairs', Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`key${index}`, 'a']))],
    ['a key of 65 characters', { ['k'.repeat(65)]: 'a' }],
    ['a value of 513 characters', { a: 'v'.repeat(513) }],
    ['a number', { a: 1 }],
  ])('with %s is refused by name', (_, metadata) => {
    expect(() => decodeMetadata({ metadata })).toThrow(
      expect.objectContaining({ code: 'invalid-request', param: expect.stringMatching(/^metadata/) }),
    )
  })

  test('may have 16 pairs of 64 and 512 characters', () => {
    const pairs = Array.from({ length: 16 }, (_, index) => [String(index).padStart(64, 'k'), 'v'.repeat(512)])
    const metadata = Object.fromEntries(pairs)
    expect(decodeMetadata({ metadata })).toEqual(metadata)
  })
})

describe('a page', () => {
  test('has the first 20 by default, in the order of its list', () => {
    expect(readPageQuery({}, 'asc')).toEqual({ limit: 20, order: 'asc' })
    expect(readPageQuery({ after: 'x', limit: '3', order: 'desc' }, 'asc')).toEqual({ after: 'x', limit: 3, order: 'desc' })
  })

  test.each([
    ['limit', '0'],
    ['limit', '1001'],
    ['limit', 'x'],
    ['order', 'up'],
  ])('with %s %s is refused by name', (param, value) => {
    expect(() => readPageQuery({ [param]: value }, 'asc')).toThrow(expect.objectContaining({ param }))
  })

  test('names its first and its last element, or none', () => {
    expect(encodePage([1, 2], { ids: ['a', 'b'], hasMore: true })).toMatchObject({ first_id: 'a', last_id: 'b', has_more: true })
    expect(encodePage([], { ids: [], hasMore: false })).toMatchObject({ data: [], first_id: '', last_id: '' })
  })
})

describe('a list', () => {
  const read = (query: object) => readListQuery(query, { defaultOrder: 'asc', namesOf: (model) => [model, 'served'] }).filter

  test('is of everything, of the names of one model, or with entries in the metadata', () => {
    expect(read({ limit: '3' })).toEqual({})
    expect(read({ model: 'alias' })).toEqual({ models: ['alias', 'served'] })
    expect(read({ 'metadata[a]': '1', 'metadata[b[c]]': '' })).toEqual({ metadata: { a: '1', 'b[c]': '' } })
  })

  test('with two values for one entry is refused', () => {
    expect(() => read({ 'metadata[a]': ['1', '2'] })).toThrow(expect.objectContaining({ param: 'metadata.a' }))
  })
})
