import { signal } from '@preact/signals'
import { call, describe, send } from '../../api/client.ts'

type Pull = {
  readonly name: string
  readonly status: string
  readonly part: number
  readonly error?: string
  /** Cancels it, or dismisses its failure. */
  readonly stop: () => void
}

/** Models that are being fetched, also while the reader is at other places. */
export const pulls = signal<readonly Pull[]>([])

type Line = { readonly status?: string; readonly completed?: number; readonly total?: number; readonly error?: string }

function change(name: string, pull: Partial<Pull>): void {
  pulls.value = pulls.value.map((each) => (each.name === name ? { ...each, ...pull } : each))
}

function remove(name: string): void {
  pulls.value = pulls.value.filter((each) => each.name !== name)
}

/** A file of the server's machine, which is loaded from where it is. */
const isPath = (name: string) => /^(?:[./~]|[a-z]:[\\/])/i.test(name)

/** Fetches a model by its name and loads it, or once more after a failure. */
export async function pull(name: string): Promise<void> {
  const leaving = new AbortController()
  const { signal } = leaving
  const stop = () => {
    leaving.abort()
    remove(name)
  }
  pulls.value = [...pulls.value.filter((each) => each.name !== name), { name, status: '', part: 0, stop }]
  try {
    if (isPath(name)) await call('api/inference/load', { body: { model_path: name }, signal })
    else await follow(name, signal)
    remove(name)
  } catch (error) {
    if (!signal.aborted) change(name, { error: describe(error) })
  }
}

async function follow(name: string, signal: AbortSignal): Promise<void> {
  const { body } = await send('api/pull', { body: { model: name, stream: true }, signal })
  for await (const { status = '', completed = 0, total = 0, error } of linesOf(body)) {
    if (error !== undefined) throw new Error(error)
    change(name, { status, part: total === 0 ? 0 : completed / total })
  }
}

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Line> {
  const reader = body?.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done) return
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Line
  }
}
