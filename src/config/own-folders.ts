import { homedir } from 'node:os'
import { AppError } from '../contract/errors.ts'

/** Where relative paths begin, and those that begin with `~`. */
export function ownFolders(): { readonly base: string; readonly userHome: string } {
  return { base: startFolder(), userHome: userHome() }
}

function startFolder(): string {
  try {
    return process.cwd()
  } catch {
    throw new AppError('invalid-request', 'the current folder no longer exists: start dragoman in another one')
  }
}

function userHome(): string {
  try {
    return homedir()
  } catch {
    // Without HOME and a name of the user, as containers with a user of their own may be; others of them have this HOME.
    return '/'
  }
}
