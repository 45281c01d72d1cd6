import type { Conversation, ToolCall } from '../conversation.ts'
import { isObject, type JsonObject } from '../json-object.ts'
import { adopt, type ForeignMessage, msOf, textOf } from './foreign.ts'

/** A node of the tree that ChatGPT exports; some have no message. */
type Node = { readonly id: string; readonly parent: string | undefined; readonly message: JsonObject | undefined }

export function isOfChatgpt(value: unknown): boolean {
  return isObject(value) && isObject(value.mapping)
}

/** A conversation of `conversations.json`. Undefined: nothing was said in it. */
export function fromChatgpt(value: unknown): Conversation | undefined {
  if (!isObject(value) || !isObject(value.mapping)) return undefined
  const nodes = new Map(Object.entries(value.mapping).flatMap(([id, node]) => (isObject(node) ? [[id, nodeOf(id, node)]] : [])))
  const isShown = ({ id }: Node) => nodes.get(id)?.message !== undefined && shownRole(nodes.get(id)?.message) !== undefined
  /** The node and those before it, up to the first shown one. */
  const upFrom = (id: string | undefined) => {
    const passed = new Map<string, Node>()
    for (let node = nodes.get(id ?? ''); node !== undefined && !passed.has(node.id); node = nodes.get(node.parent ?? '')) {
      passed.set(node.id, node)
      if (isShown(node)) break
    }
    return [...passed.values()]
  }
  const shownBefore = (id: string | undefined) => upFrom(id).find(isShown)?.id
  const messages = [...nodes.values()].filter(isShown).map(({ id, parent, message = {} }): ForeignMessage => {
    const before = upFrom(parent).filter((node) => !isShown(node))
    const shown = shownBefore(parent)
    return {
      ...messageOf(
        id,
        message,
        before.reverse().flatMap(({ message: hidden }) => (hidden === undefined ? [] : [hidden])),
      ),
      ...(shown !== undefined && { parent: shown }),
    }
  })
  return adopt({
    id: value.conversation_id ?? value.id,
    title: value.title,
    isPinned: value.is_starred === true,
    createdAtMs: msOf(value.create_time),
    updatedAtMs: msOf(value.update_time),
    messages,
    current: shownBefore(textOf(value.current_node)),
  })
}

function nodeOf(id: string, { parent, message }: JsonObject): Node {
  return { id, parent: typeof parent === 'string' ? parent : undefined, message: isObject(message) ? message : undefined }
}

/** Undefined for what its reader did not see as a message: instructions, thoughts, and calls of tools with their results. */
function shownRole(message: JsonObject = {}): 'user' | 'assistant' | undefined {
  const role = roleOf(message)
  const { metadata } = message
  if (isObject(metadata) && metadata.is_visually_hidden_from_conversation === true) return undefined
  if (contentOf(message).trim() === '' || isThought(message)) return undefined
  if (role === 'user') return 'user'
  return role === 'assistant' && !isCall(message) ? 'assistant' : undefined
}

const roleOf = ({ author }: JsonObject) => (isObject(author) ? author.role : undefined)
const isCall = ({ recipient = 'all' }: JsonObject) => recipient !== 'all' && recipient !== null
const typeOf = ({ content }: JsonObject) => (isObject(content) ? content.content_type : undefined)
const isThought = (message: JsonObject) => ['thoughts', 'reasoning_recap'].includes(textOf(typeOf(message)))

function messageOf(id: string, message: JsonObject, before: readonly JsonObject[]): ForeignMessage {
  const role = shownRole(message) ?? 'user'
  const { metadata } = message
  const shared = { id, role, text: contentOf(message), atMs: msOf(message.create_time) }
  if (role === 'user') return shared
  const thoughts = before.filter((each) => typeOf(each) === 'thoughts').map(thoughtsOf)
  const reasoning = thoughts.filter((text) => text !== '').join('\n\n')
  const calls = callsOf(before)
  const model = isObject(metadata) ? textOf(metadata.model_slug) : ''
  return {
    ...shared,
    state: 'done',
    ...(model !== '' && { model }),
    ...(reasoning !== '' && { reasoning }),
    ...(calls.length > 0 && { calls }),
  }
}

function callsOf(before: readonly JsonObject[]): readonly ToolCall[] {
  const calls: ToolCall[] = []
  for (const message of before) {
    if (roleOf(message) === 'assistant' && isCall(message)) {
      const id = textOf(message.id) || `call-${calls.length}`
      calls.push({ id, name: textOf(message.recipient), input: contentOf(message), by: 'server' })
    } else if (roleOf(message) === 'tool') {
      const last = calls.at(-1)
      if (last !== undefined) calls[calls.length - 1] = { ...last, result: (last.result ?? '') + contentOf(message) }
    }
  }
  return calls
}

function contentOf({ content }: JsonObject): string {
  if (!isObject(content)) return ''
  if (Array.isArray(content.parts)) return content.parts.map(partOf).join('\n\n')
  return textOf(content.text) || textOf(content.result) || textOf(content.content)
}

function partOf(part: unknown): string {
  if (typeof part === 'string') return part
  if (!isObject(part)) return ''
  const type = textOf(part.content_type)
  return (
    textOf(part.text) || (type.includes('asset_pointer') ? `(${type.replace(/_?asset_pointer/, '')}: not in the export)` : '')
  )
}

function thoughtsOf({ content }: JsonObject): string {
  const thoughts = isObject(content) && Array.isArray(content.thoughts) ? content.thoughts : []
  return thoughts
    .filter(isObject)
    .map(({ summary, content: text }) => [textOf(summary), textOf(text)].filter((each) => each !== '').join('\n'))
    .join('\n\n')
}
