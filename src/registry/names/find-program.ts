import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The path of an executable file in the folders of a PATH, as a shell finds it; undefined if none exists. */
export function findProgram(name: string, path: string | undefined): string | undefined {
  const folders = (path ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    // Missing, or not executable for this user: the next folder may have it.
    return false
  }
}
