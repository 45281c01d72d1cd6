import { argumentsSchema } from '../../canonical/callable-tools.ts'
import type { FunctionTool, JsonObject } from '../../contract/request.ts'
import type { CallPiece, RequiredCalls } from './required-calls.ts'

type Surroundings = Pick<RequiredCalls, 'prefix' | 'suffix'> & {
  /** Between calls, if several are allowed. */
  readonly separator: string
  readonly parallel: boolean
}

/** Calls that are `before(name)`, the arguments as JSON, and `after`. */
export function jsonCalls(
  tools: readonly FunctionTool[],
  { separator, parallel, prefix, suffix }: Surroundings,
  piece: { before(name: string): string; readonly after: string },
): RequiredCalls {
  return {
    prefix,
    suffix,
    ...(parallel && { separator }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [text(piece.before(tool.name)), { type: 'json', schema: writtenArguments(tool) }, text(piece.after)],
    })),
  }
}

/** Calls that are one JSON object each, with the name first. */
export function objectCalls(
  tools: readonly FunctionTool[],
  around: Surroundings & { readonly nameKey?: string; readonly argumentsKey?: string },
): RequiredCalls {
  const { nameKey = 'name', argumentsKey = 'arguments' } = around
  return jsonCalls(tools, around, {
    before: (name) => `{"${nameKey}": ${JSON.stringify(name)}, "${argumentsKey}": `,
    after: '}',
  })
}

/** The arguments that a grammar allows: no members for a tool that declares nothing, which could otherwise continue endlessly. */
export function writtenArguments({ parameters }: Pick<FunctionTool, 'parameters'>): JsonObject {
  const schema = argumentsSchema({ parameters })
  const isEmpty = parameters === undefined || Object.keys(parameters).length === 0
  return isEmpty ? { ...schema, additionalProperties: false } : schema
}

export function text(content: string): CallPiece {
  return { type: 'text', text: content }
}
