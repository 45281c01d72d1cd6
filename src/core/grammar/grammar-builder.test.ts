import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/gbnf-matcher.ts'
import { checkGbnf } from './check-gbnf.ts'
import { createGrammarBuilder } from './grammar-builder.ts'
import { createGrammarCache } from './grammar-cache.ts'

const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { $ref: '#/$defs/days' } },
  required: ['city'],
  $defs: { days: { type: 'integer', minimum: 1, maximum: 14 } },
}

describe('a grammar of several parts', () => {
  test('schemas, patterns and given texts stand together', () => {
    const builder = createGrammarBuilder()
    const first = builder.addSchema(weather, { name: 'weather' })
    const second = builder.addSchema({ type: 'object', properties: { query: { type: 'string' } }, required: ['query'] })
    const date = builder.addRegex('\\d{4}')
    const call = builder.addRule('call', `${builder.literal('a "b"\\ ')} ${first} | ${builder.literal('c ')} ${second}`)
    const { grammar, enforcement } = builder.build(`${call} ("," ${call})* ${date}`)
    checkGbnf(grammar)
    expect(enforcement).toBe('full')
    const matcher = createMatcher(grammar)
    expect(matcher.matches('a "b"\\ {"city":"x","days":14},c {"query":""}2024')).toBe(true)
    expect(matcher.matches('a "b"\\ {"city":"x","days":15}2024')).toBe(false)
  })

  test('a part of a schema keeps the references of the whole', () => {
    const builder = createGrammarBuilder()
    const days = builder.addSchema(weather.properties.days, { document: weather })
    const matcher = createMatcher(builder.build(days).grammar)
    expect([matcher.matches('14'), matcher.matches('15')]).toEqual([true, false])
  })

  test('equal parts are one rule', () => {
    const builder = createGrammarBuilder()
    const names = [1, 2, 3].map(() => builder.addSchema(structuredClone(weather), { name: 'weather' }))
    expect(new Set(names).size).toBe(1)
  })

  test('a strict schema does not make the others strict', () => {
    const builder = createGrammarBuilder()
    builder.addSchema({ type: 'array', uniqueItems: true })
    builder.addSchema(weather, { strict: true })
    expect(() => builder.addSchema({ type: 'array', uniqueItems: true }, { strict: true, param: 'tools[1]' })).toThrow(
      expect.objectContaining({ code: 'unsupported-field', param: 'tools[1].uniqueItems' }),
    )
  })

  test('the limits hold for all parts together', () => {
    const builder = createGrammarBuilder({ grammarChars: 2000 })
    const add = (index: number): string =>
      builder.addSchema({ type: 'object', properties: { [`key${index}`]: { enum: ['a'.repeat(300)] } } })
    add(1)
    expect(() => [2, 3, 4, 5, 6].map(add)).toThrow(expect.objectContaining({ code: 'unsupported-field', status: 400 }))
  })
})

describe('the cache', () => {
  const made = (grammar: string) => ({ grammar, enforcement: 'full', unenforced: [] }) as const
  test('a grammar is made once for equal keys, and forgotten when others were used since', () => {
    const cache = createGrammarCache({ entries: 2 })
    const log: string[] = []
    const find = (key: string) =>
      cache.find({ key }, () => {
        log.push(key)
        return made(key)
      })
    for (const key of ['a', 'a', 'b', 'a', 'c', 'a', 'b']) expect(find(key).grammar).toBe(key)
    expect(log).toEqual(['a', 'b', 'c', 'b'])
  })

  test('many characters are forgotten even when there are few grammars', () => {
    const cache = createGrammarCache({ chars: 10 })
    let count = 0
    const make = () => {
      count++
      return made('123456')
    }
    for (const key of [1, 2, 1]) cache.find(key, make)
    expect(count).toBe(3)
  })
})
