import type { ContentPart, FunctionTool, ToolCallPart } from '../../contract/request.ts'
import type { CallPiece } from '../formats/required-calls.ts'
import type { ToolFormat } from '../formats/tool-format.ts'
import type { Turn } from './turn.ts'

/** Writes tools and calls into ordinary turns, for models whose template does not render them. */
export type ToolDescriber = {
  /** The conversation with a description of the tools at the end of its system messages. */
  declare(messages: readonly Turn[], tools: readonly FunctionTool[]): readonly Turn[]
  /** Calls in the form that the description asks for; undefined where the format writes arguments one by one. */
  writeCalls(calls: readonly ToolCallPart[]): string | undefined
}

export function createToolDescriber(format: ToolFormat): ToolDescriber {
  return {
    declare(messages, tools) {
      const content: ContentPart[] = [{ type: 'text', text: instructions(format, tools) }]
      const isSystem = ({ role }: Turn) => role === 'system' || role === 'developer'
      const firstOther = messages.findIndex((message) => !isSystem(message))
      const end = firstOther === -1 ? messages.length : firstOther
      return [...messages.slice(0, end), { role: 'system', content }, ...messages.slice(end)]
    },
    writeCalls(calls) {
      const described = calls.map(({ name }) => format.describeCalls([{ name }], { parallel: true }))
      const [first] = described
      const texts = described.map(({ calls: [call] }, index) =>
        fill(call?.pieces ?? [], { input: calls[index]?.input ?? '{}', position: index }),
      )
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
    JSON.stringify({ name, ...(description !== undefined && { description }), ...(parameters !== undefined && { parameters }) }),
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

type Filling = { readonly input: string; readonly position: number }

/** A call's text; undefined unless one piece takes all of the arguments. */
function fill(pieces: readonly CallPiece[], { input, position }: Filling): string | undefined {
  const slots = pieces.filter(({ type }) => type !== 'text' && type !== 'position')
  if (slots.length !== 1 || slots[0]?.type !== 'json') return undefined
  return pieces
    .map((piece) => (piece.type === 'text' ? piece.text : piece.type === 'position' ? piece.first + position : input))
    .join('')
}
