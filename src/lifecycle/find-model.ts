import { stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute } from 'node:path'
import { type ConfiguredModel, modelFromSource } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import type { ModelWanted } from '../contract/server/lifecycle.ts'
import { quantizationOf, variantsOf } from '../registry/fetch/choose-file.ts'
import type { RepositoryFile } from '../registry/fetch/hugging-face.ts'
import { readModelsFolder } from '../registry/fetch/models-folder.ts'
import { describeGguf } from '../registry/gguf/describe-gguf.ts'
import { beginsLikeGguf } from '../registry/gguf/require-gguf.ts'
import { findCatalogued, relatedShortNames } from '../registry/names/catalogue.ts'
import { isSource, parseSource, type RepositorySource, type Source, sourceFileName } from '../registry/names/sources.ts'

type FindOptions = {
  /** The models with names, which win over sources. */
  readonly named: readonly ConfiguredModel[]
  listFiles(repository: RepositorySource, token: string | undefined): Promise<readonly RepositoryFile[]>
}

const repositoryName = /^[\w-][\w.-]*\/[\w-][\w.-]*$/

/**
 * The configuration of a wanted model: one with that name, ignoring case, or a new one for a repository (`OWNER/REPO`), a local file or
 * folder (an absolute path), or another source. Throws `model-not-found` or `invalid-request`, at `name` or `variant`.
 */
export async function findModel(
  { name, variant, token }: ModelWanted,
  { named, listFiles }: FindOptions,
): Promise<ConfiguredModel> {
  const text = name.trim()
  if (text === '')
    throw new AppError('invalid-request', `${field('name')} is empty: name a model or its source`, { at: ['name'] })
  const known = findByName(named, text)
  if (known !== undefined && (variant === undefined || isVariant(await variantIn(known), variant))) return known
  const source = repositoryName.test(text) ? parseSource(`hf:${text}`) : sourceOf(text)
  if (source === undefined && known !== undefined) throw otherVariant(known, variant)
  if (source === undefined) throw unknownModel(text, named)
  const id = known?.id ?? idOf(text, source)
  switch (source.type) {
    case 'hf-repository': {
      if (variant === undefined) return modelFromSource(source, id)
      const { path: file } = chooseVariant(await listFiles(source, token), variant)
      return modelFromSource({ ...source, type: 'hf', file }, id)
    }
    case 'path': {
      const path = await localFile(source.path, variant)
      const same = named.find((model) => pathOf(model) === path)
      if (same !== undefined) return same
      return modelFromSource({ type: 'path', path }, freeId(id, source.path, named))
    }
    default:
      if (variant !== undefined && !isVariant(quantizationOf(sourceFileName(source)), variant)) throw noVariant(variant, [])
      return modelFromSource(source, id)
  }
}

/** The quantization in the name of a model's file. */
export function variantOf(config: ConfiguredModel): string | undefined {
  const name = fileOf(config)
  return name === undefined ? undefined : quantizationOf(name)
}

/** As `variantOf` or, if the name does not contain it, from the file itself. */
async function variantIn(config: ConfiguredModel): Promise<string | undefined> {
  const path = pathOf(config)
  const isSaid = variantOf(config) !== undefined || path === undefined
  return isSaid ? variantOf(config) : (await describeGguf(path).catch(() => undefined))?.quantization
}

function pathOf(config: ConfiguredModel): string | undefined {
  if (config.engine !== 'llama' && config.engine !== 'llama-server') return undefined
  const [source] = config.source
  return source?.type === 'path' ? source.path : undefined
}

/** Files with one name are different models: a later one also gets the name of its folder, or a number. */
function freeId(id: string, path: string, named: readonly ConfiguredModel[]): string {
  const isFree = (name: string) => findByName(named, name) === undefined
  const inFolder = `${basename(dirname(path))}-${id}`.replaceAll(/[^\w.-]+/g, '-')
  const first = [id, inFolder].find(isFree)
  if (first !== undefined) return first
  let number = 2
  while (!isFree(`${id}-${number}`)) number++
  return `${id}-${number}`
}

export function fileOf(config: ConfiguredModel): string | undefined {
  if (config.engine !== 'llama' && config.engine !== 'llama-server') return undefined
  const [source] = config.source
  return source === undefined || source.type === 'hf-repository' ? undefined : sourceFileName(source)
}

/** The model with this id or alias; without one, ignoring case. */
export function findByName<M extends { readonly id: string; readonly aliases: readonly string[] }>(
  models: readonly M[],
  text: string,
): M | undefined {
  const isNamed = (isSame: (name: string) => boolean) => models.find(({ id, aliases }) => [id, ...aliases].some(isSame))
  return isNamed((name) => name === text) ?? isNamed((name) => name.toLowerCase() === text.toLowerCase())
}

function isVariant(found: string | undefined, wanted: string): boolean {
  return found !== undefined && normalize(found) === normalize(wanted)
}

/** Publishers put a prefix of their own before a quantization: `UD-Q4_K_XL`. */
function normalize(label: string): string {
  return label.toUpperCase().replace(/^UD-/, '')
}

function sourceOf(text: string): Source | undefined {
  if (isAbsolute(text)) return { type: 'path', path: text }
  if (findCatalogued(text) !== undefined) return parseSource(text)
  // A relative path would depend on the folder in which the server was started.
  return isSource(text) && !/^[.~]/.test(text) && /^[a-z]+:/i.test(text) ? parsed(text) : undefined
}

function parsed(text: string): Source {
  try {
    return parseSource(text)
  } catch (error) {
    throw new AppError('invalid-request', `${field('name')}: ${AppError.from(error).message}`, { at: ['name'], cause: error })
  }
}

function idOf(text: string, source: Source): string {
  if (source.type === 'hf-repository') return repositoryName.test(text) ? text : `${source.owner}/${source.repo}`
  const name = source.type === 'path' ? basename(source.path) : sourceFileName(source)
  const id = name.replace(/\.gguf$/i, '').replaceAll(/[^\w.-]+/g, '-')
  return id === '' ? 'model' : id
}

function chooseVariant(files: readonly RepositoryFile[], variant: string): RepositoryFile {
  const variants = variantsOf(files)
  const found = variants.find(({ label }) => isVariant(label, variant))
  if (found === undefined) throw noVariant(variant, [...new Set(variants.map(({ label }) => label))])
  return found.file
}

/** The file itself, or the one of a folder with one model. Does not reveal other files and folders of this machine. */
async function localFile(path: string, variant: string | undefined): Promise<string> {
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isDirectory() !== true) {
    if (stats?.isFile() === true && (await beginsLikeGguf(path).catch(() => false))) return path
    throw noLocalModel(path)
  }
  const models = modelsIn(path)
  if (models.length === 0) throw noLocalModel(path)
  const fitting = models.filter(({ id }) => variant === undefined || isVariant(quantizationOf(`${id}.gguf`), variant))
  const [only, second] = fitting
  if (only !== undefined && second === undefined) return only.path
  if (only === undefined && variant !== undefined && models.length > 0) {
    throw noVariant(
      variant,
      models.flatMap(({ id }) => quantizationOf(`${id}.gguf`) ?? []),
    )
  }
  const names = fitting.map(({ path: file }) => basename(file)).join(', ')
  throw new AppError('invalid-request', `the folder '${path}' has several models; name one of: ${names}`, { at: ['name'] })
}

function modelsIn(folder: string): ReturnType<typeof readModelsFolder> {
  try {
    return readModelsFolder(folder)
  } catch {
    // An unreadable folder has no models for the server.
    return []
  }
}

function noLocalModel(path: string): AppError {
  const message = `there is no GGUF model at '${path}' that the server can read; name the absolute path of a .gguf file, or of a folder with one`
  return new AppError('model-not-found', message, { at: ['name'] })
}

function unknownModel(text: string, named: readonly ConfiguredModel[]): AppError {
  const names = named.map(({ id }) => id).join(', ')
  const related = relatedShortNames(text).join(', ') || 'a short name such as qwen3:8b'
  const message = `there is no model '${text.slice(0, 100)}'; send the name of a model (${names || 'there are none'}), OWNER/REPO, hf:…, https:…, ${related} or the absolute path of a GGUF file`
  return new AppError('model-not-found', message, { at: ['name'] })
}

function otherVariant(known: ConfiguredModel, variant: string | undefined): AppError {
  const message = `the file of model '${known.id}' is ${variantOf(known) ?? 'of an unknown quantization'}, not ${variant}; leave ${field('variant')} out`
  return new AppError('invalid-request', message, { at: ['variant'] })
}

function noVariant(variant: string, labels: readonly string[]): AppError {
  const there = labels.length === 0 ? '' : `; there are: ${labels.join(', ')}`
  return new AppError('invalid-request', `${field('variant')} '${variant.slice(0, 100)}' is not there${there}`, {
    at: ['variant'],
  })
}
