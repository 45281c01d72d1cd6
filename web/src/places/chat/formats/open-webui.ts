import type { Attachment, Conversation, ToolCall } from '../conversation.ts'
import { isObject, type JsonObject } from '../json-object.ts'
import { adopt, type ForeignMessage, msOf, textOf } from './foreign.ts'

export function isOfOpenWebui(value: unknown): boolean {
  return historyOf(value) !== undefined
}

/** A chat of Open WebUI's export. Undefined: nothing was said in it. */
export function fromOpenWebui(value: unknown): Conversation | undefined {
  const history = historyOf(value)
  if (history === undefined || !isObject(value) || !isObject(value.chat) || !isObject(history.messages)) return undefined
  const { chat } = value
  const { params } = chat
  return adopt({
    id: value.id,
    title: value.title ?? chat.title,
    isPinned: value.pinned === true,
    createdAtMs: msOf(value.created_at ?? chat.timestamp),
    updatedAtMs: msOf(value.updated_at ?? chat.timestamp),
    system: textOf(isObject(params) ? params.system : chat.system),
    messages: Object.entries(history.messages).flatMap(([id, message]) => (isObject(message) ? messageOf(id, message) : [])),
    current: textOf(history.currentId) || undefined,
  })
}

function historyOf(value: unknown): JsonObject | undefined {
  const chat = isObject(value) ? value.chat : undefined
  const history = isObject(chat) ? chat.history : undefined
  return isObject(history) && isObject(history.messages) ? history : undefined
}

function messageOf(id: string, message: JsonObject): ForeignMessage {
  const { parentId, role, content, timestamp, model, files, done, error } = message
  const shared = {
    id,
    ...(typeof parentId === 'string' && { parent: parentId }),
    atMs: msOf(timestamp),
  }
  if (role !== 'assistant') {
    const attachments = (Array.isArray(files) ? files : []).flatMap(attachmentOf)
    return { ...shared, role: 'user', text: textOf(content), ...(attachments.length > 0 && { attachments }) }
  }
  const { text, reasoning, calls } = withoutDetails(textOf(content))
  const problem = isObject(error) ? textOf(error.content) : ''
  return {
    ...shared,
    role: 'assistant',
    text,
    state: problem !== '' ? 'failed' : done === false ? 'broken' : 'done',
    ...(typeof model === 'string' && { model }),
    ...(reasoning !== '' && { reasoning }),
    ...(calls.length > 0 && { calls }),
    ...(problem !== '' && { problem }),
  }
}

/** Pictures; the text of other files is at the server. */
function attachmentOf(file: unknown): readonly Attachment[] {
  if (!isObject(file) || file.type !== 'image') return []
  const data = textOf(file.url)
  const type = /^data:(image\/[\w.+-]+)[;,]/.exec(data)?.[1]
  return type === undefined ? [] : [{ kind: 'image', name: textOf(file.name) || 'image', type, data }]
}

/** It keeps reasoning and calls as HTML in the text. */
function withoutDetails(content: string) {
  const reasoning: string[] = []
  const calls: ToolCall[] = []
  const text = content.replace(/<details\b([^>]*)>([\s\S]*?)<\/details>\n?/g, (whole, attributes: string, inner: string) => {
    const type = attribute(attributes, 'type')
    if (type === 'reasoning') reasoning.push(quoted(inner))
    else if (type === 'tool_calls') calls.push(callOf(attributes, calls.length))
    else return whole
    return ''
  })
  return { text: text.trim(), reasoning: reasoning.join('\n\n'), calls }
}

function quoted(inner: string): string {
  const lines = inner
    .replace(/<summary>[\s\S]*?<\/summary>/, '')
    .trim()
    .replace(/^> ?/gm, '')
  return unescaped(lines)
}

function callOf(attributes: string, index: number): ToolCall {
  const result = attribute(attributes, 'result')
  return {
    id: attribute(attributes, 'id') ?? `call-${index}`,
    name: attribute(attributes, 'name') ?? '',
    input: asText(attribute(attributes, 'arguments') ?? '{}'),
    by: 'server',
    ...(result !== undefined && { result: asText(result) }),
  }
}

/** Its values are JSON, at times of a string that is JSON. */
function asText(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'string' ? value : json
  } catch {
    return json
  }
}

function attribute(attributes: string, name: string): string | undefined {
  const found = new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1]
  return found === undefined ? undefined : unescaped(found)
}

const signs: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" }

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|#39|#x27);/g, (whole, name: string) => signs[name] ?? whole)
}
