import { type Signal, signal } from '@preact/signals'
import { keptHere } from '../../api/browser-kept.ts'
import { describe } from '../../api/client.ts'
import { say } from '../../ui/said.tsx'
import { branched, type Conversation, createConversation, type Message } from './conversation.ts'
import { newId } from './ids.ts'
import { byId, changed, changeOf, changesNothing, type Head } from './kept/change.ts'
import { commit, type News, onNews, readHeads, readIds, readMessagesOf, readSome, remove } from './kept/store.ts'
import { defaultSettings } from './presets/presets.ts'
import { readConversation, readHead, readMessage, withChoices } from './read-conversation.ts'

/** The conversations of this browser, by id, as far as they are read; undefined until the first ones are. */
export const conversations = signal<ReadonlyMap<string, Signal<Conversation>> | undefined>(undefined)
/** Whether all of them are. */
export const isAllRead = signal(false)
/** Why they cannot be kept. */
export const storeProblem = signal<string | undefined>(undefined)

const lastModel = 'dragoman.model'

let reading: Promise<void> | undefined

/** Reads all conversations: these first, then the newest. */
export function readLibrary(first: readonly string[] = []): Promise<void> {
  reading ??= read(first)
  return reading
}

/** What is here is read, or new. */
async function whenRead(id: string): Promise<void> {
  if (conversations.peek()?.has(id) !== true) await readLibrary()
}

/** People keep thousands: the first ones can be used while the others are read. */
const readFirst = 50
/** More later: each time, the list is sorted and drawn again. */
const readAtOnce = 250

async function read(first: readonly string[]): Promise<void> {
  try {
    const heads = (await readHeads()).map(readHead).filter((each) => each !== undefined)
    const rank = ({ id, updatedAtMs }: Head) => (first.includes(id) ? Number.POSITIVE_INFINITY : updatedAtMs)
    const ids = heads.toSorted((a, b) => (rank(a) < rank(b) ? 1 : -1))
    await readSomeOf(ids.slice(0, readFirst))
    for (let at = readFirst; at < ids.length; at += readAtOnce) await readSomeOf(ids.slice(at, at + readAtOnce))
  } catch (error) {
    // For example in a private window: conversations last as long as the tab.
    storeProblem.value = describe(error)
  }
  conversations.value ??= new Map()
  isAllRead.value = true
}

async function readSomeOf(heads: readonly Head[]): Promise<void> {
  const found = await readMessagesOf(heads.map(({ id }) => id))
  const read = heads.flatMap((head, index) => {
    const messages = Object.fromEntries((found[index] ?? []).map(({ conversation: _, ...message }) => [message.id, message]))
    // Another tab has perhaps deleted it meanwhile.
    return deleted.has(head.id) ? [] : (readConversation({ ...head, messages }) ?? [])
  })
  for (const each of read) stored.set(each.id, each)
  const added = read.map((each) => signal(each))
  conversations.value = new Map([...(conversations.value ?? []), ...added.map((each) => [each.peek().id, each] as const)])
  for (const each of added) reportRunning(each, Object.values(each.peek().messages))
}

/** Creates a conversation, which is stored once it has a message. */
export function startConversation(): Signal<Conversation> {
  const model = keptHere.get(lastModel)
  return signal(createConversation(newId(), Date.now(), { ...defaultSettings(), ...(model !== undefined && { model }) }))
}

type RunningListener = (conversation: Signal<Conversation>, message: Message) => void
let onRunning: RunningListener = () => undefined

/** Calls the listener for each answer that runs according to the store: it began in another tab, or before a reload. */
export function listenToRunning(listener: RunningListener): void {
  onRunning = listener
}

function reportRunning(conversation: Signal<Conversation>, messages: readonly Message[]): void {
  for (const message of messages) if (message.state === 'running') onRunning(conversation, message)
}

/** Begins another conversation with the messages up to one, or with all of them. Returns its id. */
export function branchOff(conversation: Conversation, last?: string, title = conversation.title): string {
  const made = startConversation()
  change(made, { ...branched(conversation, last, { id: newId(), nowMs: Date.now() }), title })
  return made.value.id
}

/** Each conversation as the store has it, to this tab's knowledge. */
const stored = new Map<string, Conversation>()
/** By conversation, the work on its records, one after the other. */
const work = new Map<string, Promise<void>>()

/** Changes a conversation, and stores the difference. */
export function change(conversation: Signal<Conversation>, next: Conversation): void {
  if (next.settings.model !== undefined && next.settings.model !== conversation.value.settings.model) {
    keptHere.set(lastModel, next.settings.model)
  }
  conversation.value = next
  if (Object.keys(next.messages).length === 0) return
  if (conversations.value?.has(next.id) === false && !deleted.has(next.id))
    conversations.value = new Map([...conversations.value, [next.id, conversation]])
  void keep(conversation)
}

/** Resolves when its changes are stored, or have failed to be. */
export async function whenKept(id: string): Promise<void> {
  await work.get(id)
}

const asked = new Set<string>()

/** Stores what has changed since the last time, once for any number of calls. */
function keep(conversation: Signal<Conversation>): Promise<void> {
  const { id } = conversation.peek()
  if (asked.has(id)) return work.get(id) ?? Promise.resolve()
  asked.add(id)
  return afterOthers(id, async () => {
    await whenRead(id)
    asked.delete(id)
    const next = conversation.peek()
    const before = stored.get(id) ?? createConversation(id, next.createdAtMs)
    const difference = changeOf(before, next)
    if (changesNothing(difference)) return
    if (await commit(before, difference)) stored.set(id, changed(before, difference))
    else forget(id)
  })
}

function afterOthers(id: string, act: () => Promise<void>): Promise<void> {
  const done = (work.get(id) ?? Promise.resolve()).then(act).catch((error: unknown) => {
    storeProblem.value = describe(error)
  })
  work.set(id, done)
  return done
}

function hear(news: News): void {
  if ('isGone' in news) forget(news.id)
  else void readAgain(news.id, news.messages)
}

/** Reads messages of a conversation from the store, where another tab may have changed them. */
export function readAgain(id: string, ids: readonly string[]): Promise<void> {
  return afterOthers(id, async () => {
    await whenRead(id)
    const found = await readSome(id, ids)
    const head = readHead(found?.head)
    if (found === undefined || head === undefined) return
    const before = stored.get(id) ?? { ...head, messages: {} }
    // Changes of this tab that are not stored yet stay.
    const read = found.messages.map(readMessage).filter((each) => each !== undefined)
    const messages = { ...before.messages, ...byId(read) }
    const next = { ...head, messages, chosen: withChoices(head.chosen, messages) }
    stored.set(id, next)
    const here = conversations.value?.get(id)
    if (here === undefined) conversations.value = new Map([...(conversations.value ?? []), [id, signal(next)]])
    else here.value = changed(next, changeOf(before, here.value))
    const shown = conversations.value?.get(id)
    if (shown !== undefined) reportRunning(shown, read)
  })
}

const deleted = new Set<string>()

/** Removes a conversation that is no longer stored. */
function forget(id: string): void {
  deleted.add(id)
  conversations.value = new Map([...(conversations.value ?? [])].filter(([other]) => other !== id))
}

export async function discard(id: string): Promise<void> {
  forget(id)
  try {
    await remove(id)
  } catch (error) {
    say(describe(error))
  }
}

/** Adds conversations of a file. One whose id was ever taken gets a new id: a deleted one stays deleted. */
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
  await Promise.all(made.map(keep))
}

/** When the page is left, nothing waits for earlier work. */
function keepAll(): void {
  for (const id of asked) {
    const next = conversations.value?.get(id)?.peek()
    const before = stored.get(id) ?? (next && createConversation(id, next.createdAtMs))
    // Nobody is left to be told of a failure.
    if (next !== undefined && before !== undefined) commit(before, changeOf(before, next)).catch(() => undefined)
  }
}

onNews(hear)
addEventListener('pagehide', keepAll)
