import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { lstat, readlink, realpath } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../contract/errors.ts'
import type { Interpreter, Machine } from './bubblewrap.ts'
import { findGroupFolder } from './run-group.ts'
import { systemCallFilter } from './seccomp.ts'

const rootNames = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']
/** `nobody`: programs do not get the rights of the server's user. */
const nobody = { uid: 65534, gid: 65534 }
const answerTimeoutMs = 10_000

/** The facts of this machine that bubblewrap needs. Rejects with a sentence about what is missing. */
export async function findMachine(interpreter: string | undefined): Promise<Machine> {
  if (process.platform !== 'linux')
    throw new Error(`programs are isolated by bubblewrap, which needs Linux (this is ${process.platform})`)
  const bwrap = findProgram('bwrap')
  if (bwrap === undefined) throw new Error('bubblewrap is not installed (Debian, Ubuntu: apt-get install bubblewrap)')
  for (const name of ['bash', 'nice', 'prlimit'])
    if (findProgram(name) === undefined)
      throw new Error(`the program ${name} is not installed, which starts programs in the sandbox`)
  const user = otherUser()
  const groupFolder = findGroupFolder()
  return {
    bwrap,
    interpreter: await findInterpreter(interpreter),
    rootEntries: (await Promise.all(rootNames.map(findRootEntry))).flat(),
    filter: systemCallFilter(process.arch),
    ...(groupFolder !== undefined && { groupFolder }),
    ...(user !== undefined && { user }),
  }
}

/** The user of programs if the server is root; undefined for an ordinary user. */
export function otherUser(): typeof nobody | undefined {
  return process.getuid?.() === 0 ? nobody : undefined
}

/** The path of a program in PATH; undefined if it is missing. */
export function findProgram(name: string): string | undefined {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

async function findRootEntry(name: string): Promise<Machine['rootEntries']> {
  const path = `/${name}`
  const found = await lstat(path).catch(() => undefined)
  if (found === undefined) return []
  return [found.isSymbolicLink() ? { path, linkTo: await readlink(path) } : { path }]
}

/** The system's Python, or one that the operator chose, with its own and its packages' folders. */
async function findInterpreter(name: string | undefined): Promise<Interpreter> {
  if (name === undefined) {
    const path = ['/usr/local/bin/python3', '/usr/bin/python3'].find(isProgram)
    return { path: path ?? '/usr/bin/python3', folders: [] }
  }
  const chosen = name.includes('/') ? name : (findProgram(name) ?? name)
  const code = 'import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))'
  const { stdout } = await promisify(execFile)(chosen, ['-I', '-c', code], { timeout: answerTimeoutMs }).catch(
    (error: unknown) => {
      throw new Error(`the interpreter '${chosen}' does not run: ${messageOf(error).split('\n', 1)[0]}`)
    },
  )
  const prefixes = await Promise.all((JSON.parse(stdout) as string[]).map((path) => realpath(path)))
  const folders = [...new Set(prefixes)].filter((path) => path !== '/usr' && !path.startsWith('/usr/'))
  if (folders.includes('/')) throw new Error(`the interpreter '${chosen}' says that its folder is /`)
  return { path: chosen, folders }
}
