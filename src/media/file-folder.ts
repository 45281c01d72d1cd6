import { hash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { FilePlace, StoredFile } from '../contract/file-store.ts'

/**
 * Keeps files in a folder that only its user can read: a folder for each caller, and for each file its bytes and a JSON file that is
 * written last.
 */
export class FileFolder implements FilePlace {
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
  }

  async write(owner: string, id: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
    await mkdir(this.#folderOf(owner), { recursive: true, mode: 0o700 })
    await pipeline(bytes, createWriteStream(`${this.#pathOf(owner, id)}.part`, { mode: 0o600, flags: 'wx' }))
  }

  async keep(owner: string, file: StoredFile): Promise<void> {
    const path = this.#pathOf(owner, file.id)
    await rename(`${path}.part`, path)
    await writeFile(`${path}.json.part`, JSON.stringify(file), { mode: 0o600, flag: 'wx' })
    await rename(`${path}.json.part`, `${path}.json`)
  }

  async list(owner: string): Promise<readonly StoredFile[]> {
    return filesIn(this.#folderOf(owner))
  }

  async get(owner: string, id: string): Promise<StoredFile | undefined> {
    return readStored(this.#pathOf(owner, id))
  }

  content(owner: string, id: string): AsyncIterable<Uint8Array> {
    return createReadStream(this.#pathOf(owner, id))
  }

  async remove(owner: string, id: string): Promise<void> {
    await removeFrom(this.#pathOf(owner, id))
  }

  async removeAbandoned(owner: string, beforeMs: number): Promise<void> {
    const folder = this.#folderOf(owner)
    const names = new Set(await readdir(folder).catch(() => []))
    const isWhole = (name: string) => name.endsWith('.json') || names.has(`${name}.json`)
    for (const name of names) {
      if (isWhole(name)) continue
      const found = await stat(join(folder, name)).catch(() => undefined)
      if (found !== undefined && found.mtimeMs < beforeMs) await rm(join(folder, name), { force: true })
    }
  }

  async removeExpired(nowMs: number): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const folder = join(this.#folder, name)
      for (const file of await filesIn(folder)) {
        if ((file.expiresAtMs ?? Number.POSITIVE_INFINITY) <= nowMs) await removeFrom(join(folder, file.id))
      }
    }
  }

  #pathOf(owner: string, id: string): string {
    return join(this.#folderOf(owner), id)
  }

  /** Hashed: the name of a caller can be any text. */
  #folderOf(owner: string): string {
    return join(this.#folder, hash('sha256', owner).slice(0, 32))
  }
}

async function filesIn(folder: string): Promise<readonly StoredFile[]> {
  const names = await readdir(folder).catch(() => [])
  const ids = names.filter((name) => name.endsWith('.json')).map((name) => name.slice(0, -'.json'.length))
  return (await Promise.all(ids.map((id) => readStored(join(folder, id))))).filter((file) => file !== undefined)
}

async function readStored(path: string): Promise<StoredFile | undefined> {
  const text = await readFile(`${path}.json`, 'utf8').catch(() => undefined)
  return text === undefined ? undefined : (JSON.parse(text) as StoredFile)
}

async function removeFrom(path: string): Promise<void> {
  // The JSON file goes first: it declares the file to exist.
  await rm(`${path}.json`, { force: true })
  for (const name of [`${path}.json.part`, path, `${path}.part`]) await rm(name, { force: true })
}
