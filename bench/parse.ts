import { createOutputParser, type OutputParserOptions } from '../src/model-text/parse/output-parser.ts'
import { median, printTable } from './report/report.ts'

// The cost per token of parsing a model's text. The baseline forwards the same tokens without parsing.

const rounds = 15
const repeats = 60

const tools = [
  {
    name: 'write_file',
    parameters: {
      type: 'object',
      properties: { path: { type: 'string' }, content: { type: 'string' }, mode: { type: 'integer' }, tags: { type: 'array' } },
      required: ['path', 'content'],
    },
  },
]
const reasoning = { open: '<think>\n', close: '\n</think>\n\n' }
const words = 'The quick brown fox, as they say, jumps over 13 lazy dogs; if (a < b && c[0] > 2) { return "x" } — and so on.\n'
const content = words.repeat(12)
const values = { path: 'src/a.ts', content, mode: 420, tags: ['a', 'b', 'c'] }
const xml = Object.entries(values)
  .map(([key, value]) => `<parameter=${key}>\n${typeof value === 'string' ? value : JSON.stringify(value)}\n</parameter>\n`)
  .join('')
const python = Object.entries(values)
  .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
  .join(', ')

const cases: readonly { readonly name: string; readonly format: string; readonly text: string; readonly inCall?: true }[] = [
  { name: 'text, hermes', format: 'hermes', text: words.repeat(14) },
  { name: 'text, json (no tags)', format: 'json', text: words.repeat(14) },
  { name: 'reasoning, hermes', format: 'hermes', text: `<think>\n${words.repeat(14)}\n</think>\n\nYes.` },
  {
    name: 'call, hermes',
    format: 'hermes',
    text: `<tool_call>\n${JSON.stringify({ name: 'write_file', arguments: values })}\n</tool_call>`,
    inCall: true,
  },
  {
    name: 'call, qwen3-coder',
    format: 'qwen3-coder',
    text: `<tool_call>\n<function=write_file>\n${xml}</function>\n</tool_call>`,
    inCall: true,
  },
  { name: 'call, pythonic', format: 'pythonic', text: `[write_file(${python})]`, inCall: true },
  {
    name: 'call, harmony',
    format: 'harmony',
    text: `<|channel|>commentary to=functions.write_file<|message|>${JSON.stringify(values)}<|call|>`,
    inCall: true,
  },
]

/** Token-like pieces: a word with its space, or a few other characters. */
function tokensOf(text: string): readonly string[] {
  return text.match(/ ?\w{1,8}|[^\w\s]{1,3}|\s+/g) ?? []
}

/** CPU time, which other work on the machine does not count into. */
function microsecondsPerToken(tokens: readonly string[], options: OutputParserOptions): number {
  const from = process.cpuUsage()
  for (let repeat = 0; repeat < repeats; repeat++) {
    const parser = createOutputParser(options)
    for (const text of tokens) parser.push({ type: 'raw-text', choice: 0, text })
    parser.end(0)
  }
  const { user, system } = process.cpuUsage(from)
  return (user + system) / (repeats * tokens.length)
}

const rows = cases.map(({ name, format, text, inCall }) => {
  const tokens = tokensOf(text)
  const options = { format: { toolFormat: format, reasoning, startsInReasoning: false }, tools }
  const times = { parsed: [] as number[], passed: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    times.parsed.push(microsecondsPerToken(tokens, options))
    times.passed.push(microsecondsPerToken(tokens, {}))
  }
  const [parsed, passed] = [median(times.parsed), median(times.passed)]
  return [name, parsed, passed, parsed / passed, inCall === true ? 20 : 5]
})
printTable(['µs per token', 'parsed', 'passed on', 'ratio', 'allowed'], rows)
