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

  test('says what the agent needs', () => {
    expect(warningFor('claude', 16_384)).toMatch(
      /^the context of m is 16384 tokens, and the first request of Claude Code takes about 12200: use .* at least 24400$/,
    )
  })

  test.each([
    ['claude', 32_768],
    ['pi', 4096],
    ['claude', undefined],
  ])('is not given to %s with %s tokens', (name, contextLength) => {
    expect(warningFor(name, contextLength)).toBeUndefined()
  })
})
