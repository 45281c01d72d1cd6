import { list } from '../wire/first-fault.ts'
import { type OtherItem, type WirePart, wirePart } from './item-schema.ts'

const roles = ['user', 'assistant', 'system', 'developer'] as const
type Role = (typeof roles)[number]
type Content = string | readonly WirePart[]

/** The text of an item whose type has no schema here. */
type OtherMeaning =
  /** `lost`: the places of unreadable content. */
  | { readonly type: 'message'; readonly role: Role; readonly content: Content; readonly lost: readonly string[] }
  | { readonly type: 'call'; readonly id: string; readonly name: string; readonly input: string }
  | { readonly type: 'answered-call'; readonly name: string; readonly input: string; readonly result: string }
  | { readonly type: 'result'; readonly callId: string; readonly output: Content }

/**
 * Reads an item of a tool that OpenAI defines, a message between agents, or a type newer than this code: a call or a result by the end of
 * its type, a message by its role. Undefined if a model cannot be shown anything of it.
 */
export function readOther(item: OtherItem): OtherMeaning | undefined {
  if (item.type === 'file_search_call') return readFileSearch(item)
  const role = item.type === 'agent_message' ? 'user' : roles.find((name) => name === item.role)
  if (role !== undefined) return readMessage(role, item.content)
  // OpenAI's servers run those without `call_id`; some Codex versions put it into `id`.
  const callId = item.call_id ?? item.id
  if (typeof callId !== 'string') return undefined
  if (item.type.endsWith('_output')) return { type: 'result', callId, output: outputOf(item) }
  if (typeof item.call_id !== 'string' && item.type !== 'local_shell_call') return undefined
  const name = item.type === 'program' ? item.type : /^(.+)_call$/.exec(item.type)?.[1]
  return name === undefined ? undefined : { type: 'call', id: callId, name, input: inputOf(item) }
}

function readFileSearch({ queries, results }: OtherItem): OtherMeaning | undefined {
  if (!Array.isArray(results)) return undefined
  return { type: 'answered-call', name: 'file_search', input: JSON.stringify({ queries }), result: JSON.stringify(results) }
}

/** The beginning of texts that OpenAI's servers have sealed. */
const foreignSeal = /^gAAAA[\w-]*=*$/

function readMessage(role: Role, content: unknown): OtherMeaning | undefined {
  if (typeof content === 'string') return { type: 'message', role, content, lost: [] }
  if (!Array.isArray(content)) return undefined
  const parts = content.map(readPart)
  const known = parts.filter((part) => part !== undefined)
  const lost = parts.flatMap((part, index) => (part === undefined ? [`content[${index}]`] : []))
  return known.length === 0 ? undefined : { type: 'message', role, content: known, lost }
}

/** Codex calls encrypted all that a model wrote for another agent; a model of this server wrote plain text. */
function readPart(given: unknown): WirePart | undefined {
  const { type, encrypted_content: text } = Object(given)
  if (type === 'encrypted_content') {
    return typeof text === 'string' && !foreignSeal.test(text) ? { type: 'input_text', text } : undefined
  }
  return wirePart.safeParse(given).data
}

/** The fields that the model wrote: all but the item's own. */
function inputOf({ type: _, id: __, call_id: ___, status: ____, ...said }: OtherItem): string {
  return JSON.stringify(said)
}

const wireParts = list(wirePart)

function outputOf({ output, result, status }: OtherItem): Content {
  const given = output ?? result ?? status
  if (typeof given === 'string') return given
  const { image_url, file_id } = Object(given)
  const parts = (image_url ?? file_id) === undefined ? given : [{ type: 'input_image', image_url, file_id }]
  const read = wireParts.safeParse(parts)
  return read.success ? read.data : JSON.stringify(given ?? '')
}
