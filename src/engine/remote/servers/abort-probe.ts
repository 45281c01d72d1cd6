import { setTimeout as pause } from 'node:timers/promises'
import { linkedSignal } from '../../linked-signal.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { readStream } from '../transport/read-reply.ts'
import { createCounter, type RunningRequests } from './running-requests.ts'

/** A server to be watched over a hang-up. */
export type AbortQuestion = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly model: string
  readonly signal: AbortSignal
  /** Whether nothing of ours runs there. */
  isIdle(): boolean
  /** How long an end may take to be seen. */
  readonly withinMs?: number
}

const pollEveryMs = 25
/** More than any server makes of one answer while it is watched: an end that is seen is that of the hang-up. */
const longAnswer = { max_tokens: 1024, ignore_eos: true }
const messages = [{ role: 'user', content: 'Count from 1 to 1000, one number per line.' }]

/**
 * Whether a server stops working on a request when its connection is closed: one is sent to it while it is idle, and closed after
 * its first event. Undefined when the server does not say what runs, when somebody else's requests are among it, or when the
 * answer was over by itself. Throws when the request fails, and for the signal.
 */
export async function probeAbort(question: AbortQuestion): Promise<boolean | undefined> {
  const { client, endpoint, model, signal, isIdle, withinMs = 1000 } = question
  const countNow = createCounter(client, endpoint, signal)
  /** The first count of which `holds` is true, or the last one. */
  const countUntil = async (holds: (count: number) => boolean): Promise<RunningRequests | undefined> => {
    const untilMs = performance.now() + withinMs
    while (true) {
      const running = await countNow()
      if (running === undefined || holds(running.count) || performance.now() > untilMs) return running
      await pause(pollEveryMs, undefined, { signal })
    }
  }
  if (!isIdle() || (await countUntil((count) => count === 0))?.count !== 0) return undefined
  const answer = await openAnswer(client, endpoint, { model, messages, stream: true, ...longAnswer }, signal)
  try {
    await answer.begun
    if ((await countUntil((count) => count > 0))?.count !== 1 || answer.isOver()) return undefined
    answer.hangUp()
    const after = await countUntil((count) => count === 0)
    if (after === undefined || !isIdle()) return undefined
    if (after.count === 0) return true
    return after.count === 1 && !after.isLate ? false : undefined
  } finally {
    answer.hangUp()
  }
}

type OpenAnswer = {
  /** Resolves with the first event, or the end. */
  readonly begun: Promise<unknown>
  isOver(): boolean
  /** Closes the connection, as for a client that has left. */
  hangUp(): void
}

/** Reads a stream and throws it away, until it is over or hung up. */
async function openAnswer(client: UpstreamClient, endpoint: Endpoint, body: unknown, signal: AbortSignal): Promise<OpenAnswer> {
  const connection = linkedSignal(signal)
  let isOver = false
  try {
    const call = { method: 'POST', path: '/chat/completions', body } as const
    const reply = await client.stream(endpoint, call, connection.signal)
    const begun = new Promise<void>((resolve, reject) => {
      readStream(reply, () => {
        resolve()
        return undefined
      })
        .then(resolve, reject)
        .finally(() => {
          isOver = true
          connection.unlink()
        })
    })
    return { begun, isOver: () => isOver, hangUp: () => connection.abort(new Error('hung up')) }
  } catch (error) {
    connection.unlink()
    throw error
  }
}
