import { stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { AppError } from '../../contract/errors.ts'

/** Throws if the folder of a file that is written at the end of a long command is not there. */
export async function requireFolderOf(file: string): Promise<void> {
  const folder = dirname(resolve(file))
  if ((await stat(folder).catch(() => undefined))?.isDirectory() !== true)
    throw new AppError('invalid-request', `${file} cannot be written: there is no folder ${folder}`)
}
