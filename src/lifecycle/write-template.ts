import { createHash } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'

/** The longest templates of published models have about 30 KB. */
const maxChars = 1024 * 1024

/** Keeps a chat template as a file, and resolves with its path: equal templates have equal paths. */
export async function writeTemplate(source: string, home: string): Promise<string> {
  if (source.length > maxChars) {
    const message = `${field('settings', 'chatTemplate')} has ${source.length} characters; at most ${maxChars} are accepted`
    throw new AppError('invalid-request', message, { at: ['settings', 'chatTemplate'] })
  }
  const folder = join(home, 'templates')
  const path = join(folder, `${createHash('sha256').update(source).digest('hex')}.jinja`)
  await mkdir(folder, { recursive: true })
  await writeFile(path, source)
  return path
}
