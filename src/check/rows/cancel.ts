import { chat, chatPath, endless, user } from '../probe/asks.ts'
import type { Ask, Exchange, Meanwhile, Server } from '../probe/exchange.ts'
import { numberAt } from '../probe/read.ts'
import { finding, holds, rowsOf, type Steps, severe, unanswered, unproven, type Verdict } from '../probe/row.ts'

/** More than a small server generates at the same time; a large one has a metric of what runs. */
const usualRequests = 8
const longTokens = 1500

/** Long replies, whose clients leave. */
function longAsks(server: Server, more: object): readonly Ask[] {
  const count = server.slots === undefined ? usualRequests : Math.min(2 * server.slots, 2 * usualRequests)
  const room = server.contextLength === undefined ? longTokens : Math.min(longTokens, Math.floor(server.contextLength / 2))
  return Array.from({ length: count }, (_, index) => ({
    ...chat(server, {
      messages: [user(`Count from ${index + 1} to five thousand, in words, each number on a line of its own.`)],
      max_tokens: room,
      temperature: 0.8,
      ...endless(server),
      ...more,
    }),
    take: String(index),
  }))
}

const tiny = (server: Server, take: string, limitMs = 10_000): Ask => ({
  ...chat(server, { messages: [user('Hello.')], max_tokens: 1 }),
  limitMs,
  take,
})

/** What servers say of the requests that run. */
const gauges = /^(?:vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing)\S*\s+([\d.]+)/gm
const running = (text: string) => [...text.matchAll(gauges)].map(([, value]) => Number(value))

/**
 * That the slots of clients that have left are free: a short request is as fast as on an idle server. It proves something only if the same
 * short request waits while those clients stay.
 */
function* freedSteps(server: Server, name: string, more: object): Steps {
  const idle = yield tiny(server, `${name} idle`)
  const problem = unanswered(idle)
  if (problem !== undefined) return problem
  const limitMs = Math.ceil(2000 + 4 * idle.ms)
  const slowMs = Math.max(3 * idle.ms, idle.ms + 150)
  const besides = longAsks(server, more)
  const trial = function* (take: string): Generator<Ask | Meanwhile, Verdict, Exchange> {
    const after = yield { besides, ask: tiny(server, `${take} after`, limitMs), leaves: true }
    if (after.running === 0) return unproven('the long replies end too soon')
    const { text } = yield { path: '/metrics', take }
    const stays = yield { besides, ask: tiny(server, `${take} beside`, limitMs), leaves: false }
    const counted = running(text)
    const is = (ms: number) => `${Math.round(ms)} ms`
    if (after.ms > slowMs && after.ms > stays.ms * 0.5)
      return finding(
        `a short request takes ${is(idle.ms)}, and ${is(after.ms)} after ${after.running} clients have left: they are still served`,
      )
    if (counted.some((value) => value > 0))
      return finding(`${Math.max(...counted)} requests run after their clients have left, by /metrics`)
    if (counted.length > 0 || (stays.ms > slowMs && stays.ms > 2 * after.ms)) return holds
    return unproven(`a short request is as fast beside ${after.running} long ones: the server has free slots`)
  }
  const first = yield* trial(name)
  // A machine with other work is slow by chance.
  return first.outcome === 'finding' ? yield* trial(`${name} again`) : first
}

export const cancelRows = rowsOf('cancel', {
  streamed: [
    severe(
      'When the client of a stream leaves, the generation ends, and its slot is free.',
      'everyone else: a dead request takes their time',
    ),
    (server) => freedSteps(server, 'streamed', { stream: true }),
  ],
  whole: [
    severe(
      'When a client leaves before its reply is complete, the generation ends, and its slot is free.',
      'everyone else: a dead request takes their time',
    ),
    (server) => freedSteps(server, 'whole', { stream: false }),
  ],
  after: [
    severe('After requests that were cancelled, the server answers as before.', 'everyone'),
    function* (server) {
      const reply = yield { path: chatPath, body: chat(server).body, take: 'after cancels' }
      const problem = unanswered(reply)
      if (problem !== undefined) return problem
      return numberAt(reply.json, 'usage.completion_tokens') === 0 ? finding('nothing is generated') : holds
    },
  ],
})
