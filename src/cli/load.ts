import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../app/log/printable.ts'
import { AppError } from '../contract/errors.ts'
import { callServer, type ServerAddress } from './client.ts'
import { createProgress } from './terminal/progress.ts'
import { formatTable } from './terminal/table.ts'

export type LoadFlags = {
  readonly context?: string | undefined
  readonly slots?: string | undefined
  readonly gpuLayers?: string | undefined
  readonly cacheType?: string | undefined
  readonly variant?: string | undefined
  readonly reload?: boolean | undefined
  readonly force?: boolean | undefined
}

type ModelLine = {
  readonly id: string
  readonly engine: string | null
  readonly state: string
  readonly requests: number
  readonly slots: number
  readonly context_length: number | null
  readonly gguf_variant: string | null
}
type Status = { readonly models: readonly ModelLine[] }
type Progress = {
  readonly phase: string | null
  readonly bytes_loaded: number
  readonly bytes_total: number
  readonly model?: string
}

const lookEveryMs = 250

/** Prints what the running server has loaded, or is loading; with `all`, also what it could. */
export async function ps(server: ServerAddress, all: boolean): Promise<void> {
  const { models } = (await callServer(server, '/api/inference/status')) as Status
  const shown = models.filter(({ state }) => all || state !== 'stopped')
  const rows = shown.map(({ id, engine, state, requests, slots, context_length: context, gguf_variant: variant }) => {
    return [id, state, engine ?? '-', variant ?? '-', context === null ? '-' : String(context), `${requests}/${slots}`]
  })
  console.log(formatTable(['MODEL', 'STATE', 'ENGINE', 'VARIANT', 'CONTEXT', 'REQUESTS'], rows))
}

/** Loads a model on the running server, and shows how far it is. Ctrl+C cancels the load. */
export async function load(server: ServerAddress, model: string, flags: LoadFlags): Promise<void> {
  const { context, slots, gpuLayers, cacheType, variant, reload, force } = flags
  const body = {
    model_path: model,
    load_request_id: randomUUID(),
    max_seq_length: readNumber('--context', context),
    n_parallel: readNumber('--slots', slots),
    gpu_layers: readNumber('--gpu-layers', gpuLayers),
    cache_type_kv: cacheType,
    gguf_variant: variant,
    force_reload: reload,
    force_cancel_active: force,
  }
  const ended = new AbortController()
  const watching = watch(server, ended.signal)
  try {
    // Its connection ends with this process, and with it the load.
    const reply = (await callServer(server, '/api/inference/load', body)) as {
      status: string
      model: string
      context_length: number | null
      native_context_length?: number | null
    }
    ended.abort()
    await watching
    const { context_length: used, native_context_length: trained } = reply
    const beyond = used !== null && trained && used > trained ? `; it was trained for ${trained}, and may fail beyond them` : ''
    const size = used === null ? '' : ` (context: ${used} tokens${beyond})`
    console.log(`${printable(reply.model)} ${reply.status === 'already_loaded' ? 'was loaded already' : 'is loaded'}${size}`)
  } finally {
    ended.abort()
    await watching
  }
}

/** Unloads a model of the running server. */
export async function unload(
  server: ServerAddress,
  model: string,
  { force = false }: { readonly force?: boolean },
): Promise<void> {
  const reply = await callServer(server, '/api/inference/unload', { model_path: model, force_cancel_active: force })
  console.log(`${printable((reply as { model: string }).model)} is unloaded`)
}

const labels: Readonly<Record<string, string>> = {
  waiting: 'waiting for',
  downloading: 'fetching',
  verifying: 'verifying',
  mmap: 'loading',
  warming_up: 'trying out',
}

async function watch(server: ServerAddress, signal: AbortSignal): Promise<void> {
  const progress = createProgress(process.stderr)
  while (!signal.aborted) {
    // A server that does not answer fails the load itself.
    const reply = (await callServer(server, '/api/inference/load-progress').catch(() => undefined)) as Progress | undefined
    const label = labels[reply?.phase ?? '']
    if (!signal.aborted && reply !== undefined && label !== undefined && reply.bytes_total > 0) {
      progress.update(`${label} ${reply.model ?? ''}`.trim(), reply.bytes_loaded, reply.bytes_total)
    }
    await pause(lookEveryMs, undefined, { signal }).catch(() => undefined)
  }
  progress.end()
}

function readNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^-?\d+$/.test(text)) return Number(text)
  throw new AppError('invalid-request', `${flag} must be a whole number, not '${text}'`)
}
