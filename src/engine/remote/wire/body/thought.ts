import { parseObject } from '../../../../base/json.ts'
import { asText } from '../../transport/loose-json.ts'

/** The data that a server of Responses wants back with a reasoning item, besides its text. */
export type Thought = {
  readonly id: string | undefined
  /** The text is a summary, not the thought itself. */
  readonly isSummary: boolean
  readonly encrypted: string
}

export function writeThought(thought: Thought): string {
  return JSON.stringify(thought)
}

/** Undefined for a text that `writeThought` did not write. */
export function readThought(json: string): Thought | undefined {
  const thought = parseObject(json)
  const encrypted = asText(thought?.encrypted)
  return encrypted === undefined ? undefined : { id: asText(thought?.id), isSummary: thought?.isSummary === true, encrypted }
}
