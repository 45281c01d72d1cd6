import { describe, expect, test } from 'vitest'
import { hermes, parse } from '../../../test/support/parse-output.ts'

const call = (n: number) => `<tool_call>\n{"name": "f", "arguments": {"n": ${n}}}\n</tool_call>`

/** What is read of a raw text, the same however it is cut. */
function read(raw: string, callsInReasoning?: boolean) {
  const format = callsInReasoning === undefined ? hermes : { ...hermes, callsInReasoning }
  const { reasoning, text, calls } = parse(raw, { format })
  return { reasoning, text, calls: calls.map(({ arguments: json }) => JSON.parse(json).n) }
}

const closed = `<think>\nI call\n${call(1)}\nand then\n${call(2)}\n</think>\n\nDone.`
const unclosed = `<think>\nI call\n${call(1)}`

describe('calls in reasoning', () => {
  test('are made where the reasoning does not end behind them, unless a setting says otherwise', () => {
    expect(read(closed)).toEqual({ reasoning: closed.slice(8, -'\n</think>\n\nDone.'.length), text: 'Done.', calls: [] })
    expect(read(unclosed)).toEqual({ reasoning: 'I call', text: '', calls: [1] })
  })

  test('are all made where the operator wants it, and the reasoning continues', () => {
    expect(read(closed, true)).toEqual({ reasoning: 'I calland then', text: 'Done.', calls: [1, 2] })
    expect(read(unclosed, true)).toEqual({ reasoning: 'I call', text: '', calls: [1] })
    expect(read(`${unclosed}\nWell.`, true)).toEqual({ reasoning: 'I callWell.', text: '', calls: [1] })
  })

  test('of unknown tools, and in code, are not made even then', () => {
    const unknown = `Hm <tool_call>\n{"name": "other"}\n</tool_call>`
    expect(read(`<think>\n${unknown}\n</think>\n\nNo.`, true)).toEqual({ reasoning: unknown, text: 'No.', calls: [] })
    const quoted = `Hm \`${call(1)}\` no`
    expect(read(`<think>\n${quoted}\n</think>\n\nNo.`, true)).toEqual({ reasoning: quoted, text: 'No.', calls: [] })
  })

  test('are all thoughts where the operator wants that', () => {
    expect(read(closed, false)).toEqual(read(closed))
    expect(read(unclosed, false)).toEqual({ reasoning: `I call\n${call(1)}`, text: '', calls: [] })
    expect(read(`<think>\nA\n</think>\n\n${call(3)}`, false)).toEqual({ reasoning: 'A', text: '', calls: [3] })
  })

  test('are made also where reasoning stays in the text', () => {
    const { text, calls } = parse(closed, { format: { ...hermes, callsInReasoning: true }, splitReasoning: false })
    expect([text.replace(/\s+/g, ' '), calls.length]).toEqual(['<think> I call and then </think> Done.', 2])
  })
})
