import { AppError, messageOf } from '../contract/errors.ts'
import {
  createWatchdog,
  type FileRequestOptions,
  type FileResponse,
  networkReason,
  requestFile,
  type Watchdog,
} from './file-request.ts'
import { type Expectation, findPart, PartFile } from './part-file.ts'

export type DownloadProgress = { readonly receivedBytes: number; readonly totalBytes?: number }

export type DownloadOptions = {
  readonly url: string
  /** Where the file goes, once it is whole and verified; until then it is `<target>.part`. */
  readonly target: string
  readonly sha256?: string | undefined
  readonly bearerToken?: string | undefined
  readonly accessHint?: string | undefined
  /** How long a server may take to answer. */
  readonly answerTimeoutMs?: number | undefined
  /** How long the flow of bytes may pause. */
  readonly stallTimeoutMs?: number | undefined
  /** How often a transfer that breaks off is taken up again before this gives up. */
  readonly maxResumes?: number | undefined
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** A failure after which the next attempt may get further. */
type Interruption = { readonly type: 'interrupted'; readonly error: AppError }
type Outcome = { readonly type: 'done'; readonly sha256: string } | { readonly type: 'part-outdated' } | Interruption

const defaultAnswerTimeoutMs = 5_000
const defaultStallTimeoutMs = 30_000
const defaultMaxResumes = 4

/**
 * Downloads a file and resolves with its SHA-256. A run that fails or is aborted leaves a part that the next one continues,
 * unless the file has changed. The caller holds the target's lock. Throws `model-unavailable`, or the signal's reason.
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
  const left = found?.url === url ? found : undefined
  // Read before the request: a server does not wait for as long as hashing a large part takes.
  const oldPart = left === undefined ? undefined : await PartFile.resume(target, signal)
  const watchdog = createWatchdog(signal)
  try {
    const request: FileRequestOptions = {
      url,
      bearerToken: options.bearerToken,
      accessHint: options.accessHint,
      answerTimeoutMs: options.answerTimeoutMs ?? defaultAnswerTimeoutMs,
      // If-Range makes a server whose file has changed send all of it.
      headers: left === undefined ? {} : { range: `bytes=${left.receivedBytes}-`, 'if-range': left.etag },
    }
    const answer = await requestFile(request, watchdog)
    const { status } = answer.response
    if (status === 200) return await receive(options, { answer, watchdog })
    if (left === undefined || oldPart === undefined) {
      throw new AppError('model-unavailable', `${answer.host} answered with status ${status} to a plain request`)
    }
    return fitsPart(answer.response, left) ? await receive(options, { answer, watchdog, oldPart }) : { type: 'part-outdated' }
  } finally {
    watchdog.end()
    await oldPart?.close()
  }
}

type Transfer = { readonly answer: FileResponse; readonly watchdog: Watchdog; readonly oldPart?: PartFile }

async function receive(options: DownloadOptions, { answer, watchdog, oldPart }: Transfer): Promise<Outcome> {
  const { response, host } = answer
  const expectation = expect(options, answer)
  const totalBytes = expectation.sizeBytes
  const part = oldPart ?? (await PartFile.create(options.target))
  try {
    const etag = response.headers.get('etag')
    // Only a strong tag promises that the bytes are the same.
    if (oldPart === undefined && totalBytes !== undefined && etag?.startsWith('"')) {
      await part.remember({ url: options.url, etag, sizeBytes: totalBytes })
    }
    const stallTimeoutMs = options.stallTimeoutMs ?? defaultStallTimeoutMs
    const stalled = `${host} sent no bytes for ${stallTimeoutMs / 1000} s; try again, what has arrived is kept`
    watchdog.within(stallTimeoutMs, stalled)
    for await (const chunk of response.body ?? []) {
      await part.append(chunk)
      options.onProgress?.({ receivedBytes: part.sizeBytes, ...(totalBytes !== undefined && { totalBytes }) })
      watchdog.within(stallTimeoutMs, stalled)
    }
    watchdog.signal.throwIfAborted()
    watchdog.pause()
    return { type: 'done', sha256: await part.place(expectation) }
  } catch (error) {
    if (watchdog.signal.aborted) throw watchdog.signal.reason
    if (error instanceof AppError) throw error
    // fetch reports a broken connection as a TypeError; everything else is the disk's.
    if (!(error instanceof TypeError)) {
      const why = messageOf(error)
      throw new AppError('model-unavailable', `the download cannot be stored: ${why}`, { cause: error })
    }
    const message = `the connection to ${host} broke off (${networkReason(error)}); try again, what has arrived is kept`
    return { type: 'interrupted', error: new AppError('model-unavailable', message, { cause: error }) }
  } finally {
    await part.close()
  }
}

/** Collects what the file must be. Throws when that contradicts itself, or is too little to verify anything. */
function expect({ sha256 }: DownloadOptions, { response, host, linkedSha256 }: FileResponse): Expectation {
  const encoding = response.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') throw new AppError('model-unavailable', `${host} insists on sending the file as ${encoding}`)
  if (sha256 !== undefined && linkedSha256 !== undefined && sha256 !== linkedSha256) {
    const message = `the configuration wants SHA-256 ${sha256}, but the file at ${host} has ${linkedSha256}`
    throw new AppError('model-unavailable', message)
  }
  const checksums = []
  if (sha256 !== undefined) checksums.push({ sha256, origin: 'the configuration' })
  else if (linkedSha256 !== undefined) checksums.push({ sha256: linkedSha256, origin: host })
  const sizeBytes = announcedSize(response)
  if (sizeBytes === undefined && checksums.length === 0) {
    const message = `${host} does not say how large the file is, so it cannot be verified; add its sha256 to the configuration`
    throw new AppError('model-unavailable', message)
  }
  return { sizeBytes, checksums }
}

/** Whether a partial answer goes on exactly where the part ends, in the same file. */
function fitsPart(response: Response, left: { etag: string; sizeBytes: number; receivedBytes: number }): boolean {
  const range = contentRange(response)
  const etag = response.headers.get('etag') ?? left.etag
  return range?.start === left.receivedBytes && range.sizeBytes === left.sizeBytes && etag === left.etag
}

function announcedSize(response: Response): number | undefined {
  if (response.status === 206) return contentRange(response)?.sizeBytes
  const length = response.headers.get('content-length')
  return length === null ? undefined : Number(length)
}

function contentRange(response: Response): { start: number; sizeBytes: number } | undefined {
  const match = /^bytes (\d+)-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '')
  return match === null ? undefined : { start: Number(match[1]), sizeBytes: Number(match[2]) }
}
