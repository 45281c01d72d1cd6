import { describe, expect, test } from 'vitest'
import { parse, parseOutput } from '../../../test/support/parse-output.ts'
import type { OutputFormat } from '../../contract/output-format.ts'

describe('messages', () => {
  const harmony: OutputFormat = { toolFormat: 'harmony', startsInReasoning: false }
  const final = '<|channel|>final<|message|>'
  const thought = '<|channel|>analysis<|message|>'
  const read = (raw: string, reason?: 'stop' | 'length') => parse(raw, { format: harmony }, reason)

  test.each([
    'The token <|start|> begins a message.',
    `The token <|start|> ${'blah '.repeat(250)}`,
    '<|start|>',
    'It ends with `<|end|>`, "<|call|>" or \'<|return|>\'.',
    'It begins with `<|start|>`.',
    'Say <|start|> and <|start|> again',
  ])('%j is text of a message', (text) => {
    expect(read(final + text)).toEqual({ text, reasoning: '', calls: [] })
    expect(read(`${thought}${text}<|end|><|start|>assistant${final}Hi`)).toEqual({ text: 'Hi', reasoning: text, calls: [] })
    expect(parseOutput({ format: harmony }, [final + text]).events.filter(({ type }) => type === 'text-start')).toHaveLength(1)
  })

  test.each(['to=me or to=you', '<|channel|>', '<|start|>assistant', `<|channel|>${'x'.repeat(1100)}`])(
    '%j is text if no body follows',
    (text) => {
      expect(read(text)).toEqual({ text, reasoning: '', calls: [] })
    },
  )

  test('a delimiter after a quote ends a message if the quote is not closed after it', () => {
    expect(read(`${final}Use \`x\`<|end|><|start|>assistant${final}, then y<|return|>`).text).toBe('Use `x`, then y')
  })

  test('a header that a limit truncated is dropped', () => {
    expect(read(`${final}Hi<|end|><|start|>assistant<|chan`, 'length')).toMatchObject({ text: 'Hi' })
    expect(read(`${final}Hi<|start|>assi`, 'length')).toMatchObject({ text: 'Hi' })
  })

  test('reasoning that stays in the text gets no end delimiter if the model wrote none', () => {
    const raw = `${thought}hm<|start|>assistant${final}Hi`
    expect(parse(raw, { format: harmony, splitReasoning: false }).text).toBe(`${thought}hmHi`)
  })
})
