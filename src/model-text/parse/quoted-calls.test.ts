import { describe, expect, test } from 'vitest'
import { parse } from '../../../test/support/parse-output.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import { toolFormatNames } from '../formats/format-names.ts'
import { findToolFormat } from '../formats/tool-formats.ts'

const call = '<tool_call>{"name": "f", "arguments": {"n": 1}}</tool_call>'
const made = [{ id: 'call_0', name: 'f', arguments: '{"n": 1}' }]
const hermes: OutputFormat = { toolFormat: 'hermes', startsInReasoning: false }
const think = { open: '<think>', close: '</think>' }

describe('a call in code is text', () => {
  test.each([
    `Write \`${call}\` to call it.`,
    `Write \`\`a \`${call}\`\` to call it.`,
    `Write \`<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\` to call it.`,
    `So:\n\`\`\`xml\n${call}\n\`\`\`\nis a call.`,
    `So:\n~~~\n${call}\n~~~\n`,
    `So:\n\`\`\`\`\n\`\`\`\n${call}\n\`\`\`\`\n`,
    `So:\n\`\`\`\n${call}`,
    `\`\`\`${call}\`\`\``,
  ])('%j', (raw) => {
    expect(parse(raw, { format: hermes })).toEqual({ text: raw, reasoning: '', calls: [] })
  })

  test.each([
    [`The \` key: ${call}`, 'The ` key: '],
    [`A \`span\` and ${call}`, 'A `span` and '],
    [`\`\`\`\ncode\n\`\`\`\n${call}`, '```\ncode\n```\n'],
    [`\`\`\`inline\`\`\` ${call}`, '```inline``` '],
    [`It's \`\n${call}`, "It's `\n"],
    [`One \` stray.\n\n${call} and \` later`, 'One ` stray.\n\nand ` later'],
  ])('%j has a call', (raw, text) => {
    expect(parse(raw, { format: hermes })).toEqual({ text, reasoning: '', calls: made })
  })
})

describe('a call in thoughts', () => {
  const xml: OutputFormat = { toolFormat: 'xml', startsInReasoning: false }

  test('is text where reasoning is not known or not split off', () => {
    const raw = '<think><function=f></function></think><function=g></function>'
    expect(parse(raw, { format: xml })).toMatchObject({ text: '<think><function=f></function></think>', calls: [{ name: 'g' }] })
    expect(parse('<think><function=f></function>', { format: xml }).calls).toEqual([])
    expect(parse(`<think>${call}</think>yes`, { format: { ...hermes, reasoning: think }, splitReasoning: false })).toEqual({
      text: `<think>${call}</think>yes`,
      reasoning: '',
      calls: [],
    })
    const inside = { ...hermes, reasoning: think, startsInReasoning: true }
    expect(parse(`${call}</think>${call}`, { format: inside, splitReasoning: false })).toMatchObject({
      text: `<think>${call}</think>`,
      reasoning: '',
      calls: [{ name: 'f' }],
    })
  })

  const begun = toolFormatNames.flatMap((toolFormat) => {
    const format = findToolFormat(toolFormat)
    const own = format?.triggers([{ name: 'g' }]).find(({ endsReasoning }) => endsReasoning !== undefined)
    const required = format?.describeCalls([{ name: 'g' }], { parallel: false })
    if (own === undefined || required === undefined) return []
    const written = required.calls[0]?.pieces.map((piece) =>
      piece.type === 'text' ? piece.text : piece.type === 'position' ? String(piece.first) : '{}',
    )
    const raw = required.prefix + (written?.join('') ?? '') + required.suffix
    return raw.includes(own.tag) ? [{ toolFormat, raw }] : []
  })

  test('most formats have a tag that ends reasoning', () => {
    expect(begun.length).toBeGreaterThan(20)
  })

  test.each(begun)(
    '$toolFormat: it is made if the reasoning is never closed, and thought of otherwise',
    ({ toolFormat, raw }) => {
      const format = { toolFormat, reasoning: think, startsInReasoning: false }
      const tools = [{ name: 'g' }]
      expect(parse(`<think>x ${raw}`, { format, tools })).toMatchObject({
        reasoning: 'x',
        text: '',
        calls: [{ name: 'g', arguments: '{}' }],
      })
      const closed = parse(`<think>x ${raw} y</think>z`, { format, tools })
      expect(closed).toMatchObject({ text: 'z', calls: [] })
      expect(closed.reasoning).toMatch(/^x .* y$/s)
      expect(parse(`<think>so ${raw.slice(0, 8)} is a tag`, { format, tools })).toMatchObject({ text: '', calls: [] })
    },
  )

  test('a tool that may not be called ends reasoning by the same rule, and its call is text', () => {
    const other = '<tool_call>{"name": "other", "arguments": {}}</tool_call>'
    const format = { ...hermes, reasoning: think }
    expect(parse(`<think>x ${other}`, { format })).toMatchObject({ text: other, calls: [] })
    expect(parse(`<think>x ${other}y</think>z`, { format })).toEqual({ reasoning: `x ${other}y`, text: 'z', calls: [] })
  })

  test('a call that is longer than what is held is made', () => {
    const long = `<tool_call>{"name": "f", "arguments": {"s": "${'a'.repeat(70_000)}"}}</tool_call>`
    expect(parse(`<think>x ${long}`, { format: { ...hermes, reasoning: think } }).calls).toHaveLength(1)
  })

  test('a truncated call after reasoning is truncated where it is', () => {
    const format = { ...hermes, reasoning: think }
    const cut = '<think>x <tool_call>{"name": "f", "arguments": {"s": "a'
    expect(parse(cut, { format }, 'length').calls).toEqual([{ id: 'call_0', name: 'f', arguments: '{"s": "a' }])
  })
})

describe('what a block of calls contains besides', () => {
  const format: OutputFormat = { toolFormat: 'tool-calls-tag', startsInReasoning: false }

  test('a bad line is text, and the calls after it are made', () => {
    const raw = '<tool_calls>\n{"name": "f", "arguments": {}}\nbad\n{"name": "g", "arguments": {}}\n</tool_calls>'
    expect(parse(raw, { format })).toMatchObject({
      text: expect.stringMatching(/^\s*bad\s*$/),
      calls: [{ name: 'f' }, { name: 'g' }],
    })
  })

  test('so is a call that cannot be made', () => {
    const raw = '<tool_calls>[{"name": "f", "arguments": {}}, {"name": "h"}, {"name": "g", "arguments": {}}]</tool_calls> Done'
    const { calls, text } = parse(raw, { format })
    expect(calls.map(({ name }) => name)).toEqual(['f', 'g'])
    expect(text).toContain('{"name": "h"}')
    expect(text).not.toContain('tool_calls')
  })
})
