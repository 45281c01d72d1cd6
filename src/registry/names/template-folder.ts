import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { textOfFile } from '../../base/text/utf8.ts'
import { fileReason } from '../../canonical/failure-reason.ts'
import { AppError, messageOf } from '../../contract/errors.ts'

const extension = '.jinja'
/** The longest templates of published models have about 30 KB. */
const maxTemplateBytes = 1024 * 1024

/** The chat templates of a folder, each named after its file without `.jinja`. No other file can be read through it. */
export class TemplateFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** The names in alphabetical order. Symbolic links are not listed: their targets may be anywhere. */
  async list(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.#path, { withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(extension) && entry.name !== extension)
      return files.map(({ name }) => name.slice(0, -extension.length)).sort()
    } catch (error) {
      throw new AppError('internal', `the template folder cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }

  /** The first of these names that is listed, and its file. */
  async find(names: readonly string[]): Promise<{ readonly name: string; readonly path: string } | undefined> {
    const listed = new Set(await this.list())
    const name = names.find((one) => listed.has(one))
    return name === undefined ? undefined : { name, path: this.#pathOf(name) }
  }

  /** The text of a listed template; undefined for a name that is not listed. */
  async read(name: string): Promise<string | undefined> {
    // The requested name is only compared; the path is made from the listed one.
    const listed = (await this.list()).find((stem) => stem === name)
    if (listed === undefined) return undefined
    // A listed file may have become a link since.
    const file = await open(this.#pathOf(listed), constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined)
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      if (size > maxTemplateBytes) {
        throw new AppError('template-failed', `the template '${listed}' has ${size} bytes; at most ${maxTemplateBytes} are read`)
      }
      return textOfFile(await file.readFile())
    } catch (error) {
      if (error instanceof AppError) throw error
      throw new AppError('template-failed', `the template '${listed}' cannot be read: ${fileReason(error)}`, { cause: error })
    } finally {
      await file.close()
    }
  }

  #pathOf(name: string): string {
    return join(this.#path, `${name}${extension}`)
  }
}
