import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../../app/log/printable.ts'
import { AppError } from '../../contract/errors.ts'
import { commandName } from '../terminal/command-name.ts'
import { createProgress } from '../terminal/progress.ts'
import { formatTable } from '../terminal/table.ts'
import { callServer, type ServerAddress } from './client.ts'

export type LoadFlags = {
  readonly context?: string | undefined
  readonly slots?: string | undefined
  readonly gpuLayers?: string | undefined
  readonly cacheType?: string | undefined
  readonly variant?: string | undefined
  readonly reload?: boolean | undefined
  readonly force?: boolean | undefined
}

/** A model as `GET /api/inference/status` lists it. */
export type ModelLine = {
  readonly id: string
  readonly engine: string | null
  readonly state: string
  readonly requests: number
  readonly slots: number
  readonly context_length: number | null
  readonly native_context_length: number | null
  /** The longest that fit the memory, by the number of slots: the model's own first, then fewer. */
  readonly max_context_lengths: readonly { readonly slots: number; readonly context_length: number }[]
  readonly gguf_variant: string | null
}
type Progress = {
  readonly phase: string | null
  readonly bytes_loaded: number
  readonly bytes_total: number
  readonly model?: string
}

const lookEveryMs = 250

/** The models of a running server, as its operators see them. */
export async function readStatus(server: ServerAddress): Promise<readonly ModelLine[]> {
  const { models } = (await callServer(server, '/api/inference/status')) as { models: readonly ModelLine[] }
  return models
}

/** Prints what the running server has loaded, or is loading; with `all`, also what it could load. */
export async function ps(server: ServerAddress, all: boolean): Promise<void> {
  const models = await readStatus(server)
  const shown = models.filter(({ state }) => all || state !== 'stopped')
  const rows = shown.map((model) => {
    const { id, engine, state, requests, slots, gguf_variant: variant } = model
    return [id, state, engine ?? '-', variant ?? '-', contextOf(model), `${requests}/${slots}`]
  })
  console.log(formatTable(['MODEL', 'STATE', 'ENGINE', 'VARIANT', 'CONTEXT', 'REQUESTS'], rows))
  for (const advice of shown.flatMap((model) => longerContexts(model) ?? [])) console.log(printable(advice))
}

function contextOf({ context_length: used, native_context_length: trained }: ModelLine): string {
  if (used === null) return '-'
  return trained === null || trained <= used ? String(used) : `${used} of ${trained}`
}

/** The possible contexts of a model whose context is shorter than it was trained for. */
function longerContexts(model: ModelLine): string | undefined {
  const { id, context_length: used, native_context_length: trained, max_context_lengths: longest } = model
  if (used === null || trained === null || used >= trained) return undefined
  const longer = longest.filter((fit) => fit.context_length > used)
  if (longer.length === 0) return `${id} was trained for ${trained} tokens, and memory.budget has room for no more than it has`
  const fits = longer.map((fit) => `${fit.context_length} with --slots ${fit.slots}`).join(', or ')
  return `${id} was trained for ${trained} tokens, and memory allows ${fits}: ${commandName} load ${id} --context N --slots N`
}

/** Loads a model on the running server, and shows the progress. Ctrl+C cancels the load. */
export async function load(server: ServerAddress, model: string, flags: LoadFlags): Promise<void> {
  const { context, slots, gpuLayers, cacheType, variant, reload, force } = flags
  const reply = await loadShown(server, {
    model_path: model,
    max_seq_length: readNumber('--context', context),
    n_parallel: readNumber('--slots', slots),
    gpu_layers: readNumber('--gpu-layers', gpuLayers),
    cache_type_kv: cacheType,
    gguf_variant: variant,
    force_reload: reload,
    force_cancel_active: force,
  })
  const { context_length: used, native_context_length: trained } = reply
  const beyond = used !== null && trained && used > trained ? `; it was trained for ${trained}, and may fail beyond them` : ''
  const size = used === null ? '' : ` (context: ${used} tokens${beyond})`
  console.log(`${printable(reply.model)} ${reply.status === 'already_loaded' ? 'was loaded already' : 'is loaded'}${size}`)
}

/** The body of `POST /api/inference/load`. */
type LoadBody = { readonly model_path: string; readonly [field: string]: unknown }

type LoadReply = {
  readonly status: string
  readonly model: string
  readonly context_length: number | null
  readonly native_context_length?: number | null
}

/** Loads with the fields of `POST /api/inference/load`, and shows the progress. */
export async function loadShown(server: ServerAddress, body: LoadBody): Promise<LoadReply> {
  const ended = new AbortController()
  const watching = watchLoads(server, { signal: ended.signal })
  try {
    // Its connection ends with this process, which ends the load.
    return (await callServer(server, '/api/inference/load', { load_request_id: randomUUID(), ...body })) as LoadReply
  } finally {
    ended.abort()
    await watching
  }
}

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

/** Shows the server's loads until the signal; not before `afterMs`. */
export async function watchLoads(
  server: ServerAddress,
  { signal, afterMs = 0 }: { readonly signal: AbortSignal; readonly afterMs?: number },
): Promise<void> {
  await pause(afterMs, undefined, { signal }).catch(() => undefined)
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
