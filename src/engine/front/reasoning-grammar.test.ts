import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../test/support/llama/gbnf-matcher.ts'
import { afterReasoning, fromRoot, type ReasoningFront } from './reasoning-grammar.ts'

const tags = { open: '<think>\n', close: '\n</think>\n\n' }

type Constraint = Parameters<typeof afterReasoning>[0]
type Front = Parameters<typeof afterReasoning>[1]

function matches(text: string, constraint: Constraint, front: Front): boolean {
  const { text: gbnf, root } = afterReasoning(constraint, front)
  return createMatcher(fromRoot({ text: gbnf, root })).matches(text)
}

describe('afterReasoning', () => {
  test.each<{ front: ReasoningFront; text: string; expected: boolean }>([
    { front: 'never', text: '{}', expected: true },
    { front: 'never', text: '<think>a</think>{}', expected: false },
    { front: 'opened', text: 'so {"a"</think>{}', expected: true },
    { front: 'opened', text: '</think>\n\n{}', expected: true },
    { front: 'opened', text: '</think>\n\n\n{}', expected: false },
    { front: 'opened', text: '{}', expected: false },
    { front: 'opened', text: 'a</think>', expected: false },
    { front: 'optional', text: '{}', expected: true },
    { front: 'optional', text: '<think>\na\n</think>\n\n{}', expected: true },
    { front: 'optional', text: '<think>a', expected: false },
    { front: 'optional', text: '\n{}', expected: false },
  ])('reasoning $front: "$text" is $expected', ({ front, text, expected }) => {
    expect(matches(text, { gbnf: 'root ::= "{" "}"' }, { format: { reasoning: tags, startsInReasoning: false }, front })).toBe(
      expected,
    )
  })

  test('where line breaks after the tag would be kept, the answer follows it directly', () => {
    const front = { format: { reasoning: tags, startsInReasoning: true }, front: 'opened', isTight: true } as const
    expect(matches('so</think>{}', { gbnf: 'root ::= "{" "}"' }, front)).toBe(true)
    expect(matches('so</think>\n\n{}', { gbnf: 'root ::= "{" "}"' }, front)).toBe(false)
  })

  test.each([
    ['root ::= "a" root | "b"', 'aab'],
    ['root ::= "root" | "\\"root" root-2\nroot-2 ::= "c"', '"rootc'],
    ['# root ::= "x"\nroot ::= [root"\\]#]+ # root\n', 'root#]"'],
  ])('a grammar keeps its texts, its sets and the names of its other rules when it follows a thought: %s', (gbnf, text) => {
    const front = { format: { reasoning: tags, startsInReasoning: true }, front: 'opened' } as const
    expect(matches(`so</think>${text}`, { gbnf }, front)).toBe(true)
    expect(matches(text, { gbnf }, front)).toBe(false)
  })

  test('a model without reasoning is constrained from the first token', () => {
    const format = { startsInReasoning: false }
    expect(afterReasoning({ gbnf: 'root ::= "a"' }, { format, front: 'optional' })).toEqual({
      text: 'root ::= "a"',
      root: 'root',
    })
  })

  test.each([
    {
      toolFormat: 'inkling',
      reasoning: { open: '<|content_thinking|>', close: '<|end_message|>' },
      between: '<|message_model|>',
    },
    { toolFormat: 'solar', reasoning: { open: '<|think|>', close: '<|end|>' }, between: '<|begin|>assistant' },
  ])('in messages of $toolFormat, the next one begins after reasoning', ({ toolFormat, reasoning, between }) => {
    const format = { toolFormat, reasoning, startsInReasoning: false }
    const allows = (text: string) => matches(text, { gbnf: 'root ::= "{" "}"' }, { format, front: 'optional' })
    expect(allows('{}')).toBe(true)
    expect(allows(`${reasoning.open}so${reasoning.close}${between}{}`)).toBe(true)
    expect(allows(`${reasoning.open}so${reasoning.close}{}`)).toBe(false)
  })

  test('in sequences of messages, the constrained output is its own message', () => {
    const reasoning = { open: '<|channel|>analysis<|message|>', close: '<|end|>' }
    const format = { toolFormat: 'harmony', reasoning, startsInReasoning: false }
    const constraint = { gbnf: 'root ::= "{" "}"', header: '<|channel|>final<|message|>' }
    const allows = (text: string, front: ReasoningFront) => matches(text, constraint, { format, front })
    const answer = '<|channel|>final<|message|>{}'
    expect(allows(answer, 'never')).toBe(true)
    expect(allows(answer, 'optional')).toBe(true)
    expect(allows(`<|channel|>analysis<|message|>so<|end|><|start|>assistant${answer}`, 'optional')).toBe(true)
    expect(allows(`<|channel|>analysis<|message|>so<|end|>${answer}`, 'optional')).toBe(false)
    expect(allows('{}', 'optional')).toBe(false)
  })
})
