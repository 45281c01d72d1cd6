import { createHash, randomUUID } from 'node:crypto'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError, messageOf } from '../contract/errors.ts'
import { compileJinja } from '../jinja/jinja-template.ts'

/**
 * Stores a chat template as a file, and resolves with its path: equal templates have equal paths. Rejects with `template-failed` for one
 * that does not parse, before the load, which ends the serving model.
 */
export async function writeTemplate(source: string, home: string): Promise<string> {
  check(source)
  const folder = join(home, 'templates')
  const path = join(folder, `${createHash('sha256').update(source).digest('hex')}.jinja`)
  const draft = `${path}.${randomUUID()}.part`
  await mkdir(folder, { recursive: true })
  try {
    await writeFile(draft, source)
    // An engine may be reading the same template.
    await rename(draft, path)
  } finally {
    // A full disk leaves a partial file.
    await rm(draft, { force: true })
  }
  return path
}

function check(source: string): void {
  try {
    compileJinja(source)
  } catch (error) {
    throw new AppError('template-failed', `the chat template does not parse: ${messageOf(error)}`, {
      at: ['settings', 'chatTemplate'],
      cause: error,
    })
  }
}
