import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../test/support/llama/gbnf-matcher.ts'
import { createGrammarBuilder } from './grammar-builder.ts'
import { createGrammarCache } from './grammar-cache.ts'
import { checkGbnf } from './rules/check-gbnf.ts'

const weather = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { $ref: '#/$defs/days' } },
  required: ['city'],
  $defs: { days: { type: 'integer', minimum: 1, maximum: 14 } },
}

describe('a grammar of several parts', () => {
  test('a grammar of several parts combines schemas, patterns and literals', () => {
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

  test('a grammar of several parts resolves the references of a part in the whole document', () => {
    const builder = createGrammarBuilder()
    const days = builder.addSchema(weather.properties.days, { document: weather })
    const matcher = createMatcher(builder.build(days).grammar)
    expect([matcher.matches('14'), matcher.matches('15')]).toEqual([true, false])
  })

  test('a grammar of several parts shares the rule of strings with equal conditions, also with gaps', () => {
    const grammarOf = (count: number) => {
      const link = () => ({ type: 'string', format: 'uri', minLength: 1, maxLength: 2083 })
      const properties = Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, link()]))
      const builder = createGrammarBuilder()
      return builder.build(builder.addSchema({ type: 'object', properties }))
    }
    const [one, two] = [grammarOf(1), grammarOf(2)]
    expect(two.grammar.length - one.grammar.length).toBeLessThan(200)
    expect(two.unenforced).toEqual([
      { keyword: 'maxLength', path: '#/properties/p0' },
      { keyword: 'maxLength', path: '#/properties/p1' },
    ])
  })

  test('a grammar of several parts shares the rule of equal schemas', () => {
    const builder = createGrammarBuilder()
    const names = [1, 2, 3].map(() => builder.addSchema(structuredClone(weather), { name: 'weather' }))
    expect(new Set(names).size).toBe(1)
  })

  test('a grammar of several parts shares the rule of schemas that differ in descriptions', () => {
    const builder = createGrammarBuilder()
    const names = ['first', 'second'].map((description) =>
      builder.addSchema(
        {
          type: 'object',
          description,
          properties: { when: { type: 'string', pattern: '^(a|b)*a(a|b){3}$', title: description } },
        },
        { name: 'tool' },
      ),
    )
    expect(new Set(names).size).toBe(1)
  })

  test('a grammar of several parts does not share the rules of schemas with references', () => {
    const builder = createGrammarBuilder()
    const of = (type: string): string =>
      builder.addSchema({ type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'], $defs: { a: { type } } })
    const matcher = createMatcher(builder.build(`${of('null')} "," ${of('boolean')}`).grammar)
    expect(matcher.matches('{"a":null},{"a":true}')).toBe(true)
    expect(matcher.matches('{"a":null},{"a":null}')).toBe(false)
  })

  test('a grammar of several parts reports a gap at each path, also of equal schemas', () => {
    const builder = createGrammarBuilder()
    const list = { type: 'array', uniqueItems: true }
    const add = (names: readonly string[]): string =>
      builder.addSchema({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, { ...list }])) })
    const { unenforced } = builder.build(`${add(['a', 'b'])} ${add(['b', 'c'])}`)
    expect(new Set(unenforced.map(({ path }) => path))).toEqual(new Set(['#/properties/a', '#/properties/b', '#/properties/c']))
  })

  test('a grammar of several parts adds members of one document one by one', () => {
    const builder = createGrammarBuilder()
    const rules = Object.entries(weather.properties).map(([name, schema]) =>
      builder.addSchema(schema, { document: weather, name, rawUntil: '</p>', param: 'tools[0]' }),
    )
    const matcher = createMatcher(builder.build(rules.join(' "|" ')).grammar)
    expect([matcher.matches('Oslo|14'), matcher.matches('Oslo|15')]).toEqual([true, false])
  })

  test('a grammar of several parts shares the rules of raw strings of the same length', () => {
    const lengthOf = (count: number): number => {
      const builder = createGrammarBuilder()
      const parts = Array.from({ length: count }, () => ({ type: 'string', maxLength: 60 }))
      return builder.build(parts.map((part) => builder.addSchema(part, { rawUntil: '</p>' })).join(' ')).grammar.length
    }
    expect(lengthOf(10)).toBeLessThan(lengthOf(1) * 1.5)
  })

  test('a strict schema does not make the others strict', () => {
    const builder = createGrammarBuilder()
    builder.addSchema({ type: 'array', uniqueItems: true })
    builder.addSchema(weather, { strict: true })
    expect(() => builder.addSchema({ type: 'array', uniqueItems: true }, { strict: true, param: 'tools[1]' })).toThrow(
      expect.objectContaining({ kind: 'unsupported-schema', param: 'tools[1].uniqueItems' }),
    )
  })

  test('a grammar of several parts applies the limits to all parts together', () => {
    const builder = createGrammarBuilder({ grammarChars: 2000 })
    const add = (index: number): string =>
      builder.addSchema({ type: 'object', properties: { [`key${index}`]: { enum: ['a'.repeat(300)] } } })
    add(1)
    expect(() => [2, 3, 4, 5, 6].map(add)).toThrow(expect.objectContaining({ kind: 'grammar-too-large' }))
  })
})

describe('the cache', () => {
  const made = (grammar: string) => ({ grammar, enforcement: 'full', unenforced: [] }) as const
  test('the cache makes a grammar once for equal keys, and drops the least recently used', () => {
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

  test('the cache drops grammars above a number of characters', () => {
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
