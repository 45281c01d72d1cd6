import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { parseOutput } from '../../../test/support/parse-output.ts'
import type { FunctionTool, JsonObject } from '../../contract/request.ts'
import { parserDifferences } from './__fixtures__/other-differences.ts'
import { type ParserFormat, parserFormats } from './__fixtures__/other-parsers.ts'

const file = new URL('../../../../shared/vectors/tool-calls/other-servers.jsonl.gz', import.meta.url)
const available = existsSync(file)

type ParsedCall = { readonly name: string; readonly arguments: unknown }
type Fact =
  | readonly ['len', number]
  | readonly ['text', string]
  | readonly ['name', number, string]
  | readonly ['arg', number, readonly (string | number)[], unknown]
type Recorded = {
  readonly src: 'ollama' | 'sglang' | 'smg' | 'vllm'
  readonly parser?: string | null
  readonly detector?: string
  readonly file?: string
  readonly kind?: string
  readonly open?: string
  readonly close?: string
  readonly starts?: boolean
  readonly tools?: readonly (FunctionTool & { readonly function?: FunctionTool })[]
  readonly input?: string
  readonly chunks?: readonly string[]
  readonly calls?: readonly ParsedCall[]
  readonly content?: string | null
  readonly text?: string
  readonly reasoning?: string | null
  readonly facts?: readonly Fact[]
  readonly result?: {
    readonly calls?: readonly ParsedCall[]
    readonly content?: string | null
    readonly reasoning?: string | null
  }
}

const recorded: readonly Recorded[] = available
  ? gunzipSync(readFileSync(file))
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  : []

/** `ollama qwen3 7`: the seventh answer of a parser. Differences that are decided are listed by this name. */
const named = recorded.map((answer, index) => {
  const parser = parserOf(answer)
  const number = recorded.slice(0, index + 1).filter((other) => parserOf(other) === parser).length
  return { parser, number, answer }
})

describe.skipIf(!available)('answers of other servers', () => {
  test.each([...new Set(named.map(({ parser }) => parser))].map((parser) => ({ parser })))('$parser', ({ parser }) => {
    const decided = new Set(Object.values(parserDifferences[parser] ?? {}).flat())
    const own = named.filter((each) => each.parser === parser)
    const names = [...new Set(own.flatMap(({ answer }) => namesIn(answer)))]
    const different = own.filter(({ answer }) => !agrees(answer, parserFormats[parser] ?? {}, names)).map(({ number }) => number)
    expect(different).toEqual([...decided].sort((a, b) => a - b))
  })
})

function parserOf({ src, kind, parser, detector, file: from }: Recorded): string {
  return `${src} ${kind === 'reasoning' ? 'reasoning' : (parser ?? detector ?? from)}`
}

/** Whether we read the same from an answer, white space around it aside, in one piece and letter by letter. */
function agrees(answer: Recorded, { splitReasoning = true, ...format }: ParserFormat, names: readonly string[]): boolean {
  const { src, kind, open = '', close = '', starts, facts, result } = answer
  const reasoning = kind === 'reasoning' ? { reasoning: { open, close } } : {}
  const startsInReasoning = starts ?? format.startsInReasoning ?? false
  const options = { format: { ...format, ...reasoning, startsInReasoning }, splitReasoning, tools: toolsOf(answer, names) }
  const pieces = answer.chunks ?? [answer.input ?? '']
  const { events: _, ...whole } = parseOutput(options, pieces)
  const { events: __, ...cut } = parseOutput(options, [...pieces.join('')])
  expect(cut).toEqual(whole)
  const calls = whole.calls.map((call) => ({ name: call.name, arguments: parsed(call.arguments) }))
  if (facts !== undefined) return facts.every((fact) => holds(fact, { text: whole.text, calls }))
  const wanted = {
    reasoning: (src === 'vllm' ? result?.reasoning : answer.reasoning) ?? '',
    text: (src === 'vllm' ? result?.content : (answer.content ?? answer.text)) ?? '',
    calls: (answer.calls ?? result?.calls ?? []).map((call) => ({ name: call.name, arguments: parsed(call.arguments) })),
  }
  return (
    wanted.text.trim() === whole.text.trim() &&
    wanted.reasoning.trim() === whole.reasoning.trim() &&
    sorted(wanted.calls) === sorted(calls)
  )
}

function holds(fact: Fact, { text, calls }: { readonly text: string; readonly calls: readonly ParsedCall[] }): boolean {
  switch (fact[0]) {
    case 'len':
      return calls.length === fact[1]
    case 'text':
      return text.trim() === fact[1].trim()
    case 'name':
      return calls[fact[1]]?.name === fact[2]
    case 'arg': {
      const at = (value: unknown, key: string | number) => (value as JsonObject | undefined)?.[key]
      return sorted(fact[2].reduce(at, calls[fact[1]]?.arguments)) === sorted(fact[3])
    }
  }
}

/** The tools of the request. Where none are recorded, every name that the answers call is declared. */
function toolsOf({ src, tools = [] }: Recorded, names: readonly string[]): readonly FunctionTool[] {
  const declared = tools.map((tool): FunctionTool => {
    const { name, parameters } = tool.function ?? tool
    return { name, ...(parameters && { parameters }) }
  })
  const others = src === 'sglang' ? [] : names.filter((name) => declared.every((tool) => tool.name !== name))
  const all = [...declared, ...others.map((name) => ({ name }))]
  return all.length === 0 ? [{ name: 'some_tool' }] : all
}

function namesIn({ src, calls, result, facts = [], input = '' }: Recorded): readonly string[] {
  const called = (calls ?? result?.calls ?? []).map(({ name }) => name)
  const stated = facts.flatMap((fact) => (fact[0] === 'name' ? [fact[2]] : []))
  const isCall = facts.some((fact) => fact[0] === 'len' && fact[1] > 0)
  const written =
    /(?:"(?:tool_)?name": ?"|<function=|invoke name="|<tool_call>|[[\n ]|functions\.)([a-z]\w*)(?=["(>\n:]|<arg_key>)/g
  return [
    ...called,
    ...stated,
    ...(src === 'smg' && isCall ? [...input.matchAll(written)].map((match) => match[1] as string) : []),
  ]
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** JSON with sorted keys. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
