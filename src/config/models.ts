import { defaultModel } from '../registry/default-model.ts'
import { parseSource, resolvePath, type Source, sourceFileName } from '../registry/sources.ts'
import { type ModelConfig, modelSchema } from './schema.ts'

/** What relative paths and `~/` mean. */
export type Folders = { readonly base: string; readonly userHome: string }

/** The name that stands for "whatever this server was started for". */
const extraAlias = 'default'

/** The model that `--model SOURCE` asks for, named after its file. Throws `invalid-request` for what is no source. */
export function modelFromFlag(text: string, folders: Folders): ModelConfig {
  const name = sourceFileName(parseSource(text))
  const id = name.replace(/\.gguf$/i, '').replaceAll(/[^\w.-]+/g, '-')
  return resolveModelPaths(modelSchema.parse({ engine: 'llama', id: id === '' ? 'model' : id, source: text }), folders)
}

/**
 * All models together, those of the command line first. The name `default` goes to the first of these, whatever the file
 * says; when nobody names a model, it goes to the built-in one.
 */
export function mergeModels(flagModels: readonly ModelConfig[], fileModels: readonly ModelConfig[]): ModelConfig[] {
  const [first, ...others] = flagModels
  if (first !== undefined) {
    const named = { ...first, aliases: first.id === extraAlias ? [] : [extraAlias] }
    return [named, ...others, ...fileModels.map((model) => withoutAlias(model, extraAlias))]
  }
  if (fileModels.length > 0) return [...fileModels]
  const { id, sources, sha256 } = defaultModel
  return [modelSchema.parse({ engine: 'llama', id, source: sources, sha256, aliases: [extraAlias] })]
}

/** Makes every path in a model absolute. */
export function resolveModelPaths(model: ModelConfig, folders: Folders): ModelConfig {
  const template = model.chatTemplate === undefined ? {} : { chatTemplate: resolvePath(model.chatTemplate, folders) }
  switch (model.engine) {
    case 'llama':
      return { ...model, ...template, source: model.source.map((source) => resolveSource(source, folders)) }
    case 'fake': {
      const script = model.script === 'from-request' ? model.script : resolvePath(model.script, folders)
      return { ...model, ...template, script }
    }
  }
}

function resolveSource(source: Source, folders: Folders): Source {
  return source.type === 'path' ? { type: 'path', path: resolvePath(source.path, folders) } : source
}

function withoutAlias(model: ModelConfig, alias: string): ModelConfig {
  return { ...model, aliases: model.aliases.filter((other) => other !== alias) }
}
