import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { z } from 'zod'
import { until } from '../until.ts'

/** Where a Chromium is installed; undefined if none is. */
export const chromium = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(folder, name)))
  .find((path) => existsSync(path))

/** A page of a browser without a window. */
export type Page = {
  /** The value of an expression, waited for if it is a promise. */
  evaluate(expression: string): Promise<unknown>
  /** Waits for a condition; what it throws while the page loads does not count. */
  settles(expression: string): Promise<void>
  close(): Promise<void>
}

/** An answer; events have no id. */
const message = z.object({
  id: z.number().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ message: z.string() }).optional(),
})
const evaluated = z.object({
  result: z.object({ value: z.unknown().optional() }),
  exceptionDetails: z.object({ exception: z.object({ description: z.string().optional() }).optional() }).optional(),
})

/** Opens an address of this machine in Chromium; others lead nowhere. The DevTools protocol runs over pipes. */
export async function openPage(url: string, profile: string): Promise<Page> {
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run']
  const closed = ['--proxy-server=127.0.0.1:9', '--proxy-bypass-list=127.0.0.1', '--disable-background-networking']
  const own = ['--remote-debugging-pipe', `--user-data-dir=${profile}`, '--window-size=1280,900', 'about:blank']
  const child = spawn(chromium ?? 'chromium', [...flags, ...closed, ...own], {
    stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  })
  const send = openProtocol(child)
  const { targetId } = await send('Target.createTarget', { url: 'about:blank' })
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true })
  await send('Page.navigate', { url }, sessionId)
  const evaluate = async (expression: string): Promise<unknown> => {
    const params = { expression, awaitPromise: true, returnByValue: true, userGesture: true }
    const { result, exceptionDetails } = evaluated.parse(await send('Runtime.evaluate', params, sessionId))
    if (exceptionDetails !== undefined) throw new Error(exceptionDetails.exception?.description ?? 'the page threw')
    return result.value
  }
  return {
    evaluate,
    settles: (expression) =>
      until(() =>
        evaluate(expression).then(
          (value) => value === true,
          () => false,
        ),
      ),
    close: async () => {
      const ended = once(child, 'close')
      child.kill('SIGTERM')
      await ended
    },
  }
}

type Send = (method: string, params: object, sessionId?: unknown) => Promise<Record<string, unknown>>

/** Messages are JSON, each ended by a zero byte: to the child's descriptor 3, from its descriptor 4. */
function openProtocol(child: ChildProcess): Send {
  const [, , , input, output] = child.stdio as [unknown, unknown, unknown, Writable, Readable]
  const waiting = new Map<number, { resolve: (result: Record<string, unknown>) => void; reject: (error: Error) => void }>()
  let rest = ''
  let lastId = 0
  output.setEncoding('utf8').on('data', (piece: string) => {
    const parts = (rest + piece).split('\0')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const { id = 0, result = {}, error } = message.parse(JSON.parse(part))
      if (error === undefined) waiting.get(id)?.resolve(result)
      else waiting.get(id)?.reject(new Error(error.message))
      waiting.delete(id)
    }
  })
  child.once('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('the browser ended'))
  })
  return (method, params, sessionId) => {
    lastId += 1
    const id = lastId
    input.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`)
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
  }
}
