import { hash } from 'node:crypto'
import { isObject } from '../base/json.ts'
import type { JsonObject } from '../contract/request.ts'
import type { ClaimedLine } from '../contract/server/batches.ts'

/** How much of the first message tells prompts apart: more than a greeting, less than a document. */
const comparedChars = 1000
const digits = 16
const noInstructions = digest([undefined, undefined, undefined, []])

/**
 * Equal for bodies whose prompts begin alike: with the same tools and instructions and, where there are none or it is long, the same first
 * message.
 */
export function groupingOf(body: JsonObject): string {
  const { tools, system, instructions } = body
  const messages = [body.messages, body.input].find(Array.isArray) ?? []
  const first = messages.findIndex((message) => !isInstruction(message))
  const [instructing, asking] = first < 0 ? [messages, undefined] : [messages.slice(0, first), messages[first]]
  const question = JSON.stringify(asking ?? body.prompt ?? body.input ?? body.query) ?? ''
  const instructs = [tools, system, instructions].some((value) => value !== undefined) || instructing.length > 0
  const isCompared = !instructs || question.length >= comparedChars
  return digest([tools, system, instructions, instructing]) + (isCompared ? digest(question.slice(0, comparedChars)) : '')
}

/** The beginning of a line's prompt, the shortest first: equal for lines of a batch that share it. Lines without instructions share none. */
export function beginningsOf({ batchId, grouping }: ClaimedLine): readonly string[] {
  const all = `${batchId} ${grouping} `
  return grouping.startsWith(noInstructions) ? [all] : [`${batchId} ${grouping.slice(0, digits)}`, all]
}

function isInstruction(message: unknown): boolean {
  return isObject(message) && (message.role === 'system' || message.role === 'developer')
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value) ?? '').slice(0, digits)
}
