import { describe, expect, test } from 'vitest'
import { agents } from './agents/agents.ts'
import { chooseModel, contextWarning } from './launch.ts'

describe('the model of an agent', () => {
  const cards = [{ id: 'first' }, { id: 'org/second', aliases: ['default', 'quick'] }]

  test.each([
    ['org/second', 'org/second'],
    ['quick', 'org/second'],
    ['first', 'first'],
    [undefined, 'org/second'],
  ])('%s is %s', (wanted, id) => {
    expect(chooseModel(cards, wanted).id).toBe(id)
  })

  test('is the first where none is the default', () => {
    expect(chooseModel([{ id: 'first' }, { id: 'second' }], undefined).id).toBe('first')
  })

  test.each([
    ['third', cards, "the server has no model 'third'; available: first, org/second"],
    [undefined, [], 'the server has no models'],
  ])('cannot be %s', (wanted, available, message) => {
    expect(() => chooseModel(available, wanted)).toThrow(message)
  })
})

describe('the warning of a small context', () => {
  const warningFor = (name: string, context_length?: number) => {
    const agent = agents.get(name)
    if (agent === undefined) throw new Error(`no agent ${name}`)
    return contextWarning(agent, { id: 'm', ...(context_length !== undefined && { context_length }) })
  }

  test.each([
    ['claude', 16_384, 'Claude Code needs at least 24400: its first request takes about 12200'],
    ['pi', 16_384, 'pi needs at least 19184: its first request takes about 1400, and it keeps 16384 free'],
  ])('says what %s needs', (name, contextLength, need) => {
    expect(warningFor(name, contextLength)).toBe(`the context of m is ${contextLength} tokens, and ${need}`)
  })

  test.each([
    ['claude', 32_768],
    ['pi', 20_000],
    ['claude', undefined],
  ])('is not given to %s with %s tokens', (name, contextLength) => {
    expect(warningFor(name, contextLength)).toBeUndefined()
  })
})
