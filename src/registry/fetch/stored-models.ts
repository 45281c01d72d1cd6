import { existsSync } from 'node:fs'
import { rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { AppError } from '../../contract/errors.ts'
import { forgetChoice, recallChoice } from '../names/repository-choice.ts'
import { formatSource, landingPath, type RemoteFileSource, type Source, sourceOfLanding } from '../names/sources.ts'
import { partsOf } from '../names/split-model.ts'
import { readModelsFolder } from './models-folder.ts'

type StoredModel = {
  /** The written source; for a URL, which the disk does not record, the path. */
  readonly source: string
  readonly path: string
  readonly sizeBytes: number
}

/** The models that were fetched into a data folder. */
export function listStored(home: string): readonly StoredModel[] {
  const folder = join(home, 'models')
  if (!existsSync(folder)) return []
  return readModelsFolder(folder).map(({ path, sizeBytes }) => {
    const source = sourceOfLanding(relative(folder, path))
    return { source: source === undefined ? path : formatSource(source), path, sizeBytes }
  })
}

/** Deletes what was fetched from the first of the sources that has left anything, and returns the freed bytes. */
export async function removeFirstStored(sources: readonly Source[], home: string): Promise<number> {
  const failures: string[] = []
  for (const source of sources) {
    try {
      return await removeStored(source, home)
    } catch (error) {
      failures.push(AppError.from(error).message)
    }
  }
  throw new AppError('invalid-request', failures.join('\n'))
}

/** Including unfinished downloads. Throws `invalid-request` for a file that Dragoman did not fetch, and if nothing is there. */
async function removeStored(source: Source, home: string): Promise<number> {
  const folder = join(home, 'models')
  const file = await storedFile(source, home)
  const parts = file === undefined ? [] : [file, ...partsOf(file).parts]
  const paths = new Set(parts.flatMap((path) => [path, `${path}.sha256`, `${path}.part`, `${path}.part.json`]))
  let freedBytes = 0
  let found = 0
  for (const path of paths) {
    const stats = await stat(path).catch(() => undefined)
    if (stats === undefined) continue
    await rm(path)
    found += 1
    freedBytes += stats.size
  }
  if (source.type === 'hf-repository') await forgetChoice(source, home)
  if (file === undefined || found === 0) {
    throw new AppError('invalid-request', `nothing of ${formatSource(source)} is in ${folder}`)
  }
  await removeEmpty(dirname(file), folder)
  return freedBytes
}

async function storedFile(source: Source, home: string): Promise<string | undefined> {
  const folder = join(home, 'models')
  if (source.type === 'hf-repository') {
    const choice = await recallChoice(source, home)
    return choice === undefined ? undefined : join(folder, landingPath(choice))
  }
  if (source.type !== 'path') return join(folder, landingPath(source as RemoteFileSource))
  if (isFetched(source.path, home)) return source.path
  const message = `${source.path} is a file of your own, which Dragoman does not delete: remove it yourself`
  throw new AppError('invalid-request', message)
}

/** Whether a file is in the folder of what was fetched. */
export function isFetched(path: string, home: string): boolean {
  return !relative(join(home, 'models'), path).startsWith('..')
}

/** Removes the emptied folders of a source. */
async function removeEmpty(folder: string, root: string): Promise<void> {
  for (let one = folder; one !== root && !relative(root, one).startsWith('..'); one = dirname(one)) {
    try {
      await rmdir(one)
    } catch {
      // The folder still has other files.
      return
    }
  }
}
