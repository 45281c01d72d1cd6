import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { chunkings, parseOutput } from '../../../test/support/parse-output.ts'
import { roundsOf } from '../../../test/support/process/soak-length.ts'
import type { OutputFormat } from '../../contract/output-format.ts'
import type { FunctionTool, OutputConstraint } from '../../contract/request.ts'
import { recogniseReasoning } from '../formats/recognise-reasoning.ts'
import { recogniseToolFormat } from '../formats/recognise-tool-format.ts'

const vectors = new URL('../../../../shared/vectors/tool-calls/', import.meta.url)
const templates = readLlamaTemplates() ?? new Map<string, string>()
const available = existsSync(vectors) && templates.size > 0

type ChatParse = {
  template: string
  tools: { name: string; parameters_json: string }[]
  parallel_tool_calls: boolean
  tool_choice: number
  generation_prompt: string
  reasoning_format: string
  json_schema: string
  continue_final_message: number
  input: string
  is_partial: boolean
  expect: { content: string; reasoning_content: string; tool_calls: { name: string; arguments: string; id: string }[] }
}
type RoundTrip = {
  template: string
  case: string
  tools: { function: FunctionTool }[]
  raw: string
  expect: { name: string; arguments: unknown }[]
}
type VllmCase = {
  kind: 'reasoning' | 'tool' | 'tool-smoke'
  family: string
  src: string
  id?: string
  raw?: string
  deltas?: string[]
  reasoning?: string | null
  content?: string | null
  tool_calls?: { name: string; arguments: string }[]
  tool_names?: string[]
}

/** By number, what llama.cpp drops and we show: messages to tools that the model was trained with. */
const shownMessages = new Map([
  [131, `python3 -c 'print("hello")'`],
  [132, 'print("hello")'],
])

describe.skipIf(!available)('chat-parse.jsonl', () => {
  test.each(
    read<ChatParse>('chat-parse.jsonl').map((vector, index) => ({
      name: `${index} ${basename(vector.template)}`,
      index,
      vector,
    })),
  )('$name', ({ index, vector }) => {
    const format = formatOf(basename(vector.template), vector.generation_prompt)
    const tools = vector.tools.map((tool): FunctionTool => ({ name: tool.name, parameters: JSON.parse(tool.parameters_json) }))
    const output: OutputConstraint =
      vector.json_schema === ''
        ? { type: 'text' }
        : { type: 'json-schema', schema: JSON.parse(vector.json_schema), strict: false }
    const options = {
      format,
      tools,
      parallelToolCalls: vector.parallel_tool_calls,
      splitReasoning: vector.reasoning_format !== 'none',
      output,
    }
    for (const chunks of chunkings(vector.input)) {
      const result = parseOutput(options, chunks, vector.is_partial ? 'length' : 'stop')
      const { content, reasoning_content: reasoning, tool_calls: calls } = vector.expect
      // What the prompt already holds of a continued message is no output.
      const held = vector.continue_final_message === 0 ? { text: '', reasoning: '' } : heldBy(vector)
      expect({ text: held.text + result.text, reasoning: held.reasoning + result.reasoning }).toEqual({
        text: shownMessages.get(index) ?? content,
        reasoning,
      })
      expect(result.calls.map(({ name, arguments: text }) => ({ name, arguments: JSON.parse(text) }))).toEqual(
        calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })),
      )
      for (const [index, { id }] of calls.entries()) if (id !== '') expect(result.calls[index]?.id).toBe(id)
    }
  })
})

describe.skipIf(!available)('bfcl-roundtrip.jsonl', () => {
  test.each(
    Object.entries(groupBy(read<RoundTrip>('bfcl-roundtrip.jsonl'), ({ template }) => template)).map(([name, cases]) => ({
      name,
      cases,
    })),
  )('$name', ({ name, cases }) => {
    for (const { raw, tools, expect: wanted, case: id } of cases) {
      const options = { format: formatOf(name, ''), tools: tools.map((tool) => tool.function) }
      for (const chunks of chunkings(raw, { rounds: roundsOf(2, 8) })) {
        const { calls, text } = parseOutput(options, chunks)
        expect({ id, text, calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })) }).toEqual({
          id,
          text: '',
          calls: wanted,
        })
      }
    }
  })
})

const vllmFormats: Record<string, OutputFormat> = {
  'reasoning deepseekr1': { reasoning: { open: '<think>\n', close: '</think>' }, startsInReasoning: true },
  'reasoning qwen3': { toolFormat: 'hermes', reasoning: { open: '<think>\n', close: '\n</think>\n\n' }, startsInReasoning: true },
  'reasoning granite': {
    reasoning: { open: 'Here is my thought process:', close: 'Here is my response:' },
    startsInReasoning: false,
  },
  'reasoning mistral': { reasoning: { open: '[THINK]', close: '[/THINK]' }, startsInReasoning: false },
  'tool mistral': { toolFormat: 'mistral', startsInReasoning: false },
  'tool granite': { toolFormat: 'granite', startsInReasoning: false },
  'tool pythonic': { toolFormat: 'pythonic', startsInReasoning: false },
}

describe.skipIf(!available)('vllm-parsers.jsonl', () => {
  test.each(
    read<VllmCase>('vllm-parsers.jsonl').map((vector, index) => ({
      name: `${index} ${vector.kind} ${vector.family} ${vector.src.split('::')[1]} ${vector.id ?? ''}`,
      vector,
    })),
  )('$name', ({ vector }) => {
    const raw = vector.raw ?? (vector.deltas ?? []).join('')
    const kind = vector.kind === 'reasoning' ? 'reasoning' : 'tool'
    const format = vllmFormats[`${kind} ${vector.family}`] as OutputFormat
    const names = [
      // That parser ends reasoning at a call without asking what is declared: we do only where something is.
      ...(kind === 'reasoning' ? ['some_tool'] : []),
      ...(vector.tool_calls ?? []).map(({ name }) => name),
      ...(vector.tool_names ?? []),
      ...(vector.kind === 'tool-smoke' ? [...raw.matchAll(/"name": "(\w+)"/g)].map((match) => match[1] as string) : []),
    ]
    const tools = [...new Set(names)].map((name): FunctionTool => ({ name }))
    for (const chunks of vector.deltas === undefined ? chunkings(raw) : [vector.deltas, ...chunkings(raw)]) {
      const result = parseOutput({ format, tools }, chunks)
      if (kind === 'reasoning') {
        // The same text is once expected with its leading line break and once without it.
        expect(result.reasoning).toBe(
          vector.id === 'new_line_streaming' ? vector.reasoning?.trimStart() : (vector.reasoning ?? ''),
        )
        expect(result.text).toBe(vector.content ?? '')
        continue
      }
      const wanted = vector.tool_calls ?? []
      if (vector.tool_calls !== undefined) {
        expect(result.calls.map((call) => ({ name: call.name, arguments: parsed(call.arguments) }))).toEqual(
          wanted.map((call) => ({ name: call.name, arguments: parsed(call.arguments) })),
        )
      } else expect(result.calls.map(({ name }) => name)).toEqual(names)
      // Of text after a call, one of the two parsers that the vectors come from says nothing.
      if (typeof vector.content === 'string') expect(result.text).toBe(vector.content)
    }
  })
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The part of a continued message that its prompt ends with. */
function heldBy({ generation_prompt: prompt, expect: wanted }: ChatParse): { text: string; reasoning: string } {
  const { content, reasoning_content: reasoning } = wanted
  const overlap = (text: string) => {
    for (let length = text.length; length > 0; length--) if (prompt.endsWith(text.slice(0, length))) return text.slice(0, length)
    return ''
  }
  const inReasoning = reasoning !== '' && overlap(content) === ''
  return inReasoning ? { text: '', reasoning: overlap(reasoning) } : { text: overlap(content), reasoning }
}

function formatOf(template: string, prompt: string): OutputFormat {
  const source = templates.get(template)
  if (source === undefined) throw new Error(`no template ${template}`)
  const reasoning = recogniseReasoning(source)
  return {
    toolFormat: recogniseToolFormat(source),
    ...(reasoning !== undefined && { reasoning }),
    startsInReasoning: reasoning !== undefined && endsInReasoning(prompt, reasoning),
  }
}

function read<Vector>(file: string): Vector[] {
  if (!available) return []
  const text = readFileSync(new URL(file, vectors), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function basename(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function groupBy<Item>(items: readonly Item[], key: (item: Item) => string): Record<string, Item[]> {
  const groups: Record<string, Item[]> = {}
  for (const item of items) {
    const group = groups[key(item)] ?? []
    group.push(item)
    groups[key(item)] = group
  }
  return groups
}

/** Whether a prompt ends inside reasoning that it opened. */
function endsInReasoning(prompt: string, { open, close }: { readonly open: string; readonly close: string }): boolean {
  const opened = prompt.lastIndexOf(open.trim())
  return opened !== -1 && !prompt.slice(opened).includes(close.trim())
}
