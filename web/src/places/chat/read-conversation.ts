import type { Attachment, Conversation, Facts, Message, Settings, Token, ToolCall } from './conversation.ts'
import { isObject, type JsonObject } from './json-object.ts'
import { samplingFields } from './request.ts'

/**
 * Reads a conversation from a file or the browser's store. A field of another type gets a default, or is left out, so that the rest can be
 * shown; an answer that was running counts as broken. Undefined: the value is not a conversation.
 */
export function readConversation(value: unknown): Conversation | undefined {
  if (!isObject(value)) return undefined
  const { id, title, createdAtMs, updatedAtMs, settings, messages: found, chosen } = value
  // Addresses contain its id.
  if (typeof id !== 'string' || !/^[\w-]+$/.test(id) || !isObject(found)) return undefined
  const messages = readMessages(found)
  return {
    id,
    title: text(title) ?? '',
    createdAtMs: timeMs(createdAtMs) ?? 0,
    updatedAtMs: timeMs(updatedAtMs) ?? 0,
    settings: settingsOf(isObject(settings) ? settings : {}),
    messages,
    chosen: readChosen(isObject(chosen) ? chosen : {}, messages),
  }
}

function readMessages(found: JsonObject): Conversation['messages'] {
  const messages = Object.entries(found).flatMap(([id, message]) => (isObject(message) ? messageOf({ ...message, id }) : []))
  const ids = new Set(messages.map(({ id }) => id))
  return Object.fromEntries(
    messages.map(({ parent, ...message }) => [
      message.id,
      {
        ...message,
        ...(parent !== undefined && ids.has(parent) && { parent }),
        ...(message.state === 'running' && { state: 'broken' }),
      },
    ]),
  )
}

/** By parent, the chosen branch if it exists, otherwise the last one. */
function readChosen(chosen: JsonObject, messages: Conversation['messages']): Conversation['chosen'] {
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
  model: text,
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

const settingsOf = fields<Settings>({
  model: text,
  system: or(text, ''),
  sampling,
  thinking: flag,
  tools: or(text, ''),
  serverTools: object<NonNullable<Settings['serverTools']>>({ web: flag, python: flag, terminal: flag, mcp: text, asks: flag }),
  schema: or(text, ''),
  logprobs: flag,
})
