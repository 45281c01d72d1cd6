import { type Signal, signal } from '@preact/signals'
import { describe } from '../../api/client.ts'
import { say } from '../../ui/said.tsx'
import { type Conversation, createConversation, restored } from './conversation.ts'
import { newId } from './ids.ts'
import { readAll, remove, save } from './store.ts'

/** All conversations of this browser, by id; undefined until they are read. */
export const conversations = signal<ReadonlyMap<string, Signal<Conversation>> | undefined>(undefined)
/** Why they cannot be kept. */
export const storeProblem = signal<string | undefined>(undefined)

const lastModel = 'dragoman.model'

export async function readLibrary(): Promise<void> {
  if (conversations.value !== undefined) return
  try {
    const all = await readAll()
    conversations.value = new Map(all.map((each) => [each.id, signal(restored(each))]))
  } catch (error) {
    // Such as in a private window: they live as long as the tab.
    storeProblem.value = describe(error)
    conversations.value ??= new Map()
  }
}

/** A new one, which is kept once it has a message. */
export function startConversation(): Signal<Conversation> {
  const model = localStorage.getItem(lastModel)
  return signal(createConversation(newId(), Date.now(), model === null ? {} : { model }))
}

const waiting = new Map<string, ReturnType<typeof setTimeout>>()

/** Changes a conversation, and keeps it soon after: streams change theirs at every frame. */
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

/** When the page is left: what has not been kept yet. */
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

/** Adds conversations of a file; one that is here already gets another id. */
export function take(imported: readonly Conversation[]): void {
  for (const each of imported) {
    const id = conversations.value?.has(each.id) === true ? newId() : each.id
    const made = signal(restored({ ...each, id }))
    change(made, made.value)
  }
}

addEventListener('pagehide', keepAll)
