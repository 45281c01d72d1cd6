import { argumentsSchema } from '../../canonical/callable-tools.ts'
import type { CallPiece, DescribeCalls, RequiredCalls } from './required-calls.ts'

/** What is around the calls, and what separates several; empty where it is absent. */
type Surroundings = Partial<Pick<RequiredCalls, 'prefix' | 'separator' | 'suffix'>>
type JsonSpelling = Surroundings & { before(name: string): string; readonly after?: string }

/** Calls that are `before(name)`, the arguments as JSON, and `after`. */
export function jsonCalls({ prefix = '', separator = '', suffix = '', before, after = '' }: JsonSpelling): DescribeCalls {
  return (tools, { parallel }) => ({
    prefix,
    suffix,
    ...(parallel && { separator }),
    calls: tools.map((tool) => ({
      name: tool.name,
      pieces: [text(before(tool.name)), { type: 'json', schema: argumentsSchema(tool) }, text(after)],
    })),
  })
}

type ObjectSpelling = Surroundings & { readonly nameKey?: string; readonly argumentsKey?: string }

/** Calls that are one JSON object each, with the name first. */
export function objectCalls({ nameKey = 'name', argumentsKey = 'arguments', ...around }: ObjectSpelling): DescribeCalls {
  const before = (name: string) => `{"${nameKey}": ${JSON.stringify(name)}, "${argumentsKey}": `
  return jsonCalls({ ...around, before, after: '}' })
}

export function text(content: string): CallPiece {
  return { type: 'text', text: content }
}
