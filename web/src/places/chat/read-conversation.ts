import type { Attachment, Conversation, Facts, Message, Settings, Token, ToolCall } from './conversation.ts'
import { isObject, type JsonObject } from './json-object.ts'
import { samplingFields } from './request.ts'

/**
 * Reads a conversation from a file or the browser's store. A field of another type gets a default, or is left out, so that the rest can be
 * shown. Undefined: the value is not a conversation.
 */
export function readConversation(value: unknown): Conversation | undefined {
  const head = readHead(value)
  if (head === undefined || !isObject(value) || !isObject(value.messages)) return undefined
  const messages = readMessages(value.messages)
  return { ...head, messages, chosen: withChoices(head.chosen, messages) }
}

/** A conversation without its messages, and with any choice between them. */
export function readHead(value: unknown): Omit<Conversation, 'messages'> | undefined {
  if (!isObject(value)) return undefined
  const { id, title, isPinned, folder, createdAtMs, updatedAtMs, settings, chosen } = value
  // Addresses contain its id.
  if (typeof id !== 'string' || !/^[\w-]+$/.test(id)) return undefined
  const choices = Object.entries(isObject(chosen) ? chosen : {}).filter(
    (entry): entry is [string, string] => text(entry[1]) !== undefined,
  )
  return {
    id,
    title: text(title) ?? '',
    ...(isPinned === true && { isPinned }),
    ...(typeof folder === 'string' && folder !== '' && { folder }),
    createdAtMs: timeMs(createdAtMs) ?? 0,
    updatedAtMs: timeMs(updatedAtMs) ?? 0,
    settings: readSettings(isObject(settings) ? settings : {}),
    chosen: Object.fromEntries(choices),
  }
}

/** A message; one that runs, but cannot be found again at the server, counts as broken. */
export function readMessage(value: unknown): Message | undefined {
  if (!isObject(value)) return undefined
  const message = messageOf(value)
  return message.state === 'running' && message.run === undefined ? { ...message, state: 'broken' } : message
}

function readMessages(found: JsonObject): Conversation['messages'] {
  const messages = Object.entries(found).flatMap(([id, message]) =>
    isObject(message) ? (readMessage({ ...message, id }) ?? []) : [],
  )
  const ids = new Set(messages.map(({ id }) => id))
  return Object.fromEntries(
    messages.map(({ parent, ...message }) => [
      message.id,
      { ...message, ...(parent !== undefined && ids.has(parent) && { parent }) },
    ]),
  )
}

/** By parent, the chosen branch if it exists, otherwise the last one. */
export function withChoices(chosen: Conversation['chosen'], messages: Conversation['messages']): Conversation['chosen'] {
  const branches = Object.values(messages).map(({ id, parent = 'start' }) => [parent, id] as const)
  return Object.fromEntries([...branches, ...branches.filter(([parent, id]) => chosen[parent] === id)])
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function flag(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined
}

/** A time that a `Date` can have. */
function timeMs(value: unknown): number | undefined {
  return typeof value === 'number' && !Number.isNaN(new Date(value).getTime()) ? value : undefined
}

/** Drops other fields: they would enter requests, in place of the model or the messages. */
function sampling(value: unknown): Settings['sampling'] {
  const found = isObject(value) ? value : {}
  const entries = samplingFields.flatMap(({ field }) => {
    const read = number(found[field])
    return read === undefined ? [] : [[field, read] as const]
  })
  return Object.fromEntries(entries)
}

function oneOf<T extends string>(...allowed: readonly T[]) {
  return (value: unknown): T | undefined => allowed.find((each) => each === value)
}

type Read<T> = (value: unknown) => T

function or<T>(read: Read<T | undefined>, fallback: T): Read<T> {
  return (value) => read(value) ?? fallback
}

/** A list without unreadable items. */
function list<T>(read: Read<T | undefined>): Read<readonly T[] | undefined> {
  return (value) => (Array.isArray(value) ? value.map(read).filter((item) => item !== undefined) : undefined)
}

/** Each field of a type has its reader, which returns a value if the type requires one. */
function fields<T>(readers: { readonly [Name in keyof T]-?: Read<T[Name]> }): (value: JsonObject) => T {
  const all = Object.entries<Read<unknown>>(readers)
  return (value) => {
    const read: Record<string, unknown> = {}
    for (const [name, readField] of all) {
      const found = readField(value[name])
      if (found !== undefined) read[name] = found
    }
    return read as T
  }
}

function object<T>(readers: { readonly [Name in keyof T]-?: Read<T[Name]> }): Read<T | undefined> {
  const read = fields(readers)
  return (value) => (isObject(value) ? read(value) : undefined)
}

const attachmentOf = fields<Attachment>({
  kind: or(oneOf('image', 'audio', 'text'), 'text'),
  name: or(text, ''),
  type: or(text, ''),
  data: or(text, ''),
})

/** Without its data, there is nothing to show or send. */
function attachment(value: unknown): Attachment | undefined {
  return isObject(value) && typeof value.data === 'string' ? attachmentOf(value) : undefined
}

const call = object<ToolCall>({
  id: or(text, ''),
  name: or(text, ''),
  input: or(text, ''),
  by: or(oneOf('caller', 'server'), 'server'),
  result: text,
  isError: flag,
  waits: flag,
  pictures: list(text),
})

const alternative = object<Token['top'][number]>({ text: or(text, ''), logprob: or(number, 0) })

const messageOf = fields<Message>({
  id: or(text, ''),
  parent: text,
  role: or(oneOf('user', 'assistant'), 'user'),
  text: or(text, ''),
  atMs: or(timeMs, 0),
  attachments: list(attachment),
  isEdited: flag,
  isDeleted: flag,
  model: text,
  run: object<NonNullable<Message['run']>>({ id: or(text, ''), bytes: or(count, 0) }),
  state: oneOf('running', 'done', 'stopped', 'broken', 'failed'),
  reasoning: text,
  reasoningMs: count,
  calls: list(call),
  problem: text,
  finish: text,
  limit: count,
  facts: object<Facts>({
    promptTokens: or(count, 0),
    cachedTokens: or(count, 0),
    outputTokens: or(count, 0),
    tokensPerSecond: count,
    firstTokenMs: count,
  }),
  tokens: list(object<Token>({ text: or(text, ''), logprob: or(number, 0), top: or(list(alternative), []) })),
  schema: text,
})

/** As conversations were stored before the page listed the tools. */
const formerTools = object<{ web: boolean; python: boolean; terminal: boolean; mcp: string }>({
  web: or(flag, false),
  python: or(flag, false),
  terminal: or(flag, false),
  mcp: or(text, ''),
})

function formerNames(value: unknown): readonly string[] {
  const { web = false, python = false, terminal = false, mcp = '' } = formerTools(value) ?? {}
  const labels = mcp.split(',').map((label) => label.trim())
  return [web ? 'web_search' : '', python ? 'python' : '', terminal ? 'terminal' : '', ...labels].filter((name) => name !== '')
}

function serverTools(value: unknown): Settings['serverTools'] {
  if (!isObject(value)) return undefined
  const asks = flag(value.asks)
  return { names: list(text)(value.names) ?? formerNames(value), ...(asks !== undefined && { asks }) }
}

export const readSettings = fields<Settings>({
  model: text,
  system: or(text, ''),
  sampling,
  thinking: flag,
  tools: or(text, ''),
  serverTools,
  schema: or(text, ''),
  logprobs: flag,
})
