import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { startFlags } from '../../../src/cli/v8-flags.ts'
import type { Answer, ScriptedUpstream } from '../upstream/upstream.ts'
import { programFlags } from './program-flags.ts'

type Measured = {
  readonly url: string
  /** What happened since the last call, which ended with a full collection. */
  next(): Promise<{
    readonly stallMs: number
    readonly peakBytes: number
    readonly warnings: readonly string[]
  }>
}

/** A server in a process of its own, over this upstream, to be measured. */
export async function measuredApp({ url }: ScriptedUpstream, protocol = 'chat'): Promise<Measured> {
  const script = fileURLToPath(new URL('./measured-app.ts', import.meta.url))
  const child = spawn(process.execPath, [...startFlags, ...programFlags, '--expose-gc', script, url, protocol], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => stop(child))
  const lines = linesOf(child)
  const { url: appUrl } = await lines()
  return {
    url: String(appUrl),
    next: async () => {
      child.stdin?.write('\n')
      return (await lines()) as never
    },
  }
}

function linesOf(child: ChildProcess): () => Promise<Record<string, unknown>> {
  let text = ''
  return async () => {
    while (!text.includes('\n')) text += String((await once(child.stdout as NodeJS.ReadableStream, 'data'))[0])
    const end = text.indexOf('\n')
    const line = text.slice(0, end)
    text = text.slice(end + 1)
    return JSON.parse(line)
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

type Reply = { readonly status: number; readonly length: number; readonly text: string }

/** A request whose reply is read and, but for its ends, dropped. */
export async function request(url: string, body: Record<string, unknown>, path = '/v1/chat/completions'): Promise<Reply> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...body }),
  })
  let length = 0
  let end = ''
  for await (const bytes of response.body ?? []) {
    length += bytes.length
    end = (end + Buffer.from(bytes).toString('latin1')).slice(-2000)
  }
  return { status: response.status, length, text: end }
}

/** Writes as fast as the reader takes it. */
export async function pour(response: ServerResponse, count: number, piece: (index: number) => string): Promise<void> {
  for (let index = 0; index < count && !response.destroyed; index++) {
    if (response.write(piece(index))) continue
    const waiting = new AbortController()
    const events = ['drain', 'close'].map((name) => once(response, name, { signal: waiting.signal }).catch(() => undefined))
    await Promise.race(events)
    waiting.abort()
  }
}

export const megabyte = 'lorem ipsum dolor '.repeat(58_254).slice(0, 1 << 20)
export const mib = 1 << 20

/** Answers with a stream. */
export const streamed =
  (write: (response: ServerResponse) => Promise<void>): Answer =>
  async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    await write(response)
    response.end()
  }
