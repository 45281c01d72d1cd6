import { describe, expect, test } from 'vitest'
import { createRegistry } from './registry.ts'

const models = [
  { id: 'small', aliases: ['gpt-4o-mini', 'claude-*', 'a*'] },
  { id: 'large', aliases: ['gpt-4o', 'claude-opus-*', '*', 'b*'] },
  { id: 'claude-small', aliases: ['*-opus', 'a*z', 'x*y*z'] },
]

describe('resolve', () => {
  const registry = createRegistry(models)
  test.each([
    ['small', 'small', 'an exact id'],
    ['gpt-4o', 'large', 'an exact alias'],
    ['claude-small', 'claude-small', 'an id that a pattern also matches'],
    ['claude-haiku-4', 'small', 'a pattern'],
    ['claude-opus-4', 'large', 'the longer of two patterns'],
    ['my-opus', 'claude-small', 'a pattern that begins with *'],
    ['claude-opus', 'small', 'the longer pattern, wherever its * is'],
    ['abcz', 'claude-small', 'a pattern with * in the middle'],
    ['x1y2z', 'claude-small', 'a pattern with two *'],
    ['xyz', 'claude-small', 'a * that matches nothing'],
    ['xz', 'large', 'the pattern that matches everything'],
    ['small:latest', 'small', 'an exact id with the default tag, before a pattern'],
    ['gpt-4o-mini:latest', 'small', 'an exact alias with it'],
    ['claude-haiku:latest', 'small', 'a pattern that matches it'],
    ['', 'large', 'an empty name'],
  ])('%j is %s: %s', (name, id) => {
    expect(registry.resolve(name).id).toBe(id)
  })

  test('a model that is not allowed is as if it were not there', () => {
    const allowed = ['claude-haiku-4', 'claude-small']
    expect(registry.list(allowed).map(({ id }) => id)).toEqual(['small', 'claude-small'])
    expect(registry.resolve('claude-opus-4', allowed).id).toBe('small')
    expect(() => registry.resolve('gpt-4o', allowed)).toThrow("model 'gpt-4o' not found; available: small, claude-small")
  })

  test('the models that a key may use are looked for once', () => {
    let reads = 0
    const many = Array.from({ length: 100 }, (_, index) => ({
      get id() {
        reads += 1
        return `m${index}`
      },
      aliases: [],
    }))
    const allowed = many.map(({ id }) => id)
    const { resolve } = createRegistry(many)
    expect(resolve('m99', allowed).id).toBe('m99')
    reads = 0
    expect(resolve('m99', allowed).id).toBe('m99')
    expect(reads).toBeLessThanOrEqual(101)
  })

  test('the first of equally long patterns wins', () => {
    const tie = createRegistry([
      { id: 'one', aliases: ['ab*'] },
      { id: 'two', aliases: ['*ab'] },
    ])
    expect(tie.resolve('abab').id).toBe('one')
  })

  test('the parts of a pattern never overlap', () => {
    const one = createRegistry([{ id: 'one', aliases: ['aba*ba', 'q*qq*q'] }])
    expect(() => one.resolve('aba')).toThrow('not found')
    expect(() => one.resolve('qqq')).toThrow('not found')
    expect(one.resolve('qqqq').id).toBe('one')
  })

  test('a hostile name is matched quickly against a hostile pattern', () => {
    const one = createRegistry([{ id: 'one', aliases: [`${'a*'.repeat(50)}b`] }])
    expect(() => one.resolve('a'.repeat(100_000))).toThrow('not found')
  })
})

describe('an unknown name', () => {
  const registry = createRegistry([
    { id: 'qwen3-8b', aliases: ['default'] },
    { id: 'smollm2', aliases: ['tiny-*'] },
  ])

  test('an unknown name is answered with the available models', () => {
    expect(() => registry.resolve('gpt-5')).toThrow(
      expect.objectContaining({
        code: 'model-not-found',
        at: ['model'],
        message: "model 'gpt-5' not found; available: qwen3-8b, smollm2",
      }),
    )
  })

  test.each([
    ['Qwen3_8B', 'qwen3-8b'],
    ['smolm2', 'smollm2'],
    ['defualt', 'default'],
  ])('%s is probably %s', (name, nearest) => {
    expect(() => registry.resolve(name)).toThrow(`did you mean '${nearest}'?`)
  })

  test('an unknown name is truncated when it is very long', () => {
    expect(() => registry.resolve('x'.repeat(1_000_000))).toThrow(/^model 'x{100}…' not found/)
  })
})

test('the list keeps the order of the configuration', () => {
  expect(createRegistry(models).list()).toEqual(models)
})

test.each([
  [
    [
      { id: 'a', aliases: [] },
      { id: 'a', aliases: [] },
    ],
    "two models have the id 'a'",
  ],
  [
    [
      { id: 'a', aliases: ['b'] },
      { id: 'b', aliases: [] },
    ],
    "'b' is already a name of the model 'b'",
  ],
  [
    [
      { id: 'a', aliases: ['x*'] },
      { id: 'b', aliases: ['x*'] },
    ],
    "'x*' is already a name of the model 'a'",
  ],
  [[{ id: 'a', aliases: ['x', 'x'] }], "'x' is already a name of the model 'a'"],
])('a name used twice is refused: %j', (given, message) => {
  expect(() => createRegistry(given)).toThrow(message)
})

test('a message names the first fifty of many models', () => {
  const many = createRegistry(Array.from({ length: 60 }, (_, at) => ({ id: `m${at}`, aliases: [] })))
  expect(() => many.resolve('x')).toThrow(/available: m0, .*, m49 and 10 more$/)
})
