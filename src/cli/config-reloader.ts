import { type FSWatcher, watch } from 'node:fs'
import { readFile, realpath } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { Logger } from 'pino'
import type { LoadedConfig } from '../config/load.ts'
import { AppError, messageOf } from '../contract/errors.ts'

/** Editors write a file in several steps. */
const settleMs = 50

export type ConfigSource = {
  /** The configuration file, if any. */
  readonly path: string | undefined
  /** Reads and checks the configuration. */
  load(): Promise<LoadedConfig>
}

type Target = {
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  apply(config: LoadedConfig): Promise<void>
}

type ReloaderOptions = ConfigSource & Target & { readonly path: string }

/** Undefined without a file. */
export function openReloader({ path, load }: ConfigSource, target: Target): ConfigReloader | undefined {
  return path === undefined ? undefined : new ConfigReloader({ path, load, ...target })
}

/** Keeps a server's configuration up to date with its file. An invalid file changes nothing, and its problems are logged. */
export class ConfigReloader {
  readonly #options: ReloaderOptions
  #watcher: FSWatcher | undefined
  #timer: NodeJS.Timeout | undefined
  /** The text that was last applied or refused. */
  #text: string | undefined
  /** The text of the configuration in use. */
  #applied: string | undefined
  #reloading = Promise.resolve()
  /** Its name, and that of the file which it may be a link to. */
  #names: readonly string[] = []

  constructor(options: ReloaderOptions) {
    this.#options = options
  }

  /** Reloads when the file changes. Watches its folder, so that the file may be replaced. */
  async watch(): Promise<void> {
    const { path, log } = this.#options
    this.#text = await readText(path)
    this.#applied = this.#text
    this.#names = await namesOf(path)
    const giveUp = (error: unknown) =>
      log.warn({ reason: messageOf(error) }, `${path} cannot be watched: send SIGHUP after changing it`)
    try {
      this.#watcher = watch(dirname(path), { persistent: false }, (event, name) => {
        // A rename of another file matters too: the file may be a link through it, as in Kubernetes. A log in the same folder changes
        // with each request.
        if (event === 'rename' || name === null || this.#names.includes(name)) this.#lookSoon(this.#text)
      })
      this.#watcher.on('error', giveUp)
    } catch (error) {
      giveUp(error)
    }
  }

  /** Reloads now, changed or not. Never rejects. */
  reload(): Promise<void> {
    return this.#afterOthers(async () => this.#reload(await readText(this.#options.path)))
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#watcher?.close()
  }

  /** Reloads once two consecutive looks have found the same new text. */
  #lookSoon(seen: string | undefined): void {
    if (this.#timer !== undefined) return
    const look = async () => {
      // Changes during this read cause another look.
      this.#timer = undefined
      const text = await readText(this.#options.path)
      this.#names = await namesOf(this.#options.path)
      // Between two steps of an editor the file may be missing; meanwhile the configuration stays.
      if (text === undefined || text === this.#text) return
      if (text === seen) await this.#afterOthers(() => this.#reloadIfNew())
      else this.#lookSoon(text)
    }
    this.#timer = setTimeout(() => void look(), settleMs).unref()
  }

  #afterOthers(reload: () => Promise<void>): Promise<void> {
    this.#reloading = this.#reloading.then(reload)
    return this.#reloading
  }

  /** The finding of a look may be outdated: a later one may have reloaded meanwhile. */
  async #reloadIfNew(): Promise<void> {
    const text = await readText(this.#options.path)
    if (text !== undefined && text !== this.#text) await this.#reload(text)
  }

  /** `text`: the file's present text, undefined without a file. */
  async #reload(text: string | undefined): Promise<void> {
    const { path, log, load, apply } = this.#options
    this.#text = text
    try {
      if (isCut(text, this.#applied)) throw new AppError('invalid-request', `${path} is cut off in the middle of a line`)
      await apply(await load())
      this.#applied = text
      log.info(`${basename(path)} was reloaded`)
    } catch (error) {
      log.error({ reason: messageOf(error) }, `${basename(path)} was not reloaded: the previous configuration stays in use`)
    }
  }
}

/** A truncated file may be valid, and mean something else: half a key is a key. */
function isCut(text = '', applied = ''): boolean {
  return applied.endsWith('\n') && applied.startsWith(text) && !text.endsWith('\n') && applied.trimEnd() !== text
}

async function namesOf(path: string): Promise<readonly string[]> {
  return [basename(path), basename(await realpath(path).catch(() => path))]
}

async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined)
}
