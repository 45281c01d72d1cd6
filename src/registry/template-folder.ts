import { constants } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf } from '../contract/errors.ts'

const extension = '.jinja'
/** The longest templates of published models have some 30 KB. */
const maxTemplateBytes = 1024 * 1024

/** The chat templates of a folder, each named after its file without `.jinja`. Nothing else can be read through it. */
export class TemplateFolder {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** In the order of the alphabet. Files that others are linked to are not listed: they may lie anywhere. */
  async list(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.#path, { withFileTypes: true })
      const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(extension) && entry.name !== extension)
      return files.map(({ name }) => name.slice(0, -extension.length)).sort()
    } catch (error) {
      throw new AppError('internal', `the folder of templates cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }

  /** The text of a listed template; undefined for a name that is not listed. */
  async read(name: string): Promise<string | undefined> {
    // The name is only compared, never made into a path by itself.
    const listed = (await this.list()).find((stem) => stem === name)
    if (listed === undefined) return undefined
    // What was a file when it was listed may be a link by now.
    const file = await open(join(this.#path, `${listed}${extension}`), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
      () => undefined,
    )
    if (file === undefined) return undefined
    try {
      const { size } = await file.stat()
      if (size > maxTemplateBytes) {
        throw new AppError('template-failed', `the template '${listed}' has ${size} bytes; at most ${maxTemplateBytes} are read`)
      }
      return await file.readFile('utf8')
    } finally {
      await file.close()
    }
  }
}
