import { type Dirent, readdirSync, statSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { fileReason } from '../../canonical/failure-reason.ts'
import { AppError } from '../../contract/errors.ts'
import { isBesideModels } from './choose-file.ts'
import { findProjector } from './find-projector.ts'

export type FolderModel = {
  /** The name of its file without `.gguf`; with its folders if two files share the name. */
  readonly id: string
  /** The name of its folder, if it is the only model there. */
  readonly alias?: string
  /** The file; of a split model, its first part. */
  readonly path: string
  /** The multimodal projector beside it. */
  readonly projector?: string
  /** The size of all parts. */
  readonly sizeBytes: number
  readonly mtimeMs: number
}

/** A file for the engine, and its name without a part number. */
type Found = Omit<FolderModel, 'id' | 'alias'> & { readonly stem: string }

const part = /^(.*)-(\d{5})-of-(\d{5})$/
/** Deeper folders are skipped, so that circular links end. */
const maxDepth = 8

/**
 * The GGUF models below a folder, by name, without projectors, adapters and importance matrices. A split model counts once, if all of its
 * parts are there. Throws `invalid-request` when the folder cannot be read.
 */
export function readModelsFolder(folder: string): readonly FolderModel[] {
  const found = joinParts(findFiles(folder)).sort((a, b) => (a.path < b.path ? -1 : 1))
  const stems = countBy(found, ({ stem }) => stem)
  const folders = countBy(found, ({ path }) => dirname(path))
  return found.map(({ stem, ...file }) => {
    const { path } = file
    const own = dirname(path)
    const isNested = own !== folder
    const id = nameOf(stems.get(stem) === 1 ? stem : join(relative(folder, own), stem))
    const alias = nameOf(basename(own))
    const hasAlias = isNested && folders.get(own) === 1 && alias !== id
    return { id, ...file, ...(hasAlias && { alias }) }
  })
}

function findFiles(folder: string, depth = 0): Found[] {
  const entries = entriesOf(folder, depth)
  const names = entries.map(({ name }) => name)
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    const stats = entry.isSymbolicLink() ? statSync(path, { throwIfNoEntry: false }) : entry
    if (stats?.isDirectory() === true) return depth < maxDepth ? findFiles(path, depth + 1) : []
    if (stats?.isFile() !== true || !isModel(entry.name)) return []
    const { size: sizeBytes, mtimeMs } = statSync(path)
    const projector = findProjector(names, entry.name)
    const beside = projector !== undefined && { projector: join(folder, projector) }
    return [{ path, stem: entry.name.slice(0, -'.gguf'.length), sizeBytes, mtimeMs, ...beside }]
  })
}

function entriesOf(folder: string, depth: number): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    // A folder without permission does not hide the others.
    if (depth > 0) return []
    throw new AppError('invalid-request', `modelsFolder '${folder}' cannot be read: ${fileReason(error)}`, { cause: error })
  }
}

function joinParts(files: readonly Found[]): Found[] {
  return files.flatMap((file) => {
    const [, stem = '', number, count] = part.exec(file.stem) ?? []
    if (number === undefined) return [file]
    if (Number(number) !== 1) return []
    const own = dirname(file.path)
    const parts = files.filter(({ path, stem: other }) => dirname(path) === own && part.exec(other)?.[1] === stem)
    const isComplete = parts.filter(({ stem: other }) => part.exec(other)?.[3] === count).length === Number(count)
    return isComplete ? [{ ...file, stem, sizeBytes: parts.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) }] : []
  })
}

function isModel(name: string): boolean {
  return /\.gguf$/i.test(name) && !isBesideModels(name)
}

/** Names of models have no spaces and no `*`. */
function nameOf(path: string): string {
  return path.replaceAll(sep, '/').replaceAll(/[\s*\p{Cc}]+/gu, '-')
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1)
  return counts
}
