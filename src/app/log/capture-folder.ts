import { mkdirSync } from 'node:fs'
import { lstat, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { AppError, messageOf } from '../../contract/errors.ts'
import { type Capture, type CapturedRequest, fileIdOf } from '../../http/capture/capture.ts'

/** The form of names by `addCapture`: the folder may have other files, which stay. */
const captureName = /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[\w-]*\.json$/
/** Beyond this, the oldest captures are deleted. */
const defaultMaxBytes = 256 * 1024 ** 2

type CaptureFolder = {
  readonly keep: Capture
  /** The request with this id; undefined if it is missing, or not written yet. */
  find(requestId: string): Promise<CapturedRequest | undefined>
  close(): Promise<void>
}

/** Opens a folder of captured requests, which only this user can read, each in a file. Throws `invalid-request` if it cannot be created. */
export function openCaptureFolder(folder: string, log: Logger, maxBytes = defaultMaxBytes): CaptureFolder {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new AppError('invalid-request', `log.captureFolder: ${folder} cannot be made (${messageOf(error)})`, { cause: error })
  }
  /** The sizes of files by name, the oldest first; known once the folder has been read. */
  const sizes = new Map<string, number>()
  let total = 0
  let hasFailed = false
  const add = (name: string, size: number) => {
    sizes.set(name, size)
    total += size
  }
  const inFolder = async () => {
    const names = (await readdir(folder)).filter((name) => captureName.test(name)).sort()
    for (const name of names) {
      const found = await lstat(join(folder, name)).catch(() => undefined)
      if (found?.isFile()) add(name, found.size)
    }
  }
  const write = async (name: string, text: string) => {
    try {
      await writeFile(join(folder, name), text, { mode: 0o600 })
    } catch (error) {
      // A partial file, on a full disk.
      await rm(join(folder, name), { force: true })
      throw error
    }
    add(name, Buffer.byteLength(text))
    for (const [oldest, size] of sizes) {
      if (total <= maxBytes || oldest === name) break
      sizes.delete(oldest)
      total -= size
      await rm(join(folder, oldest), { force: true })
    }
  }
  const report = (error: unknown) => {
    if (!hasFailed) log.warn({ reason: messageOf(error), folder }, 'requests cannot be captured')
    hasFailed = true
  }
  let last = inFolder().catch(report)
  return {
    keep: (name, request) => {
      last = last.then(() => write(`${name}.json`, `${JSON.stringify(request, null, 2)}\n`)).catch(report)
    },
    find: async (requestId) => {
      await last
      const name = [...sizes.keys()].reverse().find((each) => each.endsWith(`-${fileIdOf(requestId)}.json`))
      if (name === undefined) return undefined
      try {
        return JSON.parse(await readFile(join(folder, name), 'utf8')) as CapturedRequest
      } catch {
        // Deleted since, or incomplete after a crash of the machine.
        return undefined
      }
    },
    close: () => last,
  }
}
