/** A conversation and its changes. A message has a parent; messages with the same parent are branches, of which one is chosen. */

export type Attachment = {
  readonly kind: 'image' | 'audio' | 'text'
  readonly name: string
  readonly type: string
  readonly data: string
}

/** A call of a tool: of the caller's, with the typed result, or of the server's. */
export type ToolCall = {
  readonly id: string
  readonly name: string
  readonly input: string
  readonly by: 'caller' | 'server'
  readonly result?: string
  readonly isError?: boolean
  /** The call waits for the person's approval. */
  readonly waits?: boolean
  /** Names of pictures that it made. */
  readonly pictures?: readonly string[]
}

export type Token = {
  readonly text: string
  readonly logprob: number
  readonly top: readonly { readonly text: string; readonly logprob: number }[]
}

/** The cost of an answer. */
export type Facts = {
  readonly promptTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  readonly tokensPerSecond?: number
  readonly firstTokenMs?: number
}

/** `broken`: the connection ended before the answer; `failed`: the server reported why. */
type AnswerState = 'running' | 'done' | 'stopped' | 'broken' | 'failed'

export type Message = {
  readonly id: string
  /** Undefined for the first message. */
  readonly parent?: string
  readonly role: 'user' | 'assistant'
  readonly text: string
  readonly atMs: number
  readonly attachments?: readonly Attachment[]
  /** For an answer. */
  readonly model?: string
  readonly state?: AnswerState
  readonly reasoning?: string
  readonly reasoningMs?: number
  readonly calls?: readonly ToolCall[]
  readonly problem?: string
  readonly finish?: string
  readonly limit?: number
  readonly facts?: Facts
  readonly tokens?: readonly Token[]
  /** The schema that its text should match. */
  readonly schema?: string
}

export type Settings = {
  readonly model?: string
  readonly system: string
  /** Fields of a request; absent: the server's value is in force. */
  readonly sampling: Readonly<Record<string, number>>
  readonly thinking?: boolean
  /** JSON: a list of tools, as in a request. */
  readonly tools: string
  /** Tools that the server runs: a search, programs, and MCP servers by their labels. */
  readonly serverTools?: {
    readonly web?: boolean
    readonly python?: boolean
    readonly terminal?: boolean
    readonly mcp?: string
    /** Each call requires an approval. */
    readonly asks?: boolean
  }
  /** JSON: the schema of answers. */
  readonly schema: string
  readonly logprobs?: boolean
}

export type Conversation = {
  readonly id: string
  readonly title: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly settings: Settings
  readonly messages: Readonly<Record<string, Message>>
  /** The visible branch, by parent; the first message's parent is `start`. */
  readonly chosen: Readonly<Record<string, string>>
}

const noSettings: Settings = { system: '', sampling: {}, tools: '', schema: '' }

export function createConversation(id: string, nowMs: number, settings: Partial<Settings> = {}): Conversation {
  return {
    id,
    title: '',
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    settings: { ...noSettings, ...settings },
    messages: {},
    chosen: {},
  }
}

const keyOf = (parent: string | undefined) => parent ?? 'start'

/** The visible messages from the first one; up to and including `last` if it is among them. */
export function pathOf({ messages, chosen }: Conversation, last?: string): readonly Message[] {
  const path = new Set<Message>()
  let next = chosen.start
  while (next !== undefined) {
    const message = messages[next]
    // A message with the id `start` would follow itself.
    if (message === undefined || path.has(message)) break
    path.add(message)
    if (next === last) break
    next = chosen[next]
  }
  return [...path]
}

/** The messages with the same parent, oldest first. */
export function branchesOf({ messages }: Conversation, { parent }: Message): readonly Message[] {
  return Object.values(messages)
    .filter((other) => other.parent === parent)
    .sort((a, b) => a.atMs - b.atMs)
}

/** Adds a message, which becomes the visible branch. The first one gives the conversation its title. */
export function withMessage(conversation: Conversation, message: Message): Conversation {
  return {
    ...conversation,
    title: conversation.title === '' ? titleOf(message) : conversation.title,
    updatedAtMs: message.atMs,
    messages: { ...conversation.messages, [message.id]: message },
    chosen: { ...conversation.chosen, [keyOf(message.parent)]: message.id },
  }
}

/** Replaces a message by its new state. */
export function replaced(conversation: Conversation, message: Message): Conversation {
  return { ...conversation, messages: { ...conversation.messages, [message.id]: message } }
}

/** Shows another branch. */
export function choosing(conversation: Conversation, { id, parent }: Message): Conversation {
  return { ...conversation, chosen: { ...conversation.chosen, [keyOf(parent)]: id } }
}

/** A new conversation that begins with the messages up to this one. */
export function branched(
  conversation: Conversation,
  last: string,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): Conversation {
  const begun = { ...createConversation(id, nowMs, conversation.settings), title: conversation.title }
  return pathOf(conversation, last).reduce((made, message) => ({ ...withMessage(made, message), updatedAtMs: nowMs }), begun)
}

function titleOf({ text, attachments = [] }: Message): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  if (line === '') return attachments[0]?.name ?? ''
  return line.length <= 60 ? line : `${line.slice(0, 59).trimEnd()}…`
}
