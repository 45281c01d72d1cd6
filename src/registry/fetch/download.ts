import { dirname } from 'node:path'
import { networkReason } from '../../canonical/failure-reason.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { requireDiskSpace } from './disk-space.ts'
import { createWatchdog, type FileRequestOptions, type FileResponse, requestFile, type Watchdog } from './file-request.ts'
import { type Expectation, findPart, PartFile } from './part-file.ts'

export type DownloadProgress = { readonly receivedBytes: number; readonly totalBytes?: number }

export type DownloadOptions = {
  readonly url: string
  /** The path of the complete, verified file; until then it is `<target>.part`. */
  readonly target: string
  readonly sha256?: string | undefined
  /** Who says that checksum; absent: the configuration. */
  readonly sha256Origin?: string | undefined
  readonly bearerToken?: string | undefined
  readonly accessHint?: string | undefined
  /** Timeout for the headers of each response. */
  readonly responseTimeoutMs?: number | undefined
  /** Timeout for the next bytes of the body. */
  readonly stallTimeoutMs?: number | undefined
  /** How many times an interrupted transfer is resumed before the download fails. */
  readonly maxResumes?: number | undefined
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** A failure that another attempt may overcome. */
type Interruption = { readonly type: 'interrupted'; readonly error: AppError }
type Outcome = { readonly type: 'done'; readonly sha256: string } | { readonly type: 'part-outdated' } | Interruption

const defaultResponseTimeoutMs = 5_000
const defaultStallTimeoutMs = 30_000
const defaultMaxResumes = 4

/**
 * Downloads a file and resolves with its SHA-256. A failed or aborted download leaves a part that the next one continues, unless the remote
 * file has changed. The caller must hold the target's lock. Throws `model-unavailable`, also without enough disk space for the rest, or the
 * signal's reason.
 */
export async function download(options: DownloadOptions): Promise<string> {
  let interruptions = 0
  for (;;) {
    const outcome = await attempt(options)
    switch (outcome.type) {
      case 'done':
        return outcome.sha256
      case 'part-outdated':
        await (await PartFile.create(options.target)).discard()
        break
      case 'interrupted':
        interruptions += 1
        if (interruptions > (options.maxResumes ?? defaultMaxResumes)) throw outcome.error
    }
  }
}

async function attempt(options: DownloadOptions): Promise<Outcome> {
  const { url, target, signal } = options
  signal?.throwIfAborted()
  const found = await findPart(target)
  const previous = found?.url === url ? found : undefined
  // Read before the request: hashing a large part takes longer than a server waits.
  const oldPart = previous === undefined ? undefined : await PartFile.resume(target, signal)
  const resumeAt = (previous?.receivedBytes ?? 0) - (oldPart?.tail.length ?? 0)
  const watchdog = createWatchdog(signal)
  try {
    const request: FileRequestOptions = {
      url,
      bearerToken: options.bearerToken,
      accessHint: options.accessHint,
      responseTimeoutMs: options.responseTimeoutMs ?? defaultResponseTimeoutMs,
      // If-Range makes a server whose file has changed send all of it. The last bytes are asked for again, to be compared.
      headers: previous === undefined ? {} : { range: `bytes=${resumeAt}-`, 'if-range': previous.etag },
    }
    const file = await requestFile(request, watchdog)
    const { status } = file.response
    if (status === 200) return await receive(options, { file, watchdog })
    if (previous === undefined || oldPart === undefined) {
      throw new AppError('model-unavailable', `${file.host} answered a request for the whole file with status ${status}`)
    }
    return fitsPart(file.response, { ...previous, resumeAt })
      ? await receive(options, { file, watchdog, oldPart })
      : { type: 'part-outdated' }
  } finally {
    watchdog.end()
    await oldPart?.close()
  }
}

type Transfer = { readonly file: FileResponse; readonly watchdog: Watchdog; readonly oldPart?: PartFile }

async function receive(options: DownloadOptions, { file, watchdog, oldPart }: Transfer): Promise<Outcome> {
  const { response, host } = file
  const expectation = expect(options, file)
  const totalBytes = expectation.sizeBytes
  const part = oldPart ?? (await PartFile.create(options.target))
  try {
    const etag = response.headers.get('etag')
    // Only a strong ETag guarantees identical bytes.
    if (oldPart === undefined && totalBytes !== undefined && etag?.startsWith('"')) {
      await part.remember({ url: options.url, etag, sizeBytes: totalBytes })
    }
    // Fails now rather than after many gigabytes.
    if (totalBytes !== undefined) await requireDiskSpace(dirname(options.target), totalBytes - part.sizeBytes)
    const stallTimeoutMs = options.stallTimeoutMs ?? defaultStallTimeoutMs
    const stalled = `${host} sent no bytes for ${stallTimeoutMs / 1000} s; try again, the received bytes are kept`
    watchdog.within(stallTimeoutMs, stalled)
    let repeated: Buffer = oldPart?.tail ?? Buffer.alloc(0)
    for await (const received of response.body ?? []) {
      const known = Math.min(received.length, repeated.length)
      // The headers are right and the bytes differ: the part may belong to another file, and without a checksum nothing else would show it.
      if (!repeated.subarray(0, known).equals(received.subarray(0, known))) return { type: 'part-outdated' }
      repeated = repeated.subarray(known)
      const chunk = received.subarray(known)
      if (chunk.length > 0) await part.append(chunk)
      options.onProgress?.({ receivedBytes: part.sizeBytes, ...(totalBytes !== undefined && { totalBytes }) })
      watchdog.within(stallTimeoutMs, stalled)
    }
    watchdog.signal.throwIfAborted()
    watchdog.pause()
    return { type: 'done', sha256: await part.place(expectation) }
  } catch (error) {
    if (watchdog.signal.aborted) throw watchdog.signal.reason
    if (error instanceof AppError) throw error
    // fetch reports a lost connection as a TypeError; everything else is a disk error.
    if (!(error instanceof TypeError)) {
      const why = messageOf(error)
      throw new AppError('model-unavailable', `the download cannot be stored: ${why}`, { cause: error })
    }
    const message = `the connection to ${host} was lost (${networkReason(error)}); try again, the received bytes are kept`
    return { type: 'interrupted', error: new AppError('model-unavailable', message, { cause: error }) }
  } finally {
    await part.close()
  }
}

/** Collects the expected size and checksums. Throws when the checksums disagree, or when there is nothing to verify against. */
function expect(
  { sha256, sha256Origin = 'the configuration' }: DownloadOptions,
  { response, host, linkedSha256 }: FileResponse,
): Expectation {
  const encoding = response.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') {
    throw new AppError('model-unavailable', `${host} sent the file encoded as ${encoding}, which was not accepted`)
  }
  if (sha256 !== undefined && linkedSha256 !== undefined && sha256 !== linkedSha256) {
    const message = `${sha256Origin} expects SHA-256 ${sha256}, but the file at ${host} has ${linkedSha256}`
    throw new AppError('model-unavailable', message)
  }
  const checksums = []
  if (sha256 !== undefined) checksums.push({ sha256, origin: sha256Origin })
  else if (linkedSha256 !== undefined) checksums.push({ sha256: linkedSha256, origin: host })
  const sizeBytes = announcedSize(response)
  if (sizeBytes === undefined && checksums.length === 0) {
    const message = `${host} sent no size or checksum to verify the file with; add its sha256 to the configuration`
    throw new AppError('model-unavailable', message)
  }
  return { sizeBytes, checksums }
}

/** Whether the server declares a partial response to continue the same file. */
function fitsPart(response: Response, previous: { etag: string; sizeBytes: number; resumeAt: number }): boolean {
  const range = contentRange(response)
  if (range === undefined) return false
  const isWhole = range.end === previous.sizeBytes - 1 && range.sizeBytes === previous.sizeBytes
  return range.start === previous.resumeAt && isWhole && (response.headers.get('etag') ?? previous.etag) === previous.etag
}

function announcedSize(response: Response): number | undefined {
  if (response.status === 206) return contentRange(response)?.sizeBytes
  const length = response.headers.get('content-length')
  return length === null ? undefined : Number(length)
}

function contentRange(response: Response): { start: number; end: number; sizeBytes: number } | undefined {
  const match = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(response.headers.get('content-range') ?? '')
  return match === null ? undefined : { start: Number(match[1]), end: Number(match[2]), sizeBytes: Number(match[3]) }
}
