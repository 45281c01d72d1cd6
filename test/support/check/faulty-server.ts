import type { ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { listenOnLoopback } from '../upstream/loopback.ts'

export type Body = Record<string, unknown>
export type Sent = { readonly method: string; readonly path: string; readonly body: Body; readonly text: string }
export type Got = { readonly status: number; readonly type: string; readonly text: string }

/** A server that breaks one thing: what it understands, or what it answers. */
export type Fault = {
  readonly name: string
  /** The check that must find it. */
  readonly finds: string
  /** What is asked of the correct server in place of a request. */
  readonly asks?: (sent: Sent) => Body | undefined
  /** What is answered in place of the correct reply. */
  readonly answers?: (got: Got, sent: Sent) => Got
  /** The whole reply comes after this time. */
  readonly delayMs?: number
  /** A generation goes on when its client has left. */
  readonly leaks?: 'streamed' | 'whole'
}

/** More is a long generation, of which the checks only want to know whether it ends when its client leaves. */
const longTokens = 1000
const slots = 2
const generationMs = 2000

/** A proxy in front of a correct server, which answers a request that was seen before from memory. Set its fault. */
export async function startFaulty(origin: string) {
  const known = new Map<string, Promise<Got>>()
  let fault: Fault = { name: 'none', finds: '' }
  let takes = 0
  const lane = createLane()
  const ask = (sent: Sent): Promise<Got> => {
    const key = JSON.stringify([sent.method, sent.path, sent.text])
    const isLasting = !/\/v1\/responses\/resp_/.test(sent.path) && sent.body.store !== true
    const found = known.get(key)
    if (found !== undefined) return found.then((got) => fresh(got, takes))
    const asked = forward(origin, sent)
    if (isLasting) known.set(key, asked)
    return asked
  }
  const { origin: url, close } = await listenOnLoopback(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    const sent = { method: request.method ?? 'GET', path: request.url ?? '', body: parsed(text), text }
    if (Number(sent.body.max_tokens) >= longTokens && Number(sent.body.max_tokens) < 1e6)
      return lane.generate(response, sent, fault)
    if (sent.body.max_tokens === 1 && sent.body.logprobs === undefined) await lane.free()
    const changed = fault.asks?.(sent)
    const asked = changed === undefined ? sent : { ...sent, body: changed, text: JSON.stringify(changed) }
    takes += 1
    const got = await ask(asked)
    const answer = fault.answers?.(got, sent) ?? got
    if (fault.delayMs !== undefined) await pause(fault.delayMs)
    response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.text)
  })
  return {
    url,
    close,
    set: (next: Fault) => {
      fault = next
    },
  }
}

/** A reply from memory has ids of its own, as the first one had. */
function fresh(got: Got, take: number): Got {
  const ending = take.toString(16).padStart(8, '0')
  return {
    ...got,
    text: got.text.replace(
      /"((?:chatcmpl|call|cmpl|toolu|resp)[-_][0-9a-zA-Z]{8,})"/g,
      (_, id: string) => `"${id.slice(0, -8)}${ending}"`,
    ),
  }
}

async function forward(origin: string, { method, path, text }: Sent): Promise<Got> {
  const reply = await fetch(origin + path, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(text !== '' && { body: text }),
  })
  return { status: reply.status, type: reply.headers.get('content-type') ?? '', text: await reply.text() }
}

function parsed(text: string): Body {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** A server with few slots, whose long generations take their time. */
function createLane() {
  const running = new Set<object>()
  const waiting: (() => void)[] = []
  const leave = (run: object) => {
    if (running.delete(run)) for (const wake of waiting.splice(0)) wake()
  }
  return {
    async free(): Promise<void> {
      while (running.size >= slots) await new Promise<void>((resolve) => waiting.push(resolve))
    },
    async generate(response: ServerResponse, { body }: Sent, { leaks }: Fault): Promise<void> {
      const run = {}
      const isLeaking = leaks === (body.stream === true ? 'streamed' : 'whole')
      let isGone = false
      response.once('close', () => {
        isGone = true
        if (!isLeaking) leave(run)
      })
      await this.free()
      if (isGone) return
      running.add(run)
      if (body.stream === true) response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"choices":[]}\n\n')
      // It need not hold the process.
      await pause(generationMs, undefined, { ref: false })
      leave(run)
      response.end(body.stream === true ? 'data: [DONE]\n\n' : '{}')
    },
  }
}
