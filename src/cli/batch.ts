import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../app/log/printable.ts'
import { AppError, messageOf } from '../contract/errors.ts'
import { callServer, type ServerAddress, send, uploadFile } from './servers/client.ts'
import { commandName } from './terminal/command-name.ts'
import { createProgress } from './terminal/progress.ts'
import { formatTable } from './terminal/table.ts'

export type BatchFlags = { readonly model?: string; readonly output?: string }

/** A batch as `GET /v1/batches` describes it. */
type WireBatch = {
  readonly id: string
  readonly status: string
  readonly endpoint: string
  readonly created_at: number
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number }
  readonly metadata: Readonly<Record<string, string>> | null
  readonly errors: { readonly data: readonly { readonly line: number | null; readonly message: string }[] } | null
  readonly output_file_id: string | null
  readonly error_file_id: string | null
  readonly waiting?: { readonly reason: string; readonly until: number }
}

const pollMs = 1000
const ended: readonly string[] = ['failed', 'completed', 'expired', 'cancelled']
/** The field of a batch's metadata for the SHA-256 of its file. */
const hashField = 'file_sha256'

/**
 * Runs a file of requests on the server, or follows the batch that runs it already, and writes the results. Stopping the command leaves the
 * batch running. Returns the exit code: 1 if a request failed.
 */
export async function runBatch(server: ServerAddress, path: string, { model, output }: BatchFlags): Promise<number> {
  const { blob, endpoint, sha256 } = await readRequests(path, model)
  const { data } = (await callServer(server, '/v1/batches?limit=100')) as { readonly data: readonly WireBatch[] }
  const running = data.find(({ status, metadata }) => !ended.includes(status) && metadata?.[hashField] === sha256)
  const { id } = running ?? (await createBatch(server, { blob, name: basename(path), endpoint, sha256 }))
  console.error(running === undefined ? `batch ${id}` : `batch ${id} runs this file already`)
  const leave = () => {
    console.error(
      `\nthe batch continues on the server: \`${commandName} batch run ${path}\` follows it, \`${commandName} batch cancel ${id}\` ends it`,
    )
    process.exit(130)
  }
  process.once('SIGINT', leave)
  const batch = await follow(server, id)
  process.off('SIGINT', leave)
  return writeResults(server, batch, output ?? `${path.replace(/\.jsonl$/, '')}.results.jsonl`)
}

export async function listBatches(server: ServerAddress): Promise<void> {
  const { data } = (await callServer(server, '/v1/batches?limit=100')) as { readonly data: readonly WireBatch[] }
  const rows = data.map(({ id, status, request_counts: counts, created_at, endpoint }) => {
    const done = `${counts.completed + counts.failed}/${counts.total}`
    return [id, status, done, `${counts.failed}`, new Date(created_at * 1000).toISOString(), endpoint]
  })
  console.log(
    rows.length === 0 ? 'there are no batches' : formatTable(['ID', 'STATUS', 'DONE', 'FAILED', 'CREATED', 'ENDPOINT'], rows),
  )
}

export async function cancelBatch(server: ServerAddress, id: string): Promise<void> {
  const { status } = (await callServer(server, `/v1/batches/${encodeURIComponent(id)}/cancel`, {})) as WireBatch
  console.log(`batch ${printable(id)} is ${status}`)
}

/** The requests of a file, each for `model` if there is one. The first decides about the endpoint. */
async function readRequests(path: string, model: string | undefined) {
  const hash = createHash('sha256')
  const parts: string[] = []
  let endpoint: string | undefined
  await stat(path).catch((error: unknown) => {
    throw new AppError('invalid-request', `${path} cannot be read: ${messageOf(error)}`)
  })
  for await (const text of createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })) {
    const line = withModel(text, model, parts.length + 1)
    endpoint ??= line.url
    parts.push(`${line.text}\n`)
    hash.update(parts.at(-1) ?? '')
  }
  if (endpoint === undefined) throw new AppError('invalid-request', `${path}: line 1 has no url, such as "/v1/chat/completions"`)
  return { blob: new Blob(parts), endpoint, sha256: hash.digest('hex') }
}

function withModel(text: string, model: string | undefined, number: number): { readonly text: string; readonly url?: string } {
  // The server checks all lines; the first is read for its endpoint.
  if (number > 1 && model === undefined) return { text }
  try {
    const line = JSON.parse(text) as { readonly url?: string; readonly body?: object }
    const url = typeof line.url === 'string' ? { url: line.url } : {}
    return { text: model === undefined ? text : JSON.stringify({ ...line, body: { ...line.body, model } }), ...url }
  } catch {
    throw new AppError('invalid-request', `line ${number} is not valid JSON`)
  }
}

type NewBatch = { readonly blob: Blob; readonly name: string; readonly endpoint: string; readonly sha256: string }

async function createBatch(server: ServerAddress, { blob, name, endpoint, sha256 }: NewBatch): Promise<WireBatch> {
  const fileId = await uploadFile(server, { blob, name, purpose: 'batch' })
  const batch = { input_file_id: fileId, endpoint, completion_window: '24h', metadata: { [hashField]: sha256 } }
  return (await callServer(server, '/v1/batches', batch)) as WireBatch
}

async function follow(server: ServerAddress, id: string): Promise<WireBatch> {
  const progress = createProgress(process.stderr, undefined, (count) => `${Math.round(count)} requests`)
  let wait: string | undefined
  for (;;) {
    const batch = (await callServer(server, `/v1/batches/${id}`)) as WireBatch
    const { completed, failed, total } = batch.request_counts
    if (total > 0) progress.update(failed > 0 ? `${failed} failed` : 'running', completed + failed, total)
    const waits = batch.waiting && `waits until ${new Date(batch.waiting.until * 1000).toISOString()}: ${batch.waiting.reason}`
    if (waits !== undefined && waits !== wait) progress.note(waits)
    wait = waits
    if (ended.includes(batch.status)) {
      progress.end()
      return batch
    }
    await pause(pollMs)
  }
}

async function writeResults(server: ServerAddress, batch: WireBatch, path: string): Promise<number> {
  for (const { line, message } of batch.errors?.data ?? [])
    console.error(`${line === null ? '' : `line ${line}: `}${printable(message)}`)
  const errors = `${path.replace(/\.jsonl$/, '')}.errors.jsonl`
  if (batch.output_file_id !== null) await download(server, batch.output_file_id, path)
  if (batch.error_file_id !== null) await download(server, batch.error_file_id, errors)
  const { completed, failed, total } = batch.request_counts
  console.error(`${batch.status}: ${completed} of ${total} succeeded, ${failed} failed`)
  if (batch.output_file_id !== null) console.error(`results: ${path}`)
  if (batch.error_file_id !== null) console.error(`failures: ${errors}`)
  return batch.status === 'completed' && failed === 0 ? 0 : 1
}

async function download(server: ServerAddress, fileId: string, path: string): Promise<void> {
  const { ok, status, body } = await send(server, `/v1/files/${fileId}/content`, {})
  if (!ok || body === null) throw new AppError('engine-failed', `the results cannot be read: the server answered ${status}`)
  await pipeline(Readable.fromWeb(body as never), createWriteStream(path))
}
