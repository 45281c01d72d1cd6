import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { rename, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { printable } from '../app/log/printable.ts'
import { splitLines } from '../base/text/split-lines.ts'
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
/** A server that starts again is waited for. */
const awayMs = 300_000
const ended: readonly string[] = ['failed', 'completed', 'expired', 'cancelled']
/** The field of a batch's metadata for the SHA-256 of its file. */
const hashField = 'file_sha256'

/**
 * Runs a file of requests on the server, or follows the batch that runs it already or has done so since the results were last written, and
 * writes the results. Stopping the command leaves the batch running. Returns the exit code: 1 if a request failed.
 */
export async function runBatch(server: ServerAddress, path: string, { model, output }: BatchFlags): Promise<number> {
  const results = output ?? `${path.replace(/\.jsonl$/, '')}.results.jsonl`
  const { blob, endpoint, sha256 } = await readRequests(path, model)
  const known = await findBatch(server, sha256, await writtenSeconds(results))
  const { id } = known ?? (await createBatch(server, { blob, name: basename(path), endpoint, sha256 }))
  const does = known !== undefined && ended.includes(known.status) ? 'has run this file' : 'runs this file already'
  console.error(known === undefined ? `batch ${id}` : `batch ${id} ${does}`)
  const leave = () => {
    console.error(
      `\nthe batch continues on the server: \`${commandName} batch run ${path}\` follows it, \`${commandName} batch cancel ${id}\` ends it`,
    )
    process.exit(130)
  }
  process.once('SIGINT', leave)
  const batch = await follow(server, id)
  process.off('SIGINT', leave)
  return writeResults(server, batch, results)
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

/** The batch that runs a file, or has run it since then, and whose results nobody has written. */
async function findBatch(server: ServerAddress, sha256: string, sinceSeconds: number): Promise<WireBatch | undefined> {
  const { data } = (await callServer(server, '/v1/batches?limit=100')) as { readonly data: readonly WireBatch[] }
  const same = data.filter(({ metadata }) => metadata?.[hashField] === sha256)
  const running = same.find(({ status }) => !ended.includes(status))
  const last = same[0]
  if (running !== undefined || last === undefined || last.created_at < sinceSeconds) return running
  if (last.status !== 'completed' && last.status !== 'expired') return undefined
  const files = [last.output_file_id, last.error_file_id].filter((id) => id !== null)
  const found = await Promise.all(files.map(async (id) => (await send(server, `/v1/files/${id}`, {})).ok))
  return found.every((isThere) => isThere) ? last : undefined
}

/** When the results of an earlier run were written. */
async function writtenSeconds(path: string): Promise<number> {
  const paths = [path, errorsOf(path)]
  const times = await Promise.all(
    paths.map((one) =>
      stat(one).then(
        ({ mtimeMs }) => mtimeMs / 1000,
        () => 0,
      ),
    ),
  )
  return Math.max(...times)
}

function errorsOf(results: string): string {
  return `${results.replace(/\.jsonl$/, '')}.errors.jsonl`
}

/** The requests of a file, each for `model` if there is one. The first decides about the endpoint. */
async function readRequests(path: string, model: string | undefined) {
  const hash = createHash('sha256')
  const parts: string[] = []
  let endpoint: string | undefined
  await stat(path).catch((error: unknown) => {
    throw new AppError('invalid-request', `${path} cannot be read: ${messageOf(error)}`)
  })
  let isFirst = true
  for await (const given of splitLines(createReadStream(path), Number.POSITIVE_INFINITY)) {
    let text = given ?? ''
    // A file may begin with a mark of its encoding.
    if (parts.length === 0) text = text.replace(/^\uFEFF/, '')
    const isEmpty = text.trim() === ''
    const line = isEmpty || (!isFirst && model === undefined) ? { text } : withModel(text, model, parts.length + 1)
    isFirst &&= isEmpty
    endpoint ??= line.url
    parts.push(`${line.text}\n`)
    hash.update(parts.at(-1) ?? '')
  }
  if (endpoint === undefined)
    throw new AppError('invalid-request', `${path}: its first request has no url, such as "/v1/chat/completions"`)
  return { blob: new Blob(parts), endpoint, sha256: hash.digest('hex') }
}

/** The server checks all lines; the first is read for its endpoint. */
function withModel(text: string, model: string | undefined, number: number): { readonly text: string; readonly url?: string } {
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
  let answeredMs = Date.now()
  for (;;) {
    let batch: WireBatch
    try {
      batch = (await callServer(server, `/v1/batches/${id}`)) as WireBatch
      answeredMs = Date.now()
    } catch (error) {
      const reason = messageOf(error)
      if (AppError.from(error).code !== 'engine-failed' || Date.now() - answeredMs > awayMs) throw error
      if (reason !== wait) progress.note(`${reason}; trying again`)
      wait = reason
      await pause(pollMs)
      continue
    }
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
  const errors = errorsOf(path)
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
  // What is there under its name is complete.
  await pipeline(Readable.fromWeb(body as never), createWriteStream(`${path}.part`))
  await rename(`${path}.part`, path)
}
