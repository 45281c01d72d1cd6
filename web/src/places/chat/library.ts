import { type Signal, signal } from '@preact/signals'
import { describe } from '../../api/client.ts'
import { say } from '../../ui/said.tsx'
import { type Conversation, createConversation } from './conversation.ts'
import { newId } from './ids.ts'
import { readConversation } from './read-conversation.ts'
import { readAll, readIds, remove, save } from './store.ts'

/** All conversations of this browser, by id; undefined until they are loaded. */
export const conversations = signal<ReadonlyMap<string, Signal<Conversation>> | undefined>(undefined)
/** Why they cannot be kept. */
export const storeProblem = signal<string | undefined>(undefined)

const lastModel = 'dragoman.model'

let reading: Promise<void> | undefined

export function readLibrary(): Promise<void> {
  reading ??= read()
  return reading
}

async function read(): Promise<void> {
  try {
    const all = (await readAll()).map(readConversation).filter((each) => each !== undefined)
    conversations.value = new Map(all.map((each) => [each.id, signal(each)]))
  } catch (error) {
    // For example in a private window: conversations last as long as the tab.
    storeProblem.value = describe(error)
    conversations.value ??= new Map()
  }
}

/** Creates a conversation, which is stored once it has a message. */
export function startConversation(): Signal<Conversation> {
  const model = localStorage.getItem(lastModel)
  return signal(createConversation(newId(), Date.now(), model === null ? {} : { model }))
}

const waiting = new Map<string, ReturnType<typeof setTimeout>>()

/** Changes a conversation, and stores it soon after: streams change theirs at every frame. */
export function change(conversation: Signal<Conversation>, next: Conversation): void {
  if (next.settings.model !== undefined && next.settings.model !== conversation.value.settings.model) {
    localStorage.setItem(lastModel, next.settings.model)
  }
  conversation.value = next
  if (Object.keys(next.messages).length === 0) return
  if (conversations.value?.has(next.id) === false)
    conversations.value = new Map([...conversations.value, [next.id, conversation]])
  if (waiting.has(next.id)) return
  waiting.set(
    next.id,
    setTimeout(() => keep(conversation), 400),
  )
}

function keep(conversation: Signal<Conversation>): void {
  clearTimeout(waiting.get(conversation.value.id))
  waiting.delete(conversation.value.id)
  save(conversation.value).catch((error: unknown) => {
    storeProblem.value = describe(error)
  })
}

/** Stores pending changes when the page is left. */
function keepAll(): void {
  for (const id of waiting.keys()) {
    const conversation = conversations.value?.get(id)
    if (conversation !== undefined) keep(conversation)
  }
}

export async function discard(id: string): Promise<void> {
  clearTimeout(waiting.get(id))
  waiting.delete(id)
  conversations.value = new Map([...(conversations.value ?? [])].filter(([other]) => other !== id))
  try {
    await remove(id)
  } catch (error) {
    say(describe(error))
  }
}

/** Adds conversations of a file. One whose id is already taken, here or by another tab, gets a new id. */
export async function take(imported: readonly Conversation[]): Promise<void> {
  await readLibrary()
  // Without a store, there can be no others.
  const kept = await readIds().catch(() => [])
  const before = conversations.value ?? new Map()
  const taken = new Set<unknown>([...before.keys(), ...kept])
  const made = imported.map((each) => {
    const id = taken.has(each.id) ? newId() : each.id
    taken.add(id)
    return signal({ ...each, id })
  })
  conversations.value = new Map([...before, ...made.map((each) => [each.value.id, each] as const)])
  for (const each of made) keep(each)
}

addEventListener('pagehide', keepAll)
