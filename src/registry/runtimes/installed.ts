import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import { didYouMean } from '../names/near-name.ts'

/** A build of llama.cpp in the data folder. */
export type Runtime = {
  readonly name: string
  /** The path of its llama-server. */
  readonly program: string
  readonly sizeBytes: number
}

/** The file in a runtime's folder; the folder is complete when it has it. */
export const recordName = 'runtime.json'
export const recordSchema = z.object({
  /** Its llama-server, relative to the folder. */
  program: z.string(),
  sizeBytes: z.number(),
  /** The archives that it was made of. */
  archives: z.array(z.object({ name: z.string(), sha256: z.string() })),
})

export function runtimesFolder(home: string): string {
  return join(home, 'runtimes')
}

/** The builds in the data folder, by name. Reads the disk each time: other processes add and remove them. */
export function listRuntimes(home: string): readonly Runtime[] {
  return entriesOf(runtimesFolder(home)).flatMap((name) => readRuntime(name, home) ?? [])
}

export function readRuntime(name: string, home: string): Runtime | undefined {
  const folder = join(runtimesFolder(home), name)
  try {
    const { program, sizeBytes } = recordSchema.parse(JSON.parse(readFileSync(join(folder, recordName), 'utf8')))
    return { name, program: join(folder, program), sizeBytes }
  } catch {
    // Not a runtime: a lock, a download, or what an ended process has left.
    return undefined
  }
}

/** The build that `llama-server` models without `binary` run on; undefined: they take the llama-server on PATH. */
export function runtimeInUse(home: string): Runtime | undefined {
  try {
    return readRuntime(readFileSync(choiceFile(home), 'utf8').trim(), home)
  } catch {
    // No build was ever chosen.
    return undefined
  }
}

/** Makes a build the one in use; `none`: the one on PATH is used again. Throws `invalid-request` for a name that is not here. */
export async function useRuntime(name: string, home: string): Promise<void> {
  const file = choiceFile(home)
  if (name === 'none') return rm(file, { force: true })
  const found = requireRuntime(name, home)
  await mkdir(runtimesFolder(home), { recursive: true })
  // Servers read it at any time.
  await writeFile(`${file}.new`, `${found.name}\n`)
  await rename(`${file}.new`, file)
}

/** Deletes a build. Throws `invalid-request` for a name that is not here. A server that runs it keeps it until its models are unloaded. */
export async function removeRuntime(name: string, home: string): Promise<Runtime & { readonly wasInUse: boolean }> {
  const found = requireRuntime(name, home)
  const wasInUse = runtimeInUse(home)?.name === found.name
  if (wasInUse) await useRuntime('none', home)
  await rm(join(runtimesFolder(home), found.name), { recursive: true })
  return { ...found, wasInUse }
}

function requireRuntime(name: string, home: string): Runtime {
  const all = listRuntimes(home)
  const found = all.find((runtime) => runtime.name === name)
  if (found !== undefined) return found
  const names = all.map((runtime) => runtime.name)
  const known = names.length === 0 ? 'there are none: `dragoman runtime get` fetches one' : `there are ${names.join(', ')}`
  const message = `'${name}' is not a runtime in ${runtimesFolder(home)}: ${known}${didYouMean(name, names)}`
  throw new AppError('invalid-request', message)
}

function choiceFile(home: string): string {
  return join(runtimesFolder(home), 'in-use')
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  } catch {
    // The folder is made with the first build.
    return []
  }
}
