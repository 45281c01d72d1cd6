import { type FileHandle, link, mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

type LockOptions = {
  readonly signal?: AbortSignal | undefined
  /** Called once if the lock is already held. */
  readonly onWait?: ((holder: string) => void) | undefined
  readonly pollMs?: number | undefined
}

/** The holder touches its lock this often, so that the age of a lock shows whether it was abandoned. */
const heartbeatMs = 10_000
const staleAfterMs = 60_000
const defaultPollMs = 500

/**
 * Runs `work` while holding the lock file, which excludes other processes and other callers in this one. An abandoned lock
 * is taken over. Rejects with the signal's reason when aborted while waiting.
 */
export async function withFileLock<Result>(path: string, options: LockOptions, work: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(path), { recursive: true })
  let isWaiting = false
  while (!(await tryLock(path))) {
    const holder = await readHolder(path)
    if (holder === undefined) continue
    if (holder.isGone) {
      await removeStale(path, holder.text)
      continue
    }
    if (!isWaiting) options.onWait?.(holder.text)
    isWaiting = true
    await sleep(options.pollMs ?? defaultPollMs, undefined, { ...(options.signal && { signal: options.signal }) }).catch(
      (error) => {
        throw options.signal?.reason ?? error
      },
    )
  }
  const heartbeat = setInterval(() => {
    // Another process removed the lock. The download is verified regardless.
    utimes(path, new Date(), new Date()).catch(() => clearInterval(heartbeat))
  }, heartbeatMs)
  heartbeat.unref()
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    await rm(path, { force: true })
  }
}

async function tryLock(path: string): Promise<boolean> {
  let lock: FileHandle
  try {
    lock = await open(path, 'wx')
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  }
  try {
    await lock.writeFile(`process ${process.pid} on ${hostname()}`)
  } catch {
    // A full disk has room for the file, which is the lock, but not for its text: then only its age shows that it was abandoned.
  } finally {
    await lock.close()
  }
  return true
}

async function readHolder(path: string): Promise<{ text: string; isGone: boolean } | undefined> {
  try {
    const text = await readFile(path, 'utf8')
    const ageMs = Date.now() - (await stat(path)).mtimeMs
    const match = /^process (\d+) on (.*)$/.exec(text)
    const isDead = match?.[2] === hostname() && !isAlive(Number(match[1]))
    return { text, isGone: isDead || ageMs > staleAfterMs }
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Removes a lock only if it is still the stale one: another process may have taken it over meanwhile. */
async function removeStale(path: string, text: string): Promise<void> {
  const aside = `${path}.${process.pid}`
  try {
    await rename(path, aside)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return
    throw error
  }
  if ((await readFile(aside, 'utf8')) !== text) {
    await link(aside, path).catch((error) => {
      if (!isErrno(error, 'EEXIST')) throw error
    })
  }
  await rm(aside, { force: true })
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return isErrno(error, 'EPERM')
  }
}

function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
