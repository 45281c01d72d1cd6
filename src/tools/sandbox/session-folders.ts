import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { access, chmod, chown, constants, mkdir, readdir, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../contract/errors.ts'
import type { ToolSession } from '../../contract/server-tool.ts'

type SessionFoldersOptions = {
  readonly folder: string
  /** A session that was idle for this long is deleted. */
  readonly idleMs: number
  /** The owner of the files, if not the server's user. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

/** Per key; the one idle longest makes room. */
const maxSessionsPerKey = 32
const sessionName = /^[\da-f]{24}-[\da-f]{24}$/
const shortHash = (text: string) => hash('sha256', text).slice(0, 24)

/**
 * One folder for each session of each key, which processes can share. Programs write to a folder inside one that only the server writes,
 * whose time is the last use of the session.
 */
export class SessionFolders {
  readonly #options: SessionFoldersOptions

  constructor(options: SessionFoldersOptions) {
    this.#options = options
  }

  /** Makes the common folder. Rejects with a sentence about why it cannot be used. */
  async prepare(): Promise<void> {
    const { folder, user } = this.#options
    try {
      const mode = user === undefined ? 0o700 : 0o711
      await mkdir(folder, { recursive: true, mode })
      await chmod(folder, mode)
      await access(folder, constants.W_OK)
    } catch (error) {
      const why = `${folder}, where programs have their files, cannot be written (${messageOf(error)})`
      throw new Error(`${why}: let the server write it, or set tools.sessions.folder to another folder`, { cause: error })
    }
    if (user === undefined) return
    for (let path = folder; ; path = dirname(path)) {
      const { mode } = await stat(path)
      if ((mode & 0o001) === 0) {
        throw new Error(
          `programs run as another user than root, and ${path} is closed to them: set tools.sessions.folder to another`,
        )
      }
      if (path === dirname(path)) return
    }
  }

  /** The path of a session's files, whether or not it exists. */
  filesOf(session: ToolSession): string {
    return join(this.#folderOf(session), 'files')
  }

  /** Opens the folder of a session's files, creating it if missing. */
  async open(session: ToolSession): Promise<string> {
    const folder = this.#folderOf(session)
    const files = join(folder, 'files')
    const { user } = this.#options
    if (await isMissing(files)) {
      await this.#makeRoom(session)
      await mkdir(folder, { recursive: true })
      await chmod(folder, user === undefined ? 0o700 : 0o711)
      await mkdir(files, { recursive: true, mode: 0o700 })
      if (user !== undefined) await this.#give(files, user)
    }
    await this.touch(session)
    return files
  }

  async #give(files: string, { uid, gid }: NonNullable<SessionFoldersOptions['user']>): Promise<void> {
    try {
      await chown(files, uid, gid)
    } catch (error) {
      const why = `a server of root runs programs as the user ${uid}, to whom it cannot give files here (${messageOf(error)})`
      throw new Error(`${why}: run the server as another user, or allow it (in a container, map that user)`, { cause: error })
    }
  }

  async touch(session: ToolSession): Promise<void> {
    const now = new Date()
    await utimes(this.#folderOf(session), now, now)
  }

  /** Deletes a session's files. Its programs must have ended. */
  async delete(session: ToolSession): Promise<void> {
    await this.#remove(this.#folderOf(session))
  }

  /** Deletes idle sessions. */
  async deleteIdle(nowMs: number): Promise<void> {
    const { folder, idleMs } = this.#options
    for (const { path, usedAtMs } of await sessionsIn(folder)) if (nowMs - usedAtMs > idleMs) await this.#remove(path)
  }

  async #makeRoom(session: ToolSession): Promise<void> {
    const { folder } = this.#options
    const ofKey = (await sessionsIn(folder)).filter(({ name }) => name.startsWith(`${shortHash(session.principalId)}-`))
    const tooMany = ofKey.sort((one, other) => one.usedAtMs - other.usedAtMs).slice(0, ofKey.length - maxSessionsPerKey + 1)
    if (ofKey.length >= maxSessionsPerKey) for (const { path } of tooMany) await this.#remove(path)
  }

  /** Hashed: names of callers and sessions can be any text. */
  #folderOf({ principalId, id }: ToolSession): string {
    return join(this.#options.folder, `${shortHash(principalId)}-${shortHash(id)}`)
  }

  /** Uses `rm`: paths of deep folders can be too long for system calls. */
  async #remove(path: string): Promise<void> {
    const run = promisify(execFile)
    // The server's user may open folders that programs have closed; root need not.
    if (this.#options.user === undefined) await run('chmod', ['-R', 'u+rwX', path]).catch(() => undefined)
    await run('rm', ['-rf', '--', path]).catch(() => rm(path, { recursive: true, force: true }))
  }
}

async function sessionsIn(folder: string): Promise<{ name: string; path: string; usedAtMs: number }[]> {
  // The operator may have chosen a folder with other files.
  const names = (await readdir(folder).catch(() => [])).filter((name) => sessionName.test(name))
  const found = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const facts = await stat(path).catch(() => undefined)
      return facts === undefined ? [] : [{ name, path, usedAtMs: facts.mtimeMs }]
    }),
  )
  return found.flat()
}

async function isMissing(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) === undefined
}
