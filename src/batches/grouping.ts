import { hash } from 'node:crypto'
import { isObject } from '../base/json.ts'
import type { JsonObject } from '../contract/request.ts'

/** How much of the first message tells prompts apart: more than a greeting, less than a document. */
const comparedChars = 1000
const digits = 16

/**
 * Equal for bodies whose prompts begin alike: with the same tools and instructions and, sorted beside each other, the same first message.
 * Lines that run one after the other then find their prompts' beginning in the engine's cache.
 */
export function groupingOf(body: JsonObject): string {
  const { tools, system, instructions } = body
  const messages = [body.messages, body.input].find(Array.isArray) ?? []
  const first = messages.findIndex((message) => !isInstruction(message))
  const [instructing, asking] = first < 0 ? [messages, undefined] : [messages.slice(0, first), messages[first]]
  const question = asking ?? body.prompt ?? body.input ?? body.query
  return digest([tools, system, instructions, instructing]) + digest(JSON.stringify(question)?.slice(0, comparedChars))
}

function isInstruction(message: unknown): boolean {
  return isObject(message) && (message.role === 'system' || message.role === 'developer')
}

function digest(value: unknown): string {
  return hash('sha256', JSON.stringify(value) ?? '').slice(0, digits)
}
