import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { type DownloadOptions, download } from '../../src/registry/fetch/download.ts'
import { listenOnLoopback } from './upstream/loopback.ts'

/** The file that is fetched. */
export const content = randomBytes(300_000)
export const contentSha256 = createHash('sha256').update(content).digest('hex')
export const otherSha256 = 'f'.repeat(64)

export type Handler = (request: IncomingMessage, response: ServerResponse) => void

export async function serve(handler: Handler): Promise<{ origin: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = []
  const { origin, close } = await listenOnLoopback((request, response) => {
    requests.push(request)
    handler(request, response)
  })
  onTestFinished(close)
  return { origin, requests }
}

export type FileOptions = {
  body?: Buffer
  etag?: string
  ranges?: boolean
  headers?: Record<string, string>
  cutAfter?: () => number
}

/** Serves a file as a correct server does, with faults on request. */
export function file(options: FileOptions = {}): Handler {
  return (request, response) => {
    const { body = content, etag = '"one"', ranges = true, headers = {}, cutAfter } = options
    const range = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1]
    const start = ranges && range !== undefined && request.headers['if-range'] === etag ? Number(range) : 0
    const rest = body.subarray(start)
    response.writeHead(start > 0 ? 206 : 200, {
      etag,
      'content-length': rest.length,
      ...(start > 0 && { 'content-range': `bytes ${start}-${body.length - 1}/${body.length}` }),
      ...headers,
    })
    const cut = cutAfter?.() ?? Number.POSITIVE_INFINITY
    if (cut >= rest.length) response.end(rest)
    else response.write(rest.subarray(0, cut), () => void breakOff(response, start + cut))
  }
}

/** How much of the file the download under test has received. */
let receivedBytes = 0

/** Drops a connection once its reader has received what was sent: newer versions of Node discard unread bytes. */
async function breakOff(response: ServerResponse, sentBytes: number): Promise<void> {
  while (receivedBytes < sentBytes && !response.destroyed) await nextTurn()
  response.destroy()
}

/** A connection that is lost once, after this many bytes, and works the next time. */
export function cutOnce(bytes: number): () => number {
  let cuts = 0
  return () => {
    cuts += 1
    return cuts === 1 ? bytes : Number.POSITIVE_INFINITY
  }
}

export async function setUp(handler: Handler) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-download-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const { origin, requests } = await serve(handler)
  const target = join(folder, 'deep', 'x.gguf')
  receivedBytes = 0
  const run = (options: Partial<DownloadOptions> = {}) =>
    download({
      url: `${origin}/x.gguf`,
      target,
      maxResumes: 0,
      ...options,
      onProgress: (progress) => {
        receivedBytes = progress.receivedBytes
        options.onProgress?.(progress)
      },
    })
  const leftovers = async () => (existsSync(join(folder, 'deep')) ? (await readdir(join(folder, 'deep'))).sort() : [])
  return { target, run, requests, leftovers, origin }
}

/** Compares bytes directly: the matcher takes half a second. */
export async function holds(path: string, bytes: Buffer): Promise<boolean> {
  return bytes.equals(await readFile(path))
}
