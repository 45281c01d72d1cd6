import { execFile } from 'node:child_process'
import { chmod, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { AppError, messageOf } from '../../contract/errors.ts'
import { requireDiskSpace } from '../fetch/disk-space.ts'
import { type DownloadProgress, download } from '../fetch/download.ts'
import { withFileLock } from '../fetch/file-lock.ts'
import { type Asset, buildsFor, chooseBuild, type Gpu } from './builds.ts'
import { type Runtime, readRuntime, recordName, type recordSchema, runtimesFolder } from './installed.ts'
import { type FoundRelease, findRelease } from './release.ts'

type GetOptions = {
  readonly home: string
  /** The address of the releases. */
  readonly source: string
  /** A tag; absent: the newest release. */
  readonly version?: string | undefined
  /** A kind of build; absent: the best for `gpu`. */
  readonly build?: string | undefined
  readonly gpu: Gpu
  readonly signal?: AbortSignal
  readonly onProgress?: (name: string, progress: DownloadProgress) => void
  readonly onNote?: (note: string) => void
  readonly machine?: { readonly platform: string; readonly arch: string }
}

/** The archives have about a third of their contents' size. */
const unpackedRatio = 4
const tryTimeoutMs = 30_000
const program = process.platform === 'win32' ? 'llama-server.exe' : 'llama-server'

/**
 * Fetches a build of llama.cpp into the data folder, unless it is there: verified by the checksums of its release, unpacked, and started once.
 * Throws `model-unavailable`, `invalid-request` for a build that there is not, or the signal's reason; a lost download is resumed by the next.
 */
export async function getRuntime(options: GetOptions): Promise<Runtime> {
  const { home, source, version, build: wanted, gpu, signal, onNote, machine = process } = options
  const release = await findRelease(version, { source, signal })
  const build = chooseBuild(buildsFor(release, machine), { wanted, gpu, version: release.version, machine })
  const folder = runtimesFolder(home)
  const onWait = (holder: string) => onNote?.(`${holder} is already fetching ${build.name}; waiting for it`)
  return withFileLock(join(folder, `${build.name}.lock`), { signal, onWait }, async () => {
    const present = readRuntime(build.name, home)
    if (present !== undefined) return present
    await removeUnpacked(folder, build.name)
    const archives = await fetchArchives(release, build.archives, options)
    const work = await mkdtemp(join(folder, `.${build.name}-`))
    try {
      const sizeBytes = build.archives.reduce((sum, asset) => sum + asset.sizeBytes, 0)
      await requireDiskSpace(folder, unpackedRatio * sizeBytes)
      for (const { path } of archives) await unpack(path, work, signal)
      const found = await tryProgram(work, build.name)
      const record: typeof recordSchema._output = {
        program: relative(work, found),
        sizeBytes: await sizeOf(work),
        archives: archives.map(({ name, sha256 }) => ({ name, sha256 })),
      }
      await writeFile(join(work, recordName), JSON.stringify(record))
      await rename(work, join(folder, build.name))
    } finally {
      await rm(work, { recursive: true, force: true })
    }
    for (const { path } of archives) await rm(path)
    return readRuntime(build.name, home) as Runtime
  })
}

type Archive = { readonly name: string; readonly path: string; readonly sha256: string }

async function fetchArchives(release: FoundRelease, assets: readonly Asset[], options: GetOptions): Promise<readonly Archive[]> {
  const { home, signal, onProgress, onNote } = options
  const archives: Archive[] = []
  for (const asset of assets) {
    const { name, sha256 } = asset
    if (sha256 === undefined) {
      const why = `release ${release.version} lists no SHA-256 of ${name}, so that it cannot be verified: choose a newer release`
      throw new AppError('model-unavailable', why)
    }
    const path = join(runtimesFolder(home), 'downloads', name)
    onNote?.(`fetching ${name}`)
    await download({
      url: release.urlOf(asset),
      target: path,
      sha256,
      sha256Origin: `release ${release.version}`,
      signal,
      onProgress: (progress) => onProgress?.(name, progress),
    })
    archives.push({ name, path, sha256 })
  }
  return archives
}

/** Starts its llama-server once: a build may need a library or a processor that this machine lacks. */
async function tryProgram(folder: string, name: string): Promise<string> {
  const found = await findUnpacked(folder, program)
  if (found === undefined) throw new AppError('model-unavailable', `${name} has no ${program}: choose another release`)
  try {
    await chmod(found, 0o755)
    await promisify(execFile)(found, ['--version'], { timeout: tryTimeoutMs })
    return found
  } catch (error) {
    const message = `${name} does not run on this machine: ${reasonOf(error)}; choose another build, or install what it names`
    throw new AppError('model-unavailable', message, { cause: error })
  }
}

/** Deletes the remains of a killed process. */
async function removeUnpacked(folder: string, name: string): Promise<void> {
  const left = (await readdir(folder)).filter((entry) => entry.startsWith(`.${name}-`))
  for (const entry of left) await rm(join(folder, entry), { recursive: true, force: true })
  await rm(join(folder, name), { recursive: true, force: true })
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name)))
  return (await Promise.all(sizes)).reduce((sum, { size }) => sum + size, 0)
}

/** Windows has one that reads .zip, which one of another program before it on PATH may not. */
const tar = process.platform === 'win32' ? join(process.env.SystemRoot ?? 'C:\\Windows', 'System32', 'tar.exe') : 'tar'

/** Unpacks a .tar.gz, or on Windows a .zip, with the system's `tar`. Throws `model-unavailable` with its reason, or the signal's. */
async function unpack(archive: string, folder: string, signal?: AbortSignal): Promise<void> {
  try {
    await promisify(execFile)(tar, ['-xf', archive, '-C', folder], { signal })
  } catch (error) {
    signal?.throwIfAborted()
    throw new AppError('model-unavailable', `${archive} cannot be unpacked: ${reasonOf(error)}`, { cause: error })
  }
}

const deepest = 3

/** The path of a program in an unpacked folder, as archives differ in their folders. */
async function findUnpacked(folder: string, name: string, depth = 0): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true })
  if (entries.some((entry) => entry.name === name && entry.isFile())) return join(folder, name)
  for (const entry of entries) {
    const found =
      entry.isDirectory() && depth < deepest ? await findUnpacked(join(folder, entry.name), name, depth + 1) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Why a program failed: what it wrote last, or why it did not start. */
function reasonOf(error: unknown): string {
  const { stderr = '' } = error as { readonly stderr?: string }
  return stderr.trim().split('\n').slice(-3).join(' ') || messageOf(error)
}
