import type { ContentPart, FunctionTool, ToolCallPart } from '../../contract/request.ts'
import type { CallPiece } from '../formats/required-calls.ts'
import type { ToolFormat } from '../formats/tool-format.ts'
import type { Turn } from './turn.ts'

/** How tools, calls and results are told in ordinary turns, to models whose template does not show them. */
export type ToolTeller = {
  /** The conversation with the tools in its system message, behind what the caller says there. */
  declare(messages: readonly Turn[], tools: readonly FunctionTool[]): readonly Turn[]
  /** Calls as the model is told to write them; undefined where the format writes arguments one by one. */
  writeCalls(calls: readonly ToolCallPart[]): string | undefined
}

export function createToolTeller(format: ToolFormat): ToolTeller {
  return {
    declare(messages, tools) {
      const content: ContentPart[] = [{ type: 'text', text: instructions(format, tools) }]
      const isSystem = ({ role }: Turn) => role === 'system' || role === 'developer'
      const end = messages.findIndex((message) => !isSystem(message))
      const place = end === -1 ? messages.length : end
      return [...messages.slice(0, place), { role: 'system', content }, ...messages.slice(place)]
    },
    writeCalls(calls) {
      const described = calls.map(({ name }) => format.describeCalls([{ name }], { parallel: true }))
      const [first] = described
      const texts = described.map(({ calls: [call] }, index) =>
        fill(call?.pieces ?? [], { whole: calls[index]?.input ?? '{}', position: index }),
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
      const isWhole = piece.schema === sampleTool.parameters
      return isWhole ? `{"${sample.argument}": "${sample.value}"}` : JSON.stringify(sample.value)
    }
    case 'optional':
      return writeSample(piece.pieces)
  }
}

type Filling = { readonly whole: string; readonly position: number }

/** A call's text; undefined where there is not one place for all of the arguments. */
function fill(pieces: readonly CallPiece[], { whole, position }: Filling): string | undefined {
  if (
    pieces
      .filter(({ type }) => type !== 'text' && type !== 'position')
      .map(({ type }) => type)
      .join() !== 'json'
  )
    return undefined
  return pieces
    .map((piece) => (piece.type === 'text' ? piece.text : piece.type === 'position' ? piece.first + position : whole))
    .join('')
}
