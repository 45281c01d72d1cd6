import { isAbsolute } from 'node:path'
import type { ConfiguredModel } from '../config/models.ts'
import type { LlamaModelConfig } from '../config/schema.ts'
import type { Adapter } from '../contract/engine.ts'
import { AppError } from '../contract/errors.ts'
import { field } from '../contract/field.ts'
import { parseSource, type Source, sourceFileName } from '../registry/names/sources.ts'

type FoundAdapter = NonNullable<LlamaModelConfig['adapters']>[number]

/**
 * The wanted adapters of a model: configured ones by name, others by a source, named after their files. Throws `invalid-request`, at
 * `settings.adapters`.
 */
export function findAdapters(wanted: readonly Adapter[], config: ConfiguredModel): FoundAdapter[] {
  const known = config.engine === 'llama' || config.engine === 'llama-server' ? (config.adapters ?? []) : []
  const found = wanted.map(({ name, scale }) => {
    const adapter = known.find((other) => other.name === name)
    if (adapter !== undefined) return { ...adapter, scale }
    const source = sourceOf(name, known)
    return { name: sourceFileName(source).replace(/\.gguf$/i, ''), source: [source], scale }
  })
  const twice = found.find(({ name }, index) => found.findIndex((other) => other.name === name) !== index)
  if (twice !== undefined) throw invalid(`${field('settings', 'adapters')} has two of the name '${twice.name}': send each once`)
  return found
}

function sourceOf(name: string, known: readonly FoundAdapter[]): Source {
  if (isAbsolute(name)) return { type: 'path', path: name }
  // A relative path would depend on the folder in which the server was started.
  if (!/^(hf|https?|wheel):/i.test(name)) {
    const names = known.map((adapter) => adapter.name).join(', ')
    throw invalid(
      `there is no adapter '${name.slice(0, 100)}'; send the name of one of this model's (${names || 'there are none'}), ` +
        'hf:OWNER/REPO/FILE.gguf, https:… or the absolute path of a GGUF file',
    )
  }
  try {
    const source = parseSource(name)
    if (source.type !== 'hf-repository') return source
  } catch (error) {
    throw invalid(`${field('settings', 'adapters')}: ${AppError.from(error).message}`, error)
  }
  throw invalid(`${field('settings', 'adapters')}: name the file of the repository too, hf:OWNER/REPO/FILE.gguf`)
}

function invalid(message: string, cause?: unknown): AppError {
  return new AppError('invalid-request', message, { at: ['settings', 'adapters'], cause })
}
