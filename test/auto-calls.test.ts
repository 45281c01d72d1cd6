import { describe, expect, test } from 'vitest'
import { type FunctionTool, plainRequest } from '../src/contract/request.ts'
import { compileConstraint } from '../src/engine/constraint/constraint.ts'
import { callTags } from '../src/model-text/formats/call-tags.ts'
import { toolFormatNames } from '../src/model-text/formats/format-names.ts'
import { findToolFormat } from '../src/model-text/formats/tool-formats.ts'
import { createMatcher } from './support/llama/gbnf-matcher.ts'
import { parseOutput } from './support/parse-output.ts'
import { cpuMsOf } from './support/process/cpu-time.ts'
import { createRandom } from './support/random.ts'

const seat = { enum: ['aisle', 'window'] }
const parameters = { type: 'object', properties: { seat }, required: ['seat'], additionalProperties: false }
const tools: readonly FunctionTool[] = [
  { name: 'book', strict: true, parameters },
  { name: 'book_all', strict: true, parameters },
]

/** Their calls have no tag: a list in brackets may also be text. */
const untagged = ['pythonic']

function formatOf(name: string) {
  return { toolFormat: name, startsInReasoning: false }
}

function constrained(name: string, wanted: object = {}) {
  return compileConstraint({ ...plainRequest, tools, ...wanted }, { format: formatOf(name), endTexts: [] })
}

/** Calls as a grammar of required calls has them. */
function writtenCalls(name: string): string[] {
  const constraint = compileConstraint(
    { ...plainRequest, tools, toolChoice: { type: 'required' } },
    { format: formatOf(name), endTexts: [] },
  )
  const matcher = createMatcher(constraint?.gbnf ?? '')
  const random = createRandom(4)
  return Array.from({ length: 12 }, () => matcher.generate(random, 200))
}

test('formats without tags are those that the documentation names', () => {
  const options = { parallel: true, writable: (text: string) => text }
  const without = toolFormatNames.filter((name) => {
    const format = findToolFormat(name)
    return format === undefined || callTags(format, tools, options).length === 0
  })
  expect(without).toEqual(untagged)
})

describe.each(toolFormatNames.filter((name) => !untagged.includes(name)))('auto calls, as %s', (name) => {
  const isWhole = findToolFormat(name)?.messages !== undefined
  const lead = isWhole ? '' : 'Let me see.\n'
  const options = { format: formatOf(name), tools }
  const matcher = createMatcher(constrained(name)?.gbnf ?? '')

  test('text is free, and calls that satisfy their schemas are', () => {
    expect(matcher.matches('')).toBe(true)
    expect(matcher.matches('Just {"an": "answer"}, [1] and <b>.\n\n```js\nf(1)\n```\n')).toBe(true)
    for (const calls of writtenCalls(name)) {
      expect(matcher.matches(calls), calls).toBe(true)
      if (name !== 'functionary-v3.2') expect(matcher.matches(lead + calls), calls).toBe(true)
    }
  })

  test('calls that do not are not, wherever they stand', () => {
    const called = (raw: string) => parseOutput(options, [raw]).calls.map(({ arguments: json }) => json)
    for (const calls of writtenCalls(name)) {
      const wrong = calls.replace(/aisle|window/, 'floor')
      expect(called(wrong).join()).toContain('floor')
      expect(matcher.matches(wrong), wrong).toBe(false)
      const later = lead + wrong
      if (called(later).join().includes('floor')) expect(matcher.matches(later), later).toBe(false)
    }
  })
})

describe('the grammar of auto calls', () => {
  const loose = tools.map(({ strict: _, ...tool }) => tool)
  test.each<[string, object, boolean]>([
    ['a strict tool', {}, true],
    ['no tool is strict', { tools: loose }, false],
    ['no tool is strict, but the configuration says so', { tools: loose, constrainsAllTools: true }, true],
    [
      'a strict tool that may not be called',
      { tools: [tools[0], loose[1]], toolChoice: { type: 'auto', names: ['book_all'] } },
      false,
    ],
    ['no call may be made', { toolChoice: { type: 'none' } }, false],
    ['there are no tools', { tools: [], constrainsAllTools: true }, false],
  ])('%s', (_, wanted, isConstrained) => {
    expect(constrained('hermes', wanted)?.isWhole === true).toBe(isConstrained)
  })

  test('a tool that may not be called has no calls', () => {
    const matcher = createMatcher(constrained('hermes', { toolChoice: { type: 'auto', names: ['book_all'] } })?.gbnf ?? '')
    const call = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"seat": "aisle"}}\n</tool_call>`
    expect(matcher.matches(call('book_all'))).toBe(true)
    expect(matcher.matches(call('book'))).toBe(false)
  })

  test('what a grammar cannot keep is left open', () => {
    const unique = { ...parameters, properties: { seat: { type: 'array', items: seat, uniqueItems: true } } }
    const matcher = createMatcher(
      constrained('hermes', { tools: [{ name: 'book', strict: true, parameters: unique }] })?.gbnf ?? '',
    )
    const call = (json: string) => `<tool_call>\n{"name": "book", "arguments": {"seat": ${json}}}\n</tool_call>`
    expect(matcher.matches(call('["aisle", "aisle"]'))).toBe(true)
    expect(matcher.matches(call('["floor"]'))).toBe(false)
  })
})

describe('calls around reasoning', () => {
  const think = { open: '<think>', close: '</think>' }
  const call = (value: string, open = '<tool_call>') =>
    `${open}\n{"name": "book", "arguments": {"seat": "${value}"}}\n</tool_call>`
  const matcherOf = (name: string, startsInReasoning: boolean) =>
    createMatcher(
      compileConstraint(
        { ...plainRequest, tools },
        { format: { toolFormat: name, reasoning: think, startsInReasoning }, endTexts: [] },
      )?.gbnf ?? '',
    )

  test.each<[string, boolean, string, boolean]>([
    ['hermes', false, `<think>hm</think>\n\n${call('aisle')}`, true],
    ['hermes', false, `<think>hm</think>\n\n${call('floor')}`, false],
    ['hermes', true, `hm</think>text ${call('aisle')}\nmore`, true],
    ['hermes', true, `hm</think>text ${call('floor')}`, false],
    // It counts inside reasoning as well.
    ['hermes', true, `hm ${call('aisle')}`, true],
    ['hermes', true, `hm ${call('floor')}`, false],
    ['hermes', true, `hm`, true],
    ['hermes', false, `<think>hm</think>{"name": "book", "arguments": {"seat": "floor"}}`, false],
    // It is only talked about.
    ['nemotron', true, `I could write <TOOLCALL>[…</think>no`, true],
    ['nemotron', true, `hm</think><TOOLCALL>[…`, false],
    ['nemotron', false, `<think><TOOLCALL>x</think>no`, true],
    ['nemotron', false, `so <think><TOOLCALL>x</think>no`, false],
  ])('%s, begun in reasoning: %s, %j', (name, startsInReasoning, text, isRight) => {
    expect(matcherOf(name, startsInReasoning).matches(text)).toBe(isRight)
  })
})

test('a grammar for many tools is made quickly', async () => {
  const many = Array.from(
    { length: 128 },
    (_, index): FunctionTool => ({ name: `a_tool_with_a_name_${index}`, strict: true, parameters }),
  )
  for (const name of ['json', 'hermes', 'glm4']) {
    let grammar = ''
    const cpuMs = await cpuMsOf(() => {
      grammar = constrained(name, { tools: many })?.gbnf ?? ''
    })
    expect(cpuMs).toBeLessThan(1000)
    expect(grammar.length).toBeLessThan(1_000_000)
    if (process.env.SHOW !== undefined) console.log(name, grammar.length, Math.round(cpuMs))
  }
})
