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
  /** Its text was changed later by the person. */
  readonly isEdited?: boolean
  /** It keeps its place in the tree for the messages after it, and nothing else. */
  readonly isDeleted?: boolean
  /** For an answer. */
  readonly model?: string
  readonly state?: AnswerState
  /** The stream that the server keeps of it, and its length up to what this message has. */
  readonly run?: { readonly id: string; readonly bytes: number }
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
  /** Tools that the server runs, by their names; the name of an MCP server stands for all of its tools. `asks`: before each call. */
  readonly serverTools?: { readonly names: readonly string[]; readonly asks?: boolean }
  /** JSON: the schema of answers. */
  readonly schema: string
  readonly logprobs?: boolean
}

export type Conversation = {
  readonly id: string
  readonly title: string
  /** It stays at the top of the list. */
  readonly isPinned?: boolean
  /** The name of its folder in the list. */
  readonly folder?: string
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
  return [...path].filter(({ isDeleted }) => isDeleted !== true)
}

/** Whether the model has said all that it had to: nothing was stopped or failed, and no call waits for its result. */
export function isComplete(conversation: Conversation): boolean {
  const last = pathOf(conversation).at(-1)
  return last?.role !== 'assistant' || (last.state === 'done' && (last.calls ?? []).every(({ result }) => result !== undefined))
}

/** The messages that follow the same message, oldest first. */
export function branchesOf(conversation: Conversation, message: Message): readonly Message[] {
  const before = visibleParent(conversation, message)
  return Object.values(conversation.messages)
    .filter((other) => other.isDeleted !== true && visibleParent(conversation, other) === before)
    .sort((a, b) => a.atMs - b.atMs)
}

function visibleParent({ messages }: Conversation, { parent }: Message): string | undefined {
  let passed: Set<string> | undefined
  for (let id = parent; ; id = messages[id]?.parent) {
    if (id === undefined || messages[id]?.isDeleted !== true || passed?.has(id) === true) return id
    // In a file, they may form a circle.
    passed ??= new Set()
    passed.add(id)
  }
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

/** Replaces a message by its new state; a deleted one stays deleted. */
export function replaced(conversation: Conversation, message: Message): Conversation {
  if (conversation.messages[message.id]?.isDeleted === true) return conversation
  return { ...conversation, messages: { ...conversation.messages, [message.id]: message } }
}

/** Shows another branch. */
export function choosing(conversation: Conversation, message: Message): Conversation {
  const chosen = { ...conversation.chosen }
  const passed = new Set<string>()
  let next: Message | undefined = message
  // Those between this message and the visible one before it are deleted.
  do {
    passed.add(next.id)
    chosen[keyOf(next.parent)] = next.id
    next = next.parent === undefined ? undefined : conversation.messages[next.parent]
  } while (next?.isDeleted === true && !passed.has(next.id))
  return { ...conversation, chosen }
}

/** Deletes a message, and with `andAfter` those that follow it in any branch. */
export function without(conversation: Conversation, id: string, andAfter: boolean): Conversation {
  const messages = { ...conversation.messages }
  for (const each of andAfter ? subtree(conversation, id) : [id]) {
    const message = messages[each]
    if (message === undefined) continue
    const { parent, role, atMs } = message
    messages[each] = { id: each, ...(parent !== undefined && { parent }), role, text: '', atMs, isDeleted: true }
  }
  return { ...conversation, messages }
}

function subtree({ messages }: Conversation, root: string): ReadonlySet<string> {
  const children = new Map<string | undefined, string[]>()
  for (const { id, parent } of Object.values(messages)) children.set(parent, [...(children.get(parent) ?? []), id])
  const found = new Set([root])
  // A set also gives what is added while it is read.
  for (const id of found) for (const child of children.get(id) ?? []) found.add(child)
  return found
}

/** How many messages can be seen, in all branches. */
export function countOf({ messages }: Conversation): number {
  return Object.values(messages).filter(({ isDeleted }) => isDeleted !== true).length
}

/** A new conversation that begins with the messages up to this one, or all visible ones. */
export function branched(
  conversation: Conversation,
  last: string | undefined,
  { id, nowMs }: { readonly id: string; readonly nowMs: number },
): Conversation {
  const { title, folder, settings } = conversation
  const begun = { ...createConversation(id, nowMs, settings), title, ...(folder !== undefined && { folder }) }
  return pathOf(conversation, last).reduce((made, { parent: _, ...message }) => {
    const parent = pathOf(made).at(-1)?.id
    return { ...withMessage(made, { ...message, ...(parent !== undefined && { parent }) }), updatedAtMs: nowMs }
  }, begun)
}

function titleOf({ text, attachments = [] }: Message): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  if (line === '') return attachments[0]?.name ?? ''
  return line.length <= 60 ? line : `${line.slice(0, 59).trimEnd()}…`
}

/** The names of folders, in their order. */
export function foldersOf(conversations: readonly Conversation[]): readonly string[] {
  return [...new Set(conversations.flatMap(({ folder }) => folder ?? []))].sort((a, b) => a.localeCompare(b))
}
