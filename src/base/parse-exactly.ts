import { mayLoseDigits } from './long-numbers.ts'

/** Parses JSON that is written again: numbers that doubles cannot hold stay as they are. */
export function parseExactly(text: string): unknown {
  if (!mayLoseDigits(text)) return JSON.parse(text)
  const exact = JSON as unknown as ExactJson
  return exact.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined ? exact.rawJSON(source) : value,
  )
}

/** The parts of JSON that TypeScript does not declare yet. */
type ExactJson = {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
}
