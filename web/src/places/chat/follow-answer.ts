import { effect, type ReadonlySignal, type Signal } from '@preact/signals'
import { ApiFailure, describe, send } from '../../api/client.ts'
import { returns } from '../../api/connection.ts'
import { readEvents } from '../../api/sse.ts'
import { chatTexts } from '../../texts/chat.ts'
import { AnswerFold, type Chunk } from './answer-fold.ts'
import type { Message } from './conversation.ts'

/** The length of one piece of work, after which input and painting have their turn. */
const turnMs = 8
/** How often the answer is kept: when the server is restarted, a tab that was closed before has lost what came since. */
const keepEveryMs = 1000

type Following = {
  /** Sends the request; absent: it was sent before, and the server has its stream. */
  readonly ask?: () => Promise<Response>
  readonly shown: Signal<Message | undefined>
  readonly waits: Signal<string>
  readonly signal: AbortSignal
  isStopped(): boolean
  keep(message: Message): void
}

/** Follows the stream of an answer to its end, through lost connections. Returns the message as it ended; never rejects. */
export async function followAnswer(message: Message, { ask, shown, waits, ...following }: Following): Promise<Message> {
  const { signal, isStopped, keep } = following
  const fold = new AnswerFold(message, ask && performance.now())
  const { id = '', bytes: before = 0 } = message.run ?? {}
  let bytes = before
  let lastKeptMs = performance.now()
  const paint = eachFrame(() => {
    shown.value = fold.message('running')
    if (fold.reading !== undefined) waits.value = chatTexts.reading(fold.reading)
  })
  const onWait = (text: string) => {
    waits.value = text
  }
  /** Whether the stream has come to its end; false: the connection was lost on the way. */
  const take = async (response: Response) => {
    const from = bytes
    try {
      for await (const read of readAnswer(response, { fold, onWait })) {
        bytes = from + read.bytes
        paint.ask()
        if (read.isEnd) return true
        if (performance.now() - lastKeptMs < keepEveryMs) continue
        lastKeptMs = performance.now()
        keep({ ...fold.message('running'), run: { id, bytes } })
      }
    } catch (error) {
      if (signal.aborted) throw error
    }
    // A stream that the server ends without another event has no more.
    return bytes === from
  }
  const find = () => findStream(() => `v1/stream?conv_id=${id}&from=${bytes}`, signal)
  let refusal: string | undefined
  try {
    let response = await (ask?.() ?? find()).catch((error: unknown) => {
      // The server has perhaps heard the request.
      if (isUnreachable(error)) return find()
      if (ask !== undefined) refusal = describe(error)
      throw error
    })
    while (!(await take(response))) response = await find()
  } catch {
    // The end says what it means for the answer.
  }
  paint.cancel()
  const problem = fold.problem ?? refusal
  const state = isStopped() ? 'stopped' : problem !== undefined ? 'failed' : fold.isEnded ? 'done' : 'broken'
  return { ...fold.message(state), ...(state === 'failed' && problem !== undefined && { problem }) }
}

/** The rest of a stream that the server keeps. Waits while the server is away, or wants a key. Rejects if it has no such stream. */
async function findStream(path: () => string, signal: AbortSignal): Promise<Response> {
  for (;;) {
    const before = returns.peek()
    try {
      return await send(path(), { signal })
    } catch (error) {
      if (signal.aborted || !(isUnreachable(error) || statusOf(error) === 401)) throw error
    }
    await changes(returns, before, signal)
  }
}

/** Resolves when the signal has another value than before. */
async function changes<T>(watched: ReadonlySignal<T>, before: T, aborted: AbortSignal): Promise<void> {
  let end: () => void = () => undefined
  const changed = new Promise<void>((resolve, reject) => {
    aborted.addEventListener('abort', () => reject(aborted.reason), { once: true })
    end = effect(() => {
      if (watched.value !== before) resolve()
    })
  })
  await changed.finally(() => end())
}

const statusOf = (error: unknown) => (error instanceof ApiFailure ? error.status : undefined)
const isUnreachable = (error: unknown) => statusOf(error) === 0

type Reader = { readonly fold: AnswerFold; onWait(text: string): void }

/** Folds a stream, and tells after each group of events how far it has come. */
async function* readAnswer(response: Response, { fold, onWait }: Reader): AsyncGenerator<{ bytes: number; isEnd: boolean }> {
  let turnEndMs = performance.now() + turnMs
  let bytes = 0
  const listener = {
    onComment: (comment: string) => onWait(chatTexts.waitOf(comment)),
    onBytes: (read: number) => {
      bytes = read
    },
  }
  for await (const events of readEvents(response, listener)) {
    for (const { data } of events) {
      if (data === '[DONE]') {
        yield { bytes, isEnd: true }
        return
      }
      const chunk = JSON.parse(data) as Chunk
      if (chunk.type === 'tool_status') onWait(chunk.content ?? '')
      fold.push(chunk, performance.now())
      if (performance.now() < turnEndMs) continue
      await nextTurn()
      turnEndMs = performance.now() + turnMs
    }
    yield { bytes, isEnd: false }
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
