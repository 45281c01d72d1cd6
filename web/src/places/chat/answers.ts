import { computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals'
import { send } from '../../api/client.ts'
import { type Conversation, type Message, pathOf, replaced, withMessage } from './conversation.ts'
import { followAnswer } from './follow-answer.ts'
import { newId } from './ids.ts'
import { change, listenToRunning, readAgain, whenKept } from './library.ts'
import { readModels } from './models.ts'
import { chatBody, readable, serverToolFields } from './request.ts'
import { wireServers } from './tools/own-servers.ts'

export type Running = {
  readonly conversation: Signal<Conversation>
  /** Its present state; changes at most once per frame. */
  readonly message: ReadonlySignal<Message>
  /** What it is waiting for: "reading the prompt, 40 %". */
  readonly waits: Signal<string>
  stop(): void
}

/** By the id of the message, also those that another tab follows. */
export const running = signal<ReadonlyMap<string, Running>>(new Map())

/** How long the server has to end a stopped answer before it is left. */
const stopGraceMs = 3000

/** Starts an answer to the message. */
export function answer(conversation: Signal<Conversation>, parent: string, model: string): void {
  const { max_tokens: limit } = conversation.value.settings.sampling
  const schema = readable(conversation.value.settings).schema
  const message: Message = {
    id: newId(),
    parent,
    role: 'assistant',
    text: '',
    atMs: Date.now(),
    model,
    state: 'running',
    run: { id: newId(), bytes: 0 },
    ...(limit !== undefined && { limit }),
    ...(schema !== '' && { schema }),
  }
  const path = pathOf(conversation.value, parent)
  change(conversation, withMessage(conversation.value, message))
  void run(conversation, message, { path, continues: false })
}

/** Continues an answer that ended early. */
export function continueAnswer(conversation: Signal<Conversation>, message: Message): void {
  const { problem: _problem, finish: _finish, facts: _facts, ...rest } = message
  const again: Message = { ...rest, state: 'running', run: { id: newId(), bytes: 0 } }
  const path = pathOf(conversation.value, message.id)
  change(conversation, replaced(conversation.value, again))
  void run(conversation, again, { path, continues: true })
}

/** Stops the answers of these conversations. Returns how many. */
export function stopAnswers(ids: readonly string[]): number {
  const found = [...running.value.values()].filter(({ conversation }) => ids.includes(conversation.value.id))
  for (const { stop } of found) stop()
  return found.length
}

listenToRunning((conversation, message) => {
  if (!running.peek().has(message.id)) void run(conversation, message)
})

type BranchStart = { readonly path: readonly Message[]; readonly continues: boolean }

/** `start`: it begins here; otherwise its stream is found again. */
async function run(conversation: Signal<Conversation>, message: Message, start?: BranchStart): Promise<void> {
  const { id, run: stream = { id: newId(), bytes: 0 } } = message
  const connection = new AbortController()
  const { signal: leaves } = connection
  const shown = signal<Message | undefined>(undefined)
  const waits = signal('')
  let isFollowed = start !== undefined
  let isStopped = false
  const stop = () => {
    if (!isFollowed) return stops.postMessage(id)
    if (isStopped) return
    isStopped = true
    const leave = () => {
      connection.abort()
      // The server would continue without this tab.
      send(`v1/stream?conv_id=${stream.id}`, { method: 'DELETE' }).catch(() => undefined)
    }
    const grace = setTimeout(leave, stopGraceMs)
    void ended.finally(() => clearTimeout(grace))
    // The engine stops, and the stream then ends with the cost of the answer.
    send('api/inference/cancel', { body: { cancel_id: stream.id } }).catch(leave)
  }
  const present = () => conversation.value.messages[id] ?? message
  const entry: Running = { conversation, message: computed(() => shown.value ?? present()), waits, stop }
  running.value = new Map([...running.value, [id, entry]])
  const ended = alone(stream.id, async () => {
    if (start === undefined) await readAgain(conversation.peek().id, [id])
    // The tab that followed it has perhaps brought it to its end.
    if (present().state !== 'running' || present().run?.id !== stream.id) return
    isFollowed = true
    const end = await followAnswer(present(), {
      ...(start !== undefined && {
        ask: () => ask(conversation.value, present(), { ...start, streamId: stream.id, signal: leaves }),
      }),
      shown,
      waits,
      signal: leaves,
      isStopped: () => isStopped,
      keep: (kept) => change(conversation, replaced(conversation.value, kept)),
    })
    shown.value = end
    change(conversation, replaced(conversation.value, end))
    await whenKept(conversation.value.id)
  })
  // By this tab or another one.
  const unwatch = effect(() => {
    if (conversation.value.messages[id]?.isDeleted === true && isFollowed) stop()
  })
  await ended
  unwatch()
  running.value = new Map([...running.value].filter(([other]) => other !== id))
  void readModels()
}

type Asked = BranchStart & { readonly streamId: string; readonly signal: AbortSignal }

function ask(conversation: Conversation, message: Message, { path, continues, streamId, signal }: Asked): Promise<Response> {
  const settings = readable(conversation.settings)
  // The tools of a continued answer have already run.
  const hasTools = !continues && (settings.serverTools?.names.length ?? 0) > 0
  const body = {
    ...chatBody(path, settings, { model: message.model ?? '', continues }),
    stream: true,
    cancel_id: streamId,
    stream_options: { include_usage: true },
    return_progress: true,
    ...(hasTools && serverToolFields(settings, conversation.id, wireServers(settings.serverTools?.names ?? []))),
  }
  // The first route also streams the work of server tools.
  return send(hasTools ? 'api/inference/chat/completions' : 'v1/chat/completions', {
    body,
    signal,
    headers: { 'x-conversation-id': streamId },
  })
}

/** Only one tab follows a stream; the next one takes over when it is closed. */
async function alone(id: string, act: () => Promise<void>): Promise<void> {
  let isBegun = false
  const begin = () => {
    isBegun = true
    return act()
  }
  // Outside a secure context there are no locks, and with blocked cookies none is given: each tab follows it, and all come to the same end.
  if (!('locks' in navigator)) return act()
  await navigator.locks.request(`dragoman.run.${id}`, begin).catch((error: unknown) => {
    if (isBegun) throw error
    return act()
  })
}

/** Carries stops to the tab that follows the answer. */
const stops = new BroadcastChannel('dragoman.stops')
stops.onmessage = ({ data }: MessageEvent<string>) => running.peek().get(data)?.stop()
