import { type Signal, signal } from '@preact/signals'
import { describe, send } from '../../api/client.ts'
import { readEvents } from '../../api/sse.ts'
import { chatTexts } from '../../texts/chat.ts'
import { AnswerFold, type Chunk } from './answer-fold.ts'
import { type Conversation, type Message, pathOf, replaced, withMessage } from './conversation.ts'
import { newId } from './ids.ts'
import { change } from './library.ts'
import { readModels } from './models.ts'
import { chatBody, readable, serverToolFields, serverToolsOf } from './request.ts'

/** A running answer. */
export type Running = {
  readonly conversation: Signal<Conversation>
  /** Its present state; changes at most once per frame. */
  readonly message: Signal<Message>
  /** What it is waiting for: "reading the prompt, 40 %". */
  readonly waits: Signal<string>
  stop(): void
}

/** By the id of the message. */
export const running = signal<ReadonlyMap<string, Running>>(new Map())

/** How long the server has to end a stopped answer before the connection is closed. */
const stopGraceMs = 3000
/** The length of one piece of work, after which input and painting have their turn. */
const turnMs = 8

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
  const again: Message = { ...rest, state: 'running' }
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

type BranchStart = { readonly path: readonly Message[]; readonly continues: boolean }

async function run(conversation: Signal<Conversation>, message: Message, { path, continues }: BranchStart): Promise<void> {
  const cancelId = newId()
  const connection = new AbortController()
  const fold = new AnswerFold(message, performance.now())
  const shown = signal(message)
  const waits = signal('')
  let isStopped = false
  const stop = () => {
    if (isStopped) return
    isStopped = true
    setTimeout(() => connection.abort(), stopGraceMs)
    // The engine stops, and the stream then ends with the cost of the answer.
    send('api/inference/cancel', { body: { cancel_id: cancelId } }).catch(() => connection.abort())
  }
  running.value = new Map([...running.value, [message.id, { conversation, message: shown, waits, stop }]])
  let lastKeptMs = performance.now()
  const paint = eachFrame(() => {
    shown.value = fold.message('running')
    if (fold.reading !== undefined) waits.value = chatTexts.reading(fold.reading)
    // So that a closed page loses at most a second.
    if (performance.now() - lastKeptMs < 1000) return
    lastKeptMs = performance.now()
    change(conversation, replaced(conversation.value, shown.value))
  })
  let end: Message
  try {
    const settings = readable(conversation.value.settings)
    const model = message.model ?? ''
    const more = { stream: true, cancel_id: cancelId, stream_options: { include_usage: true }, return_progress: true }
    // The tools of a continued answer have already run.
    const hasTools = !continues && serverToolsOf(settings).length > 0
    const body = { ...chatBody(path, settings, { model, continues }), ...more }
    const { signal } = connection
    // That route also streams the work of server tools.
    const response = hasTools
      ? await send('api/inference/chat/completions', {
          body: { ...body, ...serverToolFields(settings, conversation.value.id) },
          signal,
        })
      : await send('v1/chat/completions', { body, signal })
    await readAnswer(response, { fold, paint: paint.ask, onWait: (text) => (waits.value = text) })
    end = fold.message(endState(fold, isStopped))
  } catch (error) {
    const partial = fold.message(isStopped ? 'stopped' : 'failed')
    end = isStopped ? partial : { ...partial, problem: describe(error) }
    // The server became unreachable during the answer: the received part stays.
    if (!isStopped && (fold.pieces > 0 || isLost(error))) end = { ...partial, state: 'broken' }
  }
  paint.cancel()
  change(conversation, replaced(conversation.value, end))
  running.value = new Map([...running.value].filter(([id]) => id !== message.id))
  void readModels()
}

function endState(fold: AnswerFold, isStopped: boolean): NonNullable<Message['state']> {
  if (isStopped) return 'stopped'
  if (fold.problem !== undefined) return 'failed'
  return fold.isEnded ? 'done' : 'broken'
}

function isLost(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'status') === 0
}

type Reader = { readonly fold: AnswerFold; paint(): void; onWait(text: string): void }

async function readAnswer(response: Response, { fold, paint, onWait }: Reader): Promise<void> {
  let turnEndMs = performance.now() + turnMs
  for await (const events of readEvents(response, (comment) => onWait(chatTexts.waitOf(comment)))) {
    for (const { data } of events) {
      if (data === '[DONE]') return
      const chunk = JSON.parse(data) as Chunk
      if (chunk.type === 'tool_status') onWait(chunk.content ?? '')
      fold.push(chunk, performance.now())
      if (performance.now() < turnEndMs) continue
      await nextTurn()
      turnEndMs = performance.now() + turnMs
    }
    paint()
  }
}

/** Lets events and painting go first; unlike timers, not throttled in hidden tabs. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(undefined)
  })
}

/** Calls a function before the next paint, once for any number of requests; four times a second in hidden tabs. */
function eachFrame(act: () => void): { ask(): void; cancel(): void } {
  let isAsked = false
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const go = () => {
    isAsked = false
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    act()
  }
  return {
    ask() {
      if (isAsked) return
      isAsked = true
      frame = requestAnimationFrame(go)
      timer = setTimeout(go, 250)
    },
    cancel() {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    },
  }
}
