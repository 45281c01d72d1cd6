import { describe, expect, test } from 'vitest'
import { parseOutput } from '../../../test/support/parse-output.ts'
import { recogniseReasoning } from '../formats/recognise-reasoning.ts'
import { differingCut } from './__fixtures__/cuts.ts'
import type { OutputCase } from './__fixtures__/output-case.ts'
import { reasoningCases, reasoningStyles } from './__fixtures__/reasoning-styles.ts'

describe.each(reasoningStyles)('reasoning as $name writes it', (style) => {
  const { reasoning, toolFormat, template } = style
  const cases = reasoningCases(style)
  const read = ({ startsInReasoning = false, truncated = false }: OutputCase, pieces: readonly string[]) => {
    const format = { reasoning, startsInReasoning, ...(toolFormat !== undefined && { toolFormat }) }
    const output = parseOutput({ format }, pieces, truncated ? 'length' : 'stop')
    return { text: output.text, reasoning: output.reasoning, calls: output.calls.length }
  }

  test('is recognised by the template', () => {
    expect(recogniseReasoning(template)).toEqual(reasoning)
  })

  test('has at least ten cases', () => {
    expect(cases.length).toBeGreaterThanOrEqual(10)
  })

  test.each(cases)('$name', (wanted) => {
    expect(read(wanted, [wanted.raw])).toEqual({ text: wanted.text ?? '', reasoning: wanted.reasoning ?? '', calls: 0 })
    expect(differingCut(wanted.raw, (pieces) => JSON.stringify(read(wanted, pieces)))).toEqual(undefined)
  })

  test('stays text where it is not split off', () => {
    const raw = `${style.think('Let me see.')}${style.say?.('Hi.') ?? 'Hi.'}`
    const format = { reasoning, startsInReasoning: false, ...(toolFormat !== undefined && { toolFormat }) }
    const output = parseOutput({ format, splitReasoning: false }, [...raw])
    expect(output.reasoning).toBe('')
    expect(output.text).toContain('Let me see.')
    expect(output.text.endsWith('Hi.')).toBe(true)
  })
})
