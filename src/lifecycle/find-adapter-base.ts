import { readdir } from 'node:fs/promises'
import { basename, isAbsolute, join } from 'node:path'
import type { ConfiguredModel } from '../config/models.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import { quantizationOf } from '../registry/fetch/choose-file.ts'
import { readAdapterBase } from '../registry/gguf/adapter-base.ts'
import { sourceFileName } from '../registry/names/sources.ts'
import { hasFiles } from './fetch-files.ts'

type AdapterOfBase = { readonly path: string; readonly base: ConfiguredModel }

/**
 * The model that the LoRA adapter at a path was made for, by the name in the adapter's file; undefined unless the path is an adapter, or a
 * folder with nothing but one. Throws `invalid-request` at `name` if no model has that name.
 */
export async function findAdapterBase(name: string, named: readonly ConfiguredModel[]): Promise<AdapterOfBase | undefined> {
  const text = name.trim()
  if (!isAbsolute(text)) return undefined
  const path = await ggufAt(text)
  const names = path === undefined ? undefined : await readAdapterBase(path).catch(() => undefined)
  if (path === undefined || names === undefined) return undefined
  const wanted = new Set(names.map(normalize))
  const base = named.find((model) => namesOf(model).some((one) => wanted.has(normalize(one))))
  if (base !== undefined) return { path, base }
  const of = names.length === 0 ? 'does not name its model' : `is for ${names[0]}, which no model here is`
  const message = `the adapter ${basename(path)} ${of}: load that model, then send the adapter to POST /v1/lora/load, or configure it in \`adapters\``
  throw new AppError('invalid-request', `${field('name')}: ${message}`, { at: ['name'] })
}

/** A folder with a single GGUF file represents that file. */
async function ggufAt(path: string): Promise<string | undefined> {
  if (/\.gguf$/i.test(path)) return path
  const files = await readdir(path).catch(() => [])
  const [only, second] = files.filter((file) => /\.gguf$/i.test(file))
  return only === undefined || second !== undefined ? undefined : join(path, only)
}

function namesOf(model: ConfiguredModel): readonly string[] {
  if (!hasFiles(model)) return []
  return [model.id, ...model.aliases, ...model.source.map(sourceFileName)]
}

/** Publishers write the same name with other separators between its words, and with the quantization after it. */
function normalize(name: string): string {
  const own = name.slice(name.lastIndexOf('/') + 1)
  const bare = own.replace(/\.gguf$/i, '').replace(/[-_.]gguf$/i, '')
  const quantization = quantizationOf(`${bare}.gguf`)
  const model = quantization === undefined ? bare : bare.slice(0, bare.toUpperCase().lastIndexOf(quantization))
  return model.toLowerCase().replaceAll(/[^a-z0-9]+/g, '')
}
