import type { ContentPart, FunctionTool, ToolCallPart } from '../../contract/request.ts'
import { compileJinja, type JinjaTemplate } from '../../jinja/jinja-template.ts'
import { ForeignJson } from '../../jinja/texts/from-json.ts'
import { asForeign } from '../../jinja/values/foreign-text.ts'
import type { CallPiece } from '../formats/required-calls.ts'
import type { ToolFormat } from '../formats/tool-format.ts'
import type { TemplateTurn } from './turn.ts'

/** Writes tools and calls into ordinary turns, for models whose template does not render them. */
export type ToolDescriber = {
  /** The conversation with a description of the tools at the end of its system messages. */
  declare(messages: readonly TemplateTurn[], tools: readonly FunctionTool[]): readonly TemplateTurn[]
  /** Calls in the form that the description asks for; undefined if the format writes arguments one by one. */
  writeCalls(calls: readonly ToolCallPart[]): string | undefined
}

type Options = {
  /** Calls in Python are written with keywords, as models write them, and not with one dictionary, as grammars do. */
  readonly keywords?: boolean
}

export function createToolDescriber(format: ToolFormat, { keywords = false }: Options = {}): ToolDescriber {
  return {
    declare(messages, tools) {
      const content: ContentPart[] = [{ type: 'text', text: instructions(format, tools) }]
      const isSystem = ({ role }: TemplateTurn) => role === 'system' || role === 'developer'
      const firstOther = messages.findIndex((message) => !isSystem(message))
      const end = firstOther === -1 ? messages.length : firstOther
      return [...messages.slice(0, end), { role: 'system', content }, ...messages.slice(end)]
    },
    writeCalls(calls) {
      const [first] = calls.map(({ name }) => format.describeCalls([{ name }], { parallel: true }))
      const texts = calls.map(({ name, input }, index) => fill(piecesOf(format, name), { input, position: index, keywords }))
      if (first === undefined || texts.includes(undefined)) return undefined
      return `${first.prefix}${texts.join(first.separator ?? '')}${first.suffix}`
    },
  }
}

const sample = { name: 'NAME', argument: 'ARGUMENT', value: 'VALUE' }
const sampleTool: FunctionTool = {
  name: sample.name,
  parameters: { type: 'object', properties: { [sample.argument]: { type: 'string' } }, required: [sample.argument] },
}

function instructions(format: ToolFormat, tools: readonly FunctionTool[]): string {
  const declared = tools.map(({ name, description, parameters }) =>
    asForeign(
      JSON.stringify({
        name,
        ...(description !== undefined && { description }),
        ...(parameters !== undefined && { parameters }),
      }),
    ),
  )
  const { prefix, suffix, calls } = format.describeCalls([sampleTool], { parallel: false })
  const example = writeSample(calls[0]?.pieces ?? [])
  return [
    'There are functions that you can call. Each line describes one, and its parameters as JSON Schema:',
    ...declared,
    '',
    'To call a function, write exactly this:',
    `${prefix}${example}${suffix}`,
    `${sample.name} stands for the name of the function, ${sample.argument} and ${sample.value} for each argument that you give it.`,
    'Write nothing behind a call; its result follows as {"tool_result": …}. When no function is of use, just answer.',
  ].join('\n')
}

function writeSample(pieces: readonly CallPiece[]): string {
  return pieces.map(samplePiece).join('')
}

function samplePiece(piece: CallPiece): string {
  switch (piece.type) {
    case 'text':
      return piece.text
    case 'position':
      return String(piece.first)
    case 'raw-text':
      return sample.value
    case 'json': {
      const hasAllArguments = piece.schema === sampleTool.parameters
      return hasAllArguments ? `{"${sample.argument}": "${sample.value}"}` : JSON.stringify(sample.value)
    }
    case 'optional':
      return writeSample(piece.pieces)
  }
}

/** The pieces of a call, with the name as foreign text. */
function piecesOf(format: ToolFormat, name: string): readonly CallPiece[] {
  const describe = (each: string) => format.describeCalls([{ name: each }], { parallel: true }).calls[0]?.pieces ?? []
  const samples = describe(sample.name)
  return describe(name).map((piece, index) => {
    const like = samples[index]
    if (piece.type !== 'text' || like?.type !== 'text' || like.text === piece.text) return piece
    const [before = '', ...after] = like.text.split(sample.name)
    const end = after.join(sample.name)
    const fits = after.length === 1 && piece.text.startsWith(before) && piece.text.endsWith(end)
    const named = piece.text.slice(before.length, piece.text.length - end.length)
    return { ...piece, text: fits ? before + asForeign(named) + end : asForeign(piece.text) }
  })
}

type Filling = { readonly input: string; readonly position: number; readonly keywords: boolean }

/** A call's text; undefined unless one piece holds all of the arguments. */
function fill(pieces: readonly CallPiece[], { input, position, keywords }: Filling): string | undefined {
  const slots = pieces.filter(({ type }) => type !== 'text' && type !== 'position')
  if (slots.length !== 1 || slots[0]?.type !== 'json') return undefined
  const isPython = pieces.some((piece) => piece.type === 'text' && piece.text.endsWith('(**'))
  const values = keywords && isPython ? writeKeywords(input) : undefined
  return pieces
    .map((piece) => {
      if (piece.type === 'position') return piece.first + position
      if (piece.type !== 'text') return values ?? asForeign(input)
      return values === undefined ? piece.text : piece.text.replace(/\(\*\*$/, '(')
    })
    .join('')
}

/** Python's own spelling of each value: `[…]` prints it, and its brackets are cut off. */
const pythonKeywords =
  "{% for name, value in input.items() %}{{ ', ' if not loop.first }}{{ name }}={{ ([value] | string)[1:-1] }}{% endfor %}"
let compiledKeywords: JinjaTemplate | undefined

/** Arguments as `city='Oslo', days=3`; undefined unless they are an object whose names can be keywords. */
function writeKeywords(json: string): string | undefined {
  try {
    const data: unknown = JSON.parse(json)
    const areNames = typeof data === 'object' && data !== null && Object.keys(data).every((name) => /^[A-Za-z_]\w*$/.test(name))
    if (!areNames || Array.isArray(data)) return undefined
    compiledKeywords ??= compileJinja(pythonKeywords)
    return compiledKeywords.render({ input: new ForeignJson(json) })
  } catch {
    // Invalid JSON stays unchanged.
    return undefined
  }
}
