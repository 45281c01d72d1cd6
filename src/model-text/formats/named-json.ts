import type { JsonObject, Tool } from '../../contract/request.ts'
import type { CallPiece, RequiredCalls } from './required-calls.ts'

type Around = Pick<RequiredCalls, 'prefix' | 'suffix'> & {
  /** Between calls, where several are allowed. */
  readonly separator: string
  readonly parallel: boolean
}

/** Calls as `before(name)`, the arguments as JSON, `after`. */
export function jsonCalls(
  tools: readonly Tool[],
  { separator, parallel, prefix, suffix }: Around,
  piece: { before(name: string): string; readonly after: string },
): RequiredCalls {
  return {
    prefix,
    suffix,
    ...(parallel && { separator }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [text(piece.before(tool.name)), { type: 'json', schema: argumentsSchema(tool) }, text(piece.after)],
    })),
  }
}

/** Calls as one JSON object each, the name first. */
export function objectCalls(
  tools: readonly Tool[],
  around: Around & { readonly nameKey?: string; readonly argumentsKey?: string },
): RequiredCalls {
  const { nameKey = 'name', argumentsKey = 'arguments' } = around
  return jsonCalls(tools, around, {
    before: (name) => `{"${nameKey}": ${JSON.stringify(name)}, "${argumentsKey}": `,
    after: '}',
  })
}

/** What the arguments must be: an object, whatever else is declared. */
export function argumentsSchema(tool: Tool): JsonObject {
  return tool.parameters ?? { type: 'object', properties: {} }
}

/** A piece that stands as it is. */
export function text(content: string): CallPiece {
  return { type: 'text', text: content }
}
